//! Both golden files in tests/golden: what must go, and what must stay.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use redaction::{mask, Care};
use std::path::Path;

fn rows(file: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(file);
    let text = std::fs::read_to_string(path).expect("the golden file");
    let known = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    known.map(|line| line.split('\t').map(unescaped).collect()).collect()
}

fn unescaped(cell: &str) -> String {
    let joined = cell.replace("{}", "");
    let mut out = String::new();
    let mut chars = joined.chars();
    while let Some(char) = chars.next() {
        out.push(match char {
            '\\' => match chars.next().expect("an escape") {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            },
            plain => plain,
        });
    }
    out
}

fn masked(text: &str) -> String {
    let mut out = Vec::new();
    mask(text.as_bytes(), Care::Full, &mut out);
    String::from_utf8(out).expect("UTF-8 stays UTF-8")
}

/// REQ-HOOKS-33: every secret goes under its rule's name, and a second pass changes nothing.
#[test]
fn every_golden_secret_is_masked() {
    for row in rows("secrets.tsv") {
        let [rule, secret, text] = row.as_slice() else { panic!("three cells: {row:?}") };
        let clean = masked(text);
        // Half of a long secret is one too.
        let part = if secret.len() > 24 { secret.len() / 2 } else { secret.len() };
        let kept =
            secret.as_bytes().windows(part).any(|part| clean.as_bytes().windows(part.len()).any(|at| at == part));
        assert!(!kept && clean.contains(&format!("[redacted:{rule}]")), "{text} -> {clean}");
        assert_eq!(masked(&clean), clean);
    }
}

/// What stands between ⟦ and ⟧ goes, one mark in its place; everything else stays to the letter.
#[test]
fn a_sentence_keeps_its_words_and_loses_its_secrets() {
    for row in rows("redaction.tsv") {
        let pieces: Vec<&str> = row.last().expect("a text").split(['⟦', '⟧']).collect();
        let clean = masked(&pieces.concat());
        let kept: Vec<&str> =
            pieces.iter().enumerate().map(|(at, piece)| if at % 2 == 0 { piece } else { MARK }).collect();
        assert_eq!(unnamed(&clean), unnamed(&kept.concat()), "{pieces:?}");
    }
}

const MARK: &str = "[redacted:x]";

/// `text` with every mark's rule taken out.
fn unnamed(text: &str) -> String {
    let mut pieces = text.split("[redacted:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + "[redacted" + &piece[piece.find(']').unwrap_or(0)..])
}
