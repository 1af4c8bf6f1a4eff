//! Finds values that are assigned to a word that says "secret".

use super::values::{annotated_end, bare_end, element, quoted, scheme_end};
use super::{fields, headers, is_quote, is_space, is_word, lower_starts, stretch, words, Span};

/// Lower-case beginnings of telling words; matched anywhere inside an identifier (DB_PASSWORD, apiKey).
const WORDS: [&[u8]; 21] = [
    b"passw", b"passcode", b"jwt", b"psk", b"nonce", b"passphrase", b"pass", b"pwd", b"pw", b"private", b"secret",
    b"signature", b"sig", b"token", b"key", b"auth", b"credential", b"cred", b"contrase", b"cookie", b"bearer",
];
/// Endings that make another word of it.
const HARMLESS: [(&[u8], &[u8]); 14] = [
    (b"key", b"map"),
    (b"key", b"code"),
    (b"key", b"board"),
    (b"key", b"word"),
    (b"key", b"frame"),
    (b"key", b"down"),
    (b"key", b"up"),
    (b"key", b"press"),
    (b"key", b"note"),
    (b"auth", b"or"),
    (b"pass", b"i"),
    (b"pass", b"e"),
    (b"private", b"ly"),
    (b"private", b"r"),
];
/// Short words count only as a whole piece of an identifier (db_pw, pass, sig), never inside of a longer word.
const PIECES: [&[u8]; 6] = [b"pass", b"psk", b"pw", b"sig", b"cred", b"private"];
/// What stands before `pass` and the like in one word: dbpass, PGPASS, cloudantpass.
const PASS_OWNERS: [&[u8]; 13] =
    [b"store", b"db", b"base", b"key", b"user", b"admin", b"root", b"my", b"pg", b"ssh", b"api", b"cloudant", b"mysql"];
const REST_MAX: usize = 64;
const WORD_MAX: usize = 512;
/// Bytes before `pass:` that may hold its `user:`.
const USER_REACH: usize = 200;

/// The telling word that begins at `at`, and where it ends.
fn word_at(text: &[u8], at: usize) -> Option<(&'static [u8], usize)> {
    let first = text.get(at)?.to_ascii_lowercase();
    let word = WORDS.into_iter().find(|word| word.first() == Some(&first) && lower_starts(text, at, word))?;
    let end = at + word.len();
    // "author" is no "auth", but "authorization" is.
    let authorises = lower_starts(text, at, b"authori");
    if !authorises && HARMLESS.iter().any(|(stem, rest)| *stem == word && lower_starts(text, end, rest)) {
        return None;
    }
    (!PIECES.contains(&word) || is_piece(text, at, end)).then_some((word, end))
}

/// Whether the short word from `at` to `end` is a piece of its identifier: `db_pw`, `userPass`, `dbpass`, not `compass`.
fn is_piece(text: &[u8], at: usize, end: usize) -> bool {
    let ends_here = !text.get(end).is_some_and(u8::is_ascii_lowercase) || lower_starts(text, end, b"s");
    let before = text.get(..at).unwrap_or(&[]);
    let inside = before.last().is_some_and(u8::is_ascii_alphabetic);
    let hump = before.last().is_some_and(u8::is_ascii_lowercase) && text.get(at).is_some_and(u8::is_ascii_uppercase);
    let owner = PASS_OWNERS.into_iter().any(|owner| {
        let tail = before.get(before.len().saturating_sub(owner.len())..).unwrap_or(&[]);
        tail.eq_ignore_ascii_case(owner)
    });
    ends_here && (!inside || hump || owner)
}

/// Whether a field of this name holds a secret (then its value is masked whole).
pub fn names_a_secret(name: &[u8]) -> bool {
    (0..name.len()).any(|at| word_at(name, at).is_some())
}

/// Whether the name says "password", under which even a number is one.
pub fn is_password_word(name: &[u8]) -> bool {
    (0..name.len()).any(|at| word_at(name, at).is_some_and(|(word, _)| is_password(word)))
}

pub(super) fn find(text: &[u8], spans: &mut Vec<Span>) {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let candidate = matches!(byte | 0x20, b'a'..=b'c' | b'j' | b'k' | b'n' | b'p' | b's' | b't');
        let word = if candidate { word_at(text, at) } else { None };
        let Some((word, word_end)) = word else {
            at += 1;
            continue;
        };
        let name_end =
            stretch(text, word_end, REST_MAX, |byte| is_word(byte) || byte >= 0x80 || matches!(byte, b'.' | b'-'));
        compared_before(text, at, spans);
        let value = value_beside(text, at, word, name_end).or_else(|| value_of(text, at, word, name_end));
        if let Some((start, end)) = value {
            spans.push(Span { start, end, rule: "assignment" });
        }
        at = word_end.max(value.map_or(0, |(_, end)| end));
    }
}

/// The value in the field behind the name's own: `name: DB_PASSWORD`, `value: …`.
fn value_beside(text: &[u8], at: usize, word: &[u8], name_end: usize) -> Option<(usize, usize)> {
    field_value(text, at, word, name_end, &fields::beside(text, name_end)?)
}

/// The value in the field `value` at `at` where its name stands in a field behind it.
pub(super) fn value_before_name(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let (field, name) = fields::before_name(text, at)?;
    let named = text.get(..name.1)?;
    let (at, word) = (name.0..name.1).find_map(|at| word_at(named, at).map(|(word, _)| (at, word)))?;
    field_value(text, at, word, name.1, &field)
}

/// The value of a field that the telling word at `at`, in the name that ends at `name_end`, says to be secret.
fn field_value(text: &[u8], at: usize, word: &[u8], name_end: usize, field: &fields::Field) -> Option<(usize, usize)> {
    let value = field.value;
    if lower_starts(text, at, b"authori") {
        return headers::authorization(text, at, value.0);
    }
    let inside = text.get(value.0..value.1)?;
    let named = |value: &[u8]| value.iter().all(|byte| byte.is_ascii_alphabetic() || b"_.".contains(byte));
    let variable = !field.quoted && !field.yaml && (words::is_code(inside) || named(words::without_stops(inside)));
    let told = variable || words::is_placeholder(inside) || is_said(text, at, name_end, inside);
    (!told && worth_masking(inside, word)).then_some(value)
}

/// A telling name and the signs behind it, up to where its value begins.
struct Named<'t> {
    at: usize,
    word: &'static [u8],
    end: usize,
    signs: &'t [u8],
    /// White space before the signs, and behind them.
    spaced: (bool, bool),
    start: usize,
    flag: bool,
}

/// The signs between the name that ends at `end` and its value.
fn named<'t>(text: &'t [u8], at: usize, word: &'static [u8], end: usize) -> Option<Named<'t>> {
    let closed = stretch(text, end, 8, |byte| {
        is_quote(byte) || matches!(byte, b'\\' | b']' | b'[' | b')') || byte.is_ascii_digit()
    });
    // The value of a flag may be on the next line: so a list of arguments reads once it is flattened. Elsewhere
    // "password:" above a schema has none there.
    let flag = is_flag(text, at);
    let blank = |byte| matches!(byte, b' ' | b'\t') || flag && is_space(byte);
    let open = stretch(text, closed, 16, blank);
    let sign_end = stretch(text, open, 8, |byte| b":=<>(!~,".contains(&byte));
    let signs = text.get(open..sign_end)?;
    let start = stretch(text, sign_end, 32, blank);
    Some(Named { at, word, end, signs, spaced: (open > closed, start > sign_end), start, flag })
}

/// Where the value of the name that ends at `name_end` begins and ends.
fn value_of(text: &[u8], at: usize, word: &'static [u8], name_end: usize) -> Option<(usize, usize)> {
    let name = named(text, at, word, name_end)?;
    let opening = stretch(text, name.start, 4, |byte| matches!(byte, b'\\' | b'b' | b'f' | b'r' | b'u' | b'$'));
    if text.get(opening).copied().is_some_and(is_quote) && name.start > name_end {
        return in_quotes(text, &name, quoted(text, opening).unwrap_or((opening, text.len())));
    }
    if let Some(inside) = element(text, at, name_end) {
        return Some(inside);
    }
    if let Some(block) = fields::block(text, name.start).filter(|_| name.signs == b":") {
        return Some(block);
    }
    if name.signs.iter().any(|byte| matches!(byte, b':' | b'=')) {
        return assigned(text, &name);
    }
    match word {
        _ if !name.signs.is_empty() || !name.spaced.0 => None,
        b"bearer" => headers::bearer(text, name.start),
        _ => spoken(text, at, name_end, name.start),
    }
}

/// The value of a header of that name, which has rules of its own; None if `name` is no header's.
fn of_header(text: &[u8], name: &Named<'_>, start: usize) -> Option<Option<(usize, usize)>> {
    match name.word {
        _ if lower_starts(text, name.at, b"authori") => Some(headers::authorization(text, name.at, start)),
        b"cookie" => Some(headers::cookies(text, start)),
        _ => None,
    }
}

/// The quoted `value` behind a name, if it is a secret.
fn in_quotes(text: &[u8], name: &Named<'_>, value: (usize, usize)) -> Option<(usize, usize)> {
    let inside = text.get(value.0..value.1)?;
    if let Some(found) = of_header(text, name, value.0) {
        return found;
    }
    let drawn = || inside.split(|byte| is_space(*byte)).any(words::looks_drawn);
    if matches!(name.signs, b">" | b"<") || name.signs.is_empty() && inside.contains(&b' ') && !drawn() {
        return None;
    }
    // `"password", "type": …`: the next field's name.
    let behind = stretch(text, value.1, 2, |byte| is_quote(byte) || byte == b'\\');
    let is_key = name.signs == b"," && text.get(behind) == Some(&b':');
    (!is_key && !is_said(text, name.at, name.end, inside)).then_some(value)
}

/// The bare value behind an equals sign or a colon, if it is a secret.
fn assigned(text: &[u8], name: &Named<'_>) -> Option<(usize, usize)> {
    let start = name.start;
    if let Some(found) = of_header(text, name, start) {
        return found;
    }
    if let Some(scheme) = scheme_end(text, start) {
        return headers::bearer(text, scheme);
    }
    let strong = is_strong(text, name.at);
    if let Some(annotated) = annotated_end(text, name.signs, start) {
        let prose = words::is_prose(text, annotated, true, false);
        return (!prose && worth_masking(text.get(annotated.0..annotated.1)?, name.word)).then_some(annotated);
    }
    let end = bare_end(text, start, is_password(name.word));
    let value = text.get(start..end)?;
    let typed = name.signs == b"=" && name.spaced == (false, false);
    if says_about(text.get(name.at..name.end)?, value)
        || is_minified(value) && matches!(byte_before(text, name.at), Some(b'.' | b'{' | b','))
        || !strong && words::is_colour(words::without_stops(value))
        || name.signs == b":" && value.starts_with(b"?") && byte_before(text, name.at) == Some(b'{')
        || words::is_prose(text, (start, end), strong, typed)
        || name.flag && words::option_in_prose(text, name.at, end)
    {
        return None;
    }
    let end = end - value.iter().rev().take_while(|byte| b",;".contains(byte)).count();
    worth_masking(text.get(start..end)?, name.word).then_some((start, end))
}

/// `token=t,this.x`, `secret:e}`, `auth:!0,`: what a tool made of names, or of true and false.
fn is_minified(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"!").unwrap_or(value);
    matches!(value, [head, b')' | b'}' | b'|' | b'?', ..] | [head, b',' | b';', _, ..] if head.is_ascii_alphanumeric())
}

/// What stands before the whole name around `at`.
fn byte_before(text: &[u8], at: usize) -> Option<u8> {
    let before = text.get(at.saturating_sub(REST_MAX)..at)?;
    before.iter().rev().find(|byte| !is_word(**byte)).copied()
}

/// Whether quoted text only stands for a secret or speaks of one; a plain word is one under a name that says so.
fn is_said(text: &[u8], at: usize, name_end: usize, inside: &[u8]) -> bool {
    let name = text.get(at..name_end).unwrap_or(&[]);
    let plain = !inside.iter().any(u8::is_ascii_digit) && words::is_word_of_language(inside);
    words::is_placeholder(inside)
        || words::is_sentence(inside)
        || says_about(name, inside)
        || (plain || words::is_colour(inside)) && !is_strong(text, at) && !is_beside_user(text, at)
}

/// Whether the name at `at` is `pass`, with `user:` on its line or the one before.
fn is_beside_user(text: &[u8], at: usize) -> bool {
    let named = |name: &[u8]| name.eq_ignore_ascii_case(b"user") || name.eq_ignore_ascii_case(b"username");
    let near = text.get(at.saturating_sub(USER_REACH)..at).unwrap_or(&[]);
    let lines = near.split(|byte| *byte == b'\n');
    let line = lines.clone().count().saturating_sub(2);
    lower_starts(text, at, b"pass")
        && !text.get(at + 4).copied().is_some_and(is_word)
        && lines.skip(line).flat_map(|line| line.split(|byte| !is_word(*byte) && *byte != b':')).any(|part| {
            // "user": and user: alike
            named(part.strip_suffix(b":").unwrap_or(part))
        })
}

/// Whether the name around `at` holds nothing but secrets: a password, an API key; not "token", "sort key", "nonce".
fn is_strong(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(16)..at).unwrap_or(&[]);
    let before = before.strip_suffix(b"_").or(before.strip_suffix(b"-")).unwrap_or(before);
    let owners = b"api access auth private priv secret client service account db database signing encryption master \
session license webhook host";
    let owned = owners.split(|byte| *byte == b' ').any(|owner| {
        before.get(before.len().saturating_sub(owner.len())..).is_some_and(|end| end.eq_ignore_ascii_case(owner))
    });
    match word_at(text, at) {
        Some((b"key", _)) => owned,
        // npm's _auth
        Some((b"auth", _)) => {
            let before = text.get(at.saturating_sub(2)..at).unwrap_or(&[]);
            matches!(before, [b'_'] | [b' ' | b'\t' | b'\r' | b'\n' | b':', b'_'])
        }
        Some((b"pass", _)) => text.get(at.wrapping_sub(1)).is_some_and(|byte| is_word(*byte)),
        Some((b"private", _)) => lower_starts(text, at, b"private_key") || lower_starts(text, at, b"private-key"),
        Some((word, _)) => is_password(word) || matches!(word, b"credential" | b"cred" | b"contrase"),
        None => false,
    }
}

/// Ends of names that say something about a secret and hold none, unless the value is long enough for one after all.
fn says_about(name: &[u8], value: &[u8]) -> bool {
    let ends = b"name names type types url urls uri endpoint file path dir length len size count limit expiry expires \
ttl policy field label hint format model budget usage scheme strength description column header _at _on date time \
tokens seconds expires_in stdin vault id ids ref";
    let name = name.to_ascii_lowercase();
    let long = value.len() >= 16 && value.iter().all(|byte| is_word(*byte) || b"+=-".contains(byte));
    name.starts_with(b"tokeni") || !long && ends.split(|byte| *byte == b' ').any(|end| name.ends_with(end))
}

fn is_password(word: &[u8]) -> bool {
    matches!(word, b"passw" | b"pass" | b"pwd" | b"pw" | b"secret" | b"passphrase" | b"passcode")
}

/// Counts, switches and empty values are no secrets; under names that can be nothing else, a long number is one.
fn worth_masking(value: &[u8], word: &[u8]) -> bool {
    let bare = words::without_stops(value);
    let switch = [&b""[..], b"true", b"false", b"null", b"none", b"undefined", b"{", b"["];
    if switch.iter().any(|plain| bare.eq_ignore_ascii_case(plain)) {
        return false;
    }
    let number = bare.len() <= 12 && bare.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let weak = matches!(word, b"token" | b"auth" | b"jwt" | b"nonce" | b"bearer" | b"cookie" | b"credential" | b"cred");
    !number || is_password(word) || !weak && bare.len() >= 4
}

/// A value that only a space parts from its name: `--password x`, `Bearer x`, `the password is hunter2`.
fn spoken(text: &[u8], at: usize, name_end: usize, mut start: usize) -> Option<(usize, usize)> {
    let mut end = stretch(text, start, WORD_MAX, |byte| !is_space(byte));
    let filler = text.get(start..end)?.strip_suffix(b":").unwrap_or(text.get(start..end)?);
    let said = [&b"is"[..], b"was", b"to", b"of", b"="].iter().any(|word| filler.eq_ignore_ascii_case(word));
    if said {
        start = stretch(text, end, 8, |byte| is_space(byte) || byte == b':');
        start = stretch(text, start, 2, is_quote);
        end = stretch(text, start, WORD_MAX, |byte| !is_space(byte) && !is_quote(byte));
    }
    let value = text.get(start..end)?;
    let attribute = value.iter().take_while(|byte| is_word(**byte) || **byte == b'-').count();
    if matches!(value.get(attribute..), Some([b'=', quote, ..]) if is_quote(*quote)) && attribute > 0 {
        return None;
    }
    let bare = words::without_stops(value);
    let plain = words::is_placeholder(bare) || words::is_compound(bare);
    let masked = match () {
        () if is_flag(text, at) => {
            let prose = words::is_word_of_language(bare) && words::option_in_prose(text, at, end);
            !plain && !prose && !value.starts_with(b"-") && !says_about(text.get(at..name_end)?, value)
        }
        () if said => bare.len() >= 4 && bare.iter().any(u8::is_ascii_digit) && words::looks_drawn(bare),
        () => !plain && !words::is_word_of_language(bare) && looks_secret(value),
    };
    let stops = value.iter().rev().take_while(|byte| b".,:;)?".contains(byte)).count();
    masked.then_some((start, end - stops))
}

/// Whether the word at `at` is in the name of a command-line flag, `--db-password`.
fn is_flag(text: &[u8], at: usize) -> bool {
    let in_flag = |at: &usize| text.get(*at).is_some_and(|byte| is_word(*byte) || *byte == b'-');
    let name_start = (0..at).rev().take(REST_MAX).take_while(in_flag).last();
    name_start.and_then(|at| text.get(at)) == Some(&b'-')
}

/// A word nobody would write in prose.
fn looks_secret(value: &[u8]) -> bool {
    let inner = value.trim_ascii_end();
    let inner = inner.strip_suffix(b".").or(inner.strip_suffix(b",")).unwrap_or(inner);
    let digit = inner.iter().any(u8::is_ascii_digit);
    let letter = inner.iter().any(u8::is_ascii_alphabetic);
    let sign =
        inner.iter().any(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'='));
    let hump = inner.windows(2).any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    inner.len() >= 6 && (digit && letter || sign || hump && inner.len() >= 12) || inner.len() >= 24
}

/// `"value" == my_password`: the quoted text before a comparison with the name around `at`.
fn compared_before(text: &[u8], at: usize, spans: &mut Vec<Span>) {
    let back = |from: usize, keep: &dyn Fn(u8) -> bool| {
        from - (0..from).rev().take(WORD_MAX).take_while(|at| text.get(*at).is_some_and(|byte| keep(*byte))).count()
    };
    let name = back(at, &|byte| is_word(byte) || byte == b'.');
    let spaced = back(name, &is_space);
    let signs = back(spaced, &|byte| matches!(byte, b'=' | b'!'));
    if spaced - signs < 2 {
        return;
    }
    let closing = back(signs, &is_space);
    let Some(quote) = closing.checked_sub(1).and_then(|at| text.get(at)).copied().filter(|byte| is_quote(*byte)) else {
        return;
    };
    let start = back(closing - 1, &|byte| byte != quote);
    spans.push(Span { start, end: closing - 1, rule: "assignment" });
}
