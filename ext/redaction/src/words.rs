//! Distinguishes credentials from ordinary words.
//!
//! A person typed a password, a machine drew a token; a sentence about either is neither. These tests look at one value
//! and the text next to it, never at a name: `keyed` asks them after a name was found.

use crate::bytes::{byte, is_any_word, is_blank, is_line_end, is_space, is_word, part, run, trimmed_end};
use crate::{mark_end, MARK};

/// Words with a space before, between and behind them, and how long those are that begin with each letter: nearly every
/// other word is told apart by one look.
pub(crate) struct List {
    words: &'static [u8],
    lengths: [u32; 32],
}

/// The index and bit of a word in `List::lengths`.
const fn place(word: &[u8]) -> (usize, usize) {
    match word {
        [] => (0, 0),
        [first, ..] => ((*first & 31) as usize, if word.len() > 31 { 31 } else { word.len() }),
    }
}

#[allow(clippy::indexing_slicing)] // evaluated by the compiler, which would stop at an error
pub(crate) const fn list(words: &'static [u8]) -> List {
    let mut lengths = [0; 32];
    let (mut at, mut start) = (0, 0);
    while at < words.len() {
        if words[at] == b' ' || words[at] == b'\n' {
            if at > start {
                let bit = if at - start > 31 { 31 } else { at - start };
                lengths[(words[start] & 31) as usize] |= 1 << bit;
            }
            start = at + 1;
        }
        at += 1;
    }
    List { words, lengths }
}

/// Values that stand for a secret or say something of one.
static PLACEHOLDERS: List = list(
    " none null nil true false undefined nan str string int integer bytes bool boolean optional any object text void \
required missing invalid empty unset expired include omit same-origin bearer basic token secret password passwd pwd \
pass key auth credentials credential changeme example placeholder redacted masked hidden self value name mandatory \
needed yes no on off weak strong wrong incorrect changed rotated revoked disabled enabled inherit authentication \
authorization authenticated header headers scheme schemes tokens keys secrets passwords digest apikey jwt unknown \
default generated encrypted hashed plaintext prompt stdin vault keychain mismatch valid todo tbd erforderlich \
notwendig abgelaufen fehlt ungültig leer keine geheim obligatoire obligatoria obligatorio requerido requerida \
caducado "
        .as_bytes(),
);
/// YOUR_API_KEY, <access-token>: every part is one of these.
static YOUR_TOKEN: List = list(
    b" your my the some a an insert put replace enter paste access api apikey auth bearer client user id session refresh \
personal service admin github gitlab slack stripe openai anthropic base64 encoded secret token key jwt password passwd \
credential credentials value string name here goes me with actual real new example placeholder ",
);
static SENTENCE: List = list(
    b" must required invalid enter please cannot should forgot forgotten missing optional empty characters password \
passwords token tokens bitte eingeben passwort kennwort your ",
);
/// Behind a word and a hyphen.
static UNITS: List = list(
    b" bit bits byte bytes char chars character characters digit digits encoded signed compliant based hashed encrypted \
style compatible formatted like only long second seconds minute minutes hour hours day days week weeks month months \
year years letter letters ",
);
/// Before a number, and behind one.
static TRADE: List = list(
    b" int uint float str bytes char varchar sha md rs hs es ps base rfc utf aes argon oauth ipv http x p v ed tls ",
);
static SHORT_UNITS: List = list(b" ms s m h d min sec k kb mb gb b % x th st nd rd day days ");
static TAGS: List = list(b" vault Ref Sub GetAtt ImportValue secret env_var reference 0 1 ");

const LONGEST_PLACEHOLDER: usize = 64;
const LONGEST_URL: usize = 512;
/// Letters; a longer run in one case must at least read like a word to pass for one.
const LONGEST_WORD: usize = 20;
/// Bytes behind a value that tell a sentence from a line of settings.
pub(crate) const AFTER: usize = 64;

/// Whether `list` holds `word` in whatever case.
pub(crate) fn listed(list: &List, word: &[u8]) -> bool {
    let (first, length) = place(word);
    let may = list.lengths.get(first).is_some_and(|lengths| lengths >> length & 1 == 1);
    may && list.words.split(|byte| is_space(*byte)).any(|entry| entry.eq_ignore_ascii_case(word))
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

/// How a value begins that only points at a secret.
const POINTERS: [&[u8]; 15] = [
    b"${", b"$(", b"%(", b"{{", b"((", b"process.env", b"os.environ", b"os.getenv", b"getenv", b"env.", b"secrets.",
    b"vault:", b"file:", b"</", b"<|",
];

/// Whether `value` only points at a secret (a variable, a template) or was redacted before.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    let behind = part(value, 1, value.len());
    match byte(value, 0) {
        b'%' => {
            let name = run(value, 1, |byte| byte.is_ascii_alphabetic() || byte == b'_');
            let format = b"sdrvq".contains(&byte(value, 1)) && !is_word(byte(value, 2));
            name > 1 && byte(value, name) == b'%' || format || value.starts_with(b"%(")
        }
        b'{' if byte(value, run(value, 1, |byte| byte.is_ascii_alphabetic() || b"_.".contains(&byte))) == b'}' => true,
        b'<' if byte(value, 1).is_ascii_alphabetic() => true,
        b'!' => listed(&TAGS, behind),
        b'$' if is_variable(trimmed_end(behind, b";,)]}\"'")) => true,
        b'[' if value.starts_with(MARK) => mark_end(value, 0).is_some(),
        _ => POINTERS.iter().any(|begin| value.starts_with(begin)),
    }
}

/// A variable and nothing more: "$uperSecret1!" is a password.
fn is_variable(name: &[u8]) -> bool {
    let upper = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
    let whole = name.iter().all(|byte| upper(byte) || byte.is_ascii_digit());
    name.first().is_some_and(upper) && whole
        || !name.is_empty() && name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
}

/// Whether `value` is a placeholder for a secret or a word about one: `YOUR_TOKEN`, `required`.
pub fn is_placeholder(value: &[u8]) -> bool {
    let all = |sign: u8| value.len() >= 3 && value.iter().all(|byte| *byte == sign);
    let empty = || !value.iter().any(|byte| is_any_word(*byte) && *byte != b'_');
    let bare = || trimmed_end(value, b")]}>.:?!,;");
    is_reference(value) || all(b'x') || all(b'X') || empty() || listed(&PLACEHOLDERS, bare()) || is_your_token(value)
}

/// YOUR_API_KEY, <access-token>, yourTokenHere.
fn is_your_token(value: &[u8]) -> bool {
    let mut any = false;
    value.len() <= LONGEST_PLACEHOLDER
        && pieces(value).all(|piece| {
            any = true;
            listed(&YOUR_TOKEN, piece)
        })
        && any
}

/// Words of an identifier in whatever case: `API`, `Token`, `here2`.
fn pieces(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let large = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let mut at = 0;
    std::iter::from_fn(move || {
        at = run(value, at, |byte| !byte.is_ascii_alphanumeric());
        let start = at;
        let capital = byte(value, at).is_ascii_uppercase();
        at = if capital && !small(byte(value, at + 1)) { run(value, at, large) } else { run(value, at + 1, small) };
        value.get(start..at).filter(|piece| !piece.is_empty())
    })
}

/// Whether `value` is a word of a language, or several joined by hyphens: no digit, no odd capitals.
pub(crate) fn is_word_of_language(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| b"/_.-".contains(byte));
    parts.all(|part| !part.is_empty() && part.iter().all(|byte| is_letter(*byte)) && reads_as_word(part))
}

fn reads_as_word(letters: &[u8]) -> bool {
    let hump = |pair: &&[u8]| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase());
    let humps = letters.windows(2).filter(hump).count();
    let capitals = letters.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    if humps > 2 || humps > 0 && capitals * 100 > 34 * letters.len() {
        return false;
    }
    if letters.len() < LONGEST_WORD || !letters.is_ascii() {
        return true;
    }
    let vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    let consonants = letters.split(vowel).map(<[u8]>::len).max().unwrap_or(0);
    consonants <= 6 && letters.iter().filter(|byte| vowel(byte)).count() * 4 >= letters.len()
}

/// Whether `value` is a number, date, unit or trade name with a number: 256-bit, HS256-signed, 15m, sha256, v1.2.
pub(crate) fn is_compound(value: &[u8]) -> bool {
    if let Some(at) = value.iter().rposition(|byte| *byte == b'-') {
        let (head, unit) = (part(value, 0, at), part(value, at + 1, value.len()));
        if !head.is_empty() && head.iter().all(|byte| is_any_word(*byte)) && listed(&UNITS, unit) {
            return true;
        }
    }
    let numeric = |byte: u8| byte.is_ascii_digit() || b".,:-".contains(&byte);
    if byte(value, 0).is_ascii_digit() {
        let tail = part(value, run(value, 0, numeric), value.len());
        return tail.is_empty() || listed(&SHORT_UNITS, tail);
    }
    is_trade_name(value)
}

/// `sha-256`, `TLS1.2`, `ed25519`: a name, a number, three letters at most.
fn is_trade_name(value: &[u8]) -> bool {
    if value.eq_ignore_ascii_case(b"md5sum") {
        return true;
    }
    let name = run(value, 0, |byte| byte.is_ascii_alphabetic());
    let start = name + usize::from(byte(value, name) == b'-');
    let digits = |at: usize| run(value, at, |byte| byte.is_ascii_digit());
    let mut end = digits(start);
    if end == start || !listed(&TRADE, part(value, 0, name)) {
        return false;
    }
    while byte(value, end) == b'.' && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    let tail = part(value, end, value.len());
    tail.len() <= 3 && tail.iter().all(u8::is_ascii_alphabetic)
}

/// Whether `value` is an address that holds neither a password nor a key.
pub(crate) fn is_plain_url(value: &[u8]) -> bool {
    if value.len() > LONGEST_URL || !byte(value, 0).is_ascii_lowercase() {
        return false;
    }
    let scheme = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+.-".contains(&byte);
    let sign = run(value, 0, scheme);
    let host = run(value, sign + 3, |byte| is_any_word(byte) || b".-".contains(&byte));
    if part(value, sign, sign + 3) != b"://" || host == sign + 3 {
        return false;
    }
    let port = run(value, host + 1, |byte| byte.is_ascii_digit());
    let end = if byte(value, host) == b':' && port > host + 1 { port } else { host };
    let path = run(value, end + 1, |byte| is_any_word(byte) || b"./~-".contains(&byte));
    let whole = end == value.len() || byte(value, end) == b'/' && path == value.len();
    whole && !has_long_mixed(value)
}

/// Whether 16 characters or more that could be a key stand in a row, with a digit behind letters alone.
fn has_long_mixed(value: &[u8]) -> bool {
    value.split(|byte| !is_any_word(*byte) && *byte != b'-').any(|run| {
        let last = part(run, run.len().saturating_sub(16), run.len());
        let first = part(run, 0, run.len().saturating_sub(15));
        let ahead = last.iter().find(|byte| !byte.is_ascii_alphabetic() && !b"_-".contains(byte));
        run.len() >= 16 && (first.iter().any(u8::is_ascii_digit) || ahead.is_some_and(u8::is_ascii_digit))
    })
}

/// Whether quoted text of several words speaks of secrets ("Enter your password") and is none.
pub(crate) fn is_sentence(quoted: &[u8]) -> bool {
    let words = || quoted.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    quoted.contains(&b' ') && words().nth(1).is_some() && words().any(|word| listed(&SENTENCE, word))
}

/// Whether nobody would write `value` in a sentence: digits among letters, odd capitals, padding.
pub(crate) fn looks_drawn(value: &[u8]) -> bool {
    let bare = trimmed_end(value, b".,:;?!)");
    if is_placeholder(bare) || is_compound(bare) || is_word_of_language(bare) {
        return false;
    }
    bare.iter().any(u8::is_ascii_digit) || bare.contains(&b'=') || bare.len() >= 12
}

/// Whether the text right behind a value goes on as a sentence does: white space, then a word.
pub(crate) fn goes_on_in_words(after: &[u8]) -> bool {
    let comma = run(part(after, 0, 1), 0, |byte| b",;:".contains(&byte));
    let open = run(after, comma, is_blank);
    let start = open + usize::from(byte(after, open) == b'(');
    if open == comma {
        return false;
    }
    if byte(after, start) == b'/' && is_any_word(byte(after, start + 1)) {
        return true;
    }
    let start = start + usize::from(byte(after, start).is_ascii_digit());
    let mut end = run(after, start, is_letter);
    while end > start && b"'-".contains(&byte(after, end)) && is_letter(byte(after, end + 1)) {
        end = run(after, end + 1, is_letter);
    }
    let stop = run(after, end, |byte| b",.;:!?)".contains(&byte));
    end > start && (stop >= after.len() || is_blank(byte(after, stop)) || is_line_end(byte(after, stop)))
}

/// The same of the text from `at` on.
pub(crate) fn goes_on(text: &[u8], at: usize) -> bool {
    goes_on_in_words(part(text, at, at + AFTER))
}

/// Whether a number in it is not counting what follows, as in "8位": scripts without spaces write that in one piece.
pub(crate) fn has_free_number(value: &[u8]) -> bool {
    let mut at = 0;
    while let Some(digit) = value.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
        let end = run(value, at + digit, |byte| byte.is_ascii_digit());
        if byte(value, end) < 0x80 {
            return true;
        }
        at = end;
    }
    false
}
