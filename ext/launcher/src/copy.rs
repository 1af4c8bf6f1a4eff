//! Makes the redacted copy of a hook's input: one line of JSON, every text cut, nothing secret in it.

use crate::json::{text, walk, Fault, Sink, Token};
use redaction::{is_field_secret, is_label, is_value, tells, Care};

/// Longest text that the event log keeps of one string, bytes.
pub const TEXT_MAX: usize = 8192;
/// Longest text of what a client says of a compaction: its later sections say what failed, and what is left.
const SUMMARY_MAX: usize = 2 * TEXT_MAX;
const SUMMARY: &[u8] = b"compact_summary";
/// Read beyond the cut, so that a secret that straddles it is still recognised by its whole.
const LOOK_AHEAD: usize = 4096;
/// Longest text of a list that can be the name of the one after it.
const NAME_MAX: usize = 64;

/// Ids, names and paths that the owner tells events apart by; only what can be nothing but a secret is masked.
const IDENTITIES: [&[u8]; 12] = [
    b"session_id", b"previous_session_id", b"tool_use_id", b"prompt_id", b"agent_id", b"hook_event_name", b"hook_type",
    b"tool_name", b"transcript_path", b"cwd", b"source", b"type",
];

/// Appends the redacted copy of the JSON object `json`.
pub fn redacted(json: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let start = out.len();
    let mut writer =
        Writer { out, name: Name::Plain, most: TEXT_MAX, depth: 0, inside: None, named: None, valued: None };
    let done = walk(json, &mut writer);
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// Appends `value` as a JSON string, masked and cut.
pub fn push_text(value: &[u8], care: Care, out: &mut Vec<u8>) {
    push_cut(value, TEXT_MAX, care, out);
}

fn push_cut(value: &[u8], most: usize, care: Care, out: &mut Vec<u8>) {
    let seen = text::cut(value, most + LOOK_AHEAD);
    let mut masked = Vec::with_capacity(seen.len());
    redaction::mask(seen, care, &mut masked);
    text::quote(text::cut(&masked, most), out);
}

/// What the name of the value that comes next says about it.
#[derive(PartialEq)]
enum Name {
    Plain,
    Identity,
    /// A name that may tell of a secret.
    Telling(Vec<u8>),
    /// It holds what a field beside it names.
    Value,
    /// It names what a field beside it holds.
    Label,
}

/// A value whose name may follow, and where it stands in what is written.
struct Valued {
    content: Vec<u8>,
    start: usize,
    end: usize,
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    name: Name,
    /// Longest text of the value that comes next, bytes.
    most: usize,
    depth: usize,
    /// The telling name of the list or object around, and its depth: all texts inside are judged by it.
    inside: Option<(usize, Vec<u8>)>,
    /// What a field before, in the same object and no bracket between, names (`"name": "DB_PASSWORD"`).
    named: Option<Vec<u8>>,
    /// A field `value` before, in the same object and no bracket between.
    valued: Option<Valued>,
}

impl<'t> Sink<'t> for Writer<'_> {
    fn take(&mut self, token: Token<'t>) {
        match token {
            Token::BeginObject => self.open(b'{'),
            Token::BeginArray => self.open(b'['),
            Token::EndObject => self.close(b'}'),
            Token::EndArray => self.close(b']'),
            Token::Key(raw) => self.key(raw),
            Token::Text(raw) => self.text(raw),
            Token::Scalar(raw) => self.scalar(raw),
        }
    }
}

impl Writer<'_> {
    /// The comma before anything that is not the first in its bracket or the value of a key.
    fn separate(&mut self) {
        if !matches!(self.out.last(), None | Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }

    fn open(&mut self, bracket: u8) {
        self.separate();
        self.out.push(bracket);
        self.depth += 1;
        if let (Name::Telling(name), None) = (std::mem::replace(&mut self.name, Name::Plain), &self.inside) {
            self.inside = Some((self.depth, name));
        }
        self.forget();
    }

    fn close(&mut self, bracket: u8) {
        self.out.push(bracket);
        if self.inside.as_ref().is_some_and(|(depth, _)| *depth == self.depth) {
            self.inside = None;
        }
        self.depth = self.depth.saturating_sub(1);
        self.name = Name::Plain;
        self.forget();
    }

    /// Fields on the two sides of a bracket say nothing of each other.
    fn forget(&mut self) {
        self.named = None;
        self.valued = None;
    }

    fn key(&mut self, raw: &[u8]) {
        self.separate();
        let name = text::unescaped(raw, TEXT_MAX + LOOK_AHEAD);
        // A name that only says "password" is no secret; one that is a key itself (a map by token) is masked.
        push_text(&name, Care::Full, self.out);
        self.out.push(b':');
        self.most = if name == SUMMARY { SUMMARY_MAX } else { TEXT_MAX };
        self.name = match name.as_slice() {
            name if IDENTITIES.contains(&name) => Name::Identity,
            name if is_label(name) => Name::Label,
            name if is_value(name) => Name::Value,
            name if name.len() <= NAME_MAX && tells(name) => Name::Telling(name.to_vec()),
            _ => Name::Plain,
        };
    }

    fn text(&mut self, raw: &[u8]) {
        self.separate();
        let content = text::unescaped(raw, self.most + LOOK_AHEAD);
        let name = std::mem::replace(&mut self.name, Name::Plain);
        if self.is_secret(&name, &content) {
            return self.mask_whole();
        }
        let start = self.out.len();
        let care = if name == Name::Identity { Care::IdsKept } else { Care::Full };
        push_cut(&content, self.most, care, self.out);
        let end = self.out.len();
        // In a list, `"--password", "x"` and `"Authorization", "x"`: the next text is what this one names. In an
        // object a key comes next and says better.
        let names = care == Care::Full && content.len() <= NAME_MAX && !content.contains(&b' ') && tells(&content);
        if names && name == Name::Label {
            self.mask_value_before(&content);
        }
        match name {
            Name::Value => self.valued = Some(Valued { content, start, end }),
            _ if names => {
                self.named = Some(content.clone());
                self.name = Name::Telling(content);
            }
            _ => {}
        }
    }

    /// Whether a value is a secret under its name, the one around it, or the one beside it.
    fn is_secret(&self, name: &Name, content: &[u8]) -> bool {
        let beside = self.named.as_ref().filter(|_| *name == Name::Value);
        let own = match name {
            Name::Telling(name) => Some(name),
            _ => beside.or(self.inside.as_ref().map(|(_, name)| name)),
        };
        *name != Name::Identity && own.is_some_and(|own| is_field_secret(own, content))
    }

    fn scalar(&mut self, raw: &[u8]) {
        self.separate();
        let number = raw.first().is_some_and(|byte| *byte == b'-' || byte.is_ascii_digit());
        let name = std::mem::replace(&mut self.name, Name::Plain);
        if number && self.is_secret(&name, raw) {
            return self.mask_whole();
        }
        let start = self.out.len();
        if raw.len() > 18 && raw.iter().all(|byte| *byte == b'-' || byte.is_ascii_digit()) {
            // Beyond 64 bits readers disagree, and the strict ones refuse the whole line: keep it as text.
            text::quote(text::cut(raw, TEXT_MAX), self.out);
        } else {
            self.out.extend_from_slice(raw);
        }
        if name == Name::Value && number {
            self.valued = Some(Valued { content: raw.to_vec(), start, end: self.out.len() });
        }
    }

    /// The value that was written before the field that says what it is. Each byte moves once at most.
    fn mask_value_before(&mut self, name: &[u8]) {
        if let Some(value) = self.valued.take().filter(|value| is_field_secret(name, &value.content)) {
            self.out.splice(value.start..value.end, *b"\"[redacted:keyed-value]\"");
        }
    }

    /// In the place of a value that is a secret whatever it holds.
    fn mask_whole(&mut self) {
        self.out.push(b'"');
        redaction::replace("keyed-value", self.out);
        self.out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(json: &str) -> String {
        let mut out = Vec::new();
        assert_eq!(redacted(json.as_bytes(), &mut out), Ok(()), "{json}");
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn structure_and_harmless_values_survive_on_one_line() {
        let json =
            "{ \"a\" : [ 1 , 2.50 , \"x\" , { } , [ ] ] ,\n \"b\" : { \"c\" : null , \"d\" : true } , \"e\" : \"\" }";
        assert_eq!(copy(json), "{\"a\":[1,2.50,\"x\",{},[]],\"b\":{\"c\":null,\"d\":true},\"e\":\"\"}");
    }

    #[test]
    fn secrets_are_masked_behind_every_kind_of_escape() {
        let json = r#"{"tool_input":{"command":"curl -H \"Authoriz\u0061tion: Bearer abc123def\" x","t":"a\npassword=hunter2\n"}}"#;
        let out = copy(json);
        assert!(!out.contains("abc123def") && !out.contains("hunter2"), "{out}");
        assert!(out.contains("curl -H") && out.contains("a\\npassword="), "{out}");
    }

    #[test]
    fn values_under_telling_names_are_masked_whole_at_any_depth() {
        let json = r#"{"env":{"api_key":"abc","PIN_password":1234,"tokens":["a1b2c3",{"b":"d4e5f6"}],"token_count":7},"after":"kept"}"#;
        assert_eq!(
            copy(json),
            r#"{"env":{"api_key":"[redacted:keyed-value]","PIN_password":"[redacted:keyed-value]","tokens":["[redacted:keyed-value]",{"b":"[redacted:keyed-value]"}],"token_count":7},"after":"kept"}"#
        );
    }

    #[test]
    fn what_stands_behind_a_telling_list_is_judged_by_its_own_name() {
        assert_eq!(
            copy(r#"{"tokens":["a1b2c3"],"branch":"a1b2c3","tokens":{"x":["d4e5f6"],"y":"d4e5f6"},"commit":"d4e5f6"}"#),
            r#"{"tokens":["[redacted:keyed-value]"],"branch":"a1b2c3","tokens":{"x":["[redacted:keyed-value]"],"y":"[redacted:keyed-value]"},"commit":"d4e5f6"}"#
        );
    }

    #[test]
    fn a_sentence_about_passwords_names_no_text_behind_it() {
        for kept in [r#"["Enter the password","hunter"]"#, r#"["the new password","tuesday"]"#] {
            assert_eq!(copy(&format!("{{\"args\":{kept}}}")), format!("{{\"args\":{kept}}}"));
        }
    }

    #[test]
    fn in_a_list_the_text_after_a_telling_one_is_masked() {
        assert_eq!(
            copy(r#"{"args":["mysql","--password","hunter","-u","root"],"h":[["Authorization","abc12"]]}"#),
            r#"{"args":["mysql","--password","[redacted:keyed-value]","-u","root"],"h":[["Authorization","[redacted:keyed-value]"]]}"#
        );
    }

    #[test]
    fn a_value_is_masked_where_the_field_beside_it_names_a_secret() {
        assert_eq!(
            copy(r#"{"env":[{"name":"DB_PASSWORD","value":"plum"},{"name":"PORT","value":"8080"}],"value":"kept"}"#),
            r#"{"env":[{"name":"DB_PASSWORD","value":"[redacted:keyed-value]"},{"name":"PORT","value":"8080"}],"value":"kept"}"#
        );
        assert_eq!(
            copy(r#"{"value":"plum","key":"DB_PASSWORD","n":{"password":"plum"}}"#),
            r#"{"value":"[redacted:keyed-value]","key":"DB_PASSWORD","n":{"password":"[redacted:keyed-value]"}}"#
        );
        assert_eq!(
            copy(r#"{"a":[{"value":"plum","on":true,"name":"DB_PASSWORD"},{"value":7071,"name":"DB_PASSWORD"}]}"#),
            r#"{"a":[{"value":"[redacted:keyed-value]","on":true,"name":"DB_PASSWORD"},{"value":"[redacted:keyed-value]","name":"DB_PASSWORD"}]}"#
        );
        for kept in [
            r#"{"value":"blue","name":"colour"}"#,
            r#"{"value":"plain","list":[],"name":"DB_PASSWORD"}"#,
            r#"{"a":[{"value":"plain"},{"name":"DB_PASSWORD"}]}"#,
            r#"{"value":7,"name":"token_count"}"#,
            r#"{"value":"${DB_PASSWORD}","name":"DB_PASSWORD"}"#,
            r#"{"value":"plain","title":"DB_PASSWORD"}"#,
            r#"{"label":"Password","value":"password"}"#,
            r#"{"name":"DB_PASSWORD","valueFrom":{"name":"db"}}"#,
            r#"{"name":"DB_PASSWORD","value":"$(DB_PASSWORD)"}"#,
            r#"{"name":"token_count","value":1234}"#,
            r#"{"name":"DB_PASSWORD","value":{"value":"plain"}}"#,
            r#"{"name":"DB_PASSWORD","value":""}"#,
        ] {
            assert_eq!(copy(kept), kept);
        }
    }

    #[test]
    fn a_secret_used_as_a_name_is_masked() {
        let secret = ["ghp_", "Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"].concat();
        assert_eq!(copy(&format!("{{\"{secret}\":1}}")), "{\"[redacted:github-token]\":1}");
    }

    #[test]
    fn ids_are_kept_and_texts_are_cut_between_characters() {
        let id = "session-x7Kp2mQ9vL4tR8wZ1nB6cY3";
        assert!(copy(&format!("{{\"session_id\":\"{id}\"}}")).contains(id));
        let out = copy(&format!("{{\"a\":\"x{}\"}}", "ä".repeat(9000)));
        assert_eq!(out.len(), "{\"a\":\"\"}".len() + 8191);
    }

    #[test]
    fn a_compaction_s_summary_is_kept_twice_as_long() {
        let out = copy(&format!("{{\"compact_summary\":\"{0}\",\"a\":\"{0}\"}}", "x".repeat(20_000)));
        assert_eq!(out.len(), "{\"compact_summary\":\"\",\"a\":\"\"}".len() + SUMMARY_MAX + TEXT_MAX);
    }

    #[test]
    fn a_secret_that_straddles_the_cut_leaves_no_half() {
        let secret = ["ghp_", "Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"].concat();
        let out = copy(&format!("{{\"a\":\"{} {secret}\"}}", "x".repeat(TEXT_MAX - 15)));
        assert!(!out.contains("ghp_Zx"), "{}", &out.get(out.len() - 60..).unwrap_or(""));
    }

    #[test]
    fn half_surrogates_and_huge_integers_become_what_every_reader_takes() {
        assert_eq!(
            copy(r#"{"a":"x\ud83d","n":123456789012345678901}"#),
            "{\"a\":\"x\u{fffd}\",\"n\":\"123456789012345678901\"}"
        );
    }

    #[test]
    fn garbage_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        assert!(redacted(b"{\"a\":\"secret", &mut out).is_err());
        assert_eq!(out, b"before");
    }
}
