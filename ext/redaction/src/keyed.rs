//! Finds secret values after telling names: `password=...`, `--token ...`, `<secret>...</secret>`.
//!
//! Here candidates are found; `judge` then separates values from ordinary code such as `token = next(lexer)` or
//! `password: str`.

use crate::bytes::{
    before, byte, is_any_word, is_blank, is_line_end, is_quote, is_space, is_word, lower_starts, part, run, run_back,
    run_of, starts, trimmed, trimmed_end,
};
use crate::fields::{beside, block_end, block_start, line_end, value_at, Bare};
use crate::judge::{self, is_in_field, is_secret, Value, BEFORE};
use crate::words::{has_free_number, is_placeholder, looks_drawn, AFTER};
use crate::{Range, Spans};

/// Names that hold nothing but secrets; a plain word after one is taken for a secret too.
const STRONG: [&[u8]; 12] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"passwort",
    "contraseña".as_bytes(),
    b"contrasena",
    b"pwd",
    b"secret",
    b"credential",
    b"pgpass",
    b"sshpass",
];
/// The same, where the word ends behind them.
const STRONG_ENDS: [&[u8]; 2] = [b"_pass", b"_pw"];
/// What stands before "key" or "pass", joined or not, in names of the same kind.
const OWNERS: [&[u8]; 20] = [
    b"api", b"access", b"auth", b"private", b"priv", b"client", b"service", b"account", b"database", b"db", b"signing",
    b"encryption", b"master", b"session", b"license", b"webhook", b"host", b"subscription", b"key", b"store",
];
/// Names that also stand for ordinary things; a plain word or a number after one is no secret.
const WEAK: [&[u8]; 3] = [b"token", b"jwt", b"nonce"];
/// `auth` and `pass` only in quotes: half of all code has those letters.
const WEAK_QUOTED: [&[u8]; 4] = [b"\"auth\"", b"'auth'", b"\"pass\"", b"'pass'"];
/// Passwords in other languages. A value goes only if a number in it shows that it is no word of them.
const FOREIGN: [&str; 13] = [
    "密码", "密碼", "口令", "パスワード", "비밀번호", "пароль", "Пароль", "mot de passe", "senha", "wachtwoord",
    "hasło", "heslo", "lösenord",
];
/// What joins a foreign name and its value, besides the signs that assign.
const FOREIGN_SIGNS: [&str; 8] = ["：", "＝", "是", "为", "為", "は", " is ", " est "];
/// Names of calls' arguments that tell, besides the strong ones.
const ARGUMENTS: [&[u8]; 4] = [b"token", b"nonce_key", b"logged_in_key", b"_salt"];
const SHORTEST_SPOKEN: usize = 4;
const LONGEST_TAG: usize = 512;
const LONGEST_OPTION: usize = 128;

/// The first three bytes of each of these names.
pub(crate) const STARTS: &[&[u8; 3]] = &[
    b"pas", b"con", b"pwd", b"sec", b"cre", b"pgp", b"ssh", b"_pa", b"_pw", b"api", b"acc", b"aut", b"pri", b"cli",
    b"ser", b"dat", b"db_", b"db-", b"db ", b"dbk", b"dbp", b"sig", b"enc", b"mas", b"ses", b"lic", b"web", b"hos",
    b"sub", b"key", b"sto", b"tok", b"jwt", b"non", b"_au", b"psk", b"\"au", b"'au", b"\"pa", b"'pa", b"\xE5\xAF\x86",
    b"\xE5\x8F\xA3", b"\xE3\x83\x91", b"\xEB\xB9\x84", b"\xD0\xBF\xD0", b"\xD0\x9F\xD0", b"mot", b"sen", b"wac",
    b"has", b"hes", b"l\xC3\xB6",
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Strong,
    Weak,
    /// Two words with a blank between them.
    Spaced,
}

/// The telling name that begins at `at`: where it ends, and its kind.
fn name_at(text: &[u8], at: usize) -> Option<(usize, Kind)> {
    let any = |names: &[&[u8]]| names.iter().find(|name| lower_starts(text, at, name)).map(|name| at + name.len());
    if let Some(end) = any(&STRONG) {
        return Some((end, Kind::Strong));
    }
    if let Some(end) = any(&STRONG_ENDS).filter(|end| !is_word(byte(text, *end))) {
        return Some((end, Kind::Strong));
    }
    if let Some(end) = any(&WEAK).or(any(&WEAK_QUOTED)) {
        return Some((end, Kind::Weak));
    }
    let whole = |end: usize| !is_word(byte(text, end));
    if lower_starts(text, at, b"_auth") && whole(at + 5) {
        return Some((at + 5, Kind::Weak));
    }
    if lower_starts(text, at, b"psk") && whole(at + 3) && !is_word(before(text, at)) {
        return Some((at + 3, Kind::Weak));
    }
    OWNERS.iter().filter(|owner| lower_starts(text, at, owner)).find_map(|owner| owned(text, at, owner))
}

/// `api_key`, `api key`, `dbPass`.
fn owned(text: &[u8], at: usize, owner: &[u8]) -> Option<(usize, Kind)> {
    let end = at + owner.len();
    let joint = usize::from(b"_- ".contains(&byte(text, end)));
    let kind = if byte(text, end) == b' ' { Kind::Spaced } else { Kind::Strong };
    let pass = matches!(owner, b"db" | b"database" | b"key" | b"store") && lower_starts(text, end + joint, b"pass");
    let key = !matches!(owner, b"key" | b"store") && lower_starts(text, end + joint, b"key");
    (pass || key).then_some((end + joint + if key { 3 } else { 4 }, kind))
}

fn names(name: &[u8]) -> impl Iterator<Item = (usize, Kind)> + '_ {
    (0..name.len()).filter_map(|at| name_at(name, at).map(|(_, kind)| (at, kind)))
}

/// Whether a name holds nothing but secrets.
pub(crate) fn is_strong(name: &[u8]) -> bool {
    lower_starts(name, 0, b"_pass") || names(name).any(|(_, kind)| kind == Kind::Strong)
}

/// `name` from its telling part on.
pub(crate) fn telling_part(name: &[u8]) -> Option<&[u8]> {
    let whole = [&b"auth"[..], b"pass", b"psk", b"pw"].iter().any(|word| name.eq_ignore_ascii_case(word));
    if whole {
        return Some(name);
    }
    names(name).next().map(|(at, _)| part(name, at, name.len()))
}

/// What was read once and would be read again.
#[derive(Default)]
struct Read {
    /// The latest name from its telling part on, and where the head that it belongs to ends.
    name: Range,
    head: Option<usize>,
    bare: Bare,
}

#[derive(Default)]
pub(crate) struct State {
    read: Read,
    /// Up to where the text is taken by assignments, and by phrases.
    assigned: usize,
    spoken: usize,
}

/// Takes the value of a telling name that begins at `at`.
pub(crate) fn find(text: &[u8], at: usize, state: &mut State, spans: &mut Spans) {
    let Some((end, kind)) = name_at(text, at) else {
        return foreign(text, at, spans);
    };
    if at >= state.assigned {
        if let Some(head) = head_end(text, end, &mut state.read) {
            let value = value_of(text, at, head, &mut state.read.bare);
            state.assigned = head.max(add(value, at, spans));
        }
    }
    if at >= state.spoken {
        state.spoken = state.spoken.max(phrase(text, at, (end, kind), spans));
    }
}

/// Takes `value`, whose head begins at `start`; returns where it ends.
fn add(value: Option<Range>, start: usize, spans: &mut Spans) -> usize {
    let Some(value) = value.filter(|_| !spans.is_settled(start)) else { return 0 };
    spans.add(value.0, value.1, "keyed-value");
    value.1
}

/// Where the value begins that is assigned to the name around `name_end`, if one is.
fn head_end(text: &[u8], name_end: usize, read: &mut Read) -> Option<usize> {
    if name_end < read.name.0 || name_end > read.name.1 || read.name.1 == 0 {
        let end = run(text, name_end, |byte| is_word(byte) || b".-".contains(&byte));
        let slashes = run(text, end, |byte| byte == b'\\');
        let closed = slashes + usize::from(is_quote(byte(text, slashes)));
        let closed = closed + usize::from(byte(text, closed) == b')');
        let closed = closed + usize::from(byte(text, closed) == b']');
        read.name = (name_end, end);
        read.head = separator_end(text, closed).or_else(|| beside(text, closed));
    }
    read.head
}

/// Behind the sign that assigns, white space, and the head of a block.
fn separator_end(text: &[u8], closed: usize) -> Option<usize> {
    let at = run(text, closed, is_blank);
    let two = part(text, at, at + 2);
    let sign = match byte(text, at) {
        _ if matches!(two, b":=" | b"=>" | b"::") => at + 2,
        b'=' => run_of(text, at, 3, |byte| byte == b'='),
        b'!' if two == b"!=" => run_of(text, at + 1, 2, |byte| byte == b'='),
        b':' => type_end(text, at + 1).unwrap_or(at + 1),
        _ => return None,
    };
    let value = run(text, sign, is_blank);
    Some(block_start(text, value).unwrap_or(value))
}

/// `password: str = "value"`: behind the equals sign that follows a type.
fn type_end(text: &[u8], at: usize) -> Option<usize> {
    let start = run(text, at, is_blank);
    let end = run(text, start, |byte| is_word(byte) || b".[], |".contains(&byte));
    let named = byte(text, start).is_ascii_alphabetic() || byte(text, start) == b'_';
    let sign = if byte(text, end) == b'\t' { end + 1 } else { end };
    (named && byte(text, sign) == b'=' && is_blank(before(text, sign)) && sign > start + 1).then_some(sign + 1)
}

/// The secret assigned after the head from `start` to `end`.
fn value_of(text: &[u8], start: usize, end: usize, bare: &mut Bare) -> Option<Range> {
    let opened = start + usize::from(b"\"'".contains(&byte(text, start)));
    let name_end = run(part(text, 0, end), opened, |byte| is_word(byte) || b".-".contains(&byte));
    let (name, between) = (part(text, start, name_end), part(text, name_end, end));
    let separator = trimmed(between, b"\\\"'`)]");
    if names_a_field(separator) {
        let (value, quoted) = value_at(text, end, bare)?;
        return is_in_field(name, part(text, value.0, value.1), between, quoted).then_some(value);
    }
    if separator.contains(&b'\n') {
        return block(text, start, name, (name_end, end));
    }
    let (value, quoted) = value_at(text, end, bare)?;
    is_secret(&Value {
        name,
        separator,
        content: part(text, value.0, value.1),
        quoted,
        before: part(text, start.saturating_sub(BEFORE), start),
        after: part(text, value.1, value.1 + AFTER),
    })
    .then_some(value)
}

/// Whether `separator` ends with the name of the field that holds the value.
fn names_a_field(separator: &[u8]) -> bool {
    let key = trimmed_end(separator, b" \t=>:\\\"'`");
    let ends = |name: &[u8]| part(key, key.len().saturating_sub(name.len()), key.len()).eq_ignore_ascii_case(name);
    ends(b"value") || key.contains(&b'{') && ends(b"default")
}

/// The secret in a YAML block, all its lines. Key files have a rule of their own.
fn block(text: &[u8], start: usize, name: &[u8], (name_end, end): Range) -> Option<Range> {
    let line = line_end(text, end);
    let first = trimmed(part(text, end, line), b" \t\r\n");
    let sign = trimmed(part(text, name_end, end), b" \t\"'`");
    let foreign = [&b"-----"[..], b"{", b"#"].iter().any(|begin| first.starts_with(begin));
    if byte(sign, 0) != b':' || foreign || first.is_empty() {
        return None;
    }
    let secret = if first.contains(&b' ') {
        judge::is_typed_value(text, start, end, line)
    } else {
        is_secret(&Value::assigned(name, first, false))
    };
    secret.then(|| (end, block_end(text, end)))
}

/// The value behind a name in an option, a tag or a sentence; returns up to where the text was taken.
fn phrase(text: &[u8], at: usize, (end, kind): (usize, Kind), spans: &mut Spans) -> usize {
    let token = lower_starts(text, at, b"token");
    let mut done = 0;
    if kind == Kind::Strong || token {
        if let Some((start, head)) = option_head(text, at, end) {
            done = head.max(add(option_value(text, start, head), start, spans));
        }
        if let Some((start, head)) = tag_head(text, at, end) {
            done = done.max(head).max(add(element(text, start, head), start, spans));
        }
    }
    if kind != Kind::Weak || token {
        if let Some(head) = sentence_head(text, end) {
            done = done.max(head).max(add(said_value(text, head), at, spans));
        }
    }
    done
}

/// `--db-password ` around the name from `at` to `end`: its first hyphen, and where its value begins.
fn option_head(text: &[u8], at: usize, end: usize) -> Option<Range> {
    let (mut first, mut word) = (None, at);
    while let sign @ (b'-' | b'_') = before(text, word) {
        first = if sign == b'-' { Some(word - 1) } else { first };
        let next = run_back(text, word - 1, at.saturating_sub(LONGEST_OPTION), |byte| byte.is_ascii_alphabetic());
        if next == word - 1 {
            break;
        }
        word = next;
    }
    let first = first?;
    let mut name = end;
    while b"_-".contains(&byte(text, name)) && is_word(byte(text, name + 1)) && name < end + LONGEST_OPTION {
        name = run_of(text, name + 1, LONGEST_OPTION, is_word);
    }
    let blank = run(text, name, is_blank);
    let value = if blank > name { blank } else { name + usize::from(byte(text, name) == b'\n') };
    (value > name).then_some((first, value))
}

/// An option's value is typed in, whatever it looks like.
fn option_value(text: &[u8], start: usize, head: usize) -> Option<Range> {
    let quote = byte(text, head);
    let value = if b"\"'".contains(&quote) {
        (head + 1, run(text, head + 1, |byte| byte != quote && !is_line_end(byte)))
    } else {
        let in_word = |byte: u8| !is_space(byte) && !is_quote(byte) && !b";&|<>\\".contains(&byte);
        let end = run(text, head, in_word);
        (head, if quote == b'-' || end < head + 2 { head } else { end })
    };
    let content = part(text, value.0, value.1);
    let name = trimmed(part(text, start, head), b"-<> \t\n");
    if content.is_empty() || judge::is_stopword(content) || judge::is_option_in_prose(text, start, value) {
        return None;
    }
    is_secret(&Value { before: b"--", ..Value::assigned(name, content, false) }).then_some(value)
}

/// `<x:password type="y">` around the name: where it begins and ends.
fn tag_head(text: &[u8], at: usize, end: usize) -> Option<Range> {
    let in_name = |byte: u8| is_word(byte) || b".:-".contains(&byte);
    let open = run_back(text, at, at.saturating_sub(LONGEST_TAG), in_name);
    if before(text, open) != b'<' {
        return None;
    }
    let close = run_of(text, end, LONGEST_TAG, |byte| !is_line_end(byte) && !b"<>".contains(&byte));
    (byte(text, close) == b'>').then_some((open - 1, close + 1))
}

fn element(text: &[u8], start: usize, head: usize) -> Option<Range> {
    let end = run(text, head, |byte| !b"<>".contains(&byte));
    let inner = trimmed(part(text, head, end), b" \t\r\n");
    let name = trimmed(part(text, start, head), b"-<> \t");
    let value = Value { name, separator: b">", content: inner, quoted: true, before: b"<", after: b"" };
    (starts(text, end, b"</") && !inner.is_empty() && is_secret(&value)).then_some((head, end))
}

/// Behind "is", "was", "to" or "=", with white space on both sides.
fn sentence_head(text: &[u8], end: usize) -> Option<usize> {
    let word = run(text, end, is_space);
    let verb = [&b"is"[..], b"was", b"to", b"="].into_iter().find(|verb| lower_starts(text, word, verb))?;
    let behind = word + verb.len();
    let blank = run(text, behind, is_space);
    let colon = blank + usize::from(byte(text, blank) == b':');
    let value = run(text, colon, is_space);
    let spaced = if colon > blank { value > colon } else { blank > behind };
    (word > end && spaced).then_some(value)
}

fn said_value(text: &[u8], head: usize) -> Option<Range> {
    let slashes = run(text, head, |byte| byte == b'\\');
    let start = slashes + usize::from(is_quote(byte(text, slashes)));
    let end = run(text, start, |byte| !is_space(byte) && !is_quote(byte) && byte != b'\\');
    let stop = judge::spoken_end(text, start, end).filter(|_| end >= start + SHORTEST_SPOKEN)?;
    Some((start, stop))
}

/// `密码：…` at `at`.
fn foreign(text: &[u8], at: usize, spans: &mut Spans) {
    if !matches!(byte(text, at) | 0x20, b'm' | b's' | b'w' | b'h' | b'l' | 0x80..) {
        return;
    }
    let Some(name) = FOREIGN.iter().find(|name| lower_starts(text, at, name.as_bytes())) else { return };
    let end = at + name.len();
    let blank = run(text, end, is_blank);
    let word = FOREIGN_SIGNS.iter().find(|sign| starts(text, end, sign.as_bytes())).map(|sign| end + sign.len());
    let Some(sign) = word.or(b":=".contains(&byte(text, blank)).then_some(blank + 1)) else { return };
    let start = run(text, sign, |byte| is_blank(byte) || is_quote(byte) || byte == b'\\');
    let stop =
        run_of(text, start, LONGEST_OPTION, |byte| !is_space(byte) && !is_quote(byte) && !b"\\,;".contains(&byte));
    let content = part(text, start, stop);
    // Stops of scripts that put no blank behind them: 。，；、
    let ends =
        ["。", "，", "；", "、"].iter().filter_map(|mark| crate::bytes::position(content, 0, mark.as_bytes())).min();
    let content = trimmed_end(part(content, 0, ends.unwrap_or(content.len())), b".,:;)?");
    let inside = is_any_word(before(text, at)) && byte(text, at) < 0x80;
    if !inside
        && content.len() >= SHORTEST_SPOKEN
        && has_free_number(content)
        && looks_drawn(content)
        && !is_placeholder(content)
    {
        add(Some((start, start + content.len())), at, spans);
    }
}

/// The secret that a call such as `define('DB_PASSWORD', '...')` gives a name to, from the bracket at `open` on.
pub(crate) fn argument(text: &[u8], open: usize) -> Option<Range> {
    let quoted = |at: usize| run(text, at, |byte| byte == b'\\');
    let first = quoted(run(text, open + 1, is_space));
    let name_end = run_of(text, first + 1, LONGEST_TAG, |byte| is_word(byte) || b".-".contains(&byte));
    let close = quoted(name_end);
    let comma = run(text, close + 1, is_space);
    let value = quoted(run(text, comma + 1, is_space));
    let is_string = |at: usize| b"\"'".contains(&byte(text, at));
    if !(is_string(first) && byte(text, close) == byte(text, first) && byte(text, comma) == b',' && is_string(value)) {
        return None;
    }
    let name = part(text, first + 1, name_end);
    let tells = is_strong(name) || ARGUMENTS.iter().any(|word| crate::bytes::holds_lower(name, word));
    let (range, _) = value_at(text, value, &mut Bare::default())?;
    let content = part(text, range.0, range.1);
    (tells && content.len() >= SHORTEST_SPOKEN && is_secret(&Value::assigned(name, content, true))).then_some(range)
}
