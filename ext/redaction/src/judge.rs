//! Judges the value behind a telling name: a secret, or code, prose, a reference, a number?
//!
//! In doubt a value counts as a secret: a false match loses a word, a leak can't be undone.

use crate::bytes::{
    byte, holds_lower, is_any_word, is_blank, is_quote, is_word, part, run, run_back, trimmed, trimmed_end,
};
use crate::keyed;
use crate::words::{
    goes_on, goes_on_in_words, is_compound, is_placeholder, is_plain_url, is_sentence, is_word_of_language, list,
    listed, looks_drawn, List,
};

/// Bytes before a name that may tell an option or a variable from an argument.
pub(crate) const BEFORE: usize = 40;
/// What of a long value is looked at.
const VALUE: usize = 1024;
const STOPS: &[u8] = b")]}>.:?!,";
static STOPWORDS: List = list(
    b" a an and are as at be by can file flag for from has if in is it must not of on option or set should that the this \
to use was when will with value you your ",
);
static BEFORE_OPTION: List = list(
    b" the a an this that use uses using pass passes passing with without via by and or set sets give operand take takes \
add adds option flag called named multi no der die das mit ohne und oder ",
);
/// Ends of names that say something about a secret and hold none: token_url, secretName, password_policy.
const ABOUT: [&[u8]; 42] = [
    b"name", b"names", b"type", b"types", b"url", b"urls", b"uri", b"uris", b"endpoint", b"file", b"files", b"path",
    b"dir", b"folder", b"length", b"len", b"size", b"count", b"limit", b"id", b"ids", b"expiry", b"expires", b"ttl",
    b"policy", b"field", b"label", b"hint", b"format", b"model", b"budget", b"usage", b"scheme", b"strength",
    b"description", b"column", b"header", b"ref", b"_at", b"_on", b"date", b"time",
];

/// A value, and what stands around it.
pub(crate) struct Value<'t> {
    /// The name's end as matched, from its telling word on.
    pub name: &'t [u8],
    /// What stands between, white space included.
    pub separator: &'t [u8],
    /// Without quotes; not empty.
    pub content: &'t [u8],
    pub quoted: bool,
    /// The few bytes before the name: they tell an option or a variable from an argument.
    pub before: &'t [u8],
    /// What stands right behind the value: it tells a sentence from a setting.
    pub after: &'t [u8],
}

impl<'t> Value<'t> {
    /// A value that is assigned to `name`, whatever stands around the two.
    pub fn assigned(name: &'t [u8], content: &'t [u8], quoted: bool) -> Self {
        Value { name, separator: b"=", content, quoted, before: b"", after: b"" }
    }
}

/// Headers whose whole value is a secret, whatever it looks like.
const HEADERS: [&[u8]; 4] = [b"authorization", b"proxy-authorization", b"cookie", b"set-cookie"];

fn is_header(name: &[u8]) -> bool {
    HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name))
}

/// Whether a record's field of this name may hold a secret.
pub fn tells(name: &[u8]) -> bool {
    is_header(name) || keyed::telling_part(name).is_some()
}

/// Whether `said`, a whole text under the field `name` of a record, is a secret.
pub fn is_field_secret(name: &[u8], content: &[u8]) -> bool {
    if is_header(name) {
        return !is_placeholder(content);
    }
    !content.is_empty()
        && keyed::telling_part(name).is_some_and(|name| is_secret(&Value::assigned(name, content, true)))
}

/// Whether a value behind a name is to be taken for a secret.
pub(crate) fn is_secret(value: &Value<'_>) -> bool {
    let (name, content) = (value.name, part(value.content, 0, VALUE));
    if is_placeholder(content) || is_plain_url(content) || is_path(content) {
        return false;
    }
    let strong = keyed::is_strong(name);
    if content.starts_with(b"?") && in_braces(value.before) || !strong && is_colour(content) {
        return false; // ${PASSWORD:?missing}; a theme's colours
    }
    if name.len() >= 6 && part(name, 0, 6).eq_ignore_ascii_case(b"tokeni") {
        return false; // tokenizer, tokenised
    }
    if is_number(content) {
        let credential = name.len() >= 10 && part(name, 0, 10).eq_ignore_ascii_case(b"credential");
        return strong && content.len() >= 4 && !credential;
    }
    if says_about(trimmed(name, b"\"'")) && !is_long_token(content) {
        return false;
    }
    if value.quoted {
        return !is_sentence(content) && (strong || !(is_words(content) || holds_lower(content, b"${")));
    }
    bare_is_secret(value, content, strong)
}

fn bare_is_secret(value: &Value<'_>, content: &[u8], strong: bool) -> bool {
    let bare = trimmed_end(content, STOPS);
    if bare.is_empty() || listed(&STOPWORDS, bare) || is_placeholder(bare) || is_compound(bare) {
        return false;
    }
    let sign = trimmed(value.separator, b" \t\r\n");
    let spaced = matches!(sign, b":" | b"=") && value.separator != b"=";
    let behind = [part(content, bare.len(), content.len()), value.after].concat();
    if spaced && is_word_of_language(bare) && is_prose(bare, &behind, strong) {
        return false;
    }
    let operand = bare.split(|byte| b")]}".contains(byte)).next().unwrap_or(bare);
    let compared = matches!(part(sign, 1, sign.len()), b"=" | b"==") && operand.last().is_some_and(u8::is_ascii_digit);
    if mentions(value.name, part(operand, 0, operand.len() - usize::from(compared))) {
        return false; // get(session_key=session_key).delete(), password1 != password2
    }
    let typed = value.separator == b"=" && is_typed_in(value.before);
    if (b"([{".contains(&byte(content, 0)) || is_code(content)) && !typed {
        return false;
    }
    if !is_identifier(bare) {
        return true;
    }
    if bare.contains(&b'.') || holds_lower(bare, b"::") || holds_lower(bare, b"->") {
        let number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        return bare.split(|byte| !is_any_word(*byte)).any(number); // self.password, settings.token
    }
    if bare.iter().any(u8::is_ascii_digit) {
        return true;
    }
    if sign == b":" && byte(bare, 0).is_ascii_uppercase() && is_camel_case(bare) {
        return false; // a type
    }
    // A plain word: an argument such as login(password=given) is code, PASSWORD=given is a setting.
    let argument = trimmed_end(value.before, b" \t\r\n").last().is_some_and(|byte| b"(,".contains(byte));
    strong && !argument || typed
}

/// Whether a word after a colon begins a sentence or says something of the secret.
fn is_prose(word: &[u8], after: &[u8], strong: bool) -> bool {
    if goes_on_in_words(after) {
        return true; // "password: minimum length is twelve"
    }
    if !word.iter().any(u8::is_ascii_alphabetic) {
        return true; // another script's word
    }
    !strong && word.is_ascii() && !word.iter().all(u8::is_ascii_alphabetic) // "token: read-only"
}

/// PWD=/home/me/work, secret_file: ./db.env
fn is_path(content: &[u8]) -> bool {
    let open = usize::from(byte(content, 0) == b'~').max(run(part(content, 0, 2), 0, |byte| byte == b'.'));
    let in_path = |byte: u8| is_word(byte) || b"./@-".contains(&byte);
    let whole = byte(content, open) == b'/' && open + 1 < content.len() && run(content, open, in_path) == content.len();
    let small = content.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    let signs = content.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    whole && small * 10 >= 6 * signs
}

/// `${NAME` at the end.
fn in_braces(before: &[u8]) -> bool {
    let name = run_back(before, before.len(), 0, is_any_word);
    part(before, 0, name).ends_with(b"${")
}

fn is_colour(content: &[u8]) -> bool {
    let content = content.strip_suffix(b";").or(content.strip_suffix(b",")).unwrap_or(content);
    let digits = content.strip_prefix(b"#").unwrap_or(&[]);
    matches!(digits.len(), 3 | 4 | 6 | 8) && digits.iter().all(u8::is_ascii_hexdigit)
}

fn is_number(content: &[u8]) -> bool {
    let digits = content.strip_prefix(b"+").or(content.strip_prefix(b"-")).unwrap_or(content);
    !digits.is_empty() && digits.iter().all(|byte| byte.is_ascii_digit() || b"_.,".contains(byte))
}

fn says_about(name: &[u8]) -> bool {
    ABOUT.iter().any(|end| {
        let cut = name.len().saturating_sub(end.len());
        part(name, cut, name.len()).eq_ignore_ascii_case(end)
    })
}

fn is_long_token(content: &[u8]) -> bool {
    content.len() >= 16 && content.iter().all(|byte| is_any_word(*byte) || b"+=-".contains(byte))
}

/// Words of letters, one sign between two.
fn is_words(content: &[u8]) -> bool {
    content
        .split(|byte| b" _.-".contains(byte))
        .all(|word| !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic))
}

/// `name`, `a.b`, `a::b`, `a->b`, `a?.b`: where it ends; nothing where no name begins.
fn names_end(content: &[u8]) -> usize {
    let name = |at: usize| {
        let first = byte(content, at);
        if first.is_ascii_alphabetic() || first == b'_' {
            run(content, at, is_word)
        } else {
            at
        }
    };
    let mut end = name(0);
    while end > 0 {
        let join = [&b"."[..], b"::", b"->", b"?."]
            .into_iter()
            .find(|join| part(content, end, content.len()).starts_with(join));
        let Some(next) = join.map(|join| end + join.len()).filter(|next| name(*next) > *next) else { break };
        end = name(next);
    }
    end
}

pub(crate) fn is_identifier(content: &[u8]) -> bool {
    !content.is_empty() && names_end(content) == content.len()
}

/// `get_secret(name)`, `Secret<String>`: a name, and what stands in brackets.
pub(crate) fn is_code(content: &[u8]) -> bool {
    let bracketed = |content: &[u8]| {
        let end = names_end(content);
        end > 0 && b"([{<".contains(&byte(content, end))
    };
    bracketed(content)
        || [&b"await "[..], b"new ", b"not "].iter().any(|word| content.strip_prefix(*word).is_some_and(bracketed))
}

fn is_camel_case(word: &[u8]) -> bool {
    word.iter().filter(|byte| byte.is_ascii_uppercase()).count() * 100 < 35 * word.len() || word.len() < 4
}

/// Whether this is a shell's assignment, a query or an option rather than a line of code.
fn is_typed_in(before: &[u8]) -> bool {
    let name = run_back(before, before.len(), 0, |byte| is_any_word(byte) || b".=-".contains(&byte));
    (name..=before.len()).any(|at| {
        let head = part(before, 0, at);
        head.is_empty()
            || head.last().is_some_and(|byte| b"\n?&;".contains(byte))
            || [&b"--"[..], b"export ", b"env ", b"-e "].iter().any(|sign| head.ends_with(sign))
    })
}

fn letters(text: &[u8]) -> Vec<u8> {
    text.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect()
}

/// Whether one of name and value is a piece of the other.
fn mentions(name: &[u8], content: &[u8]) -> bool {
    if content.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let (content, name) = (letters(content), letters(name));
    let holds = |whole: &[u8], piece: &[u8]| piece.is_empty() || whole.windows(piece.len()).any(|part| part == piece);
    !content.is_empty() && (holds(&name, &content) || holds(&content, &name))
}

/// Whether the bytes from `start` to `end` were typed in as a secret, although prose has their head, at `head`, too.
pub(crate) fn is_typed_value(text: &[u8], head: usize, start: usize, end: usize) -> bool {
    let content = part(text, start, end);
    if content.contains(&b' ') {
        return content
            .split(|byte| *byte == b' ')
            .any(|word| word.iter().any(u8::is_ascii_digit) && looks_drawn(word));
    }
    let bare = trimmed_end(content, STOPS);
    if listed(&STOPWORDS, bare) || is_placeholder(bare) || is_compound(bare) {
        return false;
    }
    if !is_word_of_language(bare) {
        return looks_drawn(bare) || !goes_on(text, end);
    }
    !goes_on(text, start + bare.len()) && !in_prose(part(text, head.saturating_sub(BEFORE), head))
}

/// Whether the value of an option that begins at `start` is a word of a sentence: the --password prompts; pass --token
/// interactively; help, where a line begins with it.
pub(crate) fn is_option_in_prose(text: &[u8], start: usize, value: (usize, usize)) -> bool {
    let before = part(text, start.saturating_sub(BEFORE), start);
    let line = run_back(before, before.len(), 0, |byte| byte != b'\n');
    let alone = part(before, line, before.len()).iter().all(|byte| b" \t-|`*".contains(byte));
    let word = is_word_of_language(trimmed_end(part(text, value.0, value.1), STOPS));
    word && (in_prose(before) || alone && goes_on(text, value.1))
}

pub(crate) fn is_stopword(content: &[u8]) -> bool {
    listed(&STOPWORDS, content)
}

/// Whether the text ends with a word that an option's name follows in a sentence.
fn in_prose(before: &[u8]) -> bool {
    let before = before.strip_suffix(b"-").unwrap_or(before);
    let quoted = before.last().is_some_and(|byte| is_quote(*byte));
    let before = part(before, 0, before.len() - usize::from(quoted));
    let end = run_back(before, before.len(), 0, is_blank);
    let start = run_back(before, end, 0, |byte| byte.is_ascii_alphabetic());
    let inside = start > 0 && part(before, start - 1, start).iter().any(|byte| is_any_word(*byte) || *byte == b'-');
    end < before.len() && !inside && listed(&BEFORE_OPTION, part(before, start, end))
}

/// The word that is said to be a secret in a sentence ("the password is ..."), if it looks random.
pub(crate) fn spoken_end(text: &[u8], start: usize, end: usize) -> Option<usize> {
    // An exclamation mark stays: it is a part of too many passwords.
    let content = trimmed_end(part(text, start, end), b".,:;)?");
    let drawn = content.iter().any(u8::is_ascii_digit) && looks_drawn(content) && !is_code(content);
    drawn.then_some(start + content.len())
}

/// Whether `said`, parted by `between` from the field that names it, is a secret.
pub(crate) fn is_in_field(name: &[u8], content: &[u8], between: &[u8], quoted: bool) -> bool {
    // Only YAML has bare words; anywhere else they are variables and calls.
    let is_yaml = between.contains(&b'\n') && !between.iter().any(|byte| b",=".contains(byte));
    let code = || is_identifier(trimmed_end(content, STOPS)) || is_code(content) || b"([{".contains(&byte(content, 0));
    (quoted || is_yaml || !code()) && is_secret(&Value::assigned(name, content, quoted))
}
