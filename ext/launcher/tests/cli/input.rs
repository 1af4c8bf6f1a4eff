//! Wrong arguments and wrong input: the codes of seed 001's table, and never 2.

use crate::world::{read_request, response, text, World, BINARY, PATIENCE};
use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

const BAD_BODIES: [(&str, &[u8]); 10] = [
    ("empty", b""),
    ("blank", b" \n"),
    ("words", b"not json"),
    ("array", b"[1]"),
    ("text", b"\"x\""),
    ("cut", b"{\"a\":1"),
    ("two", b"{} {}"),
    ("nul", b"{\"a\":\"\0\"}"),
    ("utf8", b"{\"a\":\"\xff\"}"),
    ("nan", b"{\"a\":NaN}"),
];

/// REQ-HOOKS-29: without an owner the launcher itself refuses what is no JSON object, and keeps nothing of it.
#[test]
fn a_body_that_is_no_object_is_refused_not_queued() {
    for (name, body) in BAD_BODIES {
        let world = World::new();
        let args = ["hooks", "post-tool", "--session-id", "s", "--stdin"];
        let output = world.run(&[&args[..], &["--format", "json-compact"]].concat(), body);
        assert_eq!(output.status.code(), Some(4), "{name}");
        assert!(
            text(&output.stdout).starts_with("{\"success\":false,\"error\":\"stdin: "),
            "{name}: {}",
            text(&output.stdout)
        );
        let output = world.run(&[&args[..], &["--format", "claude"]].concat(), body);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{name}");
        assert!(text(&output.stderr).starts_with("context-graph: stdin: "), "{name}: {}", text(&output.stderr));
        assert!(world.logged().is_empty(), "{name}");
    }
}

/// Nobody insisted on standard input: then an empty one says nothing, and the arguments are the event.
#[test]
fn an_empty_stdin_that_nobody_asked_for_is_no_mistake() {
    let world = World::new().with("CLAUDE_CODE_SESSION_ID", "s");
    for format in ["json", "claude"] {
        assert_eq!(world.run(&["hooks", "stop", "--format", format], b"").status.code(), Some(0));
    }
    assert!(world.logged().iter().all(|record| record.ends_with("\"body\":null}")));
}

#[test]
fn an_event_without_a_session_is_refused_unless_it_starts_one() {
    let world = World::new();
    let output = world.run(&["hooks", "stop", "--format", "json-compact"], b"{\"x\":1}");
    assert!(output.status.code() == Some(4) && text(&output.stdout).contains("session_id is missing"));
    assert_eq!(world.run(&["hooks", "session-start", "--format", "claude"], b"{}").status.code(), Some(0));
    assert_eq!(world.logged().len(), 1);
}

/// What can't be recorded is refused, whether an owner is up or not.
#[test]
fn a_bad_body_is_refused_before_the_owner_is_asked() {
    let world = World::new();
    let requests = world.answering(response(4, 0, b"", b""));
    for (name, body) in BAD_BODIES {
        assert_eq!(
            world.run(&["hooks", "stop", "--session-id", "s", "--stdin"], body).status.code(),
            Some(4),
            "{name}"
        );
    }
    assert!(world.logged().is_empty() && requests.try_recv().is_err());
}

#[test]
fn wrong_arguments_are_usage_errors_of_the_formats_own_kind() {
    for args in [
        &["--colour"][..],
        &["x"],
        &["--session-id"],
        &["--success", "yes"],
        &["--stdin=2"],
        &["--duration-ms", "soon"],
        &["--db-path", "/etc/context-graph"],
        &["--db-path", "a/../b"],
        &["--db-path", ""],
    ] {
        for kind in ["pre-tool", "session-start", "no-such-hook"] {
            let world = World::new();
            let seed = world.run(&[&["hooks", kind], args].concat(), b"");
            assert_eq!(seed.status.code(), Some(4), "{kind} {args:?}");
            assert!(
                text(&seed.stdout).starts_with("{\n  \"success\": false,\n  \"error\": \""),
                "{}",
                text(&seed.stdout)
            );
            let claude = world.run(&[&["hooks", kind], args, &["--format", "claude"]].concat(), b"{}");
            assert_eq!(claude.status.code(), Some(0), "{kind} {args:?}");
            let tells = kind == "session-start" && args.first() == Some(&"--db-path");
            assert_eq!(text(&claude.stdout).contains("systemMessage"), tells, "{kind} {args:?}");
            assert!(!claude.stderr.is_empty(), "{kind} {args:?}");
        }
    }
    let world = World::new().with("CONTEXT_GRAPH_HOME", "relative");
    let output = world.run(&["hooks", "stop", "--session-id", "s"], b"");
    assert!(output.status.code() == Some(4) && text(&output.stdout).contains("must be an absolute path"));
    let told = |kind: &str| text(&world.run(&["hooks", kind, "--format", "claude"], b"{}").stdout);
    assert!(told("session-start").contains("nothing is remembered: CONTEXT_GRAPH_HOME is 'relative'"));
    assert!(told("post-tool").is_empty() && told("prompt-submit").is_empty(), "once, when a session starts");
}

#[test]
fn an_unknown_format_is_named_with_the_known_ones() {
    let output = World::new().run(&["hooks", "stop", "--format", "xml"], b"");
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stdout).contains("json, json-compact, text, claude, codex, gemini or cursor"));
}

fn five_megabytes() -> Vec<u8> {
    let filler = "y".repeat(5_000_000);
    format!(
        "{{\"session_id\":\"s\",\"tool_name\":\"Bash\",\"tool_input\":{{\"x\":\"{filler}\"}},\"tool_use_id\":\"toolu_01\",\"n\":1}}"
    )
    .into_bytes()
}

/// REQ-HOOKS-29: size caps. The seeds' formats refuse; the client loses no event, only the bulk.
#[test]
fn five_megabytes_are_refused_by_the_seeds_formats_and_reduced_for_the_client() {
    let world = World::new();
    let requests = world.answering(response(0, 1, b"", b""));
    let refused = world.run(&["hooks", "post-tool", "--session-id", "s", "--stdin"], &five_megabytes());
    assert!(refused.status.code() == Some(4) && text(&refused.stdout).contains("more than 4194304 bytes"));
    let taken = world.run(&["hooks", "post-tool", "--format", "claude"], &five_megabytes());
    assert_eq!(taken.status.code(), Some(0));
    let expected =
        "{\"session_id\":\"s\",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_01\",\"n\":1,\"truncated\":true}";
    assert_eq!(text(&requests.recv_timeout(PATIENCE).unwrap()[&4]), expected);
    let garbage = world.run(&["hooks", "post-tool", "--format", "claude"], &vec![b'x'; 5_000_000]);
    assert_eq!((garbage.status.code(), garbage.stdout.len()), (Some(0), 0));
}

#[test]
fn four_mebibytes_exactly_are_still_passed_on() {
    let world = World::new();
    let requests = world.answering(response(0, 1, b"", b""));
    let mut body = b"{\"session_id\":\"s\",\"x\":\"".to_vec();
    body.resize(4 * 1024 * 1024 - 2, b'y');
    body.extend_from_slice(b"\"}");
    assert_eq!(world.run(&["hooks", "post-tool", "--stdin"], &body).status.code(), Some(0));
    assert_eq!(requests.recv_timeout(PATIENCE).unwrap()[&4], body);
}

/// REQ-HOOKS-32: a writer that never closes its end must not hold the hook.
#[test]
fn a_stdin_that_never_ends_is_given_up() {
    for (format, code) in [("json", Some(4)), ("claude", Some(0))] {
        let world = World::new();
        let mut child = world.command(BINARY, &["hooks", "pre-tool", "--stdin", "--format", format]).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"{\"session_id\":\"s\"").unwrap();
        let (done, ended) = channel();
        std::thread::spawn(move || done.send(child.wait_with_output().unwrap()));
        let output = ended.recv_timeout(PATIENCE).expect("the hook ends by itself");
        assert_eq!(output.status.code(), code, "{format}");
        assert!(text(&output.stderr).contains("did not end within"), "{}", text(&output.stderr));
        drop(pipe);
    }
}

/// A client that is kept busy by others starts to write long after it has started the hook.
#[test]
fn input_that_comes_late_is_recorded() {
    for verb in ["post-tool", "session-end"] {
        let world = World::new();
        let mut child = world.command(BINARY, &["hooks", verb, "--format", "claude"]).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let late = Duration::from_millis(if verb == "session-end" { 500 } else { 1_200 });
        std::thread::sleep(late);
        pipe.write_all(b"{\"session_id\":\"s\"}").unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), world.logged().len()), (Some(0), 1), "{verb}: {}", text(&output.stderr));
    }
}

/// A sender that forgets to close its end has said all the same what it had to say.
#[test]
fn a_whole_object_counts_even_if_stdin_stays_open() {
    let world = World::new();
    let mut child = world.command(BINARY, &["hooks", "pre-tool", "--stdin"]).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"session_id\":\"s\"}\n").unwrap();
    let (done, ended) = channel();
    std::thread::spawn(move || done.send(child.wait_with_output().unwrap()));
    let output = ended.recv_timeout(PATIENCE).expect("the hook ends by itself");
    assert_eq!((output.status.code(), world.logged().len()), (Some(0), 1));
    drop(pipe);
}

/// A hook that is not asked to read stdin does not wait for it.
#[test]
fn a_stdin_that_is_not_asked_for_is_not_read() {
    let world = World::new();
    world.owner(|mut stream| {
        let fields = read_request(&mut stream).unwrap();
        let _ = stream.write_all(&response(u8::from(fields.contains_key(&4)), 1, b"", b""));
    });
    let child = world.command(BINARY, &["hooks", "pre-tool", "--session-id", "s"]).spawn().unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}
