//! Finds values that are assigned to a word that says "secret".

use super::{fields, headers, is_quote, is_space, is_word, stretch, words, Span};

/// Lower-case beginnings of telling words; matched anywhere inside an identifier (DB_PASSWORD, apiKey).
const WORDS: [&[u8]; 20] = [
    b"passw", b"passcode", b"jwt", b"nonce", b"passphrase", b"pass", b"pwd", b"pw", b"private", b"secret",
    b"signature", b"sig", b"token", b"key", b"auth", b"credential", b"cred", b"contrase", b"cookie", b"bearer",
];
/// Endings that make another word of it.
const HARMLESS: [(&[u8], &[u8]); 12] = [
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
const PIECES: [&[u8]; 5] = [b"pass", b"pw", b"sig", b"cred", b"private"];
/// What stands before `pass` and the like in one word: dbpass, PGPASS, cloudantpass.
const PASS_OWNERS: [&[u8]; 12] =
    [b"db", b"base", b"key", b"user", b"admin", b"root", b"my", b"pg", b"ssh", b"api", b"cloudant", b"mysql"];
const REST_MAX: usize = 64;
const WORD_MAX: usize = 512;
/// Bytes before `pass:` that may hold its `user:`.
const USER_REACH: usize = 200;

fn lower_starts(text: &[u8], at: usize, what: &[u8]) -> bool {
    text.get(at..at + what.len()).is_some_and(|part| part.eq_ignore_ascii_case(what))
}

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

/// Where the value of the name that ends at `name_end` begins and ends.
fn value_of(text: &[u8], at: usize, word: &[u8], name_end: usize) -> Option<(usize, usize)> {
    let closed = stretch(text, name_end, 8, |byte| {
        is_quote(byte) || matches!(byte, b'\\' | b']' | b'[' | b')') || byte.is_ascii_digit()
    });
    // The value of a flag may be on the next line: so a list of arguments reads once it is flattened.
    let flag = is_flag(text, at);
    let spaced = stretch(text, closed, 16, |byte| matches!(byte, b' ' | b'\t') || flag && is_space(byte));
    let sign_end =
        stretch(text, spaced, 8, |byte| matches!(byte, b':' | b'=' | b'<' | b'>' | b'(' | b'!' | b'~' | b','));
    let signs = text.get(spaced..sign_end)?;
    // Only a line of a flattened list of arguments goes on in the next one; "password:" above a schema does not.
    let start = stretch(text, sign_end, 32, |byte| matches!(byte, b' ' | b'\t') || flag && is_space(byte));
    let header = |start| match word {
        _ if lower_starts(text, at, b"authori") => Some(headers::authorization(text, at, start)),
        b"cookie" => Some(headers::cookies(text, start)),
        _ => None,
    };
    let opening = stretch(text, start, 4, |byte| matches!(byte, b'\\' | b'b' | b'f' | b'r' | b'u' | b'$'));
    if text.get(opening).copied().is_some_and(is_quote) && (!signs.is_empty() || spaced > name_end) {
        let value = quoted(text, opening).unwrap_or((opening, text.len()));
        let inside = text.get(value.0..value.1)?;
        if let Some(found) = header(value.0) {
            return found;
        }
        let drawn = || inside.split(|byte| is_space(*byte)).any(words::looks_drawn);
        if matches!(signs, b">" | b"<") || signs.is_empty() && inside.contains(&b' ') && !drawn() {
            return None;
        }
        return (!is_said(text, at, name_end, inside)).then_some(value);
    }
    if let Some(inside) = element(text, at, name_end) {
        return Some(inside);
    }
    if let Some(block) = fields::block(text, start).filter(|_| signs == b":") {
        return Some(block);
    }
    if signs.iter().any(|byte| matches!(byte, b':' | b'=')) {
        if let Some(found) = header(start) {
            return found;
        }
        if let Some(scheme) = scheme_end(text, start) {
            return headers::bearer(text, scheme);
        }
        let end = bare_end(text, start, is_password(word));
        if let Some(annotated) = annotated_end(text, signs, start) {
            let prose = words::is_prose(text, annotated, true, false);
            return (!prose && worth_masking(text.get(annotated.0..annotated.1)?, word)).then_some(annotated);
        }
        let typed = signs == b"=" && spaced == closed && start == sign_end;
        let about = says_about(text.get(at..name_end)?, text.get(start..end)?);
        if about
            || words::is_prose(text, (start, end), is_strong(text, at), typed)
            || flag && words::option_in_prose(text, at, end)
        {
            return None;
        }
        let end = end - text.get(start..end)?.iter().rev().take_while(|byte| b",;".contains(byte)).count();
        return worth_masking(text.get(start..end)?, word).then_some((start, end));
    }
    if signs.is_empty() && spaced > closed {
        return if word == b"bearer" { headers::bearer(text, spaced) } else { spoken(text, at, name_end, spaced) };
    }
    None
}

/// Whether quoted text only stands for a secret or speaks of one; a plain word is one under a name that says so.
fn is_said(text: &[u8], at: usize, name_end: usize, inside: &[u8]) -> bool {
    let name = text.get(at..name_end).unwrap_or(&[]);
    let plain = !inside.iter().any(u8::is_ascii_digit) && words::is_word_of_language(inside);
    words::is_placeholder(inside)
        || words::is_sentence(inside)
        || says_about(name, inside)
        || plain && !is_strong(text, at) && !is_beside_user(text, at)
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
tokens seconds expires_in stdin vault";
    let name = name.to_ascii_lowercase();
    let long = value.len() >= 16 && value.iter().all(|byte| is_word(*byte) || b"+=-".contains(byte));
    name.starts_with(b"tokeni") || !long && ends.split(|byte| *byte == b' ').any(|end| name.ends_with(end))
}

/// `"value"` from its opening quote on: the inside, up to the same quote. None if that never comes.
pub(super) fn quoted(text: &[u8], opening: usize) -> Option<(usize, usize)> {
    let quote = *text.get(opening)?;
    let triple = text.get(opening..opening + 3).is_some_and(|three| three.iter().all(|byte| *byte == quote));
    let start = opening + if triple { 3 } else { 1 };
    let escaped = opening.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'\\');
    let mut at = start;
    while let Some(byte) = text.get(at) {
        match byte {
            // In JSON inside of JSON the quotes themselves are escaped; elsewhere an escaped quote is content.
            b'\\' if !escaped => at += 2,
            _ if *byte == quote && (!triple || text.get(at..at + 3).is_some_and(|three| three == [quote; 3])) => {
                let end = if escaped { at - 1 } else { at };
                return Some((start, end.max(start)));
            }
            _ => at += 1,
        }
    }
    None
}

/// `<password type="x">value</password>`, from the name at `at`: what stands between its tag and the next.
fn element(text: &[u8], at: usize, name_end: usize) -> Option<(usize, usize)> {
    let in_name = |byte: &u8| is_word(*byte) || matches!(byte, b'.' | b':' | b'-');
    let before = text.get(at.saturating_sub(REST_MAX)..at)?;
    let opening = before.iter().rev().find(|byte| !in_name(byte))?;
    let tag_end = stretch(text, name_end, WORD_MAX, |byte| !matches!(byte, b'<' | b'>' | b'\n'));
    if *opening != b'<' || text.get(tag_end) != Some(&b'>') {
        return None;
    }
    let end = stretch(text, tag_end + 1, WORD_MAX, |byte| byte != b'<');
    let told = words::is_placeholder(text.get(tag_end + 1..end)?);
    (!told && end > tag_end + 1 && text.get(end) == Some(&b'<')).then_some((tag_end + 1, end))
}

/// `password: str = "value"`: where the value behind the type ends.
fn annotated_end(text: &[u8], signs: &[u8], start: usize) -> Option<(usize, usize)> {
    let in_type = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'[' | b']' | b',' | b' ' | b'|');
    let equals = stretch(text, start, WORD_MAX, in_type);
    if !signs.contains(&b':') || text.get(equals) != Some(&b'=') {
        return None;
    }
    let value = stretch(text, equals + 1, 8, |byte| matches!(byte, b' ' | b'\t'));
    Some(if text.get(value).copied().is_some_and(is_quote) {
        quoted(text, value).unwrap_or((value, text.len()))
    } else {
        (value, bare_end(text, value, false))
    })
}

/// Where the credential behind `Bearer` and the like begins.
fn scheme_end(text: &[u8], start: usize) -> Option<usize> {
    let schemes = [&b"bearer "[..], b"basic ", b"token ", b"digest "];
    schemes.into_iter().find(|scheme| lower_starts(text, start, scheme)).map(|scheme| start + scheme.len())
}

/// The end of a bare value: white space, but a quoted part belongs to it. In a connection string (`password=my pass;Server=…`) the semicolon ends it.
fn bare_end(text: &[u8], start: usize, password: bool) -> usize {
    let bare = |byte: u8| !is_space(byte) && !is_quote(byte);
    let mut end = stretch(text, start, usize::MAX, bare);
    if password {
        let semicolon = stretch(text, start, WORD_MAX, |byte| !is_quote(byte) && !matches!(byte, b';' | b'\n' | b'\r'));
        let name = stretch(text, semicolon + 1, REST_MAX, |byte| is_word(byte) || byte == b' ');
        if text.get(semicolon) == Some(&b';') && text.get(name) == Some(&b'=') {
            end = end.max(semicolon);
        }
    }
    match text.get(end) {
        Some(byte) if is_quote(*byte) => {
            quoted(text, end).map_or(end, |(_, inside)| inside.saturating_add(1).min(text.len()))
        }
        _ => end,
    }
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
