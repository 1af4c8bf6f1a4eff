//! Runs the gates without an owner: Python decides from the project's files alone (docs/adr/0013-gates.md).
//!
//! Whatever fails on this way ends in "allowed, and said so": a gate that fails in silence is none.

use crate::env::Env;
use crate::kind::Kind;
use crate::options::Format;
use crate::pathname::{below, upwards, PATH_MAX};
use crate::programs;
use crate::sys::{self, Deadline};

/// First line of what Python answers. Without it nothing was decided, whatever else was printed.
const ANSWER: &[u8] = b"context-graph gate 1\n";
const CONFIG: &[u8] = b".claude/requirements.yaml";
/// There while a session is held to what only a person may satisfy (gates/seen.py), its file gone or not.
const HELD: &[u8] = b"cache/requirements/held";
/// What is read of the client's list of sessions, some thousand of them, and of its settings.
const READ_MAX: usize = 1 << 20;

/// What Python has decided.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The client's document, or nothing.
    pub document: Vec<u8>,
    /// JSON object for the store's log of requirements; empty if there is nothing to record.
    pub record: Vec<u8>,
}

/// Whether anything is decided for such an event. The others cost no Python start.
pub fn decides(kind: Kind, format: Format) -> bool {
    format.is_client()
        && !matches!(kind, Kind::PreCompact | Kind::PostCompact | Kind::SubagentStart | Kind::SubagentStop)
}

/// Milliseconds from the hook's start within which an owner or Python has to answer: before the client's own limit
/// (claude/settings/events.py), whose end would be a call allowed in silence.
pub fn within_ms(kind: Kind) -> u32 {
    match kind {
        Kind::SessionStart => 4_500,
        Kind::PostTool | Kind::PostToolFailure | Kind::PermissionDenied => 2_700,
        Kind::SessionEnd => 1_400,
        _ => 4_000,
    }
}

/// Whether some session is held to requirements that it has seen, wherever their file is now.
pub fn holds(root: &[u8]) -> bool {
    sys::stat(below(root, HELD)).is_ok()
}

/// Whether a project file stands in or above one of `folders`; those that are not absolute are skipped.
pub fn is_governed(folders: &[&[u8]]) -> bool {
    folders.iter().enumerate().any(|(number, folder)| {
        !folders.iter().take(number).any(|earlier| earlier == folder)
            && folder.starts_with(b"/")
            && upwards(folder).any(|above| above.len() <= PATH_MAX && sys::lstat(below(above, CONFIG)).is_ok())
    })
}

/// Whether the client's list of live sessions has `text`. With a session's id: gates have seen it at work, so there may be
/// something to say although no file governs here, such as that it is gone.
pub fn is_known(env: &Env<'_>, text: &[u8]) -> bool {
    let list = match (env.config_dir, env.home) {
        (Some(folder), _) => below(folder, b"sessions.json"),
        (None, Some(home)) => below(home, b".claude/sessions.json"),
        (None, None) => return false,
    };
    holds_text(&list, text)
}

/// Whether the file at `path` can be read and holds `text`, which is not empty.
pub fn holds_text(path: &[u8], text: &[u8]) -> bool {
    let Ok(file) = sys::open(path, sys::Open::Read) else { return false };
    let mut content = vec![0; READ_MAX];
    let read = sys::pread(file, &mut content[..], 0).unwrap_or(0);
    !text.is_empty() && content.get(..read).unwrap_or(&[]).windows(text.len()).any(|part| part == text)
}

/// What Python has to know beside the event's own JSON.
pub struct Question<'q> {
    pub verb: &'q [u8],
    pub root: &'q [u8],
    pub cwd: &'q [u8],
    pub session_id: &'q [u8],
    pub tool_name: &'q [u8],
    pub at_ms: i64,
    /// For the model, from the other features.
    pub context: &'q [u8],
    /// For the user, from the other features.
    pub notice: &'q str,
    /// Of the input and the answer; empty for a status line.
    pub format: &'q [u8],
}

/// Asks Python.
pub fn ask(
    env: &Env<'_>,
    base: &[u8],
    question: &Question<'_>,
    body: &[u8],
    deadline: Deadline,
) -> Result<Verdict, String> {
    let (at_ms, parent) = (question.at_ms.to_string(), sys::parent().to_string());
    let rest: [&[u8]; 10] = [
        question.verb,
        question.root,
        question.cwd,
        question.session_id,
        question.tool_name,
        at_ms.as_bytes(),
        parent.as_bytes(),
        question.context,
        question.notice.as_bytes(),
        question.format,
    ];
    let command = programs::find_gate(env, base)?;
    let answer = sys::ask_program(programs::command(&command, rest), body, deadline);
    answer
        .and_then(|output| read(&output).ok_or_else(|| "it gave no answer".to_owned()))
        .map_err(|what| format!("{}: {what}", programs::shown(&command)))
}

fn read(output: &[u8]) -> Option<Verdict> {
    verdict(output.strip_prefix(ANSWER)?)
}

/// The verdict of its two parts: the record on a line of its own, then the document.
pub fn verdict(rest: &[u8]) -> Option<Verdict> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (record, document) = (rest.get(..end)?, rest.get(end + 1..)?);
    let whole = document.is_empty() || document.ends_with(b"\n");
    whole.then(|| Verdict { document: document.to_vec(), record: record.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_first_line_its_record_and_whole_documents() {
        let verdict =
            |record: &[u8], document: &[u8]| Some(Verdict { document: document.to_vec(), record: record.to_vec() });
        assert_eq!(read(b"context-graph gate 1\n\n"), verdict(b"", b""));
        assert_eq!(read(b"context-graph gate 1\n{}\n{\"a\":1}\n"), verdict(b"{}", b"{\"a\":1}\n"));
        for torn in [
            &b""[..],
            b"{}\n",
            b"context-graph gate 1\n",
            b"context-graph gate 2\n\n",
            b"context-graph gate 1\n\n{\"a\"",
        ] {
            assert_eq!(read(torn), None);
        }
    }

    #[test]
    fn events_that_change_no_requirement_never_start_python() {
        assert!(decides(Kind::PreTool, Format::Claude) && decides(Kind::PermissionRequest, Format::Claude));
        assert!(!decides(Kind::PreCompact, Format::Claude) && !decides(Kind::PreTool, Format::Json));
    }

    #[test]
    fn a_failed_tool_is_asked_about_and_answered_before_the_client_gives_up() {
        assert!(decides(Kind::PostToolFailure, Format::Claude) && decides(Kind::PostTool, Format::Claude));
        assert!(!decides(Kind::PostToolFailure, Format::Json));
        assert!(within_ms(Kind::PostToolFailure) < 3_000, "claude/settings/events.py gives it 3 s");
    }
}
