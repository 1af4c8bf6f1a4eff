//! Finds secrets by the command or statement that they are typed into, with no telling name beside them.

use super::{is_quote, is_space, is_word, stretch, words as prose, Span};

const LINE_MAX: usize = 1024;
const RULE: &str = "assignment";

/// The white-space separated words of a text from `at` on, with their places.
fn words(text: &[u8], mut at: usize, end: usize) -> impl Iterator<Item = (usize, usize, &[u8])> {
    std::iter::from_fn(move || {
        let start = stretch(text, at, end.saturating_sub(at), is_space);
        let stop = stretch(text, start, end.saturating_sub(start), |byte| !is_space(byte));
        at = stop;
        let word = text.get(start..stop)?;
        (!word.is_empty()).then_some((start, stop, word))
    })
}

pub(super) fn find(text: &[u8], spans: &mut Vec<Span>) {
    let mut at = 0;
    // Up to here the words of a line were looked at for an earlier command of the same kind.
    let (mut passwords, mut mysql, mut users) = (0, 0, 0);
    while at < text.len() {
        let end = stretch(text, at, usize::MAX, is_word).max(at + 1);
        let word = text.get(at..end).unwrap_or(&[]);
        let near = text.len().min(end + LINE_MAX);
        match word {
            b"sshpass" if at >= passwords => passwords = option_values(text, at, b"-p", 0, spans),
            b"mysql" | b"mysqldump" | b"mysqladmin" if at >= mysql => {
                mysql = option_values(text, at, b"-p", 3, spans);
            }
            b"curl" | b"wget" | b"http" | b"https" if at >= users => users = user_options(text, at, spans),
            b"set" | b"setx" | b"ENV" | b"ARG" | b"export" => named_value(text, end, near, spans),
            _ if word.eq_ignore_ascii_case(b"identified") => identified_by(text, end, near, spans),
            _ if word.eq_ignore_ascii_case(b"login") => login_password(text, end, near, spans),
            _ => {}
        }
        at = end;
    }
}

fn line_end(text: &[u8], at: usize) -> usize {
    stretch(text, at, LINE_MAX, |byte| !matches!(byte, b'\n' | b'\r'))
}

fn push_bare(text: &[u8], start: usize, stop: usize, spans: &mut Vec<Span>) {
    let start = stretch(text, start, 2, |byte| is_quote(byte) || byte == b'\\');
    if start < stop {
        spans.push(Span { start, end: stop, rule: RULE });
    }
}

/// `-p VALUE` and `-pVALUE` (then of at least `joined` bytes) on the rest of the line; returns where that ends.
fn option_values(text: &[u8], at: usize, option: &[u8], joined: usize, spans: &mut Vec<Span>) -> usize {
    let mut previous_was_option = false;
    let end = line_end(text, at);
    for (start, stop, word) in words(text, at, end) {
        match word.strip_prefix(option) {
            _ if previous_was_option && joined == 0 => push_bare(text, start, stop, spans),
            Some(value) if value.len() > joined.max(1) - 1 => push_bare(text, start + option.len(), stop, spans),
            _ => {}
        }
        previous_was_option = word == option;
    }
    end
}

/// `-u name:password`, `--user=name:password` on the rest of the line; returns where that ends.
fn user_options(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let mut expected = false;
    let end = line_end(text, at);
    for (start, stop, word) in words(text, at, end) {
        let is_option = word.starts_with(b"-u") || word.starts_with(b"--user");
        if expected || is_option {
            if let Some(colon) = word.iter().position(|byte| *byte == b':') {
                push_bare(text, start + colon + 1, stop, spans);
            }
        }
        expected = matches!(word, b"-u" | b"--user");
    }
    end
}

/// `ENV API_TOKEN value`, `set -gx DB_PASSWORD value`.
fn named_value(text: &[u8], at: usize, end: usize, spans: &mut Vec<Span>) {
    let telling = [&b"TOKEN"[..], b"SECRET", b"PASS", b"_KEY", b"CREDENTIAL", b"AUTH"];
    let mut after_flags = words(text, at, end).skip_while(|(_, _, word)| word.starts_with(b"-"));
    let Some((_, _, name)) = after_flags.next() else { return };
    let tells = telling.iter().any(|part| name.windows(part.len()).any(|window| window == *part));
    if let (true, Some((start, stop, value))) = (tells && name.iter().all(|byte| is_word(*byte)), after_flags.next()) {
        let word = prose::is_word_of_language(prose::without_stops(value));
        if !(prose::is_placeholder(value) || word && prose::goes_on(text, stop)) {
            push_bare(text, start, stop, spans);
        }
    }
}

/// SQL: `IDENTIFIED [WITH plugin] BY 'password'`.
fn identified_by(text: &[u8], at: usize, end: usize, spans: &mut Vec<Span>) {
    let by = words(text, at, end).take(4).find(|(_, _, word)| word.eq_ignore_ascii_case(b"by"));
    if let Some((_, stop, _)) = by {
        let open = stretch(text, stop, 16, |byte| is_space(byte) || byte == b'\\');
        if text.get(open).copied().is_some_and(is_quote) {
            let close = stretch(text, open + 1, LINE_MAX, |byte| !is_quote(byte));
            spans.push(Span { start: open + 1, end: close, rule: RULE });
        }
    }
}

/// netrc: `login NAME password VALUE`.
fn login_password(text: &[u8], at: usize, end: usize, spans: &mut Vec<Span>) {
    let before = text.get(at.saturating_sub(96)..at).unwrap_or(&[]);
    let mut back = before.rsplit(|byte| is_space(*byte)).filter(|word| !word.is_empty()).skip(1);
    let netrc = back.by_ref().take(2).any(|word| word == b"machine" || word == b"default");
    let mut rest = words(text, at, end).skip(1);
    if rest.next().is_some_and(|(_, _, word)| word.eq_ignore_ascii_case(b"password")) {
        if let Some((start, stop, _)) =
            rest.next().filter(|(_, _, value)| netrc || value.iter().any(u8::is_ascii_digit))
        {
            push_bare(text, start, stop, spans);
        }
    }
}
