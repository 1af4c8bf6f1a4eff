//! Finds credentials in headers: `Authorization: Bearer`, `Bearer` alone, `Cookie:`, `curl -b`.
//!
//! A credential ends before the sentence that follows. After a scheme's name a plain word is a credential only where the
//! header is alone on its line or between its quotes: people write "Authorization: Bearer is required" far more often
//! than they choose a word for a token.

use crate::bytes::{
    byte, is_any_word, is_blank, is_edge, is_line_end, is_quote, is_space, is_word, lower_starts, part, run, run_of,
    trimmed_end,
};
use crate::words::{is_placeholder, looks_drawn};
use crate::{Range, Spans};

const SCHEMES: [&[u8]; 12] = [
    b"bearer", b"basic", b"token", b"digest", b"negotiate", b"apikey", b"api-key", b"aws4-hmac-sha256", b"sharedkey",
    b"sso-key", b"hawk", b"oauth",
];
const ATTRIBUTES: [&[u8]; 6] = [b"path", b"domain", b"samesite", b"max-age", b"expires", b"priority"];
const FLAGS: [&[u8]; 3] = [b"httponly", b"secure", b"partitioned"];
const SHORTEST: usize = 6;
const SHORTEST_BARE: usize = 8;
const SHORTEST_OTHER: usize = 20;
const DIGITS_OTHER: usize = 4;
/// Bytes before a header that tell whether it is typed in.
const HEAD_BEFORE: usize = 24;
/// Pairs of a cookie among which one must tell.
const PAIRS: usize = 64;

/// The beginnings of what is looked at here, in whatever case.
pub(crate) const STARTS: &[&[u8; 3]] = &[b"aut", b"bea", b"coo", b"set", b"cur"];

/// Up to where the text was read for each header, and for curl's options.
#[derive(Default)]
pub(crate) struct State {
    authorized: usize,
    borne: usize,
    baked: usize,
    called: usize,
}

/// What the letters at `at` announce: `authorization`, `bearer`, `cookie`.
pub(crate) fn find(text: &[u8], at: usize, state: &mut State, spans: &mut Spans) {
    match byte(text, at) | 0x20 {
        b'a' if at >= state.authorized && lower_starts(text, at, b"authorization") => {
            state.authorized = after_head(text, at, authorization_head(text, at), "authorization", spans);
        }
        b'b' if at >= state.borne && lower_starts(text, at, b"bearer") && is_edge(text, at) => {
            let end = run(text, at + 6, is_blank);
            let head = (end > at + 6).then_some(end);
            state.borne = after_head(text, at, head, "bearer", spans);
        }
        b'c' | b's' if at >= state.baked && is_edge(text, at) => {
            if let Some(head) = cookie_head(text, at) {
                state.baked = after_head(text, at, Some(head), "cookie", spans);
            } else if at >= state.called && lower_starts(text, at, b"curl") && is_edge(text, at + 4) {
                let line = run(text, at, |byte| !is_line_end(byte));
                let head = cookie_option(text, at + 4, line);
                state.called = head.unwrap_or(line);
                state.baked = after_head(text, at, head, "cookie", spans);
            }
        }
        _ => {}
    }
}

/// Takes the value behind a head that ends at `end`; returns from where on the next is looked for.
fn after_head(text: &[u8], start: usize, end: Option<usize>, rule: &'static str, spans: &mut Spans) -> usize {
    let Some(end) = end else { return start + 1 };
    let value = match rule {
        "authorization" => authorization(text, start, end),
        "bearer" => bearer(text, end),
        _ => cookies(text, end),
    };
    let Some((from, to)) = value.filter(|_| !spans.is_settled(start)) else { return end };
    spans.add(from, to, rule);
    end.max(to)
}

/// Behind backslashes and a quote, if both are there.
fn quote_end(text: &[u8], at: usize) -> usize {
    let quote = run(text, at, |byte| byte == b'\\');
    if is_quote(byte(text, quote)) {
        quote + 1
    } else {
        at
    }
}

/// Behind a name and a sign that assigns, and the quote behind that.
fn sign_end(text: &[u8], name_end: usize) -> Option<usize> {
    let closed = quote_end(text, name_end);
    let closed = closed + usize::from(byte(text, closed) == b']');
    let sign = run(text, closed, is_blank);
    let behind = match (byte(text, sign), byte(text, sign + 1)) {
        (b'=', b'>') => sign + 2,
        (b':' | b'=', _) => sign + 1,
        _ => return None,
    };
    Some(quote_end(text, run(text, behind, is_blank)))
}

/// Behind one of `schemes` and the blanks that follow it.
fn scheme_end(text: &[u8], at: usize, schemes: &[&[u8]]) -> Option<usize> {
    schemes.iter().find_map(|scheme| {
        let name = at + scheme.len();
        let end = run(text, name, is_blank);
        (end > name && lower_starts(text, at, scheme)).then_some(end)
    })
}

fn authorization_head(text: &[u8], at: usize) -> Option<usize> {
    let name = at + b"authorization".len();
    if let Some(end) = sign_end(text, name) {
        return Some(scheme_end(text, end, &SCHEMES).unwrap_or(end));
    }
    // {"name": "Authorization", "value": "Basic ..."}, flattened or not
    let closed = quote_end(text, name);
    let open = run(text, closed, |byte| is_blank(byte) || b"\n,".contains(&byte));
    let field = quote_end(text, open);
    let mut value = open;
    if lower_starts(text, field, b"value") {
        let sign = quote_end(text, field + 5);
        if byte(text, sign) == b':' {
            value = run(text, sign + 1, is_blank);
        }
    }
    scheme_end(text, quote_end(text, value), &[b"basic", b"token"]).filter(|_| open > closed)
}

fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~+/=:%-".contains(&byte)
}

/// One token from `start` on, without a sentence's own full stop or comma.
fn token(text: &[u8], start: usize) -> Option<(Range, &[u8])> {
    let whole = part(text, start, run(text, start, in_token));
    let value = trimmed_end(whole, b".,:;");
    (!whole.is_empty()).then_some(((start, start + value.len()), value))
}

/// The credential after the head of an authorization header from `start` to `end`.
fn authorization(text: &[u8], start: usize, end: usize) -> Option<Range> {
    if let Some(stop) = parameters(text, end) {
        return Some((end, stop));
    }
    let (value, content) = token(text, end)?;
    let head = part(text, start, end);
    let name = run(head, 0, |byte| byte.is_ascii_alphabetic());
    let bare = trimmed_end(head, b" \t");
    let schemed = bare.len() < head.len() && bare.last().is_some_and(u8::is_ascii_alphanumeric) && bare.len() > name;
    if let (false, Some(other)) = (schemed, other_scheme(text, end)) {
        return Some(other);
    }
    if is_placeholder(content) {
        return None;
    }
    let separated = head.iter().any(|byte| b":=".contains(byte));
    let alone = schemed
        || bare.last().copied().is_some_and(is_quote)
        || content.len() >= 2 * SHORTEST_BARE && content.iter().all(|byte| is_any_word(*byte) && *byte != b'_');
    let least = if schemed { SHORTEST } else { 2 * SHORTEST_BARE };
    let typed = separated && alone && is_typed_in(text, start, value.1);
    (typed || content.len() >= least && looks_drawn(content)).then_some(value)
}

/// The credential behind a scheme of whatever name; Splunk's, Okta's and the like are long and have digits.
fn other_scheme(text: &[u8], at: usize) -> Option<Range> {
    let name = run(text, at + 1, |byte| byte.is_ascii_alphabetic() || byte == b'-');
    let start = run(text, name, is_blank);
    if !byte(text, at).is_ascii_uppercase() || name == at + 1 || start == name {
        return None;
    }
    let (value, content) = token(text, start)?;
    let digits = content.iter().filter(|byte| byte.is_ascii_digit()).count();
    (content.len() >= SHORTEST_OTHER && digits >= DIGITS_OTHER && looks_drawn(content)).then_some(value)
}

/// Whether the header is the whole of its line or of what is between quotes.
fn is_typed_in(text: &[u8], start: usize, end: usize) -> bool {
    let mut near = part(text, start.saturating_sub(HEAD_BEFORE), start);
    for prefix in [&b"proxy-"[..], b"x-", b"proxy-", b"x-"] {
        let cut = near.len().saturating_sub(prefix.len());
        if part(near, cut, near.len()).eq_ignore_ascii_case(prefix) {
            near = part(near, 0, cut);
        }
    }
    let opens = |near: &[u8]| near.last().is_some_and(|byte| is_line_end(*byte) || b"\"'`{,[".contains(byte));
    let bare = trimmed_end(trimmed_end(near, b"\\"), b" \t");
    let opened = opens(near) || bare.is_empty() || opens(bare) || bare.ends_with(b"-H") || bare.ends_with(b"-h");
    let quote = run(text, end, |byte| byte == b'\\');
    let blank = run(text, end, is_blank);
    let escaped = byte(text, end) == b'\\' && b"rn".contains(&byte(text, end + 1));
    opened && (is_quote(byte(text, quote)) || escaped || blank >= text.len() || is_line_end(byte(text, blank)))
}

/// `username="x", response="…"`: two or more, to the end of the last.
fn parameters(text: &[u8], start: usize) -> Option<usize> {
    let mut end = parameter(text, start)?;
    let mut count = 1;
    while let Some(next) = parameter(text, run(text, end + 1, is_blank)).filter(|_| byte(text, end) == b',') {
        end = next;
        count += 1;
    }
    (count > 1).then_some(end)
}

fn parameter(text: &[u8], at: usize) -> Option<usize> {
    let equals = run(text, at, is_word);
    let named = equals > at && !byte(text, at).is_ascii_digit();
    if !named || byte(text, equals) != b'=' {
        return None;
    }
    let open = run(text, equals + 1, |byte| byte == b'\\');
    if byte(text, open) == b'"' {
        let close = run(text, open + 1, |byte| !is_line_end(byte) && !b"\"\\".contains(&byte));
        let close = run(text, close, |byte| byte == b'\\');
        return (byte(text, close) == b'"').then_some(close + 1);
    }
    let end = run(text, equals + 1, |byte| !is_space(byte) && !is_quote(byte) && !b",\\".contains(&byte));
    (end > equals + 1).then_some(end)
}

/// The credential after `Bearer` alone.
fn bearer(text: &[u8], start: usize) -> Option<Range> {
    let (value, content) = token(text, start)?;
    (content.len() >= SHORTEST_BARE && looks_drawn(content)).then_some(value)
}

/// Behind `Cookie:`, `Set-Cookie:`.
fn cookie_head(text: &[u8], at: usize) -> Option<usize> {
    let set = if lower_starts(text, at, b"set-") { 4 } else { 0 };
    if lower_starts(text, at + set, b"cookie") {
        return sign_end(text, at + set + 6);
    }
    None
}

/// Behind `-b` or `--cookie` among the words of a line.
fn cookie_option(text: &[u8], start: usize, line: usize) -> Option<usize> {
    let names = |at: usize| [&b"-b"[..], b"--cookie"].into_iter().find(|name| lower_starts(text, at, name));
    let (at, name) = (start..line).filter(|at| is_space(byte(text, *at))).find_map(|at| Some((at, names(at + 1)?)))?;
    Some(quote_end(text, run(text, at + 1 + name.len(), |byte| b" =".contains(&byte))))
}

/// A cookie header's pairs from `start` on with their attributes.
fn cookies(text: &[u8], start: usize) -> Option<Range> {
    let (mut end, mut count, mut telling) = (start, 0, false);
    let mut at = start;
    while let Some(stop) = pair_end(text, at, count > 0) {
        let pair = part(text, at, stop);
        let equals = run(pair, 0, |byte| byte != b'=');
        let name = part(pair, 0, equals);
        telling = telling
            || !ATTRIBUTES.iter().any(|known| known.eq_ignore_ascii_case(name))
                && !is_placeholder(part(pair, equals + 1, pair.len()));
        end = stop;
        count += 1;
        if byte(text, stop) != b';' || count > PAIRS && !telling {
            break;
        }
        at = run(text, stop + 1, is_blank);
    }
    let value = trimmed_end(part(text, start, end), b".,:;");
    telling.then_some((start, start + value.len()))
}

/// The end of `name=value` at `at`; of a flag or a date, too, behind another pair.
fn pair_end(text: &[u8], at: usize, behind: bool) -> Option<usize> {
    let equals = run(text, at, |byte| byte.is_ascii_alphanumeric() || b"!#$%&*+.^_|~-".contains(&byte));
    let name = part(text, at, equals);
    if behind && name.eq_ignore_ascii_case(b"expires") && byte(text, equals) == b'=' {
        let date =
            run_of(text, equals + 1, 32, |byte| !is_line_end(byte) && !is_quote(byte) && !b";\\".contains(&byte));
        if part(text, equals + 1, date).ends_with(b"GMT") {
            return Some(date);
        }
    }
    if behind && byte(text, equals) != b'=' && FLAGS.iter().any(|flag| flag.eq_ignore_ascii_case(name)) {
        return Some(equals);
    }
    let value = |byte: u8| !is_space(byte) && !is_quote(byte) && !b";,\\()[]{}<>".contains(&byte);
    let end = run(text, equals + 1, value);
    (equals > at && byte(text, equals) == b'=' && end > equals + 1).then_some(end)
}
