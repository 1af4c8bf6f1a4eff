//! Requirement gates without an owner: Python decides from the project's files alone (docs/adr/0013-gates.md).
//!
//! Whatever fails on this way ends in "allowed, and said so": a gate that fails in silence is none.

use crate::arena::{Arena, CPath};
use crate::env::Env;
use crate::event::Kind;
use crate::options::Format;
use crate::programs;
use crate::sys::{self, CStrings, Deadline};

/// First line of what the slow path answers. Without it nothing was decided, whatever else was printed.
const ANSWER: &[u8] = b"context-graph gate 1\n";
const CONFIG: &[u8] = b"/.claude/requirements.yaml";
/// There while a session is held to what only a person may satisfy (requirements/held.py), its file gone or not.
const HELD: &[u8] = b"/cache/requirements/held";
/// What is read of the client's list of sessions: some thousand of them.
const REGISTRY_MAX: usize = 1 << 20;

/// What the slow path has decided.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The client's document, or nothing.
    pub document: Vec<u8>,
    /// JSON object for the store's log of requirements; empty if there is nothing to record.
    pub record: Vec<u8>,
}

/// Whether anything is decided for such an event. The others cost no Python start.
pub fn decides(kind: Kind, format: Format) -> bool {
    format == Format::Claude && !matches!(kind, Kind::PreCompact | Kind::SubagentStop)
}

/// Milliseconds from the hook's start within which the slow path has to answer: before the client's own limit
/// (hooks_config/events.py), whose end would be a call allowed in silence.
pub fn within_ms(kind: Kind) -> u32 {
    match kind {
        Kind::SessionStart => 4_500,
        Kind::PostTool | Kind::PostToolFailure | Kind::PermissionDenied => 2_700,
        Kind::SessionEnd => 1_400,
        _ => 4_000,
    }
}

/// Whether some session is held to requirements that it has seen, wherever their file is now.
pub fn holds(arena: &Arena, root: &[u8]) -> bool {
    let mut folder = arena.builder();
    let fits = folder.push(root).and_then(|()| folder.push(HELD));
    fits.and_then(|()| folder.peek()).is_some_and(|path| sys::stat(path).is_ok())
}

/// Whether a project file stands in or above one of `folders`; those that are not absolute are skipped.
pub fn is_governed(arena: &Arena, folders: &[&[u8]]) -> bool {
    let mut seen: &[u8] = b"";
    folders.iter().any(|folder| {
        let again = *folder == seen;
        seen = folder;
        !again && folder.starts_with(b"/") && is_governed_above(arena, folder)
    })
}

fn is_governed_above(arena: &Arena, folder: &[u8]) -> bool {
    let mut above = folder;
    loop {
        let mut file = arena.builder();
        let fits = file.push(above).and_then(|()| file.push(CONFIG));
        if fits.and_then(|()| file.peek()).is_some_and(|path| sys::lstat(path).is_ok()) {
            return true;
        }
        match above.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => above = above.get(..slash).unwrap_or(&[]),
            None => return false,
        }
    }
}

/// Whether the client's list of live sessions names `session`: gates have seen it at work, so there may be something to
/// say although no file governs here, such as that it is gone.
pub fn is_known(arena: &Arena, env: &Env<'_>, session: &[u8]) -> bool {
    let (folder, below): (&[u8], &[u8]) = match (env.config_dir, env.home) {
        (Some(folder), _) => (folder, b"/sessions.json"),
        (None, Some(home)) => (home, b"/.claude/sessions.json"),
        (None, None) => return false,
    };
    if session.is_empty() {
        return false;
    }
    let Some(fd) = arena.join(&[folder, below]).and_then(|path| sys::open(path, sys::Open::Read).ok()) else {
        return false;
    };
    let mut list = vec![0; REGISTRY_MAX];
    let read = sys::pread(&fd, &mut list, 0).unwrap_or(0);
    list.get(..read).unwrap_or(&[]).windows(session.len()).any(|part| part == session)
}

/// What Python has to know beside the event's own JSON.
pub struct Question<'q> {
    pub verb: &'q [u8],
    pub root: CPath<'q>,
    pub cwd: &'q [u8],
    pub session_id: &'q [u8],
    pub tool_name: &'q [u8],
    pub at_ms: i64,
    /// For the model, from the other features.
    pub context: &'q [u8],
    /// For the user, from the other features.
    pub notice: &'q str,
}

/// Asks Python. An interpreter that does not answer is followed by the next one while there is time.
pub fn ask(
    env: &Env<'_>,
    base: &[u8],
    question: &Question<'_>,
    body: &[u8],
    deadline: Deadline,
) -> Result<Verdict, String> {
    let (at_ms, parent) = (question.at_ms.to_string(), sys::parent().to_string());
    let rest: [&[u8]; 9] = [
        question.verb,
        question.root.bytes(),
        question.cwd,
        question.session_id,
        question.tool_name,
        at_ms.as_bytes(),
        parent.as_bytes(),
        question.context,
        question.notice.as_bytes(),
    ];
    let commands = programs::find_gate(env, base)?;
    let mut why = String::new();
    for command in &commands {
        let Some(argv) = CStrings::new(command.iter().map(Vec::as_slice).chain(rest)) else {
            return Err("an argument holds a NUL".to_owned());
        };
        let answer = sys::ask_program(&argv, body, deadline).map_err(|no_output| no_output.text());
        match answer.and_then(|output| read(&output).ok_or_else(|| "it gave no answer".to_owned())) {
            Ok(verdict) => return Ok(verdict),
            Err(what) => why = format!("{}: {what}", programs::shown(command)),
        }
    }
    Err(why)
}

/// The two parts behind the first line: the record on a line of its own, then the document.
fn read(output: &[u8]) -> Option<Verdict> {
    let rest = output.strip_prefix(ANSWER)?;
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
        assert!(within_ms(Kind::PostToolFailure) < 3_000, "hooks_config/events.py gives it 3 s");
    }
}
