//! Finds what its form tells: key files, and passwords in addresses.

use crate::bytes::{
    before, byte, is_edge, is_quote, is_space, is_word, lower_starts, part, position, run, run_back, run_of, starts,
};
use crate::tokens::is_uuid;
use crate::words::{is_placeholder, is_reference};
use crate::{Range, Spans};

/// Schemes whose passwords people write with slashes in them.
const STORES: [&[u8]; 16] = [
    b"postgres", b"postgresql", b"mysql", b"mariadb", b"mongodb", b"redis", b"rediss", b"amqp", b"amqps", b"mssql",
    b"clickhouse", b"ldap", b"ldaps", b"smtp", b"smtps", b"kafka",
];
const SHORTEST_TOKEN: usize = 20;
/// Lines of a key file that hold more than base64.
const KEY_HEADERS: [&[u8]; 5] = [b"Proc-Type: ", b"DEK-Info: ", b"Comment: ", b"Version: ", b"Hash: "];

/// The beginnings of what is looked at here, in whatever case.
pub(crate) const STARTS: &[&[u8; 3]] = &[b"://", b"---", b"PuT", b"sdk", b"api"];

#[derive(Default)]
pub(crate) struct State {
    /// Up to where the text is taken.
    done: usize,
    last: LastSign,
    /// No key file ends behind here.
    unclosed: bool,
}

pub(crate) fn find(text: &[u8], at: usize, state: &mut State, spans: &mut Spans) {
    if at < state.done {
        return;
    }
    match byte(text, at) {
        b':' if starts(text, at, b"://") => credentials(text, at, &mut state.last, spans),
        b'-' => {
            let key = private_key(text, at, &mut state.unclosed);
            if let Some((start, end)) = key {
                spans.add(start, end, "private-key");
            }
            state.done = key.map_or_else(|| run(text, at, |byte| byte == b'-'), |key| key.1);
        }
        b'P' if starts(text, at, b"PuTTY-User-Key-File-") => state.done = putty_key(text, at, spans),
        b's' | b'a' if is_launchdarkly(text, at) => {
            spans.add(at, at + 40, "launchdarkly-key");
            state.done = at + 40;
        }
        _ => {}
    }
}

fn is_launchdarkly(text: &[u8], at: usize) -> bool {
    (starts(text, at, b"sdk-") || starts(text, at, b"api-"))
        && is_edge(text, at)
        && is_uuid(part(text, at + 4, at + 40))
        && is_edge(text, at + 40)
}

/// From `PuTTY-User-Key-File-` to the checksum, or to the text's end.
fn putty_key(text: &[u8], at: usize, spans: &mut Spans) -> usize {
    let digit = at + b"PuTTY-User-Key-File-".len();
    if !byte(text, digit).is_ascii_digit() || byte(text, digit + 1) != b':' {
        return digit;
    }
    let end = position(text, digit, b"Private-MAC:").map_or(text.len(), |mac| {
        let sum = run(text, mac + 12, |byte| byte == b' ');
        run(text, sum, |byte| byte.is_ascii_hexdigit())
    });
    spans.add(at, end, "private-key");
    end
}

/// `----- BEGIN … PRIVATE KEY -----` at `at`: to its end, or as far as a key file goes.
fn private_key(text: &[u8], at: usize, unclosed: &mut bool) -> Option<Range> {
    let dashes = run(text, at, |byte| byte == b'-');
    let title = dashes + usize::from(byte(text, dashes) == b' ');
    let start = dashes - (dashes - at).min(5);
    if dashes - at < 4 || !starts(text, title, b"BEGIN ") {
        return None;
    }
    let closing = key_title_end(text, title + 6)?;
    let end = run_of(text, closing, 5, |byte| byte == b'-');
    if end < closing + 4 {
        return None;
    }
    let footer = if *unclosed { None } else { footer_end(text, end) };
    *unclosed = footer.is_none();
    Some((start, footer.unwrap_or_else(|| body_end(text, end))))
}

/// Behind `RSA PRIVATE KEY BLOCK ` at `at`, where the dashes begin.
fn key_title_end(text: &[u8], at: usize) -> Option<usize> {
    let end = run_of(text, at, 64, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let title = part(text, at, end);
    let title = title.strip_suffix(b" ").unwrap_or(title);
    title.strip_suffix(b" BLOCK").unwrap_or(title).ends_with(b"PRIVATE KEY").then_some(end)
}

/// Behind the next `-----END … PRIVATE KEY-----`.
fn footer_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let word = position(text, at, b"END ")?;
        at = word + 4;
        let dashes = word - usize::from(before(text, word) == b' ');
        let opened = run_back(text, dashes, from, |byte| byte == b'-');
        if let Some(title) = key_title_end(text, at).filter(|_| dashes - opened >= 4) {
            return Some(run_of(text, title, 5, |byte| byte == b'-'));
        }
    }
}

/// What an unclosed block's body may hold: it must not swallow a page of prose.
fn body_end(text: &[u8], mut at: usize) -> usize {
    loop {
        let in_body = |byte: u8| byte.is_ascii_alphanumeric() || is_space(byte) || b"+/=\"'>|#-".contains(&byte);
        if KEY_HEADERS.iter().any(|header| starts(text, at, header)) {
            at = run(text, at, |byte| !b"\n\\".contains(&byte));
        } else if at < text.len() && in_body(byte(text, at)) {
            at += 1;
        } else if byte(text, at) == b'\\' && b"nrt\\\"'".contains(&byte(text, at + 1)) {
            at += 2;
        } else {
            return at;
        }
    }
}

/// The last `@` of the latest stretch without a blank or a quote: addresses in one stretch share it.
#[derive(Default)]
struct LastSign {
    end: usize,
    at: Option<usize>,
}

impl LastSign {
    fn in_stretch(&mut self, text: &[u8], from: usize) -> Option<usize> {
        if from >= self.end {
            self.end = run(text, from, |byte| !in_words(byte));
            self.at = part(text, from, self.end).iter().rposition(|byte| *byte == b'@').map(|at| from + at);
        }
        self.at.filter(|at| *at > from)
    }
}

/// What can't stand in an address: it ends before.
fn in_words(byte: u8) -> bool {
    is_space(byte) || is_quote(byte) || b"<>\\".contains(&byte)
}

/// `://user:password@` and `://token@` at `at`.
fn credentials(text: &[u8], at: usize, last: &mut LastSign, spans: &mut Spans) {
    let start = at + 3;
    let user = run(text, start, |byte| !in_words(byte) && !b"/:@".contains(&byte));
    if byte(text, user) == b'@' && user >= start + SHORTEST_TOKEN && !is_reference(part(text, start, user)) {
        spans.add(start, user, "url-token");
    }
    if byte(text, user) != b':' {
        return;
    }
    let password = user + 1;
    let host = run(text, password, |byte| !in_words(byte) && byte != b'/');
    let sign = part(text, password, host).iter().rposition(|byte| *byte == b'@').map(|sign| password + sign);
    let whole = if is_store(text, at) { last.in_stretch(text, password) } else { None };
    for end in [sign, whole].into_iter().flatten() {
        let content = part(text, password, end);
        if end > password && !is_reference(content) && !is_placeholder(content) {
            spans.add(password, end, "url-password");
        }
    }
}

/// Whether a store's scheme, with or without its driver, stands before `at`.
fn is_store(text: &[u8], at: usize) -> bool {
    let floor = at.saturating_sub(32);
    let driver = run_back(text, at, floor, is_word);
    let plus = if before(text, driver) == b'+' { driver - 1 } else { at };
    [at, plus].into_iter().any(|end| {
        STORES.iter().any(|scheme| end.checked_sub(scheme.len()).is_some_and(|start| lower_starts(text, start, scheme)))
    })
}
