//! Writes the launcher's answer without an owner: seed 001's HookOutput, or the client's own document.
//!
//! The owner's words are context_graph.claude.hooks; keys, order and rounding here are the same.

use crate::brief::Measures;
use crate::json::text::quoted;
use crate::options::Format;

/// The part of HookOutput that can be known without the owner. What is absent is left out, never null.
#[derive(Default)]
pub struct HookOutput {
    pub error: Option<String>,
    pub measures: Option<Measures>,
    pub elapsed_ms: u64,
}

enum Value {
    /// As it stands in JSON.
    Plain(Vec<u8>),
    Object(Vec<(&'static str, Value)>),
}

impl Value {
    fn shown(value: impl ToString) -> Value {
        Value::Plain(value.to_string().into_bytes())
    }

    fn text(text: &str) -> Value {
        Value::Plain(quoted(text.as_bytes()))
    }
}

/// Seed 001 section 2.2: levels of identity continuity.
fn level(ic: f32) -> &'static str {
    match ic {
        ic if ic >= 0.9 => "healthy",
        ic if ic >= 0.7 => "normal",
        ic if ic >= 0.5 => "warning",
        _ => "critical",
    }
}

/// Seed 001 section 4.3: the system's Johari quadrant.
fn quadrant(measures: &Measures) -> &'static str {
    match (measures.consciousness >= 0.7, measures.integration >= 0.7) {
        (true, true) => "open",
        (false, true) => "blind",
        (true, false) => "hidden",
        (false, false) => "unknown",
    }
}

impl HookOutput {
    /// The document in one of seed 001's formats, newline included.
    pub fn render(&self, format: Format) -> Vec<u8> {
        let mut out = Vec::new();
        match format {
            Format::Text => out.extend_from_slice(self.as_text().as_bytes()),
            Format::Json => write_object(&self.document(), Some(0), &mut out),
            _ => write_object(&self.document(), None, &mut out),
        }
        out.push(b'\n');
        out
    }

    fn document(&self) -> Vec<(&'static str, Value)> {
        let mut document = vec![("success", Value::shown(self.error.is_none()))];
        if let Some(error) = &self.error {
            document.push(("error", Value::text(error)));
        }
        if let Some(of) = &self.measures {
            let state = vec![
                ("consciousness", Value::shown(rounded(of.consciousness))),
                ("integration", Value::shown(rounded(of.integration))),
                ("reflection", Value::shown(rounded(of.reflection))),
                ("differentiation", Value::shown(rounded(of.differentiation))),
                ("identity_continuity", Value::shown(rounded(of.ic))),
                ("johari_quadrant", Value::text(quadrant(of))),
            ];
            let classification = vec![
                ("value", Value::shown(rounded(of.ic))),
                ("level", Value::text(level(of.ic))),
                ("crisis_triggered", Value::shown(of.ic < of.crisis_threshold)),
            ];
            document.push(("consciousness_state", Value::Object(state)));
            document.push(("ic_classification", Value::Object(classification)));
        }
        document.push(("execution_time_ms", Value::shown(self.elapsed_ms)));
        document
    }

    fn as_text(&self) -> String {
        let yes = if self.error.is_none() { "yes" } else { "no" };
        let mut lines = vec![format!("success: {yes} ({} ms)", self.elapsed_ms)];
        if let Some(error) = &self.error {
            lines.push(format!("error: {error}"));
        }
        if let Some(of) = &self.measures {
            lines.push(format!(
                "consciousness: C={:.2} (integration {:.2}, reflection {:.2}, differentiation {:.2}), johari: {}",
                of.consciousness,
                of.integration,
                of.reflection,
                of.differentiation,
                quadrant(of)
            ));
            let alarm = if of.ic < of.crisis_threshold { ", crisis" } else { "" };
            lines.push(format!("identity continuity: {:.2} ({}{alarm})", of.ic, level(of.ic)));
        }
        lines.join("\n")
    }
}

fn write_object(fields: &[(&'static str, Value)], indent: Option<usize>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        new_line(indent.map(|depth| depth + 1), out);
        out.extend_from_slice(format!("\"{name}\":{}", if indent.is_some() { " " } else { "" }).as_bytes());
        match value {
            Value::Plain(json) => out.extend_from_slice(json),
            Value::Object(fields) => write_object(fields, indent.map(|depth| depth + 1), out),
        }
    }
    new_line(indent, out);
    out.push(b'}');
}

fn new_line(indent: Option<usize>, out: &mut Vec<u8>) {
    if let Some(depth) = indent {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', 2 * depth));
    }
}

/// Six decimals, as the owner rounds; float32 has no more to say.
fn rounded(number: f32) -> String {
    let text = format!("{number:.6}");
    let short = text.trim_end_matches('0');
    format!("{short}{}", if short.ends_with('.') { "0" } else { "" })
}

/// The document of the client that reads `format`: what `claude_document` says, by the keys that it knows.
pub fn client_document(format: Format, event_name: &str, text: &[u8], message: &str) -> Vec<u8> {
    if format != Format::Cursor {
        return claude_document(event_name, text, message); // Codex and Gemini read the same keys
    }
    let said = [(&b"user_message"[..], message.as_bytes()), (&b"additional_context"[..], text)];
    let told = said.iter().filter(|(_, words)| !words.is_empty());
    let parts: Vec<_> = told.map(|(name, words)| [b"\"", *name, b"\":", &quoted(words)[..]].concat()).collect();
    [b"{", &parts.join(&b","[..])[..], b"}\n"].concat()
}

/// The client's document that refuses a tool call with `reason`, and shows `message` to the user.
pub fn denial(reason: &[u8], message: &str) -> Vec<u8> {
    let said = [
        &b"{\"systemMessage\":"[..],
        &quoted(message.as_bytes()),
        b",\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",",
        b"\"permissionDecisionReason\":",
        &quoted(reason),
        b"}}\n",
    ];
    said.concat()
}

/// The client's document that shows `text` to the model after the event it calls `event_name`, and `message` to the
/// user. What is empty is left out; nothing at all when both are.
pub fn claude_document(event_name: &str, text: &[u8], message: &str) -> Vec<u8> {
    let mut parts = Vec::new();
    if !message.is_empty() {
        parts.push([b"\"systemMessage\":", &quoted(message.as_bytes())[..]].concat());
    }
    if !text.is_empty() {
        let start = format!("\"hookSpecificOutput\":{{\"hookEventName\":\"{event_name}\",\"additionalContext\":");
        parts.push([start.as_bytes(), &quoted(text), b"}"].concat());
    }
    if parts.is_empty() {
        return Vec::new();
    }
    [b"{", &parts.join(&b","[..])[..], b"}\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURES: Measures = Measures {
        consciousness: 0.5,
        integration: 0.97,
        reflection: 0.25,
        differentiation: 1.0,
        ic: 0.45,
        crisis_threshold: 0.5,
    };

    fn shown(output: &HookOutput, format: Format) -> String {
        String::from_utf8_lossy(&output.render(format)).into_owned()
    }

    #[test]
    fn the_three_formats_say_the_same() {
        let output = HookOutput { measures: Some(MEASURES), elapsed_ms: 3, ..HookOutput::default() };
        assert_eq!(
            shown(&output, Format::JsonCompact),
            concat!(
                r#"{"success":true,"consciousness_state":{"consciousness":0.5,"integration":0.97,"reflection":0.25,"#,
                r#""differentiation":1.0,"identity_continuity":0.45,"johari_quadrant":"blind"},"#,
                r#""ic_classification":{"value":0.45,"level":"critical","crisis_triggered":true},"execution_time_ms":3}"#,
                "\n"
            )
        );
        assert!(shown(&output, Format::Text).contains("identity continuity: 0.45 (critical, crisis)"));
        let indented = shown(&HookOutput { error: Some("a \"b\"".to_owned()), ..HookOutput::default() }, Format::Json);
        assert_eq!(
            indented,
            "{\n  \"success\": false,\n  \"error\": \"a \\\"b\\\"\",\n  \"execution_time_ms\": 0\n}\n"
        );
    }

    #[test]
    fn levels_and_quadrants_change_at_their_documented_points() {
        let levels: Vec<_> = [1.0, 0.9, 0.89, 0.7, 0.69, 0.5, 0.49].map(level).to_vec();
        assert_eq!(levels, ["healthy", "healthy", "normal", "normal", "warning", "warning", "critical"]);
        let at = |consciousness, integration| quadrant(&Measures { consciousness, integration, ..MEASURES });
        assert_eq!([at(0.7, 0.7), at(0.69, 0.7), at(0.7, 0.69), at(0.0, 0.0)], ["open", "blind", "hidden", "unknown"]);
    }

    #[test]
    fn the_clients_documents_escape_what_they_carry() {
        let context = claude_document("PreToolUse", b"[C:\"x\"]", "");
        assert_eq!(
            String::from_utf8_lossy(&context),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"additionalContext\":\"[C:\\\"x\\\"]\"}}\n"
        );
        assert_eq!(claude_document("Stop", b"", "a\nb"), b"{\"systemMessage\":\"a\\nb\"}\n");
        let both = claude_document("PostToolUse", b"c", "m");
        let expected = "{\"systemMessage\":\"m\",\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"c\"}}\n";
        assert_eq!(String::from_utf8_lossy(&both), expected);
        assert!(claude_document("Stop", b"", "").is_empty());
    }

    #[test]
    fn each_client_is_told_by_its_own_keys() {
        let same = claude_document("PreToolUse", b"c", "m");
        for format in [Format::Claude, Format::Codex, Format::Gemini] {
            assert_eq!(client_document(format, "PreToolUse", b"c", "m"), same);
        }
        let cursor = client_document(Format::Cursor, "PreToolUse", b"c", "m");
        assert_eq!(cursor, b"{\"user_message\":\"m\",\"additional_context\":\"c\"}\n");
        assert_eq!(client_document(Format::Cursor, "Stop", b"", ""), b"{}\n", "no output would be a failed hook");
    }
}
