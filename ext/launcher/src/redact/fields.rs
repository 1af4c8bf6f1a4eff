//! Reads values that do not stand right behind their name: in a field beside it, or in a block of YAML below it.

use super::values::quoted;
use super::{is_quote, is_space, is_word, stretch, words};

const BLOCK_MAX: usize = 8192;
const QUOTED_MAX: usize = 1024;
const BARE_MAX: usize = 256;
const KEY_MAX: usize = 64;
/// Other fields between a name and its value.
const BETWEEN_MAX: usize = 4;
/// Fields whose value names what another field holds.
const NAMES: [&[u8]; 8] = [b"name", b"key", b"id", b"label", b"field", b"variable", b"parameterkey", b"parametername"];

/// A value in another field than its name.
pub(super) struct Field {
    pub value: (usize, usize),
    pub quoted: bool,
    /// Only YAML has bare words; anywhere else they are variables and calls.
    pub yaml: bool,
}

/// `"key": "value"`, `key: value` or `key="value"` as it stands in the text.
struct Pair<'t> {
    key: &'t [u8],
    value: (usize, usize),
    quoted: bool,
    end: usize,
}

/// Whether a field of this name holds what the field beside it names.
pub fn is_value(key: &[u8]) -> bool {
    key.eq_ignore_ascii_case(b"value") || key.eq_ignore_ascii_case(b"parametervalue")
}

/// Whether a field of this name says what the field beside it holds.
pub fn is_name(key: &[u8]) -> bool {
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(key))
}

/// The value behind `DB_PASSWORD` in a field of its own, from the end of the name on: `", "value": …` as in Kubernetes,
/// ECS and web.config, with other fields between them if they are quoted, and `" { default = …` as in Terraform.
pub(super) fn beside(text: &[u8], name_end: usize) -> Option<Field> {
    let closed = stretch(text, name_end, 8, |byte| is_quote(byte) || matches!(byte, b'\\' | b')' | b']'));
    let quoted_name = text.get(closed.checked_sub(1)?).copied().is_some_and(is_quote);
    let spaced = stretch(text, closed, 8, |byte| byte == b' ');
    let block = quoted_name && text.get(spaced) == Some(&b'{');
    let mut at = if block { separated(text, spaced + 1)? } else { separated(text, closed)? };
    for _ in 0..=BETWEEN_MAX {
        let pair = pair(text, at)?;
        if if block { pair.key == b"default" } else { is_value(pair.key) } {
            let yaml = is_yaml(text.get(closed..pair.value.0)?);
            return Some(Field { value: pair.value, quoted: pair.quoted, yaml });
        }
        if !quoted_name {
            return None;
        }
        at = separated(text, pair.end)?;
    }
    None
}

/// The value in the field `value` at `at` that stands before its name's, and where that name begins and ends.
pub(super) fn before_name(text: &[u8], at: usize) -> Option<(Field, (usize, usize))> {
    let first = pair(text, at).filter(|first| is_value(first.key))?;
    let mut end = first.end;
    for _ in 0..=BETWEEN_MAX {
        let next = separated(text, end)?;
        let pair = pair(text, next)?;
        if is_name(pair.key) {
            let yaml = is_yaml(text.get(at..next)?);
            return Some((Field { value: first.value, quoted: first.quoted, yaml }, pair.value));
        }
        if is_value(pair.key) {
            return None;
        }
        end = pair.end;
    }
    None
}

fn is_yaml(between: &[u8]) -> bool {
    between.contains(&b'\n') && !between.iter().any(|byte| matches!(byte, b',' | b'='))
}

/// Behind the white space or comma that parts two fields.
fn separated(text: &[u8], at: usize) -> Option<usize> {
    let next = stretch(text, at, 256, |byte| is_space(byte) || byte == b',');
    (next > at).then_some(next)
}

fn pair(text: &[u8], at: usize) -> Option<Pair<'_>> {
    let is_mark = |byte| is_quote(byte) || byte == b'\\';
    let blank = |byte| matches!(byte, b' ' | b'\t');
    let opened = stretch(text, at, 4, is_mark);
    let key_end = stretch(text, opened, KEY_MAX, |byte| is_word(byte) || byte == b'-');
    let spaced = stretch(text, stretch(text, key_end, 4, is_mark), 16, blank);
    let sign = stretch(text, spaced, 2, |byte| matches!(byte, b':' | b'=' | b'>'));
    let start = stretch(text, sign, 32, blank);
    if key_end == opened || sign == spaced {
        return None;
    }
    let key = text.get(opened..key_end)?;
    let open = stretch(text, start, 4, |byte| byte == b'\\');
    if text.get(open).copied().is_some_and(is_quote) {
        let near = text.get(..text.len().min(open + QUOTED_MAX))?;
        // What is cut off ends with the text.
        let value = quoted(near, open).or((near.len() == text.len()).then_some((open, text.len())))?;
        return Some(Pair { key, value, quoted: true, end: (value.1 + 1 + usize::from(open > start)).min(text.len()) });
    }
    let end = stretch(text, start, BARE_MAX, |byte| !is_space(byte) && !is_quote(byte) && !b",;}]>\\".contains(&byte));
    (end > start).then_some(Pair { key, value: (start, end), quoted: false, end })
}

/// The lines of the block that `|` or `>-` at `at` begins, from the first word to the last line's end; None if they are
/// no secret. Key files have a rule of their own.
pub(super) fn block(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let head = stretch(text, at, 1, |byte| matches!(byte, b'|' | b'>'));
    let mark = stretch(text, head, 2, |byte| matches!(byte, b'+' | b'-' | b'1'..=b'9'));
    let line = stretch(text, mark, 16, |byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let start = stretch(text, line + 1, 128, |byte| matches!(byte, b' ' | b'\t'));
    if head == at || text.get(line) != Some(&b'\n') || start == line + 1 {
        return None;
    }
    let line_end = |from: usize| stretch(text, from, BLOCK_MAX, |byte| byte != b'\n');
    let mut end = line_end(start);
    if !is_secret(text.get(start..end)?.trim_ascii_end()) {
        return None;
    }
    let margin = text.get(line..start)?;
    while end - start < BLOCK_MAX && text.get(end..).is_some_and(|rest| rest.starts_with(margin)) {
        end = line_end(end + margin.len());
    }
    Some((start, end))
}

fn is_secret(line: &[u8]) -> bool {
    if line.starts_with(b"-----") || line.starts_with(b"{") || line.starts_with(b"#") {
        return false;
    }
    if line.contains(&b' ') {
        return line.split(|byte| *byte == b' ').any(words::looks_drawn_with_digit);
    }
    !words::is_placeholder(line) && !words::is_compound(words::without_stops(line))
}
