//! Finds long runs of letters and digits that are no path, uuid or identifier: keys without a prefix.

use super::issued::{holds_launchdarkly_key, is_uuid};
use super::{stretch, Span};

const RUN_MIN: usize = 20;
/// So many random-looking bytes in one run are a key; fewer are the odd version or counter in a path.
const RANDOM_MIN: usize = 16;
/// Short mixed pieces (utf8mb4, k8s, x86) are words of the trade, unless they make up most of the run.
const SHORT: usize = 10;
/// A SHA-512 in hexadecimal, and its name.
const HASH_MAX: usize = 136;
const SUMS: [&[u8]; 5] = [b"sha1-", b"sha256-", b"sha384-", b"sha512-", b"md5-"];
const SUM_SIGNS: [&[u8]; 7] = [b"sha1:", b"sha256:", b"sha384:", b"sha512:", b"md5:", b"SHA256:", b" h1:"];
/// How the kind of an SSH key (ssh-, ecdsa, sk-) begins in base64.
const SSH_KINDS: [&[u8]; 4] = [b"NzaC", b"VjZH", b"NrLW", b"NrLX"];
const MEDIA: [&[u8]; 4] = [b"data:image/", b"data:font/", b"data:audio/", b"data:video/"];
const GIT_WORDS: [&[u8]; 9] =
    [b"commit", b"merge", b"revert", b"tree", b"parent", b"object", b"checkout", b"HEAD", b"show"];

fn in_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'=' | b'-')
}

pub(super) fn find(text: &[u8], spans: &mut Vec<Span>) {
    let mut at = 0;
    while at < text.len() {
        let end = stretch(text, at, usize::MAX, in_run);
        if end - at >= RUN_MIN && !is_public(text, at, end) {
            if let Some((start, end)) = random_part(text, at, end) {
                spans.push(Span { start, end, rule: "high-entropy" });
            }
        }
        at = end.max(at + 1);
    }
}

/// Whether the run is a checksum, a public SSH key or a picture, as what stands before it says.
fn is_public(text: &[u8], start: usize, end: usize) -> bool {
    let run = text.get(start..end).unwrap_or(&[]);
    let before = text.get(start.saturating_sub(64)..start).unwrap_or(&[]);
    let hash = run.len() <= HASH_MAX
        && (SUMS.iter().any(|sum| run.starts_with(sum)) || SUM_SIGNS.iter().any(|sign| before.ends_with(sign)));
    let ssh = run.starts_with(b"AAAA") && SSH_KINDS.iter().any(|kind| run.get(6..10) == Some(*kind));
    let media = || MEDIA.iter().any(|kind| before.windows(kind.len()).any(|part| part == *kind));
    hash || ssh || before.ends_with(b";base64,") && media()
}

/// The part of the run from its first random-looking component to its last, if that is enough for a key.
fn random_part(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let run = text.get(start..end)?;
    if !run.iter().any(u8::is_ascii_digit) {
        return is_shuffled(run).then_some((start, end));
    }
    if !run.iter().any(u8::is_ascii_alphabetic) || is_git_id(text, start, run) {
        return None;
    }
    let (mut first, mut last, mut random) = (None, start, 0);
    let mut at = start;
    for component in run.split(|byte| matches!(byte, b'/' | b'=' | b'+')) {
        let behind = at + component.len();
        if !is_plain(component) {
            first = first.or(Some(at));
            last = behind;
            random += component.len();
        }
        at = behind + 1;
    }
    // Base64's own padding and signs behind the last component go with it.
    last = stretch(text, last, end.saturating_sub(last), |byte| matches!(byte, b'=' | b'+'));
    first.filter(|_| random >= RANDOM_MIN).map(|first| (first, last))
}

/// Letters alone whose case changes nearly as often as by chance (one step in two; names have one in four).
fn is_shuffled(run: &[u8]) -> bool {
    run.split(|byte| !byte.is_ascii_alphabetic()).any(|letters| {
        let steps = letters
            .windows(2)
            .filter(|pair| matches!(pair, [a, b] if a.is_ascii_uppercase() != b.is_ascii_uppercase()));
        letters.len() >= RUN_MIN && steps.count() * 100 >= 42 * (letters.len() - 1)
    })
}

/// A whole SHA-1 right behind one of git's words.
fn is_git_id(text: &[u8], start: usize, run: &[u8]) -> bool {
    let hex = run.len() == 40 && run.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let before = text.get(..start).unwrap_or(&[]).trim_ascii_end();
    hex && before.len() < start && GIT_WORDS.iter().any(|word| before.ends_with(word))
}

/// Whether a component is what people and tools name things: words, words with a number, uuids.
fn is_plain(component: &[u8]) -> bool {
    if holds_launchdarkly_key(component) {
        return false;
    }
    if is_uuid(component) || is_tool_use_id(component) {
        return true;
    }
    let mut short_mixed = 0;
    for piece in component.split(|byte| matches!(byte, b'_' | b'-')) {
        match kind(piece) {
            Kind::Word => {}
            Kind::ShortMixed => short_mixed += piece.len(),
            Kind::Random => return uuid_inside(component),
        }
    }
    short_mixed * 2 <= component.len()
}

/// A uuid with words around it, as in the client's own file names.
fn uuid_inside(component: &[u8]) -> bool {
    component.windows(36).position(is_uuid).is_some_and(|at| {
        let (before, behind) = (component.get(..at), component.get(at + 36..));
        before.is_some_and(|part| part.is_empty() || is_plain(part))
            && behind.is_some_and(|part| part.is_empty() || is_plain(part))
    })
}

fn is_tool_use_id(text: &[u8]) -> bool {
    text.strip_prefix(b"toolu_").is_some_and(|id| id.len() <= 32 && id.iter().all(u8::is_ascii_alphanumeric))
}

enum Kind {
    Word,
    ShortMixed,
    Random,
}

fn kind(piece: &[u8]) -> Kind {
    let letters = piece.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let digits = piece.iter().skip(letters).take_while(|byte| byte.is_ascii_digit()).count();
    let whole = letters + digits == piece.len();
    if whole && (letters == 0 || digits <= 4) && reads_as_words(piece.get(..letters).unwrap_or(&[])) {
        return Kind::Word;
    }
    let groups = piece.split(|byte| !byte.is_ascii_digit()).filter(|group| !group.is_empty()).count();
    if piece.len() <= SHORT && groups <= 2 {
        return Kind::ShortMixed;
    }
    Kind::Random
}

/// Lower, upper or camel case. Lone small letters between capitals are what chance makes, not people, but for the
/// odd "By" or "To".
fn reads_as_words(letters: &[u8]) -> bool {
    let humps = || letters.split(u8::is_ascii_uppercase);
    let lone = humps().filter(|hump| hump.len() == 1).count();
    let begins_alone = humps().next().is_some_and(|hump| hump.len() == 1);
    letters.len() <= 3 || !begins_alone && lone * 3 <= humps().filter(|hump| !hump.is_empty()).count()
}
