//! Secrets that show themselves: issuers' prefixes, key blocks, credentials in URLs.

use super::{is_quote, is_space, stretch, Span};

/// Prefix and the fewest bytes behind it that make it a key. Grouped by issuer, for whoever adds one.
const PREFIXES: &[(&[u8], usize)] = &[
    // Anthropic, OpenAI and other model services
    (b"sk-", 16),
    (b"gsk_", 16),
    (b"xai-", 16),
    (b"pplx-", 16),
    (b"nvapi-", 16),
    (b"hf_", 16),
    (b"r8_", 16),
    // code forges and registries
    (b"ghp_", 12),
    (b"gho_", 12),
    (b"ghu_", 12),
    (b"ghs_", 12),
    (b"ghr_", 12),
    (b"github_pat_", 8),
    (b"glpat-", 8),
    (b"gldt-", 8),
    (b"glft-", 8),
    (b"glsoat-", 8),
    (b"glrt-", 8),
    (b"glcbt-", 8),
    (b"glimt-", 8),
    (b"glptt-", 8),
    (b"glagent-", 8),
    (b"gloas-", 8),
    (b"GR1348941", 8),
    (b"npm_", 16),
    (b"pypi-", 16),
    (b"rubygems_", 16),
    (b"dckr_pat_", 8),
    (b"ATATT", 16),
    (b"ATBB", 16),
    // clouds
    (b"AKIA", 12),
    (b"ASIA", 12),
    (b"ABIA", 12),
    (b"ACCA", 12),
    (b"AROA", 12),
    (b"AIDA", 12),
    (b"A3T", 14),
    (b"AIza", 20),
    (b"ya29.", 10),
    (b"GOCSPX-", 10),
    (b"LTAI", 12),
    (b"dop_v1_", 16),
    (b"doo_v1_", 16),
    (b"dor_v1_", 16),
    (b"hvs.", 12),
    (b"hvb.", 12),
    (b"tskey-", 12),
    (b"dapi", 32),
    (b"sbp_", 16),
    // chat, mail, payment, shops
    (b"xoxa-", 8),
    (b"xoxb-", 8),
    (b"xoxe-", 8),
    (b"xoxe.", 8),
    (b"xoxo-", 8),
    (b"xoxp-", 8),
    (b"xoxr-", 8),
    (b"xoxs-", 8),
    (b"xapp-", 8),
    (b"hooks.slack.com/services/", 8),
    (b"SG.", 20),
    (b"key-", 24),
    (b"sk_live_", 8),
    (b"sk_test_", 8),
    (b"rk_live_", 8),
    (b"rk_test_", 8),
    (b"pk_live_", 8),
    (b"whsec_", 16),
    (b"sq0csp-", 16),
    (b"sq0atp-", 16),
    (b"shpat_", 16),
    (b"shpss_", 16),
    (b"shpca_", 16),
    (b"shppa_", 16),
    (b"AC", 32),
    (b"SK", 32),
    (b"AKC", 10),
    // others
    (b"eyJ", 10),
    (b"lin_api_", 16),
    (b"ntn_", 16),
    (b"figd_", 16),
    (b"glsa_", 16),
    (b"PMAK-", 16),
    (b"AGE-SECRET-KEY-", 16),
];

const AUTHORITY_MAX: usize = 2048;

pub(super) fn find(text: &[u8], spans: &mut Vec<Span>) {
    let mut at = 0;
    let mut before = b' ';
    while let Some(byte) = text.get(at) {
        let found = match byte {
            b':' => url_credentials(text, at),
            b'B' => key_block(text, at),
            b'P' if starts(text, at, b"PuTTY-User-Key-File") => {
                Some(Span { start: at, end: text.len(), rule: "private-key" })
            }
            _ if !before.is_ascii_alphanumeric() => None,
            _ => {
                before = *byte;
                at += 1;
                continue;
            }
        };
        // A prefix counts at the beginning of a word only: "task-…" holds no "sk-…".
        let found = found.or_else(|| if before.is_ascii_alphanumeric() { None } else { prefixed(text, at) });
        match found {
            Some(span) => {
                spans.push(span);
                at = span.end.max(at + 1);
                before = b' ';
            }
            None => {
                before = *byte;
                at += 1;
            }
        }
    }
}

fn starts(text: &[u8], at: usize, what: &[u8]) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(what))
}

fn prefixed(text: &[u8], at: usize) -> Option<Span> {
    let (prefix, least) = PREFIXES.iter().find(|(prefix, _)| starts(text, at, prefix))?;
    let behind = at + prefix.len();
    // '.' belongs to JWT and SendGrid keys; a sentence's own full stop is swallowed with them, which does no harm.
    let keep = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'%' | b'~')
    };
    let end = stretch(text, behind, usize::MAX, keep);
    let plain = stretch(text, behind, usize::MAX, |byte| byte.is_ascii_alphanumeric()) - behind;
    // The two-letter prefixes are Twilio's: 32 letters and digits in one piece, or else half the dictionary fits.
    let long_enough = if prefix.len() == 2 { plain >= *least } else { end - behind >= *least };
    long_enough.then_some(Span { start: at, end, rule: if *prefix == b"eyJ" { "jwt" } else { "key" } })
}

/// `://user:password@`, also without user or without password; `git@` alone names no secret.
fn url_credentials(text: &[u8], at: usize) -> Option<Span> {
    if !starts(text, at, b"://") {
        return None;
    }
    let start = at + 3;
    let stop = |byte: u8| is_space(byte) || is_quote(byte) || matches!(byte, b'/' | b'?' | b'#' | b'<' | b'>' | b'\\');
    let end = stretch(text, start, AUTHORITY_MAX, |byte| !stop(byte));
    let authority = text.get(start..end)?;
    let at_sign = authority.iter().rposition(|byte| *byte == b'@')?;
    let userinfo = authority.get(..at_sign)?;
    (!userinfo.is_empty() && userinfo != b"git").then_some(Span {
        start,
        end: start + at_sign,
        rule: "url-credentials",
    })
}

/// From `BEGIN … PRIVATE KEY` to the end of its `END` line, or of the text if that was cut off.
fn key_block(text: &[u8], at: usize) -> Option<Span> {
    if !starts(text, at, b"BEGIN ") {
        return None;
    }
    let title_end = stretch(text, at, 64, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let title = text.get(at..title_end)?;
    if !contains(title, b"PRIVATE KEY") && !contains(title, b"SECRET") {
        return None;
    }
    let end = match position(text, title_end, b"-----END") {
        Some(footer) => match position(text, footer + 8, b"-----") {
            Some(dashes) => dashes + 5,
            None => text.len(),
        },
        None => text.len(),
    };
    Some(Span { start: at, end, rule: "private-key" })
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    position(text, 0, what).is_some()
}

fn position(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    text.get(from..)?.windows(what.len()).position(|part| part == what).map(|at| from + at)
}
