//! Finds secrets in text and replaces each by `[redacted:<rule>]`: the one redactor of launcher and owner.
//!
//! Rules look at bytes, each in time linear to the text. All spans are found in the original text, merged, then replaced.
//! Which rule knows what: `tokens` issuers' formats, `shapes` key files and addresses, `commands` arguments of programs,
//! `headers` Authorization and Cookie, `keyed` values after telling names, `random` bare tokens, `tags` what the user
//! marked as private; `words` tells a secret from a word.

mod bytes;
mod commands;
mod fields;
mod headers;
mod judge;
mod keyed;
mod public;
mod random;
mod scan;
mod shapes;
mod statements;
mod tags;
mod tokens;
mod words;

pub use fields::{is_label, is_value};
pub use judge::{is_field_secret, tells};
pub use words::is_placeholder;

/// A stretch of bytes: where it begins and ends.
type Range = (usize, usize);

/// A stretch of text to be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: usize,
    end: usize,
    rule: &'static str,
    /// Of its rule's kind: an overlap is named after the most specific one.
    rank: u8,
}

/// How eagerly a text is masked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Care {
    /// Free text: every rule.
    Full,
    /// Ids, names and paths that things are told apart by: only issuers' tokens.
    IdsKept,
}

/// How many rules there are: issuers' formats, programs' options, and the forms that the other modules know.
pub const RULES: usize = tokens::RULES + commands::RULES + 24;

/// How a mark begins; behind it come the rule's name and a bracket.
const MARK: &[u8] = b"[redacted";
/// Bytes of a whole mark; names of rules are short.
const LONGEST_MARK: usize = 64;
/// Bytes at the end of a longer word that a window drops: what is left is long enough for its rule.
const LAST_WORD: usize = 1024;

/// What the rules have found in a text so far.
struct Spans<'t> {
    text: &'t [u8],
    list: Vec<Span>,
    /// Of what is looked for now; the lower, the more specific.
    rank: u8,
}

impl Spans<'_> {
    fn add(&mut self, start: usize, end: usize, rule: &'static str) {
        self.list.push(Span { start, end, rule, rank: self.rank });
    }

    /// An issuer's token, unless it is a piece of a public hash, key or certificate.
    fn issue(&mut self, token: Range, rule: &'static str) {
        if !public::is_public(self.text, token.0) {
            self.add(token.0, token.1, rule);
        }
    }

    /// Whether a head at `at` is part of a mark, or of something public, and names nothing.
    fn is_settled(&self, at: usize) -> bool {
        in_mark(self.text, at) || public::is_public(self.text, at)
    }
}

/// Appends `text` to `out` with each secret replaced. UTF-8 stays UTF-8.
///
/// Cost: linear; some 10 ns a byte of ordinary text.
pub fn mask(text: &[u8], care: Care, out: &mut Vec<u8>) {
    let mut done = 0;
    for span in merged(text, care) {
        let (start, end) = on_characters(text, span.start.max(done), span.end);
        out.extend_from_slice(bytes::part(text, done, start));
        replace(span.rule, out);
        done = end;
    }
    out.extend_from_slice(bytes::part(text, done, text.len()));
}

/// Whether `mask` would replace anything.
pub fn finds(text: &[u8], care: Care) -> bool {
    !spans(text, care).is_empty()
}

/// The masked start of `text`, `limit` bytes at most, cut between characters; only its first `window` bytes are looked at.
///
/// A secret that the window's end cuts in two may no longer look like one, so what follows the last white space there is
/// dropped; a mark is never cut in two either.
pub fn mask_cut(text: &[u8], limit: usize, window: usize) -> Vec<u8> {
    let seen = if text.len() > window { whole_words(bytes::part(text, 0, window)) } else { text };
    let mut clean = Vec::with_capacity(seen.len());
    mask(seen, Care::Full, &mut clean);
    if clean.len() > limit {
        let mark = bytes::position_back(&clean, limit, limit.saturating_sub(LONGEST_MARK), MARK);
        let torn = mark.filter(|mark| !bytes::part(&clean, *mark, limit).contains(&b']'));
        clean.truncate(torn.unwrap_or(limit));
    }
    clean.truncate(character_end(&clean));
    clean
}

/// Appends what stands in the place of a secret.
pub fn replace(rule: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(MARK);
    out.push(b':');
    out.extend_from_slice(rule.as_bytes());
    out.push(b']');
}

/// All that the rules find, the most specific ones first.
fn spans(text: &[u8], care: Care) -> Vec<Span> {
    let mut spans = Spans { text, list: Vec::new(), rank: 0 };
    if care == Care::IdsKept {
        scan::issued(text, &mut spans);
        spans.list.retain(|span| !bytes::before(text, span.start).is_ascii_alphanumeric());
        return spans.list;
    }
    tags::find(text, &mut spans);
    scan::places(text, &mut spans);
    scan::words(text, &mut spans);
    spans.list.retain(|span| span.start < span.end && !in_mark(text, span.start));
    spans.list
}

/// Disjoint spans in order; an overlap is named after its most specific rule.
fn merged(text: &[u8], care: Care) -> Vec<Span> {
    let mut spans = spans(text, care);
    spans.sort_by_key(|span| (span.start, span.end, span.rank));
    let mut whole: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match whole.last_mut().filter(|last| span.start < last.end) {
            Some(last) => {
                last.end = last.end.max(span.end);
                if span.rank < last.rank {
                    (last.rank, last.rule) = (span.rank, span.rule);
                }
            }
            None => whole.push(span),
        }
    }
    whole
}

/// Whether `at` lies in a mark of an earlier pass: masking twice must change nothing.
fn in_mark(text: &[u8], at: usize) -> bool {
    let near = bytes::part(text, at.saturating_sub(LONGEST_MARK), at + MARK.len());
    if !near.contains(&b'[') {
        return false;
    }
    let mark = bytes::position_back(text, (at + MARK.len()).min(text.len()), at.saturating_sub(LONGEST_MARK), MARK);
    mark.and_then(|mark| mark_end(text, mark)).is_some_and(|end| at < end)
}

/// Where the mark that begins at `start` ends: behind its bracket, or with a text that is cut there. None where
/// something else than a rule's name follows: what only looks like a mark hides nothing.
fn mark_end(text: &[u8], start: usize) -> Option<usize> {
    let colon = start + MARK.len();
    let name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let end = if bytes::byte(text, colon) == b':' { bytes::run_of(text, colon + 1, LONGEST_MARK, name) } else { colon };
    (end == text.len() || bytes::byte(text, end) == b']').then_some(end + 1)
}

/// The span extended to whole characters: a bounded run of bytes may stop inside one.
fn on_characters(text: &[u8], mut start: usize, mut end: usize) -> Range {
    let inside = |at: usize| bytes::byte(text, at) & 0xC0 == 0x80;
    while start > 0 && inside(start) {
        start -= 1;
    }
    while end < text.len() && inside(end) {
        end += 1;
    }
    (start, end)
}

/// `seen` up to its last white space; a last word longer than LAST_WORD loses so many bytes.
fn whole_words(seen: &[u8]) -> &[u8] {
    let floor = seen.len().saturating_sub(LAST_WORD);
    let word = bytes::run_back(seen, seen.len(), 0, |byte| !bytes::is_space(byte));
    let kept = if word == 0 { seen.len() } else { bytes::run_back(seen, word, 0, bytes::is_space) };
    let ends_blank = word == seen.len();
    bytes::part(
        seen,
        0,
        if ends_blank {
            seen.len()
        } else if kept >= floor && kept < seen.len() {
            kept
        } else {
            floor
        },
    )
}

/// Where the last whole character of `text` ends.
fn character_end(text: &[u8]) -> usize {
    let start = bytes::run_back(text, text.len(), text.len().saturating_sub(3), |byte| byte & 0xC0 == 0x80);
    let first = bytes::before(text, start);
    let length = match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        _ => return text.len(),
    };
    if text.len() + 1 - start < length {
        start - 1
    } else {
        text.len()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
