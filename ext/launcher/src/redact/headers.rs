//! Finds credentials in headers, up to their own end: the sentence that follows stays.

use super::words::{is_placeholder, looks_drawn};
use super::{is_quote, is_space, is_word, stretch};

const SCHEMES: [&[u8]; 11] = [
    b"bearer", b"basic", b"token", b"digest", b"negotiate", b"apikey", b"api-key", b"aws4-hmac-sha256", b"sharedkey",
    b"hawk", b"oauth",
];
const PART_MAX: usize = 1 << 16;
const ATTRIBUTES: [&[u8]; 6] = [b"path", b"domain", b"samesite", b"max-age", b"expires", b"priority"];

fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~+/=:%-".contains(&byte)
}

/// `Authorization: Bearer …` from the value at `start` on; the header's name begins at `name`.
pub(super) fn authorization(text: &[u8], name: usize, start: usize) -> Option<(usize, usize)> {
    let word_end = stretch(text, start, 32, |byte| is_word(byte) || byte == b'-');
    let word = text.get(start..word_end)?;
    let behind = stretch(text, word_end, 16, |byte| matches!(byte, b' ' | b'\t'));
    let schemed = behind > word_end
        && (SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(word)) || is_other_scheme(text, word, behind));
    let start = if schemed { behind } else { start };
    if let Some(end) = parameters(text, start) {
        return Some((start, end));
    }
    let end = token_end(text, start)?;
    let value = text.get(start..end)?;
    if is_placeholder(value) {
        return None;
    }
    let quoted = text.get(start.checked_sub(1)?).copied().is_some_and(is_quote);
    let alone = schemed || quoted || value.len() >= 16 && value.iter().all(u8::is_ascii_alphanumeric);
    let least = if schemed { 6 } else { 16 };
    (alone && is_typed_in(text, name, end) || looks_drawn(value) && value.len() >= least).then_some((start, end))
}

/// Splunk, SSWS and the like: their credentials are long and have digits.
fn is_other_scheme(text: &[u8], word: &[u8], behind: usize) -> bool {
    let end = token_end(text, behind).unwrap_or(behind);
    let value = text.get(behind..end).unwrap_or(&[]);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    word.first().is_some_and(u8::is_ascii_uppercase) && value.len() >= 20 && digits >= 4 && looks_drawn(value)
}

/// Whether the header that begins at `name` and whose value ends at `end` is all there is on its line or in its quotes.
fn is_typed_in(text: &[u8], name: usize, end: usize) -> bool {
    let before = text.get(name.saturating_sub(24)..name).unwrap_or(&[]);
    let prefix = before.iter().rev().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
    let before = before.get(..before.len() - prefix).unwrap_or(&[]).trim_ascii_end();
    let opened = before.is_empty()
        || before.last().is_some_and(|byte| is_quote(*byte) || b"{,[".contains(byte))
        || before.ends_with(b"-H")
        || text.get(name.saturating_sub(prefix + 24)..name - prefix).is_some_and(|near| near.ends_with(b"\n"));
    let behind = stretch(text, end, 16, |byte| matches!(byte, b' ' | b'\t' | b'\\'));
    opened && text.get(behind).is_none_or(|byte| is_quote(*byte) || matches!(byte, b'\n' | b'\r'))
}

/// The end of one token, without the sentence's own stop.
fn token_end(text: &[u8], start: usize) -> Option<usize> {
    let end = stretch(text, start, PART_MAX, in_token);
    let stops = text.get(start..end)?.iter().rev().take_while(|byte| b".,:;".contains(byte)).count();
    (end - stops > start).then_some(end - stops)
}

/// `username="x", response="…"`: two or more, to the end of the last.
fn parameters(text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut count, mut end) = (start, 0, None);
    while let Some(stop) = parameter(text, at) {
        count += 1;
        end = Some(stop);
        if text.get(stop) != Some(&b',') {
            break;
        }
        at = stretch(text, stop + 1, 8, |byte| matches!(byte, b' ' | b'\t'));
    }
    end.filter(|_| count > 1)
}

fn parameter(text: &[u8], at: usize) -> Option<usize> {
    let equals = stretch(text, at, 64, is_word);
    if equals == at || text.get(equals) != Some(&b'=') {
        return None;
    }
    let open = stretch(text, equals + 1, 4, |byte| byte == b'\\');
    if text.get(open) == Some(&b'"') {
        let close = stretch(text, open + 1, PART_MAX, |byte| !matches!(byte, b'"' | b'\n' | b'\r'));
        return Some((close + 1).min(text.len()));
    }
    let end = stretch(text, equals + 1, PART_MAX, |byte| !is_space(byte) && !is_quote(byte) && byte != b',');
    (end > equals + 1).then_some(end)
}

/// A cookie header's pairs from `start` on with their attributes.
pub(super) fn cookies(text: &[u8], start: usize) -> Option<(usize, usize)> {
    let (mut at, mut end, mut telling) = (start, None, false);
    loop {
        let equals = stretch(text, at, 256, |byte| byte.is_ascii_alphanumeric() || b"!#$%&*+.^_|~-".contains(&byte));
        let name = text.get(at..equals)?;
        let flag = [&b"httponly"[..], b"secure", b"partitioned"].iter().any(|flag| flag.eq_ignore_ascii_case(name));
        let mut stop = equals;
        if text.get(equals) == Some(&b'=') && !name.is_empty() {
            let dated = name.eq_ignore_ascii_case(b"expires");
            stop = stretch(text, equals + 1, PART_MAX, |byte| {
                !is_quote(byte) && !b";()[]{}<>\\\r\n".contains(&byte) && (dated || !is_space(byte) && byte != b',')
            });
            let value = text.get(equals + 1..stop)?;
            let attribute = ATTRIBUTES.iter().any(|known| known.eq_ignore_ascii_case(name));
            telling |= !attribute && !value.is_empty() && !is_placeholder(value);
        } else if !flag || end.is_none() {
            break;
        }
        end = Some(stop);
        if text.get(stop) != Some(&b';') {
            break;
        }
        at = stretch(text, stop + 1, 8, |byte| matches!(byte, b' ' | b'\t'));
    }
    let end = end.filter(|_| telling)?;
    let stops = text.get(start..end)?.iter().rev().take_while(|byte| b".,:;".contains(byte)).count();
    Some((start, end - stops))
}

/// `Bearer …` alone.
pub(super) fn bearer(text: &[u8], start: usize) -> Option<(usize, usize)> {
    let end = token_end(text, start)?;
    let value = text.get(start..end)?;
    (value.len() >= 8 && looks_drawn(value)).then_some((start, end))
}
