//! Reads fields near the top of a JSON object, and makes a small stand-in for an object that is too big.

use super::{text, walk, Fault, Sink, Token};

/// The longest text that a stand-in keeps.
const KEPT_TEXT: usize = 8192;
/// How deep fields are looked for.
const LEVELS: usize = 3;

struct Fields<'t, F> {
    depth: usize,
    keys: [&'t [u8]; LEVELS],
    found: F,
}

impl<'t, F: FnMut(&[&'t [u8]], Token<'t>)> Sink<'t> for Fields<'t, F> {
    fn take(&mut self, token: Token<'t>) {
        match token {
            Token::Key(key) => self.set_key(key),
            Token::EndObject | Token::EndArray => self.depth -= 1,
            value => {
                if let Some(path) = self.keys.get(..self.depth) {
                    (self.found)(path, value);
                }
                if matches!(value, Token::BeginObject | Token::BeginArray) {
                    self.depth += 1;
                    self.set_key(&[]);
                }
            }
        }
    }
}

impl<'t, F> Fields<'t, F> {
    fn set_key(&mut self, key: &'t [u8]) {
        if let Some(place) = self.keys.get_mut(self.depth.wrapping_sub(1)) {
            *place = key;
        }
    }
}

/// Calls `found` with each value up to three levels deep and the raw keys that lead to it; a list's level has the empty
/// key. Of an object or list it is told the beginning.
pub fn fields<'t>(json: &'t [u8], found: impl FnMut(&[&'t [u8]], Token<'t>)) -> Result<(), Fault> {
    walk(json, &mut Fields { depth: 0, keys: [&[]; LEVELS], found })
}

/// The text of the top-level field `name`; None if `json` has none, or is not JSON.
pub fn top_text(json: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut last = None;
    let on_field = |path: &[&[u8]], token: Token<'_>| {
        if let (true, Token::Text(raw)) = (path == [name], token) {
            last = Some(text::unescaped(raw, usize::MAX));
        }
    };
    fields(json, on_field).ok()?;
    last
}

/// The texts of the object in the top-level field `outer` whose names `wanted` takes; empty if there is none.
pub fn inner_texts(json: &[u8], outer: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    let on_field = |path: &[&[u8]], token: Token<'_>| {
        if let ([first, name], Token::Text(raw)) = (path, token) {
            if *first == outer && wanted(name) {
                texts.push(text::unescaped(raw, KEPT_TEXT));
            }
        }
    };
    fields(json, on_field).map(|()| texts).unwrap_or_default()
}

/// What an object that is too big is replaced with: its scalar fields and short texts, and `"truncated":true`.
///
/// `start` may stop anywhere inside the object; then fields behind the stop are missing.
pub fn reduced(start: &[u8]) -> Result<Vec<u8>, Fault> {
    // A stop inside a character is not the sender's fault.
    let whole = match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => start.get(..error.valid_up_to()).unwrap_or(&[]),
        _ => start,
    };
    let mut out = vec![b'{'];
    let on_field = |path: &[&[u8]], token: Token<'_>| {
        // A key counts once, and our own "truncated" comes at the end.
        let [key] = *path else { return };
        if key == b"truncated" || !matches!(token, Token::Text(_) | Token::Scalar(_)) {
            return;
        }
        out.extend_from_slice(&[b"\"", key, b"\":"].concat());
        match token {
            Token::Text(raw) => text::quote(text::cut(&text::unescaped(raw, KEPT_TEXT + 4), KEPT_TEXT), &mut out),
            Token::Scalar(raw) => out.extend_from_slice(raw),
            _ => {}
        }
        out.push(b',');
    };
    match fields(whole, on_field) {
        Err(fault) if fault.at < whole.len() => return Err(fault),
        _ => out.extend_from_slice(b"\"truncated\":true}"),
    }
    Ok(out)
}
