//! Walks a text twice, by its bytes and by its words, and wakes the rules that begin there.
//!
//! Three bytes, hashed, tell at nearly every place that none does; of a word its two ends and its length.

use crate::bytes::part;
use crate::{commands, headers, keyed, random, shapes, statements, tokens, Spans};

const BITS: usize = 4096;
/// What may begin with three bytes.
const ISSUED: u8 = 1;
const OTHER: u8 = 2;
const SHAPE: u8 = 4;
const HEADER: u8 = 8;
const NAME: u8 = 16;
/// How specific rules are, besides those of `places`.
const COMMANDS: u8 = 4;
const RANDOM: u8 = 7;

/// For each hash what may begin there.
static WAKES: [u8; BITS] = wakes();

/// Of three bytes in whatever case.
const fn hash(first: u8, second: u8, third: u8) -> usize {
    ((first as usize | 32) * 961 + (second as usize | 32) * 31 + (third as usize | 32)) % BITS
}

#[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
const fn with(mut table: [u8; BITS], starts: &[&[u8; 3]], what: u8) -> [u8; BITS] {
    let mut at = 0;
    while at < starts.len() {
        table[hash(starts[at][0], starts[at][1], starts[at][2])] |= what;
        at += 1;
    }
    table
}

#[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
const fn wakes() -> [u8; BITS] {
    let mut table = [0; BITS];
    let mut rule = 0;
    while let Some(heads) = tokens::heads(rule) {
        let mut head = 0;
        while head < heads.len() {
            table[hash(heads[head][0], heads[head][1], heads[head][2])] |= ISSUED;
            head += 1;
        }
        rule += 1;
    }
    let table = with(table, tokens::OTHERS, OTHER);
    let table = with(table, shapes::STARTS, SHAPE);
    let table = with(table, headers::STARTS, HEADER);
    with(table, keyed::STARTS, NAME)
}

/// The places where something may begin, and what.
fn woken(text: &[u8]) -> impl Iterator<Item = (usize, u8)> + '_ {
    let places = text.windows(3).enumerate();
    places.filter_map(|(at, three)| {
        let [first, second, third] = three else { return None };
        let wakes = *WAKES.get(hash(*first, *second, *third))?;
        (wakes != 0).then_some((at, wakes))
    })
}

/// Finds the token that may begin at `at`: an issuer's, or another's.
#[inline]
fn tokens_at(text: &[u8], at: usize, wakes: u8, state: &mut tokens::State, spans: &mut Spans) {
    if wakes & ISSUED != 0 {
        spans.rank = 1;
        tokens::find(text, at, state, spans);
    }
    if wakes & OTHER != 0 {
        spans.rank = 2;
        tokens::find_other(text, at, state, spans);
    }
}

/// Finds issuers' tokens alone.
pub(crate) fn issued(text: &[u8], spans: &mut Spans) {
    let mut state = tokens::State::new();
    for (at, wakes) in woken(text) {
        tokens_at(text, at, wakes, &mut state, spans);
    }
}

/// Finds all but commands and bare tokens.
pub(crate) fn places(text: &[u8], spans: &mut Spans) {
    let mut state = tokens::State::new();
    let (mut shape, mut header, mut name) =
        (shapes::State::default(), headers::State::default(), keyed::State::default());
    for (at, wakes) in woken(text) {
        tokens_at(text, at, wakes, &mut state, spans);
        if wakes & SHAPE != 0 {
            spans.rank = 3;
            shapes::find(text, at, &mut shape, spans);
        }
        if wakes & HEADER != 0 {
            spans.rank = 5;
            headers::find(text, at, &mut header, spans);
        }
        if wakes & NAME != 0 {
            spans.rank = 6;
            keyed::find(text, at, &mut name, spans);
        }
    }
}

/// For each hash whether a command or a statement may begin with such a word.
static NAMED: [bool; BITS] = named();
/// What words are made of.
static IN_WORD: [bool; 256] = in_word();

/// Of a word in whatever case.
const fn word_hash(first: u8, last: u8, length: usize) -> usize {
    ((first as usize | 32) * 961 + (last as usize | 32) * 31 + length * 7) % BITS
}

#[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
const fn named() -> [bool; BITS] {
    let mut table = [false; BITS];
    let lists = [commands::PROGRAMS, statements::FIRST];
    let mut list = 0;
    while list < lists.len() {
        let (mut at, mut start) = (0, 0);
        while at < lists[list].len() {
            if lists[list][at] == b' ' {
                if at > start {
                    table[word_hash(lists[list][start], lists[list][at - 1], at - start)] = true;
                }
                start = at + 1;
            }
            at += 1;
        }
        list += 1;
    }
    table
}

#[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
const fn in_word() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
}

fn is_in_word(byte: u8) -> bool {
    IN_WORD.get(byte as usize).is_some_and(|inside| *inside)
}

/// Whether a command or a statement may begin with `word`; `HTTPBasicAuth` and the like are told by their end.
fn may_be_named(word: &[u8]) -> bool {
    let (Some(first), Some(last)) = (word.first(), word.last()) else { return false };
    let named = NAMED.get(word_hash(*first, *last, word.len())).is_some_and(|named| *named);
    named || word.len() >= 9 && part(word, word.len() - 4, word.len()).eq_ignore_ascii_case(b"auth")
}

/// Finds commands, statements and bare tokens.
pub(crate) fn words(text: &[u8], spans: &mut Spans) {
    let mut command = commands::State::default();
    let mut done = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = part(text, at, text.len());
        let end = at + rest.iter().take_while(|byte| is_in_word(**byte)).count();
        let word = part(text, at, end);
        if may_be_named(word) {
            spans.rank = COMMANDS;
            commands::find(text, at, end, &mut command, spans);
        }
        if word.len() >= random::CORE {
            spans.rank = RANDOM;
            random::find(text, at, end, &mut done, spans);
        }
        at = end.max(at) + 1;
    }
}
