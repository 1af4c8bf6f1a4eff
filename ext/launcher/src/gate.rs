//! Tells which events an owner has to decide, because of requirements, and what holds where it can't be asked
//! (docs/dev/adr/0013-gates.md).

use crate::env::Env;
use crate::kind::Kind;
use crate::options::Format;
use crate::pathname::{below, upwards, PATH_MAX};
use crate::sys;

const CONFIG: &[u8] = b".claude/requirements.yaml";
/// There while a session is held to what only a person may satisfy (gates/human_only.py), its file gone or not.
const HELD: &[u8] = b"cache/requirements/held";
/// What is read of the client's list of sessions, some thousand of them, and of its settings.
const READ_MAX: usize = 1 << 20;

/// Whether anything is decided for such an event.
pub fn decides(kind: Kind, format: Format) -> bool {
    format.is_client() && kind.has_gates()
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

/// Whether the client's settings have our hooks block where they fail (`setup --strict-gates`).
pub fn is_strict(env: &Env<'_>, project: &[u8]) -> bool {
    let user = env.config_dir.map(<[u8]>::to_vec).or_else(|| env.home.map(|home| below(home, b".claude")));
    let own = below(project, b".claude");
    let files = [user.map(|folder| below(&folder, b"settings.json"))]
        .into_iter()
        .flatten()
        .chain([below(&own, b"settings.json"), below(&own, b"settings.local.json")]);
    files.into_iter().any(|file| holds_text(&file, b"\"onFailure\": \"block\""))
}

/// What is said where nothing could decide: `what` was let through, or held back where gates are strict.
pub fn undecided(what: &str, why: &str, is_strict: bool) -> String {
    let fate = if is_strict { "held back (strict gates)" } else { "let through without them" };
    format!(
        "context-graph: the requirement gates could not be checked ({why}); {what} was {fate}. \
         `context-graph-cli req doctor` says more."
    )
}

/// Whether the file at `path` can be read and holds `text`, which is not empty.
fn holds_text(path: &[u8], text: &[u8]) -> bool {
    let Ok(file) = sys::open(path, sys::Open::Read) else { return false };
    let mut content = vec![0; READ_MAX];
    let read = sys::pread(file, &mut content[..], 0).unwrap_or(0);
    !text.is_empty() && content.get(..read).unwrap_or(&[]).windows(text.len()).any(|part| part == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_change_no_requirement_wait_for_no_gate() {
        assert!(decides(Kind::PreTool, Format::Claude) && decides(Kind::PermissionRequest, Format::Claude));
        assert!(!decides(Kind::PreCompact, Format::Claude) && !decides(Kind::PreTool, Format::Json));
    }

    #[test]
    fn a_failed_tool_is_asked_about() {
        assert!(decides(Kind::PostToolFailure, Format::Claude) && decides(Kind::PostTool, Format::Claude));
        assert!(!decides(Kind::PostToolFailure, Format::Json));
    }
}
