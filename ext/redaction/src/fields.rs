//! Reads values to their own end: in quotes, bare, in a field beside their name, in a block of YAML below it.

use crate::bytes::{
    byte, is_blank, is_line_end, is_quote, is_space, is_word, part, position, run, run_back, run_of, starts, trimmed,
};
use crate::judge;
use crate::Range;

const LONGEST_BLOCK: usize = 8192;
/// The longest value that is stepped over on the way to the next field.
const LONGEST_FIELD: usize = 1024;
/// Other fields between a name and its value.
const BETWEEN: usize = 4;
/// Fields whose value names what another field holds.
const LABELS: [&[u8]; 8] = [b"name", b"key", b"id", b"label", b"field", b"variable", b"parameterkey", b"parametername"];

/// Whether a field of this name holds what the field beside it names.
pub fn is_value(key: &[u8]) -> bool {
    key.eq_ignore_ascii_case(b"value") || key.eq_ignore_ascii_case(b"parametervalue")
}

/// Whether a field of this name says what the field beside it holds.
pub fn is_label(key: &[u8]) -> bool {
    LABELS.iter().any(|label| label.eq_ignore_ascii_case(key))
}

/// The latest bare value: one that begins inside of it ends with it.
#[derive(Default)]
pub(crate) struct Bare {
    start: usize,
    end: usize,
}

/// The value at `at`, without its quotes, and whether it has some; None if it is empty.
pub(crate) fn value_at(text: &[u8], at: usize, bare: &mut Bare) -> Option<(Range, bool)> {
    let (value, quoted) = match quoted_at(text, at) {
        Some(value) => (value, true),
        None => (bare.value(text, at), false),
    };
    (value.0 < value.1).then_some((value, quoted))
}

/// The inside of the quotes at `at`; they may be escaped, tripled, or have a letter of Python's before them. What nothing
/// closes goes to its line's end.
fn quoted_at(text: &[u8], at: usize) -> Option<Range> {
    let slashes = run(text, at, |byte| byte == b'\\');
    if slashes > at {
        return escaped_at(text, slashes);
    }
    if byte(text, at) == b'`' {
        return Some((at + 1, run(text, at + 1, |byte| byte != b'`' && !is_line_end(byte))));
    }
    let open = run_of(text, at, 2, |byte| b"rbfuRBFU@$".contains(&byte));
    let quote = byte(text, open);
    if starts(text, open, b"\"\"\"") {
        return Some((open + 3, position(text, open + 3, b"\"\"\"").unwrap_or(text.len())));
    }
    b"\"'".contains(&quote).then(|| (open + 1, closing(text, open + 1, quote)))
}

/// Where a quoted text ends: at its quote, or at the line's end.
fn closing(text: &[u8], mut at: usize, quote: u8) -> usize {
    loop {
        at = run(text, at, |byte| byte != quote && byte != b'\\' && !is_line_end(byte));
        if byte(text, at) != b'\\' {
            return at;
        }
        at = (at + 2).min(text.len());
    }
}

/// The inside of an escaped quote at `open`, up to the next escaped one; a bare one inside means that it was none.
fn escaped_at(text: &[u8], open: usize) -> Option<Range> {
    let quote = Some(byte(text, open)).filter(|quote| b"\"'".contains(quote))?;
    let mut at = open + 1;
    loop {
        let end = run(text, at, |byte| byte != quote && byte != b'\\' && !is_line_end(byte));
        let slashes = run(text, end, |byte| byte == b'\\');
        if slashes == end {
            return (byte(text, end) != quote).then_some((open + 1, end));
        }
        if byte(text, slashes) == quote {
            return Some((open + 1, end));
        }
        at = slashes;
    }
}

impl Bare {
    /// Without quotes, up to the first byte that can't belong to it.
    fn value(&mut self, text: &[u8], at: usize) -> Range {
        if at < self.start || at >= self.end {
            (self.start, self.end) = (at, bare_end(text, at));
        }
        (at, self.end)
    }
}

fn bare_end(text: &[u8], mut at: usize) -> usize {
    loop {
        at = run(text, at, |byte| !is_space(byte) && !is_quote(byte) && !b";&,\\".contains(&byte));
        match byte(text, at) {
            b'\\' if !is_escape(byte(text, at + 1)) && at + 1 < text.len() => at += 2,
            // The next field of a query, or nothing: the ampersand is no part of the value.
            b'&' => {
                let name = run_of(text, at + 1, LONGEST_FIELD, |byte| is_word(byte) || b".-".contains(&byte));
                let next = byte(text, at + 1);
                if byte(text, name) == b'=' || is_space(next) || next == b'&' || at + 1 >= text.len() {
                    return at;
                }
                at += 1;
            }
            _ => return at,
        }
    }
}

fn is_escape(byte: u8) -> bool {
    is_space(byte) || b"nrtu\"'\\".contains(&byte)
}

/// Behind a quote and a sign that assigns: `": `, ` = `, `=>`.
pub(crate) fn sign_end(text: &[u8], at: usize) -> Option<usize> {
    let slashes = run(text, at, |byte| byte == b'\\');
    let quote = slashes + usize::from(is_quote(byte(text, slashes)));
    let sign = run(text, quote, is_blank);
    match (byte(text, sign), byte(text, sign + 1)) {
        (b'=', b'>') => Some(run(text, sign + 2, is_blank)),
        (b':' | b'=', _) => Some(run(text, sign + 1, is_blank)),
        _ => None,
    }
}

/// `"key": "value"`, `key: value` or `key="value"` as it stands in the text.
struct Field<'t> {
    key: &'t [u8],
    quoted: bool,
    value: usize,
    end: usize,
}

fn field(text: &[u8], at: usize) -> Option<Field<'_>> {
    let slashes = run(text, at, |byte| byte == b'\\');
    let open = slashes + usize::from(is_quote(byte(text, slashes)));
    let close = run(text, open, |byte| is_word(byte) || byte == b'-');
    let value = sign_end(text, close).filter(|_| close > open)?;
    Some(Field { key: part(text, open, close), quoted: open > slashes, value, end: any_end(text, value)? })
}

/// The end of whatever value is at `at`; None if there is none.
fn any_end(text: &[u8], at: usize) -> Option<usize> {
    let near = part(text, 0, at + LONGEST_FIELD);
    let slashes = run(near, at, |byte| byte == b'\\');
    let quote = byte(near, slashes);
    if b"\"'".contains(&quote) {
        let end = if slashes > at || quote == b'\'' {
            run(near, slashes + 1, |byte| byte != quote && !is_line_end(byte))
        } else {
            closing(near, slashes + 1, quote)
        };
        // What is cut off ends with the text.
        return (byte(near, end) == quote).then_some(end + 1).or((end >= text.len()).then_some(end));
    }
    let end = run(near, at, |byte| !is_space(byte) && !is_quote(byte) && !b",;}]>\\".contains(&byte));
    (end > at).then_some(end)
}

/// Behind the white space or comma that parts two fields.
fn separated(text: &[u8], at: usize) -> Option<usize> {
    let next = run_of(text, at, LONGEST_FIELD, |byte| is_space(byte) || byte == b',');
    (next > at).then_some(next)
}

/// Where the value begins that stands in a field of its own behind its name, whose quotes end at `closed`: `", "value": …`
/// as in Kubernetes, ECS and web.config, with other fields between them if they are quoted, and `" { default = …` as in
/// Terraform.
pub(crate) fn beside(text: &[u8], closed: usize) -> Option<usize> {
    let open = run(text, closed, is_blank);
    if byte(text, open) == b'{' {
        return default_of(text, open + 1);
    }
    let first = field_named(text, separated(text, closed)?)?;
    if is_value(first.key) {
        return Some(first.value);
    }
    let mut last = first;
    for _ in 0..=BETWEEN {
        let next = last.quoted.then(|| separated(text, any_end(text, last.value)?)).flatten()?;
        last = field_named(text, next)?;
        if is_value(last.key) && last.quoted {
            return Some(last.value);
        }
    }
    None
}

/// As `field`, its value read or not: the one that is looked for may be of any kind.
fn field_named(text: &[u8], at: usize) -> Option<Field<'_>> {
    let slashes = run(text, at, |byte| byte == b'\\');
    let open = slashes + usize::from(is_quote(byte(text, slashes)));
    let close = run_of(text, open, 64, |byte| is_word(byte) || byte == b'-');
    let value = sign_end(text, close).filter(|_| close > open)?;
    Some(Field { key: part(text, open, close), quoted: open > slashes, value, end: value })
}

fn default_of(text: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..=BETWEEN {
        let next = run_of(text, at, LONGEST_FIELD, is_space);
        let key = field_named(text, next).filter(|_| next > at)?;
        if key.key == b"default" {
            return Some(key.value);
        }
        at = any_end(text, key.value)?;
    }
    None
}

/// The secret in the field `value` at `at` whose name stands in a field behind it.
pub(crate) fn earlier_value(text: &[u8], at: usize) -> Option<Range> {
    let value = field(text, at).filter(|value| is_value(value.key))?;
    let mut end = value.end;
    for _ in 0..=BETWEEN {
        let next = separated(text, end)?;
        let label = field(text, next)?;
        if is_label(label.key) {
            let name = trimmed(part(text, label.value, label.end), b"\\\"'`");
            let (inner, quoted) = value_at(text, value.value, &mut Bare::default())?;
            let between = part(text, at, next);
            let secret = judge::tells(name) && judge::is_in_field(name, part(text, inner.0, inner.1), between, quoted);
            return secret.then_some(inner);
        }
        end = label.end;
    }
    None
}

/// Behind the head of a YAML block at `at`: `|`, `>-` and the like, a new line, its margin.
pub(crate) fn block_start(text: &[u8], at: usize) -> Option<usize> {
    let mark = at + 1 + usize::from(b"+-".contains(&byte(text, at + 1)));
    let line = run(text, mark, is_blank);
    let line = line + usize::from(byte(text, line) == b'\r');
    let start = run(text, line + 1, is_blank);
    (b"|>".contains(&byte(text, at)) && byte(text, line) == b'\n' && start > line + 1).then_some(start)
}

pub(crate) fn line_end(text: &[u8], at: usize) -> usize {
    run(text, at, |byte| byte != b'\n')
}

/// The end of the block whose first line begins at `start`: the last line with the same margin.
pub(crate) fn block_end(text: &[u8], start: usize) -> usize {
    let line = run_back(text, start, 0, |byte| byte != b'\n');
    let margin = part(text, line.saturating_sub(1), start);
    let mut end = line_end(text, start);
    while starts(text, end, margin) && end - start < LONGEST_BLOCK {
        end = line_end(text, end + margin.len());
    }
    end
}
