//! Finds issuers' tokens by their prefix or another sign of their form, wherever they stand.
//!
//! Where an issuer documents a length, a rule takes that or more, so that a longer token of a later scheme leaves no tail
//! behind. The formats are facts that issuers publish; one line each, grouped by issuer.

use crate::bytes::{
    before, byte, is_edge, is_space, is_word, lower_starts, part, position, run, run_back, run_of, starts,
};
use crate::{Range, Spans};

type Class = fn(u8) -> bool;

/// What stands behind a token's head. Each piece takes all that it can: none of them has to give anything back.
enum Piece {
    /// At least so many bytes of a class.
    Some(Class, usize),
    /// Exactly so many.
    Just(Class, usize),
    Sign(&'static [u8]),
    Uuid,
    /// The pieces, if all of them are there.
    Maybe(&'static [Piece]),
    /// The first of these that is there.
    One(&'static [&'static [Piece]]),
    /// No letter, digit or underscore comes next.
    Edge,
}

use Piece::{Edge, Just, Maybe, One, Sign, Some as Least, Uuid};

struct Token {
    rule: &'static str,
    heads: &'static [&'static [u8]],
    body: &'static [Piece],
}

const fn token(rule: &'static str, heads: &'static [&'static [u8]], body: &'static [Piece]) -> Token {
    Token { rule, heads, body }
}

const ALNUM: Class = |byte| byte.is_ascii_alphanumeric();
const WORD: Class = |byte| is_word(byte) || byte == b'-';
const HEX: Class = |byte| byte.is_ascii_hexdigit();
const UPPER: Class = |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit();
const LOWER: Class = |byte| byte.is_ascii_lowercase();
const DIGIT: Class = |byte| byte.is_ascii_digit();
const BASE64: Class = |byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
const BASE64_WORD: Class = |byte| BASE64(byte) || b"_-".contains(&byte);
const DOTTED: Class = |byte| WORD(byte) || byte == b'.';
const CRYPT: Class = |byte| byte.is_ascii_alphanumeric() || b"./$=,+".contains(&byte);

#[rustfmt::skip] // one line an entry; pieces one below the other would hide the groups
const TOKENS: &[Token] = &[
    // clouds
    token("aws-key-id", &[b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"AROA", b"AGPA", b"AIDA", b"AIPA", b"ANPA", b"ANVA"], &[Just(UPPER, 16)]),
    token("aws-key-id", &[b"A3T"], &[Just(UPPER, 17)]),
    token("aws-bedrock-key", &[b"ABSK"], &[Just(ALNUM, 40), Least(BASE64, 0)]),
    token("google-api-key", &[b"AIza"], &[Just(WORD, 35)]),
    token("google-oauth-token", &[b"ya29."], &[Least(DOTTED, 20)]),
    token("google-oauth-secret", &[b"GOCSPX-"], &[Least(WORD, 20)]),
    token("google-refresh-token", &[b"1//0"], &[Least(WORD, 20)]),
    token("firebase-key", &[b"AAAA"], &[Just(WORD, 7), Sign(b":APA91b"), Least(WORD, 100)]),
    token("digitalocean-token", &[b"dop_v1_", b"doo_v1_", b"dor_v1_"], &[Least(HEX, 40)]),
    token("databricks-token", &[b"dapi"], &[Just(HEX, 32), Maybe(&[Sign(b"-"), Just(DIGIT, 1)])]),
    token("vault-token", &[b"hvs.", b"hvb.", b"hvr."], &[Least(WORD, 20)]),
    token("doppler-token", &[b"dp.pt.", b"dp.st.", b"dp.ct.", b"dp.sa.", b"dp.scim.", b"dp.audit."],
        &[Maybe(&[Least(WORD, 1), Sign(b".")]), Least(ALNUM, 40)]),
    token("planetscale-token", &[b"pscale_tkn_", b"pscale_pw_", b"pscale_oauth_"], &[Least(|byte| DOTTED(byte) || byte == b'=', 30)]),
    token("fly-token", &[b"fm1", b"fm2", b"FlyV1 fm1", b"FlyV1 fm2"], &[Maybe(&[Just(|byte| b"ra".contains(&byte), 1)]), Sign(b"_"), Least(BASE64_WORD, 40)]),
    token("pulumi-token", &[b"pul-"], &[Just(HEX, 40)]),
    token("cloudflare-key", &[b"v1.0-"], &[Just(HEX, 24), Sign(b"-"), Least(HEX, 100)]),
    token("tailscale-key", &[b"tskey-"], &[Least(LOWER, 1), Sign(b"-"), Least(WORD, 10)]),
    token("supabase-key", &[b"sbp_", b"sb_secret_"], &[Least(WORD, 20)]),
    token("k3s-token", &[b"K10"], &[Least(HEX, 32), Sign(b"::"), Maybe(&[Least(WORD, 1), Sign(b":")]), Least(DOTTED, 8)]),
    token("alibaba-key-id", &[b"LTAI"], &[Least(ALNUM, 16)]),
    // code forges and registries
    token("github-token", &[b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"], &[Least(WORD, 20)]),
    token("gitlab-token", &[b"glpat-", b"gldt-", b"glft-", b"glsoat-", b"glrt-", b"glrtr-", b"glcbt-", b"glptt-", b"glagent-", b"gloas-", b"glimt-", b"glffct-"],
        &[Least(WORD, 20), Maybe(&[Sign(b"."), Least(WORD, 1), Maybe(&[Sign(b"."), Least(WORD, 1)])])]),
    token("gitlab-token", &[b"GR1348941"], &[Least(WORD, 20)]),
    token("bitbucket-token", &[b"ATBB", b"ATCTT3", b"ATATT3"], &[Least(WORD, 20), Least(|byte| byte == b'=', 0), Least(ALNUM, 0)]),
    token("npm-token", &[b"npm_"], &[Least(ALNUM, 30)]),
    token("pypi-token", &[b"pypi-"], &[Least(WORD, 40)]),
    token("rubygems-key", &[b"rubygems_"], &[Least(HEX, 40)]),
    token("crates-io-token", &[b"cio"], &[Just(ALNUM, 32)]),
    token("docker-token", &[b"dckr_pat_", b"dckr_oat_"], &[Least(WORD, 20)]),
    token("artifactory-token", &[b"AKC"], &[Least(ALNUM, 60)]),
    // model services
    token("anthropic-key", &[b"sk-ant-"], &[Least(WORD, 16)]),
    token("openai-key", &[b"sk-proj-", b"sk-svcacct-", b"sk-admin-", b"sk-None-"], &[Least(WORD, 16)]),
    token("openai-key", &[b"sk-"], &[Least(ALNUM, 32)]),
    token("openrouter-key", &[b"sk-or-"], &[Least(WORD, 20)]),
    token("langfuse-key", &[b"sk-lf-"], &[Uuid]),
    token("helicone-key", &[b"sk-helicone-"], &[Maybe(&[Just(LOWER, 2), Sign(b"-")]), One(&[
        &[Uuid], &[Least(ALNUM, 6), Sign(b"-"), Least(ALNUM, 6), Sign(b"-"), Least(ALNUM, 6), Maybe(&[Sign(b"-"), Least(ALNUM, 6)])],
    ])]),
    token("huggingface-token", &[b"hf_", b"api_org_"], &[Least(ALNUM, 30)]),
    token("groq-key", &[b"gsk_"], &[Least(ALNUM, 30)]),
    token("xai-key", &[b"xai-"], &[Least(ALNUM, 40)]),
    token("perplexity-key", &[b"pplx-"], &[Least(ALNUM, 30)]),
    token("replicate-token", &[b"r8_"], &[Least(ALNUM, 30)]),
    token("nvidia-key", &[b"nvapi-"], &[Least(WORD, 40)]),
    token("firecrawl-key", &[b"fc-"], &[Just(HEX, 32), Edge]),
    token("context7-key", &[b"ctx7sk-"], &[Uuid]),
    // chat, mail, payment, shops
    token("slack-token", &[b"xapp-"], &[Just(DIGIT, 1), Sign(b"-"), Least(WORD, 10)]),
    token("stripe-key", &[b"sk_live_", b"sk_test_", b"rk_live_", b"rk_test_"], &[Least(ALNUM, 16)]),
    token("stripe-webhook-secret", &[b"whsec_"], &[Least(BASE64, 20)]),
    token("square-token", &[b"sq0atp-", b"sq0csp-", b"sq0idp-"], &[Least(WORD, 22)]),
    token("square-token", &[b"EAAA"], &[Least(WORD, 56)]),
    token("razorpay-key", &[b"rzp_live_", b"rzp_test_"], &[Least(ALNUM, 14)]),
    token("easypost-key", &[b"EZAK", b"EZTK"], &[Just(ALNUM, 54)]),
    token("plaid-token", &[b"access-production-", b"access-sandbox-", b"access-development-"], &[Uuid]),
    token("sendgrid-key", &[b"SG."], &[Least(WORD, 16), Sign(b"."), Least(WORD, 16)]),
    token("mailgun-key", &[b"key-", b"pubkey-"], &[Just(HEX, 32)]),
    token("shopify-token", &[b"shpat_", b"shpca_", b"shppa_", b"shpss_", b"shpua_"], &[Just(HEX, 32)]),
    token("hubspot-token", &[b"pat-na", b"pat-eu", b"pat-ap"], &[Just(DIGIT, 1), Sign(b"-"), Uuid]),
    token("amazon-token", &[b"amzn.mws."], &[Uuid]),
    token("amazon-secret", &[b"amzn1.oa2-cs.v1."], &[Least(HEX, 64)]),
    // others
    token("linear-key", &[b"lin_api_", b"lin_oauth_"], &[Least(ALNUM, 30)]),
    token("notion-token", &[b"secret_", b"ntn_"], &[Least(ALNUM, 40)]),
    token("grafana-token", &[b"glc_", b"glsa_"], &[Least(|byte| BASE64(byte) || byte == b'_', 20)]),
    token("sentry-token", &[b"sntrys_", b"sntryu_"], &[Least(|byte| BASE64(byte) || byte == b'_', 20)]),
    token("newrelic-key", &[b"NRAK-"], &[Just(UPPER, 27)]),
    token("newrelic-key", &[b"NRJS-"], &[Just(HEX, 19)]),
    token("postman-key", &[b"PMAK-"], &[Just(HEX, 24), Sign(b"-"), Just(HEX, 34)]),
    token("figma-token", &[b"figd_", b"figo_", b"figu_", b"figr_"], &[Least(WORD, 30)]),
    token("airtable-token", &[b"pat"], &[Just(ALNUM, 14), Sign(b"."), Just(HEX, 64)]),
    token("dropbox-token", &[b"sl.B", b"sl.u"], &[Maybe(&[Sign(b".")]), Least(WORD, 60)]),
    token("mapbox-secret", &[b"sk.eyJ"], &[Least(WORD, 1), Sign(b"."), Least(WORD, 1)]),
    token("onepassword-token", &[b"ops_eyJ"], &[Least(WORD, 20)]),
    token("onepassword-key", &[b"A3-"], &[Just(UPPER, 6), Sign(b"-"),
        One(&[&[Just(UPPER, 11)], &[Just(UPPER, 6), Sign(b"-"), Just(UPPER, 5)]]),
        Sign(b"-"), Just(UPPER, 5), Sign(b"-"), Just(UPPER, 5), Sign(b"-"), Just(UPPER, 5)]),
    token("age-secret-key", &[b"AGE-SECRET-KEY-1"], &[Least(UPPER, 40)]),
    token("axiom-token", &[b"xaat-", b"xapt-"], &[Uuid]),
    token("linkedin-secret", &[b"WPL_AP"], &[Just(DIGIT, 1), Sign(b"."), Just(ALNUM, 16), Sign(b"."), Least(BASE64, 6)]),
    // password hashes: as good as the password to a patient reader
    token("crypt-hash", &[b"$2a$", b"$2b$", b"$2x$", b"$2y$"], &[Just(DIGIT, 2), Sign(b"$"), Least(|byte| byte.is_ascii_alphanumeric() || b"./".contains(&byte), 30)]),
    token("crypt-hash", &[b"$apr1$", b"$argon2i$", b"$argon2d$", b"$argon2id$", b"$gy$"], &[Least(CRYPT, 20)]),
];

/// For each first byte the rules with such a head, a bit each.
static FIRSTS: [u128; 256] = firsts();

#[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
const fn firsts() -> [u128; 256] {
    let mut bits = [0; 256];
    let mut at = 0;
    while at < TOKENS.len() {
        let mut head = 0;
        while head < TOKENS[at].heads.len() {
            bits[TOKENS[at].heads[head][0] as usize] |= 1 << at;
            head += 1;
        }
        at += 1;
    }
    bits
}

/// The end of `pieces` at `at`, if all of them are there.
fn end_of(pieces: &[Piece], text: &[u8], at: usize) -> Option<usize> {
    pieces.iter().try_fold(at, |at, piece| match piece {
        Least(class, least) => Some(run(text, at, class)).filter(|end| *end >= at + least),
        Just(class, count) => Some(run_of(text, at, *count, class)).filter(|end| *end == at + count),
        Sign(sign) => starts(text, at, sign).then_some(at + sign.len()),
        Uuid => is_uuid(part(text, at, at + 36)).then_some(at + 36),
        Maybe(pieces) => Some(end_of(pieces, text, at).unwrap_or(at)),
        One(ways) => ways.iter().find_map(|pieces| end_of(pieces, text, at)),
        Edge => (!is_word(byte(text, at))).then_some(at),
    })
}

pub(crate) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Up to where rules with a run of any length have read in vain.
#[derive(Default)]
struct Read {
    jwt: usize,
    openai: usize,
}

/// Up to where each rule has taken the text.
pub(crate) struct State {
    done: [usize; TOKENS.len()],
    read: Read,
}

impl State {
    pub const fn new() -> Self {
        State { done: [0; TOKENS.len()], read: Read { jwt: 0, openai: 0 } }
    }
}

/// How many there are, with those of `other`.
pub(crate) const RULES: usize = TOKENS.len() + 17;

/// Takes the tokens of the table that begin at `at`.
pub(crate) fn find(text: &[u8], at: usize, state: &mut State, spans: &mut Spans) {
    let begin = text.get(at..).and_then(|rest| rest.first_chunk::<3>());
    let mut rules = FIRSTS.get(byte(text, at) as usize).copied().unwrap_or(0);
    while rules != 0 {
        let rule = rules.trailing_zeros() as usize;
        rules &= rules - 1;
        let Some((token, done)) = TOKENS.get(rule).zip(state.done.get_mut(rule)) else { return };
        let here = |head: &&&[u8]| at >= *done && head.first_chunk() == begin && starts(text, at, head);
        let head = token.heads.iter().find(here);
        if let Some(end) = head.and_then(|head| end_of(token.body, text, at + head.len())) {
            *done = end;
            if token.rule != "firecrawl-key" || is_edge(text, at) {
                spans.issue((at, end), token.rule);
            }
        }
    }
}

/// Takes the token that stands at `at`, or around it, and that no table tells.
pub(crate) fn find_other(text: &[u8], at: usize, state: &mut State, spans: &mut Spans) {
    if let Some((token, rule)) = other(text, at, &mut state.read) {
        spans.issue(token, rule);
    }
}

/// The first three bytes of every head, each of `TOKENS` in its place.
pub(crate) const fn heads(rule: usize) -> Option<&'static [&'static [u8]]> {
    if rule < TOKENS.len() {
        #[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
        return Some(TOKENS[rule].heads);
    }
    None
}

/// What `other` looks at: three bytes, in whatever case.
pub(crate) const OTHERS: &[&[u8; 3]] = &[
    b"eyJ", b"sk-", b"0Q~", b"1Q~", b"2Q~", b"3Q~", b"4Q~", b"5Q~", b"6Q~", b"7Q~", b"8Q~", b"9Q~", b"AZD", b"-us",
    b":AA", b".at", b"NRA", b"xox", b"hoo", b"sof", b"dis", b"_au", b"_pa", b"key", b"sig", b"$1$", b"$5$", b"$6$",
    b"$7$", b"$y$", b"AP0", b"AP1", b"AP2", b"AP3", b"AP4", b"AP5", b"AP6", b"AP7", b"AP8", b"AP9", b"APA", b"APB",
    b"APC", b"APD", b"APE", b"APF",
];

/// Tokens that a table can't tell: with a sign in their middle, or only behind another's name.
fn other(text: &[u8], at: usize, read: &mut Read) -> Option<(Range, &'static str)> {
    match byte(text, at) {
        b'e' if at >= read.jwt && starts(text, at, b"eyJ") => jwt(text, at, read),
        b's' if at >= read.openai && starts(text, at, b"sk-") => openai(text, at, read),
        b'0'..=b'9' if starts(text, at + 1, b"Q~") => azure_client(text, at + 1),
        b'A' if starts(text, at, b"AZDO") => azure_devops(text, at),
        b'A' if starts(text, at, b"AP") => artifactory(text, at),
        b'-' if starts(text, at, b"-us") => mailchimp(text, at),
        b':' if starts(text, at, b":AA") => telegram(text, at),
        b'.' if starts(text, at, b".atlasv1.") => terraform(text, at),
        b'N' if starts(text, at, b"NRAL") => newrelic(text, at),
        b'x' | b'X' if lower_starts(text, at, b"xox") => slack(text, at),
        b'h' | b'H' if lower_starts(text, at, b"hooks.slack.com/") => slack_webhook(text, at),
        b's' if starts(text, at, b"softlayer.com/") => softlayer(text, at),
        b'd' if starts(text, at, b"discord") => discord_webhook(text, at),
        b'_' => npm_setting(text, at),
        b'k' | b'K' if lower_starts(text, at, b"key=") => azure_storage(text, at),
        b's' | b'S' if lower_starts(text, at, b"sig") => signature(text, at),
        b'$' if matches!(text.get(at..at + 3), Some([_, b'1' | b'5' | b'6' | b'7' | b'y', b'$'])) => crypt(text, at),
        _ => None,
    }
}

type Issued = Option<(Range, &'static str)>;

/// Three parts in base64, the last one missing or empty in some.
fn jwt(text: &[u8], at: usize, read: &mut Read) -> Issued {
    let in_part = |byte: u8| WORD(byte) || byte == b'=';
    let head = run(text, at + 3, in_part);
    let body = run(text, head + 1, in_part);
    if byte(text, head) != b'.' || head < at + 7 || body < head + 5 {
        read.jwt = if byte(text, head) == b'.' { at + 1 } else { head };
        return None;
    }
    let signed = byte(text, body) == b'.';
    let end = if signed { run(text, body + 1, |byte| in_part(byte) || b".+/".contains(&byte)) } else { body };
    read.jwt = end;
    Some(((at, end), "jwt"))
}

/// `sk-`, and somewhere behind it the issuer's name in base64.
fn openai(text: &[u8], at: usize, read: &mut Read) -> Issued {
    let end = run(text, at + 3, WORD);
    read.openai = end;
    position(part(text, 0, end), at + 3, b"T3BlbkFJ").map(|_| ((at, end), "openai-key"))
}

/// What `class` takes around the sign at `at`: so many bytes before it, at least so many behind it.
fn around(text: &[u8], at: usize, sign: usize, class: Class, head: usize, body: usize) -> Option<Range> {
    let start = at.checked_sub(head)?;
    let end = run(text, at + sign, class);
    (part(text, start, at).iter().all(|byte| class(*byte)) && end >= at + sign + body).then_some((start, end))
}

fn azure_client(text: &[u8], at: usize) -> Issued {
    let class: Class = |byte| DOTTED(byte) || byte == b'~';
    around(text, at, 2, class, 4, 31)
        .filter(|_| before(text, at).is_ascii_digit())
        .map(|token| (token, "azure-client-secret"))
}

/// `AP`, a digit, then letters and digits; a name has no number in it.
fn artifactory(text: &[u8], at: usize) -> Issued {
    let opened = at == 0 || b" \t\r\n=:\"'".contains(&before(text, at));
    let end = run(text, at, ALNUM);
    let mixed = |kind: fn(&u8) -> bool| part(text, at + 3, end).iter().any(kind);
    let fits = opened && end >= at + 24 && mixed(u8::is_ascii_digit) && mixed(u8::is_ascii_lowercase);
    fits.then_some(((at, end), "artifactory-token"))
}

fn azure_devops(text: &[u8], at: usize) -> Issued {
    let (start, _) = around(text, at, 4, ALNUM, 76, 4)?;
    Some(((start, at + 8), "azure-devops-token"))
}

fn mailchimp(text: &[u8], at: usize) -> Issued {
    let class: Class = |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let end = run_of(text, at + 3, 2, DIGIT);
    let start = at.checked_sub(32).filter(|start| part(text, *start, at).iter().all(|byte| class(*byte)))?;
    (end > at + 3).then_some(((start, end), "mailchimp-key"))
}

/// A bot's number, then its key.
fn telegram(text: &[u8], at: usize) -> Issued {
    let start = run_back(text, at, at.saturating_sub(10), DIGIT);
    let end = run(text, at + 3, WORD);
    (at - start >= 8 && end >= at + 35).then_some(((start, end), "telegram-token"))
}

fn terraform(text: &[u8], at: usize) -> Issued {
    let start = at.checked_sub(14).filter(|start| part(text, *start, at).iter().all(|byte| ALNUM(*byte)))?;
    let end = run(text, at + 9, WORD);
    (end >= at + 49).then_some(((start, end), "terraform-token"))
}

fn newrelic(text: &[u8], at: usize) -> Issued {
    let start = at.checked_sub(36).filter(|start| part(text, *start, at).iter().all(|byte| HEX(*byte)))?;
    Some(((start, at + 4), "newrelic-key"))
}

/// `xoxb-`, `xoxe.xoxp-`: in whatever case.
fn slack(text: &[u8], at: usize) -> Issued {
    let kind = byte(text, at + 3).to_ascii_lowercase();
    let nested = lower_starts(text, at + 4, b".xoxb") || lower_starts(text, at + 4, b".xoxp");
    let hyphen = at + if nested { 9 } else { 4 };
    let end = run(text, hyphen + 1, WORD);
    let fits = b"abceoprs".contains(&kind) && byte(text, hyphen) == b'-' && end >= hyphen + 11;
    fits.then_some(((at, end), "slack-token"))
}

fn slack_webhook(text: &[u8], at: usize) -> Issued {
    let path = at + b"hooks.slack.com/".len();
    let kind =
        [&b"services/"[..], b"workflows/", b"triggers/"].into_iter().find(|kind| lower_starts(text, path, kind))?;
    let start = path + kind.len();
    let end = run(text, start, |byte| byte.is_ascii_alphanumeric() || b"_/".contains(&byte));
    (end >= start + 20).then_some(((start, end), "slack-webhook"))
}

/// `softlayer.com/rest/v3.1/` and a key in hexadecimal.
fn softlayer(text: &[u8], at: usize) -> Issued {
    let path = at + b"softlayer.com/".len();
    let kind = [&b"soap/v3"[..], b"rest/v3", b"xmlrpc/v3"].into_iter().find(|kind| starts(text, path, kind))?;
    let version = path + kind.len();
    let start = version + if starts(text, version, b".1/") { 3 } else { 1 };
    let end = run(text, start, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (before(text, start) == b'/' && end == start + 64).then_some(((start, end), "softlayer-key"))
}

fn discord_webhook(text: &[u8], at: usize) -> Issued {
    let host = at + if starts(text, at, b"discordapp") { 10 } else { 7 };
    let path = b".com/api/webhooks/";
    let start = host + path.len();
    let slash = run(text, start, DIGIT);
    let end = run(text, slash + 1, WORD);
    let fits = starts(text, host, path) && slash > start && byte(text, slash) == b'/' && end >= slash + 31;
    fits.then_some(((start, end), "discord-webhook"))
}

/// `_authToken=`, `_auth =`, `_password=` of an npmrc.
fn npm_setting(text: &[u8], at: usize) -> Issued {
    let before = before(text, at);
    let name = [&b"_authtoken"[..], b"_auth", b"_password"].into_iter().find(|name| lower_starts(text, at, name))?;
    let sign = run(text, at + name.len(), is_space);
    if !(at == 0 || is_space(before) || before == b':') || byte(text, sign) != b'=' {
        return None;
    }
    let start = run(text, sign + 1, is_space);
    let start = start + usize::from(b"\"'".contains(&byte(text, start)));
    let end = run(text, start, |byte| !is_space(byte) && !b"\"'".contains(&byte));
    (end >= start + 6).then_some(((start, end), "npm-auth"))
}

fn azure_storage(text: &[u8], at: usize) -> Issued {
    let owner = |name: &[u8]| at.checked_sub(name.len()).is_some_and(|start| lower_starts(text, start, name));
    if !(owner(b"account") || owner(b"sharedaccess")) {
        return None;
    }
    let end = run(text, at + 4, BASE64);
    (end >= at + 24).then_some(((at + 4, end), "azure-storage-key"))
}

/// `?sig=`, `&X-Amz-Signature=`.
fn signature(text: &[u8], at: usize) -> Issued {
    let in_value = |byte: u8| BASE64_WORD(byte) || byte == b'%';
    let sas = lower_starts(text, at, b"sig=");
    let start = at + if sas { 4 } else { 10 };
    let prefix = [&b"x-amz-"[..], b"x-goog-"]
        .into_iter()
        .find(|prefix| at.checked_sub(prefix.len()).is_some_and(|start| lower_starts(text, start, prefix)));
    let sign = before(text, at - prefix.filter(|_| !sas).map_or(0, <[u8]>::len));
    let opened = b"?&".contains(&sign) || sas && sign == b';';
    if !opened || !sas && !lower_starts(text, at, b"signature=") {
        return None;
    }
    let end = run(text, start, in_value);
    (end >= start + 20).then_some(((start, end), if sas { "azure-sas" } else { "signature" }))
}

/// `$6$…` of /etc/shadow, where only a quote or a colon tells it from a shell's variable.
fn crypt(text: &[u8], at: usize) -> Issued {
    if !b":'\"".contains(&before(text, at)) {
        return None;
    }
    let end = run(text, at + 3, CRYPT);
    (end >= at + 23).then_some(((at, end), "crypt-hash"))
}
