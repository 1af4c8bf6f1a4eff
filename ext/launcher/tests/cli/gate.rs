//! Requirement gates without an owner: it is started; where none comes up, what Python is asked and what its answer makes.

use crate::world::{eventually, read_request, response, text, World, SESSION};
use std::io::Write;

const BODY: &[u8] =
    b"{\"session_id\":\"s-1\",\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a\"},\"tool_use_id\":\"t1\"}\n";

fn governed(script: &str) -> World {
    governed_by(World::new(), &format!("*context_graph.gates*) {script};; *) exit 0"))
}

fn governed_by(world: World, cases: &str) -> World {
    let world = world.with_script(&format!("case \"$*\" in {cases};; esac"));
    std::fs::create_dir_all(world.project().join(".claude")).unwrap();
    std::fs::write(world.project().join(".claude/requirements.yaml"), "requirements: {}\n").unwrap();
    world
}

fn ask(world: &World, kind: &str) -> String {
    let output = world.run(&["hooks", kind, "--format", "claude"], BODY);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn python_is_told_all_it_needs_and_its_document_is_printed() {
    let world = governed("printf '%s\\n' \"$@\" > said; cat > input; printf 'context-graph gate 1\\n\\n{\"x\":1}\\n'")
        .with("CLAUDE_CODE_SESSION_ID", SESSION)
        .with_brief();
    assert_eq!(ask(&world, "pre-tool"), "{\"x\":1}\n");
    let said = std::fs::read_to_string(world.project().join("said")).unwrap();
    let words: Vec<_> = said.lines().collect();
    assert_eq!(words[..3], ["-P", "-m", "context_graph.gates"]);
    let (root, project) = (world.root().display().to_string(), world.project().display().to_string());
    assert_eq!(words[3..8], ["pre-tool", &root, &project, SESSION, "Edit"]);
    assert!(words[8].parse::<i64>().is_ok_and(|at_ms| at_ms > 1_600_000_000_000), "{words:?}");
    assert_eq!(words[9], std::process::id().to_string(), "the parent: this test");
    assert_eq!(words.get(10), Some(&""), "nothing of an owner's");
    assert_eq!(std::fs::read(world.project().join("input")).unwrap(), BODY);
    assert_eq!(world.logged().len(), 1, "the event, and no record");
}

/// The decision's record goes into the log, redacted, under an id of its own.
#[test]
fn a_record_is_logged_beside_the_event() {
    let record = "{\"records\":[{\"kind\":\"denied\",\"detail\":\"--password hunter2\"}]}";
    let world = governed(&format!("printf 'context-graph gate 1\\n%s\\n' '{record}'"));
    assert_eq!(ask(&world, "stop"), "");
    let logged = world.logged();
    assert_eq!(logged.len(), 2);
    assert!(logged[1].contains("\"verb\":\"req.record\"") && logged[1].contains("\"kind\":\"denied\""), "{logged:?}");
    assert!(!logged[1].contains("hunter2"));
    assert_ne!(logged[0][..32], logged[1][..32], "ids differ");
}

#[test]
fn without_an_answer_the_call_passes_aloud_and_the_failure_is_recorded() {
    for script in
        ["exit 1", "echo '{\"permissionDecision\":\"allow\"}'", "printf 'context-graph gate 1\\n\\n{\"torn\"'"]
    {
        let world = governed(script);
        let said = ask(&world, "pre-tool");
        assert!(
            said.starts_with("{\"systemMessage\":\"context-graph: no owner can be started (it ends at its start")
                && said.contains("\\ncontext-graph: the requirement gates could not be checked"),
            "{said}"
        );
        assert!(said.contains("\"additionalContext\":\"context-graph: the requirement gates"), "{said}");
        assert!(!said.contains("permissionDecision"), "{said}");
        let logged = world.logged();
        assert!(logged.len() == 2 && logged[1].contains("\"kind\":\"error\""), "{logged:?}");
        assert_eq!(ask(&world, "session-end"), "", "the client shows nothing there");
    }
}

#[test]
fn a_python_that_hangs_is_ended_before_the_client_gives_up() {
    let world = governed("exec sleep 30");
    let said = ask(&world, "stop");
    assert!(said.contains("they did not answer in time"), "{said}");
}

/// After an idle hour there is no owner: a gated call starts one, and its decision is the hook's.
#[test]
fn an_owner_is_started_and_decides() {
    let world = World::new();
    let started = world.dir.join("started");
    let world = governed_by(
        world,
        &format!("*context_graph.owner*) touch {}; exec sleep 2;; *) touch asked", started.display()),
    );
    let socket = world.root().join("run/owner.sock");
    let owner = std::thread::spawn(move || {
        eventually("the owner's start", || started.exists().then_some(()));
        let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            if read_request(&mut stream).is_some() {
                stream.write_all(&response(0, 1, b"{\"decided\":1}\n", b"")).unwrap();
                return;
            }
        }
    });
    assert_eq!(ask(&world, "pre-tool"), "{\"decided\":1}\n");
    owner.join().unwrap();
    assert!(world.logged().len() == 1 && !world.project().join("asked").exists());
}

/// An owner that holds the lock and never listens costs the call half of its time; then Python decides.
#[test]
fn an_owner_that_never_listens_leaves_the_gates_to_python() {
    let world = governed_by(
        World::new(),
        "*context_graph.owner*) exec sleep 6;; *) printf 'context-graph gate 1\\n\\n{\"x\":1}\\n'",
    );
    assert_eq!(ask(&world, "post-tool"), "{\"x\":1}\n");
    assert_eq!(world.logged().len(), 1);
}

/// The seed's formats have no word for a refusal, and some events change no requirement.
#[test]
fn python_is_asked_only_where_there_is_something_to_decide() {
    let world = governed("touch asked; exit 1");
    world.run(&["hooks", "pre-tool", "--format", "json"], BODY);
    ask(&world, "pre-compact");
    ask(&world, "subagent-stop");
    std::fs::remove_file(world.project().join(".claude/requirements.yaml")).unwrap();
    ask(&world, "pre-tool");
    assert!(!world.project().join("asked").exists());
    std::fs::create_dir_all(world.dir.join("below/.claude")).unwrap();
    std::fs::write(world.dir.join("below/.claude/requirements.yaml"), "").unwrap();
    let elsewhere = format!("{{\"session_id\":\"s\",\"cwd\":\"{}\"}}", world.dir.join("below/src").display());
    world.run(&["hooks", "stop", "--format", "claude"], elsewhere.as_bytes());
    assert!(world.project().join("asked").exists(), "the folder that the client names counts");
}

/// The owner may leave the gates to us: its words go along, the event is its own.
#[test]
fn an_owner_s_words_are_kept_when_it_leaves_the_gates_to_python() {
    let world =
        governed("printf 'context-graph gate 1\\n\\n{\"context\":\"%s\",\"notice\":\"%s\"}\\n' \"${11}\" \"${12}\"");
    world.answering(response(0, 1 | 8, b"[C:CON]\0restored badly", b""));
    assert_eq!(ask(&world, "pre-tool"), "{\"context\":\"[C:CON]\",\"notice\":\"restored badly\"}\n");
    assert_eq!(world.logged().len(), 1);
}

#[test]
fn words_of_an_owner_stand_alone_where_nothing_governs() {
    let world = World::new();
    world.answering(response(0, 1 | 8, b"[C:CON]\0restored badly", b""));
    let expected = "{\"systemMessage\":\"restored badly\",\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\
        \"additionalContext\":\"[C:CON]\"}}\n";
    assert_eq!(ask(&world, "pre-tool"), expected);
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
fn the_status_line_is_the_owners_else_pythons_else_short() {
    let world = governed("printf 'context-graph gate 1\\n\\nfrom files\\n'");
    let line = |world: &World| {
        let output = world.run(&["req", "statusline"], b"{}");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
        text(&output.stdout)
    };
    assert_eq!(line(&world), "from files\n");
    assert!(world.logged().is_empty() && !world.root().join("run").exists(), "it keeps nothing and starts nobody");
    assert_eq!(line(&governed("exit 1")), "requirements ?\n");
    let world = governed("exit 1");
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
    let world = governed("touch asked; exit 1");
    std::fs::rename(world.project().join(".claude"), world.dir.join("kept")).unwrap();
    let body = |path: &str| {
        format!("{{\"session_id\":\"s\",\"tool_name\":\"Edit\",\"tool_input\":{{\"file_path\":\"{path}\"}}}}")
    };
    world.run(&["hooks", "pre-tool", "--format", "claude"], body("below/src/a.py").as_bytes());
    assert!(!world.project().join("asked").exists());
    std::fs::create_dir_all(world.project().join("below/.claude")).unwrap();
    std::fs::write(world.project().join("below/.claude/requirements.yaml"), "").unwrap();
    world.run(&["hooks", "pre-tool", "--format", "claude"], body("below/src/a.py").as_bytes());
    assert!(world.project().join("asked").exists());
}
