//! Converts JSON strings from their raw form to text and back.

/// The text that the raw inside of a JSON string means, as UTF-8, until `limit` bytes are reached.
/// Half a surrogate pair, which JavaScript writes and strict readers refuse, becomes U+FFFD.
pub fn unescaped(raw: &[u8], limit: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len().min(limit));
    let mut rest = raw;
    while let Some((byte, behind)) = rest.split_first() {
        if out.len() >= limit {
            break;
        }
        rest = behind;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let Some((kind, behind)) = rest.split_first() else { break };
        rest = behind;
        match kind {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => rest = unescape_unicode(rest, &mut out),
            literal => out.push(*literal),
        }
    }
    out
}

/// `text` as a JSON string, quotes included.
pub fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    quote(text, &mut out);
    out
}

fn unit(raw: &[u8]) -> Option<(u32, &[u8])> {
    let digits = std::str::from_utf8(raw.get(..4)?).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, raw.get(4..)?))
}

/// `raw` begins behind `\u`; returns what follows the character.
fn unescape_unicode<'r>(raw: &'r [u8], out: &mut Vec<u8>) -> &'r [u8] {
    let Some((first, mut rest)) = unit(raw) else { return &[] };
    let mut code = first;
    if (0xd800..0xdc00).contains(&first) {
        if let Some((low @ 0xdc00..=0xdfff, behind)) = rest.strip_prefix(b"\\u").and_then(unit) {
            code = 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00);
            rest = behind;
        }
    }
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

/// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
pub fn quote(text: &[u8], out: &mut Vec<u8>) {
    quote_with(text, out, |_, out| out.extend_from_slice("\u{fffd}".as_bytes()));
}

/// Appends a path as a JSON string. Bytes that are not UTF-8 become the escapes that Python's os.fsencode undoes.
pub fn quote_path(path: &[u8], out: &mut Vec<u8>) {
    quote_with(path, out, |byte, out| {
        let [high, low] = crate::hash::hex::<1, 2>([byte]);
        out.extend_from_slice(&[b'\\', b'u', b'd', b'c', high, low]);
    });
}

fn quote_with(text: &[u8], out: &mut Vec<u8>, foreign: impl Fn(u8, &mut Vec<u8>)) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        chunk.valid().bytes().for_each(|byte| push_escaped(byte, out));
        chunk.invalid().iter().for_each(|byte| foreign(*byte, out));
    }
    out.push(b'"');
}

fn push_escaped(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        8 => out.extend_from_slice(b"\\b"),
        12 => out.extend_from_slice(b"\\f"),
        0..=0x1f => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&crate::hash::hex::<1, 2>([byte]));
        }
        _ => out.push(byte),
    }
}

/// The longest start of `text` (UTF-8) of at most `limit` bytes that ends between characters.
pub fn cut(text: &[u8], limit: usize) -> &[u8] {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    // A continuation byte behind the cut means that the cut is inside a character.
    while end > 0 && text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    text.get(..end).unwrap_or(&[])
}
