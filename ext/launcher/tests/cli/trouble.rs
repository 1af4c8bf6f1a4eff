//! An owner that can't be started, or whose store fails: what one hook leaves for the next.

use crate::world::{text, World, SESSION};

const BODY: &[u8] = b"{\"session_id\":\"newest\",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_01\"}\n";

/// No interpreter: the user is told, once a session, whichever hook comes first.
#[test]
fn a_user_is_told_once_that_no_owner_can_be_started() {
    for first in ["session-start", "prompt-submit", "stop", "pre-tool"] {
        let world = World::new().with("CONTEXT_GRAPH_PYTHON", "/nowhere/python");
        let said = |kind: &str, body: &[u8]| text(&world.run(&["hooks", kind, "--format", "claude"], body).stdout);
        let told = said(first, BODY);
        assert!(told.starts_with("{\"systemMessage\":\"context-graph: no owner can be started ("), "{first}: {told}");
        assert!(told.contains("/nowhere/python"), "{first}: {told}");
        for again in ["session-start", "prompt-submit", "stop", "post-tool"] {
            assert!(!said(again, BODY).contains("systemMessage"), "{first}, then {again}");
        }
        assert!(said("stop", b"{\"session_id\":\"another\"}").contains("systemMessage"), "{first}");
        assert_eq!(world.logged().len(), 6, "{first}");
    }
}

/// An interpreter that ends at once, as a broken installation's does: a prompt and a session's start see it.
#[test]
fn a_user_is_told_that_an_owner_ends_at_its_start() {
    let world = World::new().with_script("exit 1");
    let told = text(&world.run(&["hooks", "prompt-submit", "--format", "claude"], BODY).stdout);
    assert!(told.contains("systemMessage") && told.contains("owner start"), "{told}");
}

/// A data root that takes no file: what was told can't be remembered, so a session's start tells it.
#[test]
fn a_root_that_takes_no_file_is_told_once() {
    let world = World::new().with("CONTEXT_GRAPH_HOME", "/proc/nowhere").with("CLAUDE_CODE_SESSION_ID", SESSION);
    let said = |kind: &str| text(&world.run(&["hooks", kind, "--format", "claude"], BODY).stdout);
    assert!(said("session-start").contains("could not be recorded"));
    assert!(!said("prompt-submit").contains("systemMessage") && !said("post-tool").contains("systemMessage"));
}
