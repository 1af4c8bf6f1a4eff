//! Distinguishes credentials from ordinary words: the owner's `redact/credential.py`, on bytes.

use super::{is_quote, is_space, is_word, stretch};

/// Words with a space before, between and behind them, and how long those are that begin with each letter: nearly every
/// other word is told apart by one look.
struct List {
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
const fn list(words: &'static [u8]) -> List {
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

/// Values that stand for a secret or say something of one. Sorted by nothing: a handful of bytes each.
static PLACEHOLDERS: List = list(
    b" none null nil true false undefined nan str string int integer bytes bool boolean \
optional any object text required missing void invalid empty unset expired include omit same-origin bearer basic token \
secret password passwd pwd pass key auth credentials credential changeme example placeholder redacted masked hidden \
self value name mandatory needed yes no on off weak strong wrong incorrect changed rotated revoked disabled enabled \
inherit authentication authorization authenticated header headers scheme schemes tokens keys secrets passwords digest \
apikey jwt unknown default generated encrypted hashed plaintext prompt stdin vault keychain mismatch valid todo tbd \
erforderlich notwendig abgelaufen fehlt leer keine geheim obligatoire obligatoria obligatorio requerido requerida \
caducado ok a an and are as at be by can file flag for from has if in is it must not of or set should that the this \
to use was when will with you your ",
);
/// YOUR_API_KEY, <access-token>: every part is one of these.
static YOUR_TOKEN: List = list(b" your my the some a an insert put replace enter paste access api apikey auth bearer client \
user id session refresh personal service admin github gitlab slack stripe openai anthropic base64 encoded secret token \
key jwt password passwd credential credentials value string name here goes me with actual real new example placeholder ");
static SENTENCE: List = list(
    b" must required invalid enter please cannot should forgot forgotten missing optional empty \
characters password passwords token tokens bitte eingeben passwort kennwort your ",
);
static BEFORE_OPTION: List = list(
    b" the a an this that use uses using pass passes passing with without via by and or set \
sets give given take takes add adds option flag called named multi no der die das mit ohne und oder ",
);
static UNITS: List = list(
    b" bit bits byte bytes char chars character characters digit digits encoded signed compliant based \
hashed encrypted style compatible formatted like only long second seconds minute minutes hour hours day days week \
weeks month months year years letter letters ",
);
/// Before a number, and behind one.
static TRADE: List = list(
    b" int uint float str bytes char varchar sha md rs hs es ps base rfc utf aes argon oauth ipv http x p v ed tls ",
);
static SHORT_UNITS: List = list(b" ms s m h d min sec k kb mb gb b x th st nd rd day days ");
/// Behind them a value is named or encrypted.
const YAML_TAGS: [&[u8]; 8] =
    [b"!vault", b"!Ref", b"!Sub", b"!GetAtt", b"!ImportValue", b"!secret", b"!env_var", b"!reference"];
const LONGEST_PLACEHOLDER: usize = 64;
const LONGEST_WORD: usize = 20;

/// Whether the space-separated `list` holds `word` in whatever case.
fn listed(list: &List, word: &[u8]) -> bool {
    let (first, length) = place(word);
    let may = list.lengths.get(first).is_some_and(|lengths| lengths >> length & 1 == 1);
    may && list.words.split(|byte| is_space(*byte)).any(|entry| entry.eq_ignore_ascii_case(word))
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

/// `value` without what ends a sentence or closes a bracket.
pub(super) fn without_stops(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| !b")]}>.:?!,;|".contains(byte)).map_or(0, |at| at + 1);
    value.get(..end).unwrap_or(&[])
}

/// A variable, a template, a redacted value: no secret, only the place of one.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let begins = |what: &[u8]| value.starts_with(what);
    let variable = value.strip_prefix(b"$").map(without_stops);
    [&b"${"[..], b"$(", b"%(", b"{{", b"((", b"[redacted", b"process.env", b"os.environ", b"os.getenv", b"%s"]
        .into_iter()
        .any(begins)
        || matches!(value, [b'<', first, ..] if first.is_ascii_alphabetic() || b"/|".contains(first))
        || is_braced(value)
        || YAML_TAGS.contains(&value)
        || variable.is_some_and(|name| {
            let upper = name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
            !name.is_empty() && (upper || name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_'))
        })
}

/// `{name}` and whatever follows, `{x.y!r}` alone.
fn is_braced(value: &[u8]) -> bool {
    let name = value.iter().skip(1).take_while(|byte| is_word(**byte) || **byte == b'.').count();
    value.first() == Some(&b'{')
        && (value.get(name + 1) == Some(&b'}') || value.iter().all(|byte| is_word(*byte) || b"{}.!".contains(byte)))
}

/// `#1a2b3c`, under names of a theme's parts.
pub(super) fn is_colour(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"#").unwrap_or(&[]);
    matches!(digits.len(), 3 | 4 | 6 | 8) && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Whether the value stands for a secret, or says something of one: `YOUR_TOKEN`, `required`, `${X}`.
pub fn is_placeholder(value: &[u8]) -> bool {
    let bare = without_stops(value);
    let empty = !bare.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    let crossed = bare.len() >= 3 && (bare.iter().all(|byte| *byte == b'x') || bare.iter().all(|byte| *byte == b'X'));
    empty || crossed || is_reference(value) || listed(&PLACEHOLDERS, bare) || is_your_token(bare)
}

fn is_your_token(value: &[u8]) -> bool {
    value.len() <= LONGEST_PLACEHOLDER
        && value.split(|byte| !byte.is_ascii_alphanumeric()).all(|part| part.is_empty() || listed(&YOUR_TOKEN, part))
}

/// A word of a language, or several joined by hyphens and the like: no digit, no odd capitals.
pub(super) fn is_word_of_language(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| b"/_.-".contains(byte));
    parts.all(|part| {
        let part = part.strip_suffix(b"'s").unwrap_or(part);
        !part.is_empty() && part.iter().all(|byte| is_letter(*byte)) && reads_as_word(part)
    })
}

fn reads_as_word(letters: &[u8]) -> bool {
    let humps =
        letters.windows(2).filter(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    let (humps, capitals) = (humps.count(), letters.iter().filter(|byte| byte.is_ascii_uppercase()).count());
    if humps > 2 || humps > 0 && capitals * 3 > letters.len() {
        return false;
    }
    if letters.len() < LONGEST_WORD || !letters.is_ascii() {
        return true;
    }
    let vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    let consonants = letters.split(vowel).map(<[u8]>::len).max().unwrap_or(0);
    consonants <= 6 && letters.iter().filter(|byte| vowel(byte)).count() * 4 >= letters.len()
}

/// A number, date, unit or trade name with a number: 256-bit, HS256-signed, 15m, sha256, v1.2.
pub(super) fn is_compound(value: &[u8]) -> bool {
    if let Some(at) = value.iter().rposition(|byte| *byte == b'-') {
        let (head, unit) = value.split_at(at);
        if head.iter().all(|byte| is_word(*byte)) && listed(&UNITS, unit.get(1..).unwrap_or(&[])) {
            return true;
        }
    }
    let numeric = |byte: &u8| byte.is_ascii_digit() || b".,:-".contains(byte);
    let name = value.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let digits = value.iter().skip(name).take_while(|byte| numeric(byte)).count();
    let tail = value.get(name + digits..).unwrap_or(&[]);
    let first = value.get(name).is_some_and(u8::is_ascii_digit);
    let tail_fits = tail.is_empty() || (name == 0 && listed(&SHORT_UNITS, tail)) || (name > 0 && tail.len() <= 3);
    first
        && tail_fits
        && tail.iter().all(u8::is_ascii_alphabetic)
        && (name == 0 || listed(&TRADE, value.get(..name).unwrap_or(&[])))
}

/// Nobody would write this in a sentence: digits among letters, odd capitals, padding.
pub(super) fn looks_drawn(value: &[u8]) -> bool {
    let bare = without_stops(value);
    if is_placeholder(bare) || is_compound(bare) || is_word_of_language(bare) {
        return false;
    }
    bare.iter().any(u8::is_ascii_digit) || bare.contains(&b'=') || bare.len() >= 12
}

/// A digit tells a drawn word from a long one of a language.
pub(super) fn looks_drawn_with_digit(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && looks_drawn(value)
}

/// Whether the text from `at` on goes on as a sentence does: white space, then a word.
pub(super) fn goes_on(text: &[u8], at: usize) -> bool {
    let at = stretch(text, at, 1, |byte| b",;:".contains(&byte));
    let open = stretch(text, at, 16, |byte| matches!(byte, b' ' | b'\t'));
    let start = stretch(text, open, 1, |byte| byte == b'(');
    let start = stretch(text, start, 1, |byte| byte.is_ascii_digit());
    let end = stretch(text, start, 40, |byte| is_letter(byte) || matches!(byte, b'-' | b'\''));
    let stop = stretch(text, end, 3, |byte| b",.;:!?)".contains(&byte));
    let path = text.get(start) == Some(&b'/') && text.get(start + 1).is_some_and(u8::is_ascii_alphanumeric);
    let word = end > start && text.get(start) != Some(&b'-');
    open > at && (path || word && text.get(stop).is_none_or(|byte| is_space(*byte)))
}

/// Whether a bare value that ends at `end`, with or without its stops, begins or is a piece of prose.
///
/// `strong`: its name holds nothing but secrets. `typed`: it stands right behind an equals sign, as in a shell.
pub(super) fn is_prose(text: &[u8], value: (usize, usize), strong: bool, typed: bool) -> bool {
    let said = text.get(value.0..value.1).unwrap_or(&[]);
    let bare = without_stops(said);
    if is_placeholder(said) || is_compound(bare) && !bare.iter().all(u8::is_ascii_digit) {
        return true;
    }
    if typed {
        return false;
    }
    let names = bare.first().is_some_and(u8::is_ascii_alphabetic) && bare.contains(&b'.');
    if names && bare.iter().all(|byte| byte.is_ascii_alphabetic() || b"_.".contains(byte)) {
        return true; // var.api_key
    }
    if is_word_of_language(bare) {
        let whole = bare.iter().any(u8::is_ascii_alphabetic);
        return !strong || !whole || goes_on(text, value.0 + bare.len());
    }
    is_code(said)
}

/// `get_secret(name)`, `self.token`, `Secret<String>`: a name, and what stands in brackets.
pub(super) fn is_code(value: &[u8]) -> bool {
    let name = value.iter().take_while(|byte| is_word(**byte) || b".:->?&".contains(byte)).count();
    let head = value.get(..name).unwrap_or(&[]);
    let opened = value.get(name).is_some_and(|byte| b"([{<".contains(byte));
    let named = head.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let dotted = name == without_stops(value).len().max(name) && head.iter().any(|byte| b".:".contains(byte));
    matches!(value.first(), Some(b'(' | b'[' | b'{'))
        || named && opened
        || named && dotted && !head.iter().any(u8::is_ascii_digit)
}

/// Quoted text of several words that speaks of secrets ("Enter your password") and is none.
pub(super) fn is_sentence(quoted: &[u8]) -> bool {
    let mut said = quoted.split(|byte| !byte.is_ascii_alphabetic());
    quoted.contains(&b' ') && said.any(|word| listed(&SENTENCE, word))
}

/// Whether the option whose name begins before `at` stands in a sentence: "the --password prompts", or begins a line
/// of help with words behind its value, which ends at `end`.
pub(super) fn option_in_prose(text: &[u8], at: usize, end: usize) -> bool {
    let before = text.get(at.saturating_sub(64)..at).unwrap_or(&[]);
    let name = before.iter().rev().take_while(|byte| is_word(**byte) || **byte == b'-').count();
    let before = before.get(..before.len() - name).unwrap_or(&[]);
    let quotes = before.iter().rev().take_while(|byte| is_quote(**byte)).count();
    let before = before.get(..before.len() - quotes).unwrap_or(&[]);
    let line = before.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or(&[]);
    let word = line.trim_ascii_end().rsplit(|byte| !is_letter(*byte)).next().unwrap_or(&[]);
    let alone = line.iter().all(|byte| b" \t-|`*".contains(byte));
    listed(&BEFORE_OPTION, word) || alone && goes_on(text, end)
}
