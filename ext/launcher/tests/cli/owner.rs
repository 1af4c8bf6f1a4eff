//! Hooks with an owner that answers, well or badly.

use crate::support::golden;
use crate::world::{read_request, response, text, Fields, World, BINARY, PATIENCE, SESSION};
use launcher::hash::fnv1a64;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};

const KINDS: [&str; 8] = [
    "session-start", "pre-tool", "post-tool", "post-tool-failure", "prompt-submit", "stop", "pre-compact",
    "session-end",
];
const BODY: &[u8] = b"{\"session_id\":\"s1\",\"tool_name\":\"Bash\"}\n";

fn field(fields: &Fields, tag: u8) -> String {
    text(fields.get(&tag).map_or(b"", Vec::as_slice))
}

/// REQ-HOOKS-17..21: every kind is one request, and what the owner says is what the hook says.
#[test]
fn each_hook_sends_one_request_and_prints_the_answer() {
    let world = World::new().with("CLAUDE_CODE_SESSION_ID", SESSION).with("CONTEXT_GRAPH_IDENTITY_LINES", "changes");
    let requests = world.answering(response(6, 1, b"{\"out\":1}\n", b"crisis\n"));
    let mut ids = Vec::new();
    for kind in KINDS {
        let args = ["hooks", kind, "--stdin", "--tool-name", "B\"ash", "--success", "true"];
        // A busy machine may use up the 100 ms of pre-tool; that is another test's matter.
        let output = (0..50).map(|_| world.run(&args, BODY)).find(|output| output.status.code() != Some(2)).unwrap();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(6), "{\"out\":1}\n".to_owned()), "{kind}");
        assert_eq!(text(&output.stderr), "crisis\n");
        let fields = requests.try_iter().last().unwrap();
        assert_eq!(field(&fields, 1), format!("hooks.{kind}"));
        assert_eq!(
            field(&fields, 3),
            "{\"format\":\"json\",\"tool-name\":\"B\\\"ash\",\"success\":\"true\",\"stdin\":true}"
        );
        assert_eq!(fields[&4], BODY);
        assert_eq!(field(&fields, 5), world.store().display().to_string());
        assert_eq!(field(&fields, 6), world.project().display().to_string());
        assert_eq!(field(&fields, 7), SESSION);
        assert_eq!(field(&fields, 8), world.project().display().to_string());
        assert_eq!(field(&fields, 9), "CONTEXT_GRAPH_IDENTITY_LINES=changes");
        assert_eq!((fields[&10].len(), fields[&11].len()), (4, 8));
        assert_eq!(field(&fields, 12), env!("CARGO_PKG_VERSION"));
        ids.push(field(&fields, 2));
    }
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), KINDS.len(), "event ids are unique");
}

/// D2.3: in the client's format the exit code is 0 whatever the owner says, and never 2.
#[test]
fn the_clients_format_always_exits_0() {
    for code in [0, 1, 2, 6, 255] {
        let world = World::new();
        let _requests = world.answering(response(code, 1, b"{}\n", b"why\n"));
        let output = world.run(&["hooks", "post-tool", "--format", "claude"], BODY);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"{}\n"[..]));
    }
}

#[test]
fn the_golden_response_is_printed_as_it_is() {
    let world = World::new();
    let _requests = world.answering(golden("response_v1.bin"));
    let output = world.run(&["hooks", "post-tool", "--session-id", "s"], b"");
    assert_eq!(output.status.code(), Some(6));
    assert!(text(&output.stdout).starts_with("{\"hookSpecificOutput\"") && text(&output.stderr) == "crisis: é\n");
}

/// Claude Code's contract section 6: stdin is a Unix socket; 2 MB arrive whole.
#[test]
fn a_large_body_arrives_whole_through_a_socket_as_stdin() {
    let world = World::new();
    let requests = world.answering(response(0, 1, b"", b""));
    let body = format!("{{\"session_id\":\"s\",\"x\":\"{}\"}}\n", "y".repeat(2_000_000)).into_bytes();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = world.command(BINARY, &["hooks", "post-tool", "--format", "claude"]);
    let child = command.stdin(std::os::fd::OwnedFd::from(theirs)).spawn().unwrap();
    drop(command);
    let sent = body.clone();
    let writer = std::thread::spawn(move || {
        let mut ours = ours;
        ours.write_all(&sent).unwrap();
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(requests.recv_timeout(PATIENCE).unwrap()[&4], body);
}

/// A long answer comes in pieces.
#[test]
fn a_large_answer_in_pieces_is_printed_whole() {
    let world = World::new();
    let said = vec![b'z'; 300_000];
    let whole = response(0, 1, &said, b"");
    world.owner(move |mut stream| {
        read_request(&mut stream);
        whole.chunks(7_777).for_each(|chunk| stream.write_all(chunk).unwrap());
    });
    assert_eq!(world.run(&["hooks", "stop", "--session-id", "s"], b"").stdout, vec![b'z'; 300_000]);
}

/// Invariant 6: what can't be used is logged under the id that the owner may have applied already.
#[test]
fn an_unusable_answer_is_as_good_as_none_and_keeps_the_event_id() {
    let whole = response(0, 1, b"{\"out\":1}\n", b"");
    let mut answers: Vec<Vec<u8>> = [0, 1, 7, 8, 9, 15, whole.len() - 1].map(|end| whole[..end].to_vec()).to_vec();
    answers.push(b"HTTP/1.1 400 Bad Request\r\n".to_vec());
    answers.push([whole.clone(), b"x".to_vec()].concat());
    answers.push(response(0, 2, b"not to be printed", b""));
    answers.push(response(0, 4, b"not to be printed", b""));
    for answer in answers {
        let world = World::new();
        let requests = world.answering(answer.clone());
        let output = world.run(&["hooks", "post-tool", "--format", "json-compact", "--session-id", "s"], b"");
        assert_eq!(output.status.code(), Some(0), "{answer:?}");
        assert!(text(&output.stdout).starts_with("{\"success\":true,\"execution_time_ms\":"), "{answer:?}");
        let id = field(&requests.recv_timeout(PATIENCE).unwrap(), 2);
        let logged = world.logged();
        assert!(logged.len() == 1 && logged[0].starts_with(&id), "{logged:?}");
    }
}

fn silent(world: &World) {
    let mut kept = Vec::new();
    world.owner(move |stream| kept.push(stream));
}

/// REQ-HOOKS-32: the budget of seed 001, and the only way to exit code 2.
#[test]
fn a_silent_owner_is_a_timeout() {
    let world = World::new().with_brief().with("CONTEXT_GRAPH_IDENTITY_LINES", "always");
    silent(&world);
    let output = world.run(&["hooks", "pre-tool", "--session-id", "newest"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("\"error\": \"Hook timeout after 100ms\""), "{}", text(&output.stdout));
    let output = world.run(&["hooks", "pre-tool", "--format", "claude"], b"{\"session_id\":\"newest\"}");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    assert_eq!(world.logged().len(), 2, "both are queued");
}

extern "C" {
    fn listen(fd: i32, backlog: i32) -> i32;
}

/// An owner that accepts nobody: its queue is full, connect itself would block.
#[test]
fn a_busy_owner_is_a_timeout_too() {
    let world = World::new();
    std::fs::create_dir_all(world.root().join("run")).unwrap();
    let socket = world.root().join("run/owner.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    // SAFETY: plain system call on a listener that this test owns; a queue of 0 holds one client.
    assert_eq!(unsafe { listen(listener.as_raw_fd(), 0) }, 0);
    let _first = UnixStream::connect(&socket).unwrap();
    let output = world.run(&["hooks", "pre-tool", "--session-id", "s"], b"");
    assert_eq!((output.status.code(), world.logged().len()), (Some(2), 1));
}

/// An owner that refuses a frame answers and hangs up before it has read all of it.
#[test]
fn an_answer_before_the_request_was_read_counts() {
    let world = World::new();
    world.owner(|mut stream| {
        let mut some = [0u8; 1000];
        stream.read_exact(&mut some).unwrap();
        stream.write_all(&response(3, 1, b"refused\n", b"")).unwrap();
    });
    let body = format!("{{\"x\":\"{}\"}}", "y".repeat(3_000_000));
    let output = world.run(&["hooks", "session-end", "--session-id", "s", "--stdin"], body.as_bytes());
    // Either the answer arrived, or the hang-up was seen first and the event is queued: never lost, never stuck.
    let answered = output.status.code() == Some(3) && output.stdout == b"refused\n";
    assert!(answered || output.status.code() == Some(0) && world.logged().len() == 1);
}

/// Invariant 4: paths that are too long to bind move to a private folder under /tmp.
#[test]
fn a_long_data_root_is_served_through_a_private_folder() {
    let world = World::new();
    let root = world.dir.join(&"r".repeat(120)).display().to_string();
    let world = world.with("CONTEXT_GRAPH_HOME", &root);
    // SAFETY: getuid has no precondition.
    let uid = unsafe { getuid() };
    let folder = std::path::PathBuf::from(format!("/tmp/context-graph-{uid}"));
    let made = std::fs::create_dir(&folder).is_ok();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let socket = folder.join(format!("{:016x}.sock", fnv1a64(root.as_bytes())));
    world.owner_at(&socket, |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(&response(0, 1, b"from afar\n", b""));
    });
    let output = world.run(&["hooks", "stop", "--session-id", "s"], b"");
    let _ = std::fs::remove_file(&socket);
    if made {
        let _ = std::fs::remove_dir(&folder);
    }
    assert_eq!(text(&output.stdout), "from afar\n");
}

extern "C" {
    fn getuid() -> u32;
}

#[test]
fn two_hooks_started_together_get_their_own_answers() {
    let world = std::sync::Arc::new(World::new());
    world.owner(|mut stream| {
        let Some(fields) = read_request(&mut stream) else { return };
        let _ = stream.write_all(&response(0, 1, &fields[&3], b""));
    });
    let ask = |name: String| {
        let world = world.clone();
        std::thread::spawn(move || text(&world.run(&["hooks", "stop", "--session-id", &name], b"").stdout))
    };
    let asked: Vec<_> = (0..16).map(|number| (number, ask(format!("s{number}")))).collect();
    for (number, answer) in asked {
        assert!(answer.join().unwrap().contains(&format!("\"session-id\":\"s{number}\"")));
    }
}
