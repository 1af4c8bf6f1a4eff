//! Requirement gates without an owner: it is started; what becomes of the call where none comes up.

use crate::world::{read_request, response, text, World};
use std::io::Write;
use std::time::{Duration, Instant};

const BODY: &[u8] =
    b"{\"session_id\":\"s-1\",\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a\"},\"tool_use_id\":\"t1\"}\n";

/// A governed project whose owner is `script`.
fn governed(script: &str) -> World {
    governed_by(World::new().with_script(script))
}

fn governed_by(world: World) -> World {
    std::fs::create_dir_all(world.project().join(".claude")).unwrap();
    std::fs::write(world.project().join(".claude/requirements.yaml"), "requirements: {}\n").unwrap();
    world
}

fn ask(world: &World, kind: &str) -> String {
    let output = world.run(&["hooks", kind, "--format", "claude"], BODY);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

const UNCHECKED: &str = "context-graph: the requirement gates could not be checked";

#[test]
fn where_no_owner_can_be_started_the_call_passes_aloud_and_that_is_recorded() {
    let world = governed("exit 1");
    let said = ask(&world, "pre-tool");
    assert!(
        said.starts_with("{\"systemMessage\":\"context-graph: no owner can be started (it ends at its start")
            && said.contains(&format!("\\n{UNCHECKED}")),
        "{said}"
    );
    assert!(said.contains(&format!("\"additionalContext\":\"{UNCHECKED}")), "{said}");
    assert!(!said.contains("permissionDecision"), "{said}");
    let logged = world.logged();
    assert!(logged.len() == 2 && logged[1].contains("\"verb\":\"req.record\""), "{logged:?}");
    assert!(logged[1].contains("\"kind\":\"error\"") && logged[0][..32] != logged[1][..32], "{logged:?}");
    assert_eq!(ask(&world, "session-end"), "", "the client shows nothing there");
}

/// An owner that holds the lock and never listens: by the second call there is one, as a rule.
#[test]
fn a_session_s_first_call_that_is_late_is_denied_and_no_other() {
    let world = governed("exec sleep 30");
    let first = ask(&world, "pre-tool");
    assert!(first.contains("\"permissionDecision\":\"deny\"") && first.contains("run the same call again"), "{first}");
    let second = ask(&world, "pre-tool");
    assert!(!second.contains("permissionDecision") && second.contains("they did not answer in time"), "{second}");
    assert_eq!(ask(&world, "post-tool"), "", "it has run");
}

#[test]
fn strict_gates_deny_what_nothing_decided() {
    let world = governed("exit 1");
    let settings = "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"onFailure\": \"block\"}]}]}}";
    std::fs::write(world.project().join(".claude/settings.json"), settings).unwrap();
    let said = ask(&world, "pre-tool");
    assert!(said.contains("\"permissionDecision\":\"deny\"") && said.contains("held back (strict gates)"), "{said}");
    assert!(!ask(&world, "stop").contains("decision"), "a session must be able to end");
}

/// A store that fails says so behind what the gates decided; where they say nothing the user hears of the store.
#[test]
fn a_failing_store_keeps_no_gate_from_its_decision() {
    let world = governed("exit 1");
    world.answering(response(0, 2, b"{\"decided\":1}\n\0context-graph: the store fails", b""));
    assert_eq!(ask(&world, "pre-tool"), "{\"decided\":1}\n");
    let world = governed("exit 1");
    world.answering(response(0, 2, b"\0context-graph: the store fails", b""));
    assert_eq!(ask(&world, "pre-tool"), "{\"systemMessage\":\"context-graph: the store fails\"}\n");
}

/// After an idle hour there is no owner: a gated call starts one, and its decision is the hook's.
#[test]
fn an_owner_is_started_and_decides() {
    let world = governed_by(World::new().coming_up(response(0, 1, b"{\"decided\":1}\n", b"")));
    assert_eq!(ask(&world, "pre-tool"), "{\"decided\":1}\n");
    assert_eq!(world.logged().len(), 1);
}

/// A tool call waits 100 ms for what it might be told, and longer for what may deny it.
#[test]
fn gates_that_take_half_a_second_decide() {
    let world = governed("exit 1");
    world.owner(|mut stream| {
        if read_request(&mut stream).is_some() {
            std::thread::sleep(Duration::from_millis(500));
            let _ = stream.write_all(&response(0, 1, b"{\"decided\":1}\n", b""));
        }
    });
    assert_eq!(ask(&world, "pre-tool"), "{\"decided\":1}\n");
}

/// An owner that yields until a session's end (1.4 s) has next to no time left, and whose successor takes 170 ms.
#[test]
fn an_owner_that_has_just_come_up_gets_time_for_its_first_answer() {
    let is_answered = || {
        let world = governed("exit 1");
        let mut asked = None;
        world.owner(move |mut stream| {
            if read_request(&mut stream).is_none() {
                return;
            }
            if asked.get_or_insert_with(Instant::now).elapsed() < Duration::from_millis(1_300) {
                let _ = stream.write_all(&response(0, 4, b"", b""));
                return;
            }
            std::thread::sleep(Duration::from_millis(170));
            let _ = stream.write_all(&response(0, 1, b"{\"decided\":1}\n", b""));
        });
        ask(&world, "session-end") == "{\"decided\":1}\n"
    };
    // A machine may be too busy to ask again just then, not each time.
    assert!((0..6).any(|_| is_answered()));
}

/// The seed's formats have no word for a refusal, and some events change no requirement.
#[test]
fn gates_are_awaited_only_where_there_is_something_to_decide() {
    let world = governed("exit 1").with_brief();
    let output = world.run(&["hooks", "pre-tool", "--format", "json"], BODY);
    assert!(!text(&output.stdout).contains(UNCHECKED));
    for kind in ["pre-compact", "subagent-stop"] {
        assert!(!ask(&world, kind).contains(UNCHECKED), "{kind}");
    }
    std::fs::remove_file(world.project().join(".claude/requirements.yaml")).unwrap();
    assert!(!ask(&world, "pre-tool").contains(UNCHECKED));
    std::fs::create_dir_all(world.dir.join("below/.claude")).unwrap();
    std::fs::write(world.dir.join("below/.claude/requirements.yaml"), "").unwrap();
    let elsewhere = format!("{{\"session_id\":\"s\",\"cwd\":\"{}\"}}", world.dir.join("below/src").display());
    let output = world.run(&["hooks", "stop", "--format", "claude"], elsewhere.as_bytes());
    assert!(text(&output.stdout).contains(UNCHECKED), "the folder that the client names counts");
}

/// The client's own switches and the parent travel with each request.
#[test]
fn what_the_gates_need_travels_with_the_request() {
    let world = governed("exit 1")
        .with("CLAUDE_SKIP_REQUIREMENTS", "1")
        .with("CLAUDE_CONFIG_DIR", "/c")
        .with("CLAUDE_PROJECT_DIR", "/p");
    let requests = world.answering(response(0, 1, b"", b""));
    ask(&world, "permission-request");
    let fields = requests.recv().unwrap();
    assert_eq!(text(&fields[&1]), "hooks.permission-request");
    let env = text(&fields[&9]);
    for pair in ["CLAUDE_SKIP_REQUIREMENTS=1", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_PROJECT_DIR=/p"] {
        assert!(env.split('\0').any(|found| found == pair), "{env:?}");
    }
    assert_eq!(fields[&13], std::process::id().to_le_bytes());
}

#[test]
fn the_status_line_is_the_owners_else_short() {
    let line = |world: &World| {
        let output = world.run(&["req", "statusline"], b"{}");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
        text(&output.stdout)
    };
    let world = governed("exit 1");
    assert_eq!(line(&world), "requirements ?\n");
    assert!(world.logged().is_empty(), "it keeps nothing");
    std::fs::remove_file(world.project().join(".claude/requirements.yaml")).unwrap();
    std::fs::remove_dir_all(world.root().join("run")).unwrap();
    assert_eq!(line(&world), "no requirements here\n");
    assert!(!world.root().join("run").exists(), "and starts nobody where nothing governs");
    world.owner(|mut stream| {
        if read_request(&mut stream).is_some_and(|fields| fields[&1] == b"req.statusline") {
            let _ = stream.write_all(&response(0, 0, b"from the owner\n", b""));
        }
    });
    assert_eq!(line(&world), "from the owner\n");
}

/// A client that was started above its repositories: each file is held to its own.
#[test]
fn a_file_in_a_governed_project_is_asked_about_wherever_the_client_works() {
    let world = governed("exit 1");
    std::fs::rename(world.project().join(".claude"), world.dir.join("kept")).unwrap();
    let body = |path: &str| {
        format!("{{\"session_id\":\"s\",\"tool_name\":\"Edit\",\"tool_input\":{{\"file_path\":\"{path}\"}}}}")
    };
    let said = || {
        let output = world.run(&["hooks", "pre-tool", "--format", "claude"], body("below/src/a.py").as_bytes());
        text(&output.stdout)
    };
    assert!(!said().contains(UNCHECKED));
    std::fs::create_dir_all(world.project().join("below/.claude")).unwrap();
    std::fs::write(world.project().join("below/.claude/requirements.yaml"), "").unwrap();
    assert!(said().contains(UNCHECKED));
}
