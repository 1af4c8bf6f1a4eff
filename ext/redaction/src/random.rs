//! Finds random tokens that have no name and no prefix.
//!
//! A run of random base62 changes character class (upper, lower, digit) at six of ten steps; names do at two or three.
//! Kept on purpose: hexadecimal (hashes of git and lock files, digests, UUIDs), what `public` knows, tool-use ids, Nix
//! paths. Hexadecimal goes too where a name says that it is a key: `OPENAI_KEY=`.

use crate::bytes::{before, byte, is_word, part, position_back, run, run_back, run_of, trimmed_end};
use crate::public::{in_base64, public_end};
use crate::Spans;

/// What every such token holds in one piece: base64 puts another character at one in 32.
pub(crate) const CORE: usize = 16;
/// Bytes that a run may extend beyond its core on either side.
const REACH: usize = 256;
const SHORTEST: usize = 20;
const AWS: usize = 40;
const HASH_REACH: usize = 128;
/// Bytes before a run that hold its value's begin and its name.
const KEY_REACH: usize = 224;
const STORE: &[u8] = b"/nix/store/";
/// Ids that clients give to calls and messages.
const KEPT: [&[u8]; 3] = [b"toolu_", b"msg_", b"req_"];
/// Words before _KEY that make it a name of something stored, not a secret.
const KEYS_OF_RECORDS: [&[u8]; 43] = [
    b"PRIMARY", b"SORT", b"CACHE", b"PARTITION", b"FOREIGN", b"PUBLIC", b"PUB", b"SITE", b"PUBLISHABLE", b"ROW",
    b"RECORD", b"IDEMPOTENCY", b"OBJECT", b"S3", b"FILE", b"LOOKUP", b"INDEX", b"GROUP", b"GROUPING", b"MAP",
    b"ROUTING", b"HASH", b"UNIQUE", b"RANGE", b"ITEM", b"BUCKET", b"COMMIT", b"BUILD", b"IMAGE", b"REDIS", b"QUEUE",
    b"LOCK", b"DEDUPLICATION", b"DEDUP", b"DICT", b"SHARD", b"COMPOSITE", b"NATURAL", b"SURROGATE", b"BLOB",
    b"MESSAGE", b"EVENT", b"REGISTRY",
];

fn in_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+_-".contains(&byte)
}

/// Looks at the letters and digits in the word from `at` to `end`; nothing before `done` is looked at.
pub(crate) fn find(text: &[u8], mut at: usize, end: usize, done: &mut usize, spans: &mut Spans) {
    while at < end {
        let stop = run(text, at, |byte| byte.is_ascii_alphanumeric());
        if stop - at >= CORE && at >= *done {
            if let Some((start, to, rule)) = secret_run(text, at, stop, *done) {
                let public = public_end(text, at, *done);
                if public == 0 {
                    spans.add(start, to, rule);
                }
                *done = public.max(to);
            }
        }
        at = stop + 1;
    }
}

type Secret = Option<(usize, usize, &'static str)>;

/// The secret around the core from `start` to `end`; nothing before `floor` is looked at, which belongs to another.
fn secret_run(text: &[u8], start: usize, end: usize, floor: usize) -> Secret {
    let core = part(text, start, end);
    if let Some(stop) = discord_end(text, core, end) {
        return Some((start, stop, "discord-token"));
    }
    if is_twilio(core) {
        return Some((start, end, "twilio-key"));
    }
    if is_name(core) {
        return None;
    }
    let (left, right) = (left_edge(text, start, floor), right_edge(text, end));
    // A word and a blank stand before nearly all hashes, and no sign that assigns: the search is worth saving.
    let spoken = before(text, left) == b' ' && left > 1 && before(text, left - 1).is_ascii_alphanumeric();
    if !spoken && position_back(text, left, left.saturating_sub(KEY_REACH), b"_KEY").is_some() {
        if let Some((from, to)) = named_key(text, left, right, floor) {
            return Some((from, to, "keyed-value"));
        }
    }
    let run = part(text, left, right);
    if run.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-') {
        return hex_secret(text, start, end, run);
    }
    if KEPT.iter().any(|kept| run.starts_with(kept)) || part(text, 0, left).ends_with(STORE) {
        return None;
    }
    if is_random(core) || is_random(trimmed_end(run, b"=")) {
        let (from, to) = over_slashes(text, left, right, floor);
        return Some((from, to, "high-entropy"));
    }
    aws_secret(text, start, end)
}

/// `M…`, `.`, six characters, `.`, 27 or more.
fn discord_end(text: &[u8], core: &[u8], end: usize) -> Option<usize> {
    let fits = matches!(core.first(), Some(b'M' | b'N' | b'O')) && (23..=28).contains(&core.len());
    let in_part = |byte: u8| is_word(byte) || byte == b'-';
    let middle = run(text, end + 1, in_part);
    let last = run(text, middle + 1, in_part);
    let dots = byte(text, end) == b'.' && middle == end + 7 && byte(text, middle) == b'.';
    (fits && dots && last >= middle + 28).then_some(last)
}

fn is_twilio(core: &[u8]) -> bool {
    let body = || part(core, 2, core.len()).iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    core.len() == 34 && (core.starts_with(b"AC") || core.starts_with(b"SK")) && body()
}

fn left_edge(text: &[u8], at: usize, floor: usize) -> usize {
    run_back(text, at, floor.max(at.saturating_sub(REACH)), in_run)
}

fn right_edge(text: &[u8], at: usize) -> usize {
    let end = run_of(text, at, REACH, in_run);
    run_of(part(text, 0, at + REACH), end, 2, |byte| byte == b'=')
}

/// The few tokens that are hexadecimal and have a shape of their own; all other such runs are kept.
fn hex_secret(text: &[u8], start: usize, end: usize, run: &[u8]) -> Secret {
    let hex = |at: usize, count: usize| {
        let digits = part(text, at, at + count);
        digits.len() == count && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let (dot, hyphen) = (|at: usize| byte(text, at) == b'.', |at: usize| byte(text, at) == b'-');
    let mailgun =
        hex(start, 32) && hyphen(start + 32) && hex(start + 33, 8) && hyphen(start + 41) && hex(start + 42, 8);
    if run.len() == 50 && mailgun {
        return Some((start, start + 50, "mailgun-key"));
    }
    let infisical = run.len() == 24 && part(text, 0, start).ends_with(b"st.");
    if infisical && dot(end) && hex(end + 1, 32) && dot(end + 33) && hex(end + 34, 32) {
        let inside = before(text, start - 3).is_ascii_alphanumeric();
        return (!inside).then_some((start - 3, end + 66, "infisical-token"));
    }
    None
}

fn class(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        b'0'..=b'9' => 3,
        _ => 4,
    }
}

/// Changes of character class along `run`.
fn steps(run: &[u8]) -> usize {
    run.windows(2).filter(|pair| matches!(pair, [a, b] if class(*a) != class(*b))).count()
}

fn numbers(run: &[u8]) -> usize {
    run.split(|byte| !byte.is_ascii_digit()).filter(|number| !number.is_empty()).count()
}

/// Digits in one place at most and one capital in four letters: nearly all runs.
fn is_name(run: &[u8]) -> bool {
    let capitals = || run.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    numbers(run) < 2 && capitals() * 100 < 35 * run.len()
}

fn is_random(run: &[u8]) -> bool {
    if run.len() < SHORTEST || is_name(run) {
        return false;
    }
    let (upper, lower) = (run.iter().any(u8::is_ascii_uppercase), run.iter().any(u8::is_ascii_lowercase));
    if upper && lower {
        return steps(run) * 100 >= 42 * (run.len() - 1);
    }
    // One case and digits; hexadecimal runs were kept before, and constants have underscores.
    if upper {
        return numbers(run) >= 3; // base32, licence keys
    }
    numbers(run) >= 2 && steps(run) * 4 >= run.len() - 1
}

fn holds_all_kinds(run: &[u8]) -> bool {
    [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit].iter().all(|kind| run.iter().any(kind))
}

/// Forty characters of base64: a common length, so they must be well mixed.
fn aws_secret(text: &[u8], start: usize, end: usize) -> Secret {
    let left = run_back(text, start, start.saturating_sub(AWS), in_base64);
    let right = run_of(text, end, AWS, in_base64);
    let run = part(text, left, right);
    (run.len() == AWS && holds_all_kinds(run) && steps(run) >= 14).then_some((left, right, "aws-secret-key"))
}

/// The value of a setting such as OPENAI_KEY around the run, be it hexadecimal.
fn named_key(text: &[u8], left: usize, right: usize, floor: usize) -> Option<(usize, usize)> {
    let in_value = |byte: u8| in_base64(byte) || b"_-".contains(&byte);
    let begin = run_back(text, left, floor.max(left.saturating_sub(HASH_REACH)), in_value);
    if !is_key_name(name_before(part(text, begin.saturating_sub(KEY_REACH), begin))) {
        return None;
    }
    let end = run_of(text, right, REACH, |byte| in_value(byte) || byte == b'=');
    let suffix = byte(text, end) == b'.' && byte(text, end + 1).is_ascii_alphanumeric();
    let mut folders = part(text, begin, end).split(|byte| *byte == b'/').rev().skip(1);
    let is_file = b"/~".contains(&byte(text, begin)) || suffix;
    (!is_file && !folders.any(is_path_word)).then_some((begin, end))
}

/// The upper-case name that `text` assigns to at its end: X_KEY=, X_KEY: ", name: X_KEY and value:.
fn name_before(text: &[u8]) -> &[u8] {
    const ASSIGNING: &[u8] = b" \t:=>\"'`\\)]";
    let mut rest = trimmed_end(text, ASSIGNING);
    if !part(text, rest.len(), text.len()).iter().any(|byte| b":=".contains(byte)) {
        return &[];
    }
    let field = rest.len().saturating_sub(5);
    if part(rest, field, rest.len()).eq_ignore_ascii_case(b"value") {
        rest = trimmed_end(part(rest, 0, field), b" \t:=>\"'`\\)],\r\n");
    }
    let start =
        run_back(rest, rest.len(), 0, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    part(rest, start, rest.len())
}

fn is_key_name(name: &[u8]) -> bool {
    let Some(owner) = name.strip_suffix(b"_KEY") else { return false };
    let last = owner.rsplit(|byte| *byte == b'_').next().unwrap_or(owner);
    last.is_empty() || !KEYS_OF_RECORDS.contains(&last)
}

/// Extends the span over slashes that belong to base64, not to a path.
fn over_slashes(text: &[u8], mut left: usize, mut right: usize, floor: usize) -> (usize, usize) {
    while left > floor && before(text, left) == b'/' {
        let begin = left_edge(text, left - 1, floor);
        if begin == left - 1 || is_path_word(part(text, begin, left - 1)) {
            break;
        }
        left = begin;
    }
    while byte(text, right) == b'/' {
        let finish = right_edge(text, right + 1);
        if finish == right + 1 || is_path_word(part(text, right + 1, finish)) {
            break;
        }
        right = finish;
    }
    (left, right)
}

fn is_path_word(part: &[u8]) -> bool {
    let [upper, lower, digit] =
        [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit].map(|kind| part.iter().any(kind));
    match part.len() {
        0..=3 => !upper,
        4..=8 => !lower || !(upper || digit),
        _ => !digit && !upper,
    }
}
