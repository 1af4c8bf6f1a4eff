//! Finds secrets by the command or statement that they are typed into, with no telling name beside them.

use super::{assignments, fields, is_quote, is_space, is_word, stretch, tools, words as prose, Span};

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

/// Up to where the words of a line were looked at for an earlier command of each kind.
#[derive(Default)]
struct Seen {
    passwords: usize,
    mysql: usize,
    users: usize,
    logins: usize,
    tools: usize,
}

pub(super) fn find(text: &[u8], spans: &mut Vec<Span>) {
    let mut seen = Seen::default();
    let mut at = 0;
    while at < text.len() {
        let end = stretch(text, at, usize::MAX, is_word);
        if let Some(word) = text.get(at..end).filter(|word| !word.is_empty()) {
            program(text, at, word, &mut seen, spans);
            phrase(text, at, word, spans);
        }
        at = end.max(at + 1);
    }
}

/// The options of the program named `word`.
fn program(text: &[u8], at: usize, word: &[u8], seen: &mut Seen, spans: &mut Vec<Span>) {
    match word {
        b"sshpass" if at >= seen.passwords => seen.passwords = option_values(text, at, 0, spans),
        _ if at >= seen.mysql && is_mysql(word) => seen.mysql = option_values(text, at, 3, spans),
        b"curl" | b"wget" | b"http" | b"https" if at >= seen.users => seen.users = user_options(text, at, spans),
        b"docker" | b"podman" | b"nerdctl" | b"buildah" | b"skopeo" | b"helm" | b"oras" | b"crane"
            if at >= seen.logins =>
        {
            seen.logins = registry_login(text, at, spans);
        }
        b"sqlplus" | b"sqlldr" | b"expdp" | b"impdp" => tools::oracle(text, at + word.len(), spans),
        _ => {}
    }
    if at >= seen.tools && tools::is_one(word) {
        seen.tools = tools::find(text, at, spans);
    }
}

/// What stands behind `word` in a statement, a setting, a call.
fn phrase(text: &[u8], at: usize, word: &[u8], spans: &mut Vec<Span>) {
    let end = at + word.len();
    let near = text.len().min(end + LINE_MAX);
    match word {
        b"npm" | b"pnpm" | b"yarn" => npm_setting(text, end, near, spans),
        b"thin" | b"oci" if text.get(end) == Some(&b':') => tools::oracle(text, end + 1, spans),
        b"pass" | b"passin" | b"passout" if at > 0 && text.get(at - 1) == Some(&b'-') => {
            openssl_password(text, end, near, spans);
        }
        b"set" | b"setx" | b"ENV" | b"ARG" | b"export" => named_value(text, end, near, spans),
        _ if word.eq_ignore_ascii_case(b"identified") => identified_by(text, end, near, spans),
        _ if word.eq_ignore_ascii_case(b"login") => login_password(text, end, near, spans),
        _ if tools::is_login(word) => tools::login_pair(text, word, end, spans),
        _ if fields::is_value(word) => {
            let value = assignments::value_before_name(text, at);
            spans.extend(value.map(|(start, end)| Span { start, end, rule: RULE }));
        }
        _ if text.get(end) == Some(&b'=') && is_session_cookie(text, at, word) => cookie(text, end + 1, spans),
        _ => {}
    }
}

fn is_mysql(word: &[u8]) -> bool {
    let tools = [&b"mysql"[..], b"mysqldump", b"mysqladmin", b"mysqlimport", b"mysqlshow", b"mysqlcheck", b"mariadb"];
    tools.contains(&word)
}

/// The end of the command's line, where a backslash carries it on to the next.
fn line_end(text: &[u8], at: usize) -> usize {
    let limit = text.len().min(at + LINE_MAX);
    let mut end = at;
    loop {
        end = stretch(text, end, limit.saturating_sub(end), |byte| byte != b'\n');
        let line = text.get(at..end).unwrap_or(&[]);
        if end >= limit || !line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"\\") {
            return end;
        }
        end += 1;
    }
}

/// The value that begins at `start`, without its quotes: to `stop`, or to the closing quote before `end`.
fn value_at(text: &[u8], start: usize, stop: usize, end: usize) -> (usize, usize) {
    let open = stretch(text, start, 2, |byte| is_quote(byte) || byte == b'\\');
    let quote = open.checked_sub(1).filter(|at| *at >= start).and_then(|at| text.get(at)).copied();
    let Some(quote) = quote.filter(|byte| is_quote(*byte)) else { return (open, stop) };
    let close = stretch(text, open, end.saturating_sub(open), |byte| byte != quote);
    (open, if close < end { close } else { stop })
}

fn push_bare(text: &[u8], start: usize, stop: usize, spans: &mut Vec<Span>) {
    let start = stretch(text, start, 2, |byte| is_quote(byte) || byte == b'\\');
    if start < stop {
        spans.push(Span { start, end: stop, rule: RULE });
    }
}

/// `-p VALUE` and `-pVALUE` (then of at least `joined` bytes) on the rest of the line; returns where that ends.
fn option_values(text: &[u8], at: usize, joined: usize, spans: &mut Vec<Span>) -> usize {
    let mut previous_was_option = false;
    let end = line_end(text, at);
    for (start, stop, word) in words(text, at, end) {
        let value = match word.strip_prefix(b"-p") {
            _ if previous_was_option && joined == 0 => Some(start),
            Some(value) if value.len() > joined.max(1) - 1 => Some(start + 2),
            _ => None,
        };
        let value = value.map(|start| value_at(text, start, stop, end));
        let secret = |value: &(usize, usize)| {
            text.get(value.0..value.1).is_some_and(|value| !value.is_empty() && !prose::is_reference(value))
        };
        spans.extend(value.filter(secret).map(|(start, end)| Span { start, end, rule: RULE }));
        previous_was_option = word == b"-p";
    }
    end
}

/// `docker login -u me -p VALUE`, also `-p=VALUE`, up to the next command; returns where the line ends.
fn registry_login(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let end = line_end(text, at);
    let command = stretch(text, at, end - at, |byte| !b"|;&".contains(&byte));
    let mut said = words(text, at, command).skip(1);
    if !said.by_ref().take(2).any(|(_, _, word)| word == b"login") {
        return at;
    }
    let mut expected = false;
    for (start, stop, word) in said {
        let joined = word.strip_prefix(b"-p").filter(|_| !expected);
        let skipped = joined.map_or(0, |value| 2 + value.iter().take_while(|byte| **byte == b'=').count());
        let (from, to) = value_at(text, start + skipped, stop, command);
        if (expected || joined.is_some()) && to > from {
            let value = text.get(from..to).unwrap_or(&[]);
            let word = prose::is_word_of_language(prose::without_stops(value)) && prose::goes_on(text, to);
            if !prose::is_placeholder(value) && !word {
                spans.push(Span { start: from, end: to, rule: RULE });
            }
        }
        expected = joined.is_some_and(|value| value.iter().all(|byte| *byte == b'='));
    }
    end
}

/// `-u name:password`, `-su name:password`, `--user=name:password` on the rest of the line; returns where that ends.
fn user_options(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let mut expected = false;
    let end = line_end(text, at);
    for (start, stop, word) in words(text, at, end) {
        let option = user_option(word);
        if expected || option.is_some() {
            let password = |colon: &usize| word.get(colon + 1..).is_some_and(|value| !prose::is_placeholder(value));
            if let Some(colon) = word.iter().position(|byte| *byte == b':').filter(password) {
                push_bare(text, start + colon + 1, stop, spans);
            }
        }
        expected = option.is_some_and(|value| value.iter().all(|byte| *byte == b'='));
    }
    end
}

/// What stands behind `-u`, a cluster of options that ends with it, or `--user` in the same word.
fn user_option(word: &[u8]) -> Option<&[u8]> {
    if let Some(value) = word.strip_prefix(b"--user").or(word.strip_prefix(b"--proxy-user")) {
        return Some(value);
    }
    // Only options without a value may stand before it.
    let options = word.strip_prefix(b"-")?;
    let plain = options.iter().take_while(|byte| b"#0123456789aBfgGijJklLnNOpqRsSvVZ".contains(byte)).count();
    let rest = options.get(plain..)?;
    rest.strip_prefix(b"u").or(rest.strip_prefix(b"U"))
}

/// `-passin pass:VALUE`, an argument of openssl.
fn openssl_password(text: &[u8], at: usize, end: usize, spans: &mut Vec<Span>) {
    if let Some((start, stop, word)) = words(text, at, end).next() {
        if word.strip_prefix(b"pass:").is_some_and(|value| !prose::is_reference(value)) {
            push_bare(text, start + 5, stop, spans);
        }
    }
}

/// `npm config set //registry.npmjs.org/:_authToken VALUE`.
fn npm_setting(text: &[u8], at: usize, end: usize, spans: &mut Vec<Span>) {
    let mut said = words(text, at, end).skip_while(|(_, _, word)| *word == b"config");
    if said.next().is_none_or(|(_, _, word)| word != b"set") {
        return;
    }
    let telling = [&b"authtoken"[..], b":_auth", b":_password"];
    let Some((start, _, name)) = said.find(|(_, _, word)| !word.starts_with(b"-")) else { return };
    let lower = name.to_ascii_lowercase();
    let found = telling.iter().find_map(|part| {
        let at = lower.windows(part.len()).position(|window| window == *part)?;
        Some(at + part.len())
    });
    let Some(name_end) = found else { return };
    let sign = |byte: u8| is_quote(byte) || matches!(byte, b'=' | b' ' | b'\t');
    let from = stretch(text, start + name_end, 16, sign);
    let stop = stretch(text, from, LINE_MAX, |byte| !is_space(byte) && !is_quote(byte));
    let value = text.get(from..stop).unwrap_or(&[]);
    let spoken = prose::is_word_of_language(prose::without_stops(value)) && prose::goes_on(text, stop);
    if value.len() >= 6 && !prose::is_placeholder(value) && !spoken {
        spans.push(Span { start: from, end: stop, rule: RULE });
    }
}

/// Names that servers give their session's cookie.
fn is_session_cookie(text: &[u8], at: usize, word: &[u8]) -> bool {
    let behind = |head: &[u8]| {
        let before = text.get(at.saturating_sub(head.len())..at);
        before.is_some_and(|before| before.eq_ignore_ascii_case(head))
    };
    let names = [&b"phpsessid"[..], b"jsessionid", b"sessionid", b"csrftoken"];
    names.iter().any(|name| name.eq_ignore_ascii_case(word))
        || word.eq_ignore_ascii_case(b"net_sessionid") && behind(b"asp.")
        || word.eq_ignore_ascii_case(b"sid") && behind(b"connect.")
        || word.eq_ignore_ascii_case(b"token") && behind(b"xsrf-")
}

fn cookie(text: &[u8], start: usize, spans: &mut Vec<Span>) {
    let end = stretch(text, start, LINE_MAX, |byte| !is_space(byte) && !is_quote(byte) && !b";&\\".contains(&byte));
    if end >= start + 6 && !text.get(start..end).is_some_and(prose::is_placeholder) {
        spans.push(Span { start, end, rule: RULE });
    }
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
