//! Looks at bytes of a text without ever reaching beyond its ends.

/// The bytes from `from` to `to`; fewer where the text ends before.
pub(crate) fn part(text: &[u8], from: usize, to: usize) -> &[u8] {
    let to = to.min(text.len());
    text.get(from.min(to)..to).unwrap_or(&[])
}

/// The byte at `at`; NUL behind the end.
pub(crate) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The byte before `at`; NUL at the start.
pub(crate) fn before(text: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(0, |at| byte(text, at))
}

/// Where the bytes from `at` on that satisfy `keep` end.
pub(crate) fn run(text: &[u8], at: usize, mut keep: impl FnMut(u8) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or(&[]);
    at + rest.iter().take_while(|byte| keep(**byte)).count()
}

/// The same, at most `limit` bytes long.
pub(crate) fn run_of(text: &[u8], at: usize, limit: usize, keep: impl FnMut(u8) -> bool) -> usize {
    run(part(text, 0, at.saturating_add(limit)), at, keep)
}

/// Where the bytes before `at` that satisfy `keep` begin, none of them before `floor`.
pub(crate) fn run_back(text: &[u8], at: usize, floor: usize, mut keep: impl FnMut(u8) -> bool) -> usize {
    at - part(text, floor, at).iter().rev().take_while(|byte| keep(**byte)).count()
}

/// Whether `what` stands at `at`.
pub(crate) fn starts(text: &[u8], at: usize, what: &[u8]) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(what))
}

/// Whether `what`, in whatever case, stands at `at`.
#[inline]
pub(crate) fn lower_starts(text: &[u8], at: usize, what: &[u8]) -> bool {
    let alike = |wanted: Option<&u8>, there: Option<&u8>| match (wanted, there) {
        (Some(wanted), Some(there)) => (wanted ^ there) & !0x20 == 0,
        (wanted, _) => wanted.is_none(),
    };
    // Most calls end with the first bytes.
    alike(what.first(), text.get(at))
        && alike(what.get(1), text.get(at + 1))
        && part(text, at, at + what.len()).eq_ignore_ascii_case(what)
}

/// Where `what` stands first, from `from` on.
pub(crate) fn position(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut at = from;
    loop {
        at += text.get(at..)?.iter().position(|byte| *byte == first)?;
        if starts(text, at, what) {
            return Some(at);
        }
        at += 1;
    }
}

/// Where `what` stands last before `at`, and not before `floor`.
pub(crate) fn position_back(text: &[u8], at: usize, floor: usize, what: &[u8]) -> Option<usize> {
    let near = part(text, floor, at);
    near.windows(what.len()).rposition(|window| window == what).map(|place| floor.min(at) + place)
}

/// Whether `what`, in whatever case, is somewhere in `text`.
pub(crate) fn holds_lower(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window.eq_ignore_ascii_case(what))
}

/// A letter or digit of ASCII, or an underscore: `\w`.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The same, and every letter beyond ASCII, a byte of it.
pub(crate) fn is_any_word(byte: u8) -> bool {
    is_word(byte) || byte >= 0x80
}

pub(crate) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub(crate) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Whether a word begins or ends between the byte before `at` and the one at it: `\b`.
pub(crate) fn is_edge(text: &[u8], at: usize) -> bool {
    is_word(before(text, at)) != is_word(byte(text, at))
}

/// `value` without the bytes of `any` at its end.
pub(crate) fn trimmed_end<'t>(value: &'t [u8], any: &[u8]) -> &'t [u8] {
    let end = value.iter().rposition(|byte| !any.contains(byte)).map_or(0, |at| at + 1);
    part(value, 0, end)
}

/// `value` without the bytes of `any` at its two ends.
pub(crate) fn trimmed<'t>(value: &'t [u8], any: &[u8]) -> &'t [u8] {
    let start = value.iter().position(|byte| !any.contains(byte)).unwrap_or(value.len());
    trimmed_end(part(value, start, value.len()), any)
}
