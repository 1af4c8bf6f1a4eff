//! Reads values to their own end: in quotes, between tags, behind a type, bare.

use super::{is_quote, is_space, is_word, lower_starts, stretch, words};

/// The longest tag, type or value of several words.
const VALUE_MAX: usize = 512;
const NAME_MAX: usize = 64;

/// `"value"` from its opening quote on: the inside, up to the same quote. None if that never comes.
pub(super) fn quoted(text: &[u8], opening: usize) -> Option<(usize, usize)> {
    let quote = *text.get(opening)?;
    let triple = text.get(opening..opening + 3).is_some_and(|three| three.iter().all(|byte| *byte == quote));
    let start = opening + if triple { 3 } else { 1 };
    let escaped = opening.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'\\');
    let mut at = start;
    while let Some(byte) = text.get(at) {
        match byte {
            // In JSON inside of JSON the quotes themselves are escaped; elsewhere an escaped quote is content.
            b'\\' if !escaped => at += 2,
            _ if *byte == quote && (!triple || text.get(at..at + 3).is_some_and(|three| three == [quote; 3])) => {
                let end = if escaped { at - 1 } else { at };
                return Some((start, end.max(start)));
            }
            _ => at += 1,
        }
    }
    None
}

/// `<password type="x">value</password>`, from the name at `at`: what stands between its tag and the next.
pub(super) fn element(text: &[u8], at: usize, name_end: usize) -> Option<(usize, usize)> {
    let in_name = |byte: &u8| is_word(*byte) || matches!(byte, b'.' | b':' | b'-');
    let before = text.get(at.saturating_sub(NAME_MAX)..at)?;
    let opening = before.iter().rev().find(|byte| !in_name(byte))?;
    let tag_end = stretch(text, name_end, VALUE_MAX, |byte| !matches!(byte, b'<' | b'>' | b'\n'));
    if *opening != b'<' || text.get(tag_end) != Some(&b'>') {
        return None;
    }
    let end = stretch(text, tag_end + 1, VALUE_MAX, |byte| byte != b'<');
    let told = words::is_placeholder(text.get(tag_end + 1..end)?);
    (!told && end > tag_end + 1 && text.get(end) == Some(&b'<')).then_some((tag_end + 1, end))
}

/// `password: str = "value"`: where the value behind the type ends.
pub(super) fn annotated_end(text: &[u8], signs: &[u8], start: usize) -> Option<(usize, usize)> {
    let in_type = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'[' | b']' | b',' | b' ' | b'|');
    let equals = stretch(text, start, VALUE_MAX, in_type);
    if !signs.contains(&b':') || text.get(equals) != Some(&b'=') {
        return None;
    }
    let value = stretch(text, equals + 1, 8, |byte| matches!(byte, b' ' | b'\t'));
    Some(if text.get(value).copied().is_some_and(is_quote) {
        quoted(text, value).unwrap_or((value, text.len()))
    } else {
        (value, bare_end(text, value, false))
    })
}

/// Where the credential behind `Bearer` and the like begins.
pub(super) fn scheme_end(text: &[u8], start: usize) -> Option<usize> {
    let schemes = [&b"bearer "[..], b"basic ", b"token ", b"digest "];
    schemes.into_iter().find(|scheme| lower_starts(text, start, scheme)).map(|scheme| start + scheme.len())
}

/// The end of a bare value: white space, but a quoted part belongs to it. In a connection string (`password=my pass;Server=…`) the semicolon ends it.
pub(super) fn bare_end(text: &[u8], start: usize, password: bool) -> usize {
    let bare = |byte: u8| !is_space(byte) && !is_quote(byte);
    let mut end = stretch(text, start, usize::MAX, bare);
    if password {
        let semicolon =
            stretch(text, start, VALUE_MAX, |byte| !is_quote(byte) && !matches!(byte, b';' | b'\n' | b'\r'));
        let name = stretch(text, semicolon + 1, NAME_MAX, |byte| is_word(byte) || byte == b' ');
        if text.get(semicolon) == Some(&b';') && text.get(name) == Some(&b'=') {
            end = end.max(semicolon);
        }
    }
    match text.get(end) {
        Some(byte) if is_quote(*byte) => {
            quoted(text, end).map_or(end, |(_, inside)| inside.saturating_add(1).min(text.len()))
        }
        _ => end,
    }
}
