//! Walks a text once and wakes the rules whose first bytes it meets.
//!
//! Three bytes, hashed, tell at nearly every place that no rule begins there.

use crate::{headers, keyed, shapes, tokens, Found};

const BITS: usize = 4096;
/// What may begin with three bytes.
const ISSUED: u8 = 1;
const OTHER: u8 = 2;
const SHAPE: u8 = 4;
const HEADER: u8 = 8;
const NAME: u8 = 16;
/// How specific rules are, besides those of `all`.
pub(crate) const COMMANDS: u8 = 4;
pub(crate) const RANDOM: u8 = 7;

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
fn places(text: &[u8]) -> impl Iterator<Item = (usize, u8)> + '_ {
    let places = text.windows(3).enumerate();
    places.filter_map(|(at, three)| {
        let [first, second, third] = three else { return None };
        let wakes = *WAKES.get(hash(*first, *second, *third))?;
        (wakes != 0).then_some((at, wakes))
    })
}

/// Finds issuers' tokens alone.
pub(crate) fn issued(text: &[u8], found: &mut Found) {
    let mut state = tokens::State::new();
    for (at, wakes) in places(text) {
        if wakes & ISSUED != 0 {
            found.rank = 1;
            tokens::find(text, at, &mut state, found);
        }
        if wakes & OTHER != 0 {
            found.rank = 2;
            tokens::find_other(text, at, &mut state, found);
        }
    }
}

/// Finds all but commands and bare tokens.
pub(crate) fn all(text: &[u8], found: &mut Found) {
    let mut state = tokens::State::new();
    let (mut shape, mut header, mut name) =
        (shapes::State::default(), headers::State::default(), keyed::State::default());
    for (at, wakes) in places(text) {
        if wakes & ISSUED != 0 {
            found.rank = 1;
            tokens::find(text, at, &mut state, found);
        }
        if wakes & OTHER != 0 {
            found.rank = 2;
            tokens::find_other(text, at, &mut state, found);
        }
        if wakes & SHAPE != 0 {
            found.rank = 3;
            shapes::find(text, at, &mut shape, found);
        }
        if wakes & HEADER != 0 {
            found.rank = 5;
            headers::find(text, at, &mut header, found);
        }
        if wakes & NAME != 0 {
            found.rank = 6;
            keyed::find(text, at, &mut name, found);
        }
    }
}
