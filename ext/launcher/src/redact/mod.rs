//! Redacts what the launcher spools: the spool must not hold a secret (invariant 10).
//!
//! The owner redacts by exact rules; this scanner runs only when the owner is away and masks a superset, by
//! shapes and words, in one linear pass each. In doubt it masks. tests/golden/secrets.tsv holds both ends together.

mod assignments;
mod commands;
mod fields;
mod headers;
mod issued;
mod prefixes;
mod runs;
mod tools;
mod values;
mod words;

pub use assignments::{is_password_word, names_a_secret};
pub use fields::{is_name, is_value};
pub use words::is_placeholder;

/// A stretch of text to be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: usize,
    end: usize,
    rule: &'static str,
}

/// How eagerly a text is masked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Care {
    /// Free text: every rule.
    Full,
    /// Ids and paths that the event is told apart by: only what can be nothing but a secret.
    IdsKept,
}

/// Appends `text` to `out` with each secret replaced by `[redacted:<rule>]`. UTF-8 stays UTF-8.
///
/// Cost: linear; some 50 ns a byte on one core of a small virtual machine.
pub fn mask(text: &[u8], care: Care, out: &mut Vec<u8>) {
    let mut spans = Vec::new();
    prefixes::find(text, &mut spans);
    if care == Care::Full {
        assignments::find(text, &mut spans);
        commands::find(text, &mut spans);
        runs::find(text, &mut spans);
    }
    spans.sort_unstable_by_key(|span: &Span| (span.start, usize::MAX - span.end));
    let mut done = 0;
    for span in spans {
        if span.end <= done {
            continue; // inside of what is masked already
        }
        if span.start >= done {
            out.extend_from_slice(text.get(done..span.start).unwrap_or(&[]));
            replace(span.rule, out);
        }
        done = span.end;
    }
    out.extend_from_slice(text.get(done..).unwrap_or(&[]));
}

/// Appends what stands in the place of a secret.
pub fn replace(rule: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[redacted:");
    out.extend_from_slice(rule.as_bytes());
    out.push(b']');
}

/// The end of the stretch of bytes from `at` on that satisfy `keep`, at most `limit` bytes long.
fn stretch(text: &[u8], at: usize, limit: usize, mut keep: impl FnMut(u8) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or(&[]);
    at + rest.iter().take(limit).take_while(|byte| keep(**byte)).count()
}

/// Whether `what`, in whatever case, stands at `at`.
fn lower_starts(text: &[u8], at: usize, what: &[u8]) -> bool {
    text.get(at..at + what.len()).is_some_and(|part| part.eq_ignore_ascii_case(what))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
