//! Reads values that do not stand right behind their name: in the field beside it, or in a block of YAML below it.

use super::{is_quote, is_space, stretch, words};

const BLOCK_MAX: usize = 8192;

/// A value in the field behind its name's own.
pub(super) struct Field {
    /// Where the value begins, its quote included.
    pub start: usize,
    /// Only YAML has bare words; anywhere else they are variables and calls.
    pub yaml: bool,
}

/// `DB_PASSWORD", "value": …` from the end of the name on, as in Kubernetes, ECS and web.config.
pub(super) fn beside(text: &[u8], name_end: usize) -> Option<Field> {
    let closed = stretch(text, name_end, 8, |byte| is_quote(byte) || matches!(byte, b'\\' | b')' | b']'));
    let next = stretch(text, closed, 256, |byte| is_space(byte) || byte == b',');
    let opened = stretch(text, next, 8, |byte| is_quote(byte) || byte == b'\\');
    let word = [&b"parametervalue"[..], b"value"]
        .into_iter()
        .find(|word| text.get(opened..opened + word.len()).is_some_and(|said| said.eq_ignore_ascii_case(word)))?;
    let quoted = stretch(text, opened + word.len(), 8, |byte| is_quote(byte) || byte == b'\\');
    let spaced = stretch(text, quoted, 16, |byte| matches!(byte, b' ' | b'\t'));
    let sign = stretch(text, spaced, 2, |byte| matches!(byte, b':' | b'=' | b'>'));
    if next == closed || sign == spaced {
        return None;
    }
    let between = text.get(closed..sign)?;
    let yaml = between.contains(&b'\n') && !between.iter().any(|byte| matches!(byte, b',' | b'='));
    Some(Field { start: stretch(text, sign, 32, |byte| matches!(byte, b' ' | b'\t')), yaml })
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
