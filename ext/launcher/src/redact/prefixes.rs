//! Finds secrets by their form: issuers' prefixes, key blocks, credentials in URLs.

use super::{is_quote, is_space, issued, stretch, words, Span};

/// Prefix and the fewest bytes behind it that make it a key. Grouped by issuer, for whoever adds one.
#[rustfmt::skip] // one line an entry would hide the groups
const PREFIXES: &[(&[u8], usize)] = &[
    // model services
    (b"sk-", 16), (b"gsk_", 16), (b"xai-", 16), (b"pplx-", 16), (b"nvapi-", 16), (b"hf_", 16),
    (b"api_org_", 16), (b"r8_", 16),
    // code forges and registries
    (b"ghp_", 12), (b"gho_", 12), (b"ghu_", 12), (b"ghs_", 12), (b"ghr_", 12), (b"github_pat_", 8),
    (b"glpat-", 8), (b"gldt-", 8), (b"glft-", 8), (b"glsoat-", 8), (b"glrt-", 8), (b"glrtr-", 8),
    (b"glcbt-", 8), (b"glimt-", 8), (b"glptt-", 8), (b"glagent-", 8), (b"gloas-", 8), (b"glffct-", 8),
    (b"GR1348941", 8), (b"ATATT", 16), (b"ATCTT", 16), (b"ATBB", 16), (b"npm_", 16), (b"pypi-", 16),
    (b"rubygems_", 16), (b"cio", 32), (b"dckr_pat_", 8), (b"dckr_oat_", 8),
    // clouds
    (b"AKIA", 12), (b"ASIA", 12), (b"ABIA", 12), (b"ACCA", 12), (b"AROA", 12), (b"AGPA", 12), (b"AIDA", 12),
    (b"AIPA", 12), (b"ANPA", 12), (b"ANVA", 12), (b"A3T", 14), (b"ABSK", 16), (b"AIza", 20), (b"ya29.", 10),
    (b"1//0", 16), (b"GOCSPX-", 10), (b"APA91b", 32), (b"LTAI", 12), (b"dop_v1_", 16), (b"doo_v1_", 16),
    (b"dor_v1_", 16), (b"hvs.", 12), (b"hvb.", 12), (b"hvr.", 12), (b"dp.", 40), (b"pscale_", 16), (b"fm1", 40),
    (b"fm2", 40), (b"FlyV1", 16), (b"pul-", 40), (b"tskey-", 12), (b"dapi", 32), (b"sbp_", 16),
    (b"sb_secret_", 16),
    // chat, mail, payment, shops
    (b"xoxa-", 8), (b"xoxb-", 8), (b"xoxc-", 8), (b"xoxe-", 8), (b"xoxo-", 8), (b"xoxp-", 8), (b"xoxr-", 8),
    (b"xoxs-", 8), (b"xoxe.", 8), (b"xapp-", 8), (b"hooks.slack.com/", 20), (b"discord.com/api/webhooks/", 20),
    (b"discordapp.com/api/webhooks/", 20), (b"SG.", 20), (b"key-", 24), (b"pubkey-", 24), (b"sk_live_", 8),
    (b"sk_test_", 8), (b"rk_live_", 8), (b"rk_test_", 8), (b"rzp_live_", 14), (b"rzp_test_", 14), (b"pk_live_", 8), (b"pk_test_", 8), (b"whsec_", 16),
    (b"sq0csp-", 16), (b"sq0atp-", 16), (b"sq0idp-", 16), (b"EAAA", 48), (b"EZAK", 48), (b"EZTK", 48),
    (b"shpat_", 16), (b"shpss_", 16), (b"shpca_", 16), (b"shppa_", 16), (b"shpua_", 16), (b"AC", 32),
    (b"SK", 32), (b"AKC", 10),
    // others
    (b"eyJ", 8), (b"lin_api_", 16), (b"lin_oauth_", 16), (b"ntn_", 16), (b"figd_", 16), (b"figo_", 16),
    (b"figu_", 16), (b"figr_", 16), (b"glc_", 16), (b"glsa_", 16), (b"sntrys_", 16), (b"sntryu_", 16),
    (b"NRAK-", 16), (b"NRJS-", 16), (b"PMAK-", 16), (b"sl.", 60), (b"AGE-SECRET-KEY-", 16),
    (b"WPL_AP", 20), (b"amzn1.oa2-cs.v1.", 16),
    // password hashes: as good as the password to a patient reader
    (b"$2a$", 16), (b"$2b$", 16), (b"$2x$", 16), (b"$2y$", 16), (b"$apr1$", 16), (b"$argon2", 16),
    (b"$gy$", 16), (b"$1$", 16), (b"$5$", 16), (b"$6$", 16), (b"$7$", 16), (b"$y$", 16),
];

/// Which first two bytes some prefix has, hashed into 1024 bits: nearly every word is told apart by one look.
const BEGINNINGS: [u64; 16] = beginnings();

const fn beginning(first: u8, second: u8) -> (usize, u32) {
    let hash = (first as usize * 61 + second as usize) % 1024;
    (hash / 64, (hash % 64) as u32)
}

#[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
const fn beginnings() -> [u64; 16] {
    let mut bits = [0; 16];
    let mut at = 0;
    while at < PREFIXES.len() {
        let (word, bit) = beginning(PREFIXES[at].0[0], PREFIXES[at].0[1]);
        bits[word] |= 1 << bit;
        at += 1;
    }
    bits
}

const AUTHORITY_MAX: usize = 2048;

pub(super) fn find(text: &[u8], spans: &mut Vec<Span>) {
    let mut at = 0;
    let mut before = b' ';
    while let Some(byte) = text.get(at) {
        let shape = match byte {
            b':' => url_credentials(text, at).or_else(|| issued::around(text, at)),
            b'.' | b'Q' | b'T' => issued::around(text, at),
            b'B' => key_block(text, at),
            b'P' if starts(text, at, b"PuTTY-User-Key-File") => {
                Some(Span { start: at, end: text.len(), rule: "private-key" })
            }
            _ => None,
        };
        // A prefix counts at the beginning of a word only: "task-..." holds no "sk-...".
        let found = if before.is_ascii_alphanumeric() {
            shape
        } else {
            shape.or_else(|| prefixed(text, at)).or_else(|| issued::at_word(text, at))
        };
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
    let (first, second) = (*text.get(at)?, *text.get(at + 1)?);
    let (word, bit) = beginning(first, second);
    if BEGINNINGS.get(word).is_none_or(|bits| bits >> bit & 1 == 0) {
        return None;
    }
    let (prefix, least) = PREFIXES.iter().find(|(prefix, _)| starts(text, at, prefix))?;
    let behind = at + prefix.len();
    // '.' belongs to JWT and SendGrid keys; the sentence's own full stop does not.
    let keep = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'%' | b'~' | b'$' | b',')
    };
    // The two-letter prefixes are Twilio's: 32 letters and digits in one piece, or else half the dictionary fits.
    let pair = prefix.len() == 2;
    let enough = stretch(text, behind, *least, |byte| byte.is_ascii_alphanumeric() || !pair && keep(byte));
    if enough - behind < *least {
        return None; // before all of the run is read: each of its words may have such a prefix
    }
    let end = stretch(text, enough, usize::MAX, keep);
    let stops = text.get(behind..end)?.iter().rev().take_while(|byte| b".,".contains(byte)).count();
    let end = end - stops;
    if end - behind < *least {
        return None;
    }
    Some(Span { start: at, end, rule: if *prefix == b"eyJ" { "jwt" } else { "key" } })
}

/// `://user:password@`, also without user or without password; `git@` alone names no secret.
///
/// The credentials end at the last '@' before a slash; in schemes that are no web addresses (databases, queues) at the
/// last '@' of the whole URL, for people put passwords with slashes there unescaped.
fn url_credentials(text: &[u8], at: usize) -> Option<Span> {
    if !starts(text, at, b"://") {
        return None;
    }
    let start = at + 3;
    let stop = |byte: u8| is_space(byte) || is_quote(byte) || matches!(byte, b'<' | b'>' | b'\\');
    let web = scheme_ends_with(text, at, &[b"http", b"https", b"ssh", b"git", b"file", b"ws", b"wss"]);
    let end = stretch(text, start, AUTHORITY_MAX, |byte| !(stop(byte) || web && matches!(byte, b'/' | b'?' | b'#')));
    let authority = text.get(start..end)?;
    let at_sign = authority.iter().rposition(|byte| *byte == b'@')?;
    let userinfo = authority.get(..at_sign)?;
    let name = !userinfo.contains(&b':') && words::is_word_of_language(userinfo);
    // postgres://user:password@host, as pages write it
    let said = userinfo.iter().position(|byte| *byte == b':').and_then(|colon| userinfo.get(colon + 1..));
    let told = said.is_some_and(|password| !password.is_empty() && words::is_placeholder(password));
    let secret = !userinfo.is_empty() && !name && !told;
    secret.then_some(Span { start, end: start + at_sign, rule: "url-credentials" })
}

fn scheme_ends_with(text: &[u8], end: usize, schemes: &[&[u8]]) -> bool {
    let before = text.get(end.saturating_sub(8)..end).unwrap_or(&[]);
    let start = before.iter().rposition(|byte| !byte.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    let scheme = before.get(start..).unwrap_or(&[]);
    schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// From `BEGIN … PRIVATE KEY` to the end of its `END` line, or of the text if that was cut off.
fn key_block(text: &[u8], at: usize) -> Option<Span> {
    if !starts(text, at, b"BEGIN ") {
        return None;
    }
    let title_end = stretch(text, at, 64, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let title = text.get(at..title_end)?;
    position(title, 0, b"PRIVATE KEY").or(position(title, 0, b"SECRET"))?;
    let footer = position(text, title_end, b"-----END").and_then(|footer| position(text, footer + 8, b"-----"));
    let end = footer.map_or(text.len(), |dashes| dashes + 5);
    Some(Span { start: at, end, rule: "private-key" })
}

fn position(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    text.get(from..)?.windows(what.len()).position(|part| part == what).map(|at| from + at)
}
