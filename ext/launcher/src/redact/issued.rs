//! Finds issuers' tokens that a prefix alone does not tell: of a fixed shape, or with a sign in their middle.

use super::{is_word, stretch, Span};

/// Heads of tokens whose body is a UUID, and how many bytes ("na1-") may stand between.
pub(super) const UUID_HEADS: &[(&[u8], usize)] = &[
    (b"pat-", 4),
    (b"access-production-", 0),
    (b"access-sandbox-", 0),
    (b"access-development-", 0),
    (b"ctx7sk-", 0),
    (b"xaat-", 0),
    (b"xapt-", 0),
    (b"amzn.mws.", 0),
];
const UUID: usize = 36;
/// What OpenAI's keys have in their middle: its name in base64.
const OPENAI: &[u8] = b"T3BlbkFJ";
const HALF_MAX: usize = 256;

pub(super) fn is_uuid(text: &[u8]) -> bool {
    text.len() == UUID
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether `sdk-` or `api-` and a UUID are somewhere in it: LaunchDarkly's keys. An id may be made of the same parts.
pub(super) fn holds_launchdarkly_key(component: &[u8]) -> bool {
    component.windows(UUID + 4).enumerate().any(|(at, part)| {
        let inside = at.checked_sub(1).and_then(|before| component.get(before)).copied().is_some_and(is_word);
        !inside && (part.starts_with(b"sdk-") || part.starts_with(b"api-")) && part.get(4..).is_some_and(is_uuid)
    })
}

fn is_word_or_hyphen(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// The token that begins at `at`, where a word begins.
pub(super) fn at_word(text: &[u8], at: usize) -> Option<Span> {
    let rest = text.get(at..)?;
    let end = match rest.first()? {
        b'K' => k3s_end(text, at),
        b'A' if rest.starts_with(b"A3-") => onepassword_end(text, at),
        b'A' if rest.starts_with(b"AP") => artifactory_end(text, at),
        b'a' | b'c' | b'p' | b'x' => uuid_end(rest).map(|length| at + length),
        _ => None,
    }?;
    Some(Span { start: at, end, rule: "key" })
}

fn uuid_end(rest: &[u8]) -> Option<usize> {
    let (head, between) = UUID_HEADS.iter().find(|(head, _)| rest.starts_with(head))?;
    let start = head.len() + between;
    rest.get(start..start + UUID).is_some_and(is_uuid).then_some(start + UUID)
}

/// `A3-XXXXXX-…`: capitals and digits in six or seven groups.
fn onepassword_end(text: &[u8], at: usize) -> Option<usize> {
    let end = stretch(text, at, 64, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-');
    let groups = || text.get(at..end).unwrap_or(&[]).split(|byte| *byte == b'-').skip(1);
    (groups().count() >= 5 && groups().all(|group| group.len() >= 5)).then_some(end)
}

/// `AP` and a hexadecimal digit, then letters and digits.
fn artifactory_end(text: &[u8], at: usize) -> Option<usize> {
    let opened = at.checked_sub(1).and_then(|before| text.get(before)).is_none_or(|byte| b" \t\r\n=:\"".contains(byte));
    let digit = text.get(at + 2).is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    let end = stretch(text, at, HALF_MAX, |byte| byte.is_ascii_alphanumeric());
    (opened && digit && end >= at + 11).then_some(end)
}

/// `K10<hash>::server:<password>`, the token that a node joins a cluster with.
fn k3s_end(text: &[u8], at: usize) -> Option<usize> {
    let hash = text.get(at..)?.strip_prefix(b"K10")?;
    let digits = hash.iter().take(HALF_MAX).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let behind = at + 3 + digits;
    let end = stretch(text, behind, 2 * HALF_MAX, |byte| is_word_or_hyphen(byte) || matches!(byte, b':' | b'.'));
    (digits >= 32 && text.get(behind..)?.starts_with(b"::") && end >= behind + 10).then_some(end)
}

/// The token around the sign at `at` that stands in its middle: `Q~` (Azure), `.atlasv1.` and the like.
pub(super) fn around(text: &[u8], at: usize) -> Option<Span> {
    let rest = text.get(at..)?;
    let in_azure = |byte: u8| is_word_or_hyphen(byte) || matches!(byte, b'~' | b'.');
    match rest.first()? {
        b'Q' if rest.starts_with(b"Q~") => {
            let head = text.get(at.checked_sub(4)?..at)?;
            let fits = head.iter().all(|byte| in_azure(*byte)) && head.last().is_some_and(u8::is_ascii_digit);
            between(text, at - 4, at, 24, in_azure).filter(|_| fits)
        }
        b'.' if rest.starts_with(b".atlasv1.") => between(text, at.checked_sub(14)?, at + 9, 40, is_word_or_hyphen),
        // Airtable: an id, then a hash
        b'.' => {
            let start = at.checked_sub(17)?;
            text.get(start..at)?.strip_prefix(b"pat")?;
            between(text, start, at + 1, 64, |byte| byte.is_ascii_hexdigit())
        }
        b':' if rest.starts_with(b":APA91b") => between(text, at.checked_sub(11)?, at + 7, 32, is_word_or_hyphen),
        // Telegram: a bot's number, then its key
        b':' => {
            let digits = text.get(..at)?.iter().rev().take(10).take_while(|byte| byte.is_ascii_digit()).count();
            between(text, at - digits, at + 1, 32, is_word_or_hyphen).filter(|_| digits >= 8)
        }
        b'T' if rest.starts_with(OPENAI) => {
            let before = text.get(at.saturating_sub(HALF_MAX)..at)?;
            let head = before.iter().rev().take_while(|byte| is_word_or_hyphen(**byte)).count();
            let key = before.get(before.len() - head..)?.windows(3).position(|part| part == b"sk-")?;
            between(text, at - head + key, at + OPENAI.len(), 0, is_word_or_hyphen)
        }
        _ => None,
    }
}

/// From `start` to the end of what `keep` takes from `middle` on, if that is `least` bytes long.
fn between(text: &[u8], start: usize, middle: usize, least: usize, keep: impl Fn(u8) -> bool) -> Option<Span> {
    let end = stretch(text, middle, 2 * HALF_MAX, keep);
    (end >= middle + least).then_some(Span { start, end, rule: "key" })
}
