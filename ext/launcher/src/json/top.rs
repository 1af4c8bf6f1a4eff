//! Reads the top level of a JSON object: single fields, and a small stand-in for an object that is too big.

use super::{text, walk, Fault, Sink, Token};

/// The longest text that a stand-in keeps.
const KEPT_TEXT: usize = 8192;

struct Top<'t, F: FnMut(&'t [u8], Token<'t>)> {
    depth: usize,
    key: &'t [u8],
    found: F,
}

impl<'t, F: FnMut(&'t [u8], Token<'t>)> Sink<'t> for Top<'t, F> {
    fn take(&mut self, token: Token<'t>) {
        match token {
            Token::BeginObject | Token::BeginArray => self.depth += 1,
            Token::EndObject | Token::EndArray => self.depth = self.depth.saturating_sub(1),
            Token::Key(key) if self.depth == 1 => self.key = key,
            Token::Text(_) | Token::Scalar(_) if self.depth == 1 => (self.found)(self.key, token),
            _ => {}
        }
    }
}

/// The text of the top-level field `name`; None if `json` has none, or is not JSON.
pub fn top_text(json: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    let on_field = |key: &[u8], token: Token<'_>| {
        if let (true, Token::Text(raw)) = (key == name, token) {
            let mut value = Vec::new();
            text::unescape(raw, usize::MAX, &mut value);
            found = Some(value);
        }
    };
    walk(json, &mut Top { depth: 0, key: &[], found: on_field }).ok()?;
    found
}

/// The texts of the object in the top-level field `outer` whose names `wanted` takes; empty if there is none.
pub fn inner_texts(json: &[u8], outer: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut inner = Inner { outer, wanted, depth: 0, inside: false, key: &[], found: Vec::new() };
    if walk(json, &mut inner).is_err() {
        return Vec::new();
    }
    inner.found
}

struct Inner<'t, 'o, W: Fn(&[u8]) -> bool> {
    outer: &'o [u8],
    wanted: W,
    depth: usize,
    inside: bool,
    key: &'t [u8],
    found: Vec<Vec<u8>>,
}

impl<'t, W: Fn(&[u8]) -> bool> Sink<'t> for Inner<'t, '_, W> {
    fn take(&mut self, token: Token<'t>) {
        match token {
            Token::BeginObject | Token::BeginArray => self.depth += 1,
            Token::EndObject | Token::EndArray => self.depth = self.depth.saturating_sub(1),
            Token::Key(key) if self.depth == 1 => self.inside = key == self.outer,
            Token::Key(key) if self.depth == 2 => self.key = key,
            Token::Text(raw) if self.depth == 2 && self.inside && (self.wanted)(self.key) => {
                let mut value = Vec::new();
                text::unescape(raw, KEPT_TEXT, &mut value);
                self.found.push(value);
            }
            _ => {}
        }
    }
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
    let on_field = |key: &[u8], token: Token<'_>| {
        if key == b"truncated" {
            return; // ours comes at the end, and a key counts once
        }
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        match token {
            Token::Text(raw) => {
                let mut value = Vec::new();
                text::unescape(raw, KEPT_TEXT + 4, &mut value);
                text::quote(text::cut(&value, KEPT_TEXT), &mut out);
            }
            Token::Scalar(raw) => out.extend_from_slice(raw),
            _ => {}
        }
        out.push(b',');
    };
    match walk(whole, &mut Top { depth: 0, key: &[], found: on_field }) {
        Err(fault) if fault.at < whole.len() => return Err(fault),
        _ => out.extend_from_slice(b"\"truncated\":true}"),
    }
    Ok(out)
}
