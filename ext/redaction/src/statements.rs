//! Finds secrets by the statement, setting or call that they are typed into.

use crate::bytes::{
    before, byte, is_blank, is_edge, is_line_end, is_quote, is_space, is_word, lower_starts, part, run, run_back,
    run_of, starts,
};
use crate::fields::{self, is_value};
use crate::judge::is_typed_value;
use crate::keyed;
use crate::words::is_reference;
use crate::{Range, Spans};

const COOKIES: [&[u8]; 7] =
    [b"phpsessid", b"jsessionid", b"asp.net_sessionid", b"connect.sid", b"sessionid", b"csrftoken", b"xsrf-token"];
const CALLS: [&[u8]; 5] = [b"define", b"putenv", b"setenv", b"setdefault", b"setproperty"];
const TELLING: [&[u8]; 6] = [b"TOKEN", b"SECRET", b"PASSWORD", b"PASSWD", b"_KEY", b"CREDENTIAL"];
const NPM_NAMES: [&[u8]; 3] = [b"authtoken", b":_auth", b":_password"];
const LONGEST: usize = 512;
/// Bytes between `user:` and `pass:`.
const USER_REACH: usize = 160;

/// Words that some statement begins with.
pub(crate) const FIRST: &[u8] =
    b" pass passin passout password pwd identified machine default login user role with set encrypted unencrypted and npm \
pnpm yarn value parametervalue setx env arg export key appid subscription define putenv setenv setdefault setproperty \
sqlplus sqlldr expdp impdp thin oci phpsessid jsessionid asp connect sessionid csrftoken xsrf auth ";

/// Up to where the text was read for each kind of statement.
#[derive(Default)]
pub(crate) struct Seen {
    npm: usize,
    field: usize,
}

/// How sure a statement is that its value is a secret.
enum Sure {
    Yes,
    /// Prose has the same head.
    IfTyped,
}

/// What stands behind the word from `at` to `end`.
pub(crate) fn read(text: &[u8], at: usize, end: usize, seen: &mut Seen, spans: &mut Spans) {
    let word = part(text, at, end);
    let Some(first) = word.first() else { return };
    match first | 0x20 {
        b'p' => passwords(text, at, end, spans),
        b'l' | b'm' | b'd' | b'i' | b'w' | b's' | b'e' | b'u' | b'a' | b'r' => {
            names_and_passwords(text, at, end, spans)
        }
        b'n' | b'y' if at >= seen.npm && matches!(word, b"npm" | b"pnpm" | b"yarn") => {
            seen.npm = npm(text, at, end, spans)
        }
        _ => {}
    }
    match first | 0x20 {
        b'p' if word == b"pnpm" && at >= seen.npm => seen.npm = npm(text, at, end, spans),
        b'v' | b'p' if at >= seen.field && is_value(word) => {
            if let Some(value) = fields::earlier_value(text, at) {
                spans.add(value.0, value.1, "keyed-value");
                seen.field = value.1;
            }
        }
        b's' | b'e' | b'a' if is_setter(word) => {
            take(text, at, set_value(text, end), "keyed-value", Sure::IfTyped, spans)
        }
        b'k' | b'a' | b's' => parameter(text, at, end, spans),
        _ => {}
    }
    calls(text, at, end, spans);
    cookie(text, at, end, spans);
}

fn take(text: &[u8], head: usize, value: Option<Range>, rule: &'static str, sure: Sure, spans: &mut Spans) {
    let Some((start, end)) = value.filter(|value| !is_reference(part(text, value.0, value.1))) else { return };
    if start < end && (matches!(sure, Sure::Yes) || is_typed_value(text, head, start, end)) {
        spans.add(start, end, rule);
    }
}

/// Behind white space, if there is some.
fn spaced(text: &[u8], at: usize) -> Option<usize> {
    Some(run(text, at, is_space)).filter(|next| *next > at)
}

/// The end of a word without blanks at `at`.
fn word_end(text: &[u8], at: usize) -> usize {
    run(text, at, |byte| !is_space(byte))
}

/// Behind `what`, in whatever case, and white space.
fn after_word(text: &[u8], at: usize, what: &[u8]) -> Option<usize> {
    lower_starts(text, at, what).then(|| spaced(text, at + what.len())).flatten()
}

/// The inside of single quotes at `at`, or of either kind; the closing one may be missing.
fn in_sql(text: &[u8], at: usize, quotes: &[u8]) -> Option<Range> {
    let open = run(text, at, |byte| byte == b'\\');
    if !quotes.contains(&byte(text, open)) {
        return None;
    }
    let end = run(text, open + 1, |byte| !is_line_end(byte) && byte != b'\\' && !quotes.contains(&byte));
    (end > open + 1).then_some((open + 1, end))
}

/// `pass=`, `--pass x`, `-passin pass:x`, `password=x;User=y`, `PASSWORD 'x'`, `user: …, pass: 'x'`.
fn passwords(text: &[u8], at: usize, end: usize, spans: &mut Spans) {
    let word = part(text, at, end);
    if word.eq_ignore_ascii_case(b"pass") {
        if byte(text, end) == b'=' {
            let start = end + 1 + usize::from(b"\"'".contains(&byte(text, end + 1)));
            let stop = run(text, start, |byte| !is_space(byte) && !is_quote(byte) && !b";&,".contains(&byte));
            take(text, at, Some((start, stop)).filter(|_| stop >= start + 4), "keyed-value", Sure::IfTyped, spans);
        }
        take(text, at, beside_user(text, at, end), "keyed-value", Sure::IfTyped, spans);
    }
    if matches!(word, b"pass" | b"passin" | b"passout") && before(text, at) == b'-' {
        openssl(text, at, end, spans);
    }
    if word == b"pass" && before(text, at) == b'-' {
        let head = at - 1 - usize::from(before(text, at - 1) == b'-');
        let start = end + 1 + usize::from(b"\"'".contains(&byte(text, end + 1)));
        let in_word = |byte: u8| !is_space(byte) && !is_quote(byte) && !b";&|<>".contains(&byte);
        let stop = run(text, start, in_word);
        let option = is_space(before(text, head)) && head > 0 && b" =".contains(&byte(text, end));
        let value = Some((start, stop)).filter(|_| option && byte(text, start) != b'-');
        take(text, head - 1, value, "keyed-value", Sure::IfTyped, spans);
    }
    let password = word.eq_ignore_ascii_case(b"password");
    if (password || word.eq_ignore_ascii_case(b"pwd")) && byte(text, end) == b'=' {
        take(text, at, in_connection(text, end + 1), "keyed-value", Sure::Yes, spans);
    }
    if password {
        let value = spaced(text, end).and_then(|start| in_sql(text, start, b"\"'"));
        take(text, at, value, "sql-password", Sure::IfTyped, spans);
    }
}

fn openssl(text: &[u8], at: usize, end: usize, spans: &mut Spans) {
    let Some(start) = spaced(text, end).filter(|start| starts(text, *start, b"pass:")) else { return };
    let stop = run(text, start + 5, |byte| !is_space(byte) && !b"\"'".contains(&byte));
    take(text, at, Some((start + 5, stop)), "keyed-value", Sure::Yes, spans);
}

/// `password=my pass;Server=…` from its value on.
fn in_connection(text: &[u8], start: usize) -> Option<Range> {
    let end = run_of(text, start, LONGEST, |byte| !is_line_end(byte) && !b";\"'".contains(&byte));
    let next = run(text, end + 1, is_space);
    let name = run_of(text, next, LONGEST, |byte| is_word(byte) || byte == b' ');
    let named = is_word(byte(text, next)) && byte(text, name) == b'=';
    (byte(text, end) == b';' && end > start && named).then_some((start, end))
}

/// auth: { user: 'x', pass: '...' }, on one line or two.
fn beside_user(text: &[u8], at: usize, end: usize) -> Option<Range> {
    let quote = before(text, at);
    let quoted = b"\"'".contains(&quote) && byte(text, end) == quote;
    let (open, close) = if quoted { (at - 1, end + 1) } else { (at, end) };
    let value = run(text, close + 1, is_blank);
    if byte(text, close) != b':' || !b"\"'".contains(&byte(text, value)) || !is_space(before(text, open)) {
        return None;
    }
    let stop = run(text, value + 1, |byte| !is_line_end(byte) && !b"\"'".contains(&byte));
    let blank = run_back(text, open, 0, is_blank);
    let line_end = if is_line_end(before(text, blank)) { run_back(text, blank, 0, is_line_end) } else { open - 1 };
    let floor = line_end.saturating_sub(USER_REACH + 12);
    let line = run_back(text, line_end, floor, |byte| !is_line_end(byte));
    (stop >= value + 4 && names_user(part(text, line, line_end))).then_some((value + 1, stop))
}

/// Whether `line` has a field `user` or `username`, with something in it.
fn names_user(line: &[u8]) -> bool {
    (0..line.len()).any(|at| {
        let name = [&b"username"[..], b"user"].into_iter().find(|name| lower_starts(line, at, name));
        name.is_some_and(|name| {
            let end = at + name.len();
            let end = end + usize::from(b"\"'".contains(&byte(line, end)));
            is_edge(line, at) && byte(line, end) == b':' && line.len() > end + 1
        })
    })
}

/// netrc's `login NAME password VALUE`; SQL's `IDENTIFIED BY '…'` and `WITH PASSWORD '…'`.
fn names_and_passwords(text: &[u8], at: usize, end: usize, spans: &mut Spans) {
    let word = part(text, at, end);
    let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
    if is(b"identified") {
        let value =
            spaced(text, end).and_then(|by| after_word(text, by, b"by")).and_then(|start| in_sql(text, start, b"\"'"));
        take(text, at, value, "sql-password", Sure::Yes, spans);
    } else if is(b"machine") || is(b"default") {
        let login = spaced(text, end);
        let login = if is(b"machine") { login.and_then(|name| spaced(text, word_end(text, name))) } else { login };
        let value = login.and_then(|login| login_password(text, login));
        take(text, at, value, "netrc", Sure::Yes, spans);
    } else if is(b"login") {
        let value =
            login_password(text, at).filter(|value| part(text, value.0, value.1).iter().any(u8::is_ascii_digit));
        take(text, at, value, "netrc", Sure::IfTyped, spans);
    }
    let named = is(b"user") || is(b"role");
    if named || [&b"with"[..], b"set", b"login", b"encrypted", b"unencrypted", b"and"].iter().any(|name| is(name)) {
        let next = spaced(text, end);
        let next = if named { next.and_then(|name| spaced(text, word_end(text, name))) } else { next };
        let value =
            next.and_then(|next| after_word(text, next, b"password")).and_then(|start| in_sql(text, start, b"'"));
        take(text, at, value, "sql-password", Sure::Yes, spans);
    }
}

fn login_password(text: &[u8], login: usize) -> Option<Range> {
    let name = after_word(text, login, b"login")?;
    let start = after_word(text, spaced(text, word_end(text, name))?, b"password")?;
    Some((start, word_end(text, start)))
}

fn is_setter(word: &[u8]) -> bool {
    matches!(word, b"set" | b"setx" | b"ENV" | b"ARG" | b"export")
}

/// `ENV API_TOKEN value`, `set -gx DB_PASSWORD value`, from behind the first word on.
fn set_value(text: &[u8], end: usize) -> Option<Range> {
    let mut name = spaced(text, end)?;
    while byte(text, name) == b'-' {
        let option = run(text, name + 1, |byte| byte.is_ascii_alphabetic());
        name = spaced(text, option).filter(|_| option > name + 1)?;
    }
    let stop = run(text, name, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let content = part(text, name + 1, stop);
    let tells = TELLING.iter().any(|word| content.windows(word.len()).any(|window| window == *word));
    let start = spaced(text, stop).filter(|_| byte(text, name).is_ascii_uppercase() && tells)?;
    let start = start + usize::from(b"\"'".contains(&byte(text, start)));
    (!b"\"'=".contains(&byte(text, start))).then(|| (start, word_end(text, start)))
}

/// `npm config set //registry.npmjs.org/:_authToken VALUE`. Returns up to where the text was read.
fn npm(text: &[u8], at: usize, end: usize, spans: &mut Spans) -> usize {
    let line = run(text, end, |byte| !is_line_end(byte));
    let next = |at: usize| Some(run(text, at, is_blank)).filter(|next| *next > at);
    let word = |at: usize, what: &[u8]| (starts(text, at, what)).then(|| next(at + what.len())).flatten();
    let set = next(end).and_then(|start| word(word(start, b"config").unwrap_or(start), b"set"));
    let Some(mut name) = set else { return end };
    while byte(text, name) == b'-' {
        match next(word_end(text, name)) {
            Some(behind) => name = behind,
            None => return line,
        }
    }
    let stop = word_end(text, name);
    let content = part(text, name, stop);
    let signs = |end: usize| {
        let quote = end + usize::from(b"\"'".contains(&byte(text, end)));
        Some(run(text, quote, |byte| is_blank(byte) || byte == b'=')).filter(|start| *start > quote)
    };
    let ends = NPM_NAMES.iter().filter_map(|part| {
        let place = content.windows(part.len()).position(|window| window.eq_ignore_ascii_case(part))?;
        signs(name + place + part.len())
    });
    let Some(start) = ends.min() else { return line };
    let from = start + usize::from(b"\"'".contains(&byte(text, start)));
    let to = run(text, from, |byte| !is_space(byte) && !b"\"'".contains(&byte));
    take(text, at, Some((from, to)).filter(|_| to >= from + 6), "npm-auth", Sure::IfTyped, spans);
    line
}

/// The whole parameter of an address: ?key=, not ?cache_key=.
fn parameter(text: &[u8], at: usize, end: usize, spans: &mut Spans) {
    let subscription = lower_starts(text, at, b"subscription-key");
    let end = if subscription { at + b"subscription-key".len() } else { end };
    let word = part(text, at, end);
    let named = subscription || word.eq_ignore_ascii_case(b"key") || word.eq_ignore_ascii_case(b"appid");
    if named && b"?&".contains(&before(text, at)) && byte(text, end) == b'=' {
        let stop = run(text, end + 1, |byte| byte.is_ascii_hexdigit());
        take(text, at, Some((end + 1, stop)).filter(|_| stop >= end + 33), "keyed-value", Sure::IfTyped, spans);
    }
}

/// `define('DB_PASSWORD', '…')`, `auth=('me', '…')`, `HTTPBasicAuth("me", "…")`, `sqlplus me/…@db`.
fn calls(text: &[u8], at: usize, end: usize, spans: &mut Spans) {
    let word = part(text, at, end);
    if byte(text, end) == b'(' && CALLS.iter().any(|call| call.eq_ignore_ascii_case(word)) {
        if let Some(value) = keyed::argument(text, end).filter(|_| !spans.is_settled(at)) {
            spans.add(value.0, value.1, "keyed-value");
        }
    }
    let ends = |name: &[u8]| lower_starts(word, word.len().saturating_sub(name.len()), name);
    let class = ends(b"basicauth") || ends(b"digestauth");
    if class || word.eq_ignore_ascii_case(b"auth") {
        let sign = run(text, end, is_blank);
        let open = if class { sign } else { run(text, sign + 1, is_blank) };
        if class || byte(text, sign) == b'=' {
            take(text, at, login_pair(text, open), "keyed-value", Sure::IfTyped, spans);
        }
    }
    let oracle = match word {
        b"sqlplus" | b"sqlldr" | b"expdp" | b"impdp" => Some(run(text, end, is_blank)).filter(|start| *start > end),
        b"thin" | b"oci" if byte(text, end) == b':' && part(text, 0, at).ends_with(b"jdbc:oracle:") => Some(end + 1),
        _ => None,
    };
    take(text, at, oracle.and_then(|start| oracle_login(text, start)), "keyed-value", Sure::IfTyped, spans);
}

/// `('me', 'VALUE')` from the bracket at `open` on.
fn login_pair(text: &[u8], open: usize) -> Option<Range> {
    let string = |at: usize| {
        let end = run_of(text, at + 1, LONGEST, |byte| !is_line_end(byte) && !b"\"'".contains(&byte));
        let whole = b"\"'".contains(&byte(text, at)) && b"\"'".contains(&byte(text, end));
        whole.then_some((at + 1, end))
    };
    let (_, user_end) = string(run(text, open + 1, is_space)).filter(|_| byte(text, open) == b'(')?;
    let comma = run(text, user_end + 1, is_space);
    let value = string(run(text, comma + 1, is_space)).filter(|_| byte(text, comma) == b',')?;
    (value.1 > value.0).then_some(value)
}

/// `scott/tiger@db`.
fn oracle_login(text: &[u8], at: usize) -> Option<Range> {
    let start = at + usize::from(b"\"'".contains(&byte(text, at)));
    let user = run_of(text, start, LONGEST, |byte| is_word(byte) || b"$#".contains(&byte));
    let end = run_of(text, user + 1, LONGEST, |byte| !is_space(byte) && !b"\"'@".contains(&byte));
    let fits = user > start && byte(text, user) == b'/' && byte(text, end) == b'@' && end > user + 1;
    fits.then_some((user + 1, end))
}

/// Names that servers give their session's cookie.
fn cookie(text: &[u8], at: usize, end: usize, spans: &mut Spans) {
    if !b"pjacsx".contains(&(byte(text, at) | 0x20)) {
        return;
    }
    let Some(name) = COOKIES.iter().find(|name| lower_starts(text, at, name)) else { return };
    let sign = at + name.len();
    if byte(text, sign) == b'=' && sign >= end {
        let stop = run(text, sign + 1, |byte| !is_space(byte) && !is_quote(byte) && !b";&\\".contains(&byte));
        take(text, at, Some((sign + 1, stop)).filter(|_| stop >= sign + 7), "cookie", Sure::Yes, spans);
    }
}
