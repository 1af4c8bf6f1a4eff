//! An owner that is silent, can't be started, or whose store fails: what one hook leaves for the next.

use crate::world::{read_request, response, text, World, SESSION};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

const BODY: &[u8] = b"{\"session_id\":\"newest\",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_01\"}\n";
const STOP: [&str; 4] = ["hooks", "stop", "--format", "claude"];
const SILENT: &str = "run/owner.silent";

/// An owner that takes requests and answers them while `answers` says so; how often it was asked.
fn moody(world: &World, answers: &Arc<AtomicBool>) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, answers) = (asked.clone(), answers.clone());
    let mut held = Vec::new();
    world.owner(move |mut stream| {
        let Some(_) = read_request(&mut stream) else { return };
        count.fetch_add(1, Ordering::SeqCst);
        if answers.load(Ordering::SeqCst) {
            let _ = stream.write_all(&response(0, 1, b"", b""));
        } else {
            held.push(stream); // open, and never answered
        }
    });
    asked
}

/// After one time-out the next hooks go straight to the spool; none of them is lost.
#[test]
fn an_owner_that_was_silent_is_not_asked_again_at_once() {
    let world = World::new();
    let asked = moody(&world, &Arc::new(AtomicBool::new(false)));
    for number in 1..=5 {
        let output = world.run(&STOP, BODY);
        assert_eq!((output.status.code(), world.spooled().len()), (Some(0), number));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(world.root().join(SILENT).exists());
}

/// Some seconds later one hook tries again; an answer ends it.
#[test]
fn after_some_seconds_it_is_tried_again_and_an_answer_is_believed() {
    let (world, answers) = (World::new(), Arc::new(AtomicBool::new(false)));
    let asked = moody(&world, &answers);
    world.run(&STOP, BODY);
    world.age(SILENT, 60);
    world.run(&STOP, BODY);
    world.run(&STOP, BODY);
    assert_eq!(asked.load(Ordering::SeqCst), 2, "still silent: one has tried, the next has not");
    answers.store(true, Ordering::SeqCst);
    world.age(SILENT, 60);
    world.run(&STOP, BODY);
    assert!(!world.root().join(SILENT).exists());
    world.run(&STOP, BODY);
    assert_eq!((asked.load(Ordering::SeqCst), world.spooled().len()), (4, 3));
}

/// A clock that was set back, and a folder in the file's place, keep nobody from asking.
#[test]
fn a_memory_from_the_future_is_none() {
    let (world, answers) = (World::new(), Arc::new(AtomicBool::new(true)));
    let asked = moody(&world, &answers);
    std::fs::write(world.root().join(SILENT), "1").unwrap();
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(3_600);
    std::fs::File::options().write(true).open(world.root().join(SILENT)).unwrap().set_modified(ahead).unwrap();
    world.run(&STOP, BODY);
    assert_eq!((asked.load(Ordering::SeqCst), world.spooled().len()), (1, 0));
}

/// What seed 001's callers get is what a time-out gives them.
#[test]
fn the_seeds_formats_say_timeout_without_the_wait() {
    let world = World::new();
    moody(&world, &Arc::new(AtomicBool::new(false)));
    world.run(&STOP, BODY);
    let output = world.run(&["hooks", "stop", "--format", "json-compact", "--session-id", "s"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("timeout"), "{}", text(&output.stdout));
}

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
        assert_eq!(world.spooled().len(), 6, "{first}");
    }
}

/// An interpreter that ends at once, as a broken installation's does: a prompt and a session's start see it.
#[test]
fn a_user_is_told_that_an_owner_ends_at_its_start() {
    let world = World::new().with_script("exit 1");
    let told = text(&world.run(&["hooks", "prompt-submit", "--format", "claude"], BODY).stdout);
    assert!(told.contains("systemMessage") && told.contains("owner start"), "{told}");
}

/// A data root that takes no file: nothing can be remembered, so tool calls stay silent and prompts speak.
#[test]
fn a_root_that_takes_no_file_is_told_where_few_hooks_come() {
    let world = World::new().with("CONTEXT_GRAPH_HOME", "/proc/nowhere").with("CLAUDE_CODE_SESSION_ID", SESSION);
    let said = |kind: &str| text(&world.run(&["hooks", kind, "--format", "claude"], BODY).stdout);
    assert!(said("prompt-submit").contains("no owner can be started"));
    assert!(!said("post-tool").contains("no owner can be started"));
}
