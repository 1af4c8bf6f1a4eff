//! Parses JSON strictly without building values: it checks, and reports events to a sink.
//!
//! Bounded in depth, so that no input can exhaust the stack. It accepts what RFC 8259 accepts and a byte order mark
//! in front (PowerShell writes one), nothing else.

pub mod text;
mod top;

pub use top::{fields, inner_texts, reduced, top_text};

/// Deepest nesting that is read; the client's own input is not a tenth of it.
pub const DEPTH_MAX: usize = 512;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the reader meets. Keys and texts are raw: without their quotes, escapes as they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token<'t> {
    BeginObject,
    EndObject,
    BeginArray,
    EndArray,
    Key(&'t [u8]),
    Text(&'t [u8]),
    /// A number, true, false or null.
    Scalar(&'t [u8]),
}

/// Takes the tokens in their order.
pub trait Sink<'t> {
    fn take(&mut self, token: Token<'t>);
}

/// For those who only want to know whether it is JSON.
impl<'t> Sink<'t> for () {
    fn take(&mut self, _token: Token<'t>) {}
}

/// Where the text stopped being a JSON object, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    pub at: usize,
    pub what: &'static str,
}

impl Fault {
    /// One sentence for whoever sent the text.
    pub fn text(&self) -> String {
        format!("stdin: not a JSON object: {} at byte {}", self.what, self.at)
    }
}

/// Reads `text`, which must be one JSON object and nothing behind it but white space.
pub fn walk<'t>(text: &'t [u8], sink: &mut impl Sink<'t>) -> Result<(), Fault> {
    if let Some(at) = text.iter().position(|byte| *byte == 0) {
        return Err(Fault { at, what: "a NUL byte" });
    }
    if let Err(error) = std::str::from_utf8(text) {
        return Err(Fault { at: error.valid_up_to(), what: "bytes that are not UTF-8" });
    }
    let at = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut reader = Reader { text, at, depth: 0 };
    reader.skip_space();
    if reader.peek() != Some(b'{') {
        return Err(reader.fault(if reader.peek().is_none() { "nothing" } else { "something that is no object" }));
    }
    reader.value(sink)?;
    reader.skip_space();
    if reader.peek().is_some() {
        return Err(reader.fault("more than one value"));
    }
    Ok(())
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn fault(&self, what: &'static str) -> Fault {
        Fault { at: self.at, what }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> &'t [u8] {
        self.text.get(start..self.at).unwrap_or(&[])
    }

    fn value(&mut self, sink: &mut impl Sink<'t>) -> Result<(), Fault> {
        match self.peek() {
            Some(b'{') => self.members(b'}', Token::BeginObject, Token::EndObject, sink),
            Some(b'[') => self.members(b']', Token::BeginArray, Token::EndArray, sink),
            Some(b'"') => self.string().map(|text| sink.take(Token::Text(text))),
            _ => {
                let start = self.at;
                self.scalar()?;
                sink.take(Token::Scalar(self.since(start)));
                Ok(())
            }
        }
    }

    /// An object or array from its opening bracket to `close`.
    fn members(&mut self, close: u8, begin: Token<'t>, end: Token<'t>, sink: &mut impl Sink<'t>) -> Result<(), Fault> {
        if self.depth == DEPTH_MAX {
            return Err(self.fault("nesting deeper than 512 levels"));
        }
        self.depth += 1;
        self.at += 1;
        sink.take(begin);
        self.skip_space();
        let mut more = self.peek() != Some(close);
        while more {
            self.skip_space();
            if close == b'}' {
                self.key(sink)?;
            }
            self.value(sink)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => more = false,
                None => return Err(self.fault("an end before its time")),
                Some(_) => return Err(self.fault("neither ',' nor the closing bracket")),
            }
        }
        self.depth -= 1;
        self.at += 1;
        sink.take(end);
        Ok(())
    }

    fn key(&mut self, sink: &mut impl Sink<'t>) -> Result<(), Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("a key without quotes"));
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.fault("a key without ':'"));
        }
        self.at += 1;
        self.skip_space();
        sink.take(Token::Key(key));
        Ok(())
    }

    /// The raw inside of the string that begins here; stops behind its closing quote.
    fn string(&mut self) -> Result<&'t [u8], Fault> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let raw = self.since(start);
                    self.at += 1;
                    return Ok(raw);
                }
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err(self.fault("a control character in a string")),
                Some(_) => {
                    let rest = self.text.get(self.at..).unwrap_or(&[]);
                    let is_plain = |byte: &u8| *byte > 0x1f && *byte != b'"' && *byte != b'\\';
                    self.at += rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
                }
                None => return Err(self.fault("a string without its end")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let cut = Fault { at: self.text.len(), what: "an escape without its end" };
        self.at += match self.text.get(self.at + 1).ok_or(cut)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            b'u' if self.text.get(self.at + 2..self.at + 6).ok_or(cut)?.iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return Err(self.fault("an unknown escape")),
        };
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Fault> {
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        for word in [&b"true"[..], b"false", b"null"] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
            if !rest.is_empty() && word.starts_with(rest) {
                return Err(Fault { at: self.text.len(), what: "an end before its time" });
            }
        }
        self.number()
    }

    fn digits(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fault(if self.peek().is_none() { "an end before its time" } else { "no value" }));
        }
        while self.pass(b"0123456789") {}
        Ok(())
    }

    /// Passes over the next byte if it is one of `these`.
    fn pass(&mut self, these: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| these.contains(&byte));
        self.at += usize::from(found);
        found
    }

    fn number(&mut self) -> Result<(), Fault> {
        self.pass(b"-");
        let leading_zero = self.peek() == Some(b'0');
        let start = self.at;
        self.digits()?;
        if leading_zero && self.at > start + 1 {
            return Err(Fault { at: start, what: "a number with a leading zero" });
        }
        if self.pass(b".") {
            self.digits()?;
        }
        if self.pass(b"eE") {
            self.pass(b"+-");
            self.digits()?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
