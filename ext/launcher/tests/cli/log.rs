//! The event log under pressure: many writers, an owner that reads and removes, crashes, a full disk, secrets.

use crate::world::{records, text, World, BINARY};
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

fn hook(world: &World, session: &str) {
    let body = format!("{{\"session_id\":\"{session}\",\"text\":\"{}\"}}", "x".repeat(3000));
    let output = world.run(&["hooks", "post-tool", "--format", "claude"], body.as_bytes());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

fn in_parallel(world: &Arc<World>, writers: usize, each: usize) {
    let threads: Vec<_> = (0..writers)
        .map(|writer| {
            let world = world.clone();
            std::thread::spawn(move || (0..each).for_each(|turn| hook(&world, &format!("w{writer}-{turn}"))))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn session_of(record: &str) -> String {
    let at = record.find("\"session_id\":\"").unwrap() + 14;
    record[at..].split('"').next().unwrap().to_owned()
}

#[test]
fn sixteen_writers_leave_every_line_whole() {
    let world = Arc::new(World::new());
    in_parallel(&world, 16, 5);
    let sessions: HashSet<String> = world.logged().iter().map(|record| session_of(record)).collect();
    assert_eq!(sessions.len(), 80);
}

/// As the owner does: take the write permission away, read to the end as it is then, remove.
fn close_and_take(path: &Path) -> Vec<String> {
    let file = std::fs::File::open(path).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o400)).unwrap();
    let size = file.metadata().unwrap().len() as usize;
    let bytes = std::fs::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    records(&bytes[..size])
}

/// The owner closes a segment at any moment: no event may go only to where nobody reads.
#[test]
fn nothing_is_lost_while_the_owner_reads_and_removes() {
    let world = Arc::new(World::new());
    let stop = Arc::new(AtomicBool::new(false));
    let (reader_stop, reader_world) = (stop.clone(), world.clone());
    let reader = std::thread::spawn(move || {
        let mut taken = Vec::new();
        loop {
            let last = reader_stop.load(Ordering::Acquire);
            taken.extend(reader_world.segments().iter().flat_map(|path| close_and_take(path)));
            if last {
                return taken;
            }
        }
    });
    in_parallel(&world, 8, 10);
    stop.store(true, Ordering::Release);
    let taken: Vec<String> = reader.join().unwrap().iter().map(|record| session_of(record)).collect();
    let unique: HashSet<&String> = taken.iter().collect();
    assert_eq!(unique.len(), 80);
    // What was written to a closed segment is written once more, under the same id.
    assert!(taken.len() >= 80);
}

#[test]
fn a_closed_segment_is_followed_by_another() {
    let world = World::new();
    hook(&world, "first");
    let closed = world.segments().remove(0);
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o400)).unwrap();
    let before = std::fs::read(&closed).unwrap();
    hook(&world, "second");
    assert_eq!(std::fs::read(&closed).unwrap(), before);
    let sessions: Vec<String> = world.logged().iter().map(|record| session_of(record)).collect();
    assert_eq!((sessions, world.segments().len()), (vec!["first".to_owned(), "second".to_owned()], 2));
}

#[test]
fn a_segment_of_4_mebibytes_is_followed_by_another() {
    let world = World::new();
    hook(&world, "first");
    std::fs::File::options().append(true).open(&world.segments()[0]).unwrap().set_len(4 * 1024 * 1024 - 1).unwrap();
    hook(&world, "second");
    assert_eq!(world.segments().len(), 1, "it had room");
    hook(&world, "third");
    let last = world.segments().pop().unwrap();
    assert_eq!(
        (world.segments().len(), session_of(&records(&std::fs::read(last).unwrap())[0])),
        (2, "third".to_owned())
    );
}

#[test]
fn a_torn_predecessor_costs_its_own_line_only() {
    let world = World::new();
    hook(&world, "torn");
    let log = world.segments().remove(0);
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() / 2]).unwrap();
    hook(&world, "next");
    let file = std::fs::read(&log).unwrap();
    let lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(session_of(&records(lines[1])[0]), "next");
}

/// A full disk: the user is told, the hook ends well, and what comes behind the torn record is whole.
#[test]
fn a_log_that_cannot_grow_is_told_and_costs_that_record_alone() {
    let world = World::new();
    hook(&world, "first");
    let log = world.segments().remove(0);
    let limited = |format: &str| {
        // A limit of 4 blocks of 1024 or 512 bytes: the first record fits, the second does not.
        let line = format!(
            "ulimit -f $(( ($(wc -c < {0}) + 1023) / 512 )); exec {BINARY} hooks stop \
             --format {format} --session-id s --prompt {1}",
            log.display(),
            "y".repeat(8000)
        );
        let script = world.command("/bin/sh", &["-c", &line]).stdin(std::process::Stdio::null()).output().unwrap();
        (script.status.code(), text(&script.stdout))
    };
    let (code, said) = limited("claude");
    assert_eq!(code, Some(0));
    assert!(said.starts_with("{\"systemMessage\":\"context-graph: this event could not be recorded: "), "{said}");
    let (code, said) = limited("json-compact");
    assert_eq!(code, Some(3));
    assert!(said.starts_with("{\"success\":false,\"error\":\"this event could not be recorded: "), "{said}");
    hook(&world, "next");
    let file = std::fs::read(&log).unwrap();
    let lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let whole = [lines[0], lines[lines.len() - 1]].map(|line| session_of(&records(line)[0]));
    assert_eq!(whole, ["first", "next"]);
}

#[test]
fn a_root_that_cannot_be_made_is_told() {
    let world = World::new();
    std::fs::write(world.dir.join("file"), "").unwrap();
    let root = world.dir.join("file/root").display().to_string();
    let world = world.with("CONTEXT_GRAPH_HOME", &root);
    let why = "could not be recorded: the event log can't be opened: Not a directory";
    for (kind, tells) in [("session-start", true), ("stop", false), ("prompt-submit", false)] {
        let output = world.run(&["hooks", kind, "--format", "claude"], b"{\"session_id\":\"s\"}");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stdout).contains(why), tells, "{kind}");
        assert!(text(&output.stderr).contains(why), "{kind}: each loss is said");
        assert!(!text(&output.stdout).contains("wait in the log"), "{kind}: they don't");
    }
    assert_eq!(world.run(&["hooks", "stop", "--session-id", "s"], b"").status.code(), Some(3));
}

/// The owner never starts: the log must not fill the disk.
#[test]
fn a_log_of_64_mebibytes_takes_no_more() {
    let world = World::new();
    hook(&world, "first");
    let first = world.segments().remove(0);
    for number in 1..16 {
        std::fs::copy(&first, first.with_file_name(format!("{number:013}-00000000.log"))).unwrap();
    }
    hook(&world, "second");
    std::fs::File::options().append(true).open(&first).unwrap().set_len(4 * 1024 * 1024).unwrap();
    let output = world.run(&["hooks", "stop", "--session-id", "s"], b"");
    assert!(output.status.code() == Some(3) && text(&output.stdout).contains("has reached 64 MiB"));
    assert_eq!(world.segments().len(), 16);
}

/// The owner takes once what settings and a plugin bring; without it only the record can tell the two apart.
#[test]
fn a_plugin_s_hook_says_so_in_its_record() {
    let args = ["hooks", "stop", "--format", "claude"];
    let world = World::new();
    world.run(&args, b"{\"session_id\":\"s\"}");
    let world = world.with("CLAUDE_PLUGIN_ROOT", "/opt/plugin");
    world.run(&args, b"{\"session_id\":\"s\"}");
    let told: Vec<bool> = world.logged().iter().map(|record| record.contains("\"plugin\":true")).collect();
    assert_eq!(told, [false, true]);
}

/// Invariant 10, REQ-HOOKS-33: folders and files are private, and hold nothing secret.
#[test]
fn what_is_logged_is_private_and_redacted() {
    let world = World::new();
    let key = ["sk-ant-", "api03-Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"].concat();
    let body = format!(
        "{{\"session_id\":\"s\",\"prompt\":\"use \\u0073k-ant-{0} and password=\\\"hunter2 x\\\"\",\"tool_input\":{{\"api_key\":\"plain\",\"{key}\":1}}}}",
        &key[7..]
    );
    let prompt = format!("export TOKEN={key}");
    let args = ["hooks", "prompt-submit", "--format", "claude", "--prompt", &prompt];
    assert_eq!(world.run(&args, body.as_bytes()).status.code(), Some(0));
    let record = &world.logged()[0];
    for secret in [&key[7..], "hunter2", "plain"] {
        assert!(!record.contains(secret), "{record}");
    }
    assert!(record.contains("\"session_id\":\"s\"") && record.contains("[redacted:"), "{record}");
    for (path, mode) in [("", 0o700), ("run", 0o700), ("run/owner.lock", 0o600)] {
        let found = std::fs::metadata(world.root().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path}");
    }
    for (path, mode) in
        [(world.store(), 0o700), (world.store().join("events"), 0o700), (world.segments().remove(0), 0o600)]
    {
        let found = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}

#[test]
fn a_link_in_the_place_of_a_segment_is_not_followed() {
    let world = World::new();
    let (victim, link) = (world.dir.join("victim"), world.store().join("events/9999999999999-00000000.log"));
    std::fs::create_dir_all(world.store().join("events")).unwrap();
    std::fs::write(&victim, "mine").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    hook(&world, "s");
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "mine");
    std::fs::remove_file(link).unwrap();
    assert_eq!(world.logged().len(), 1, "it has a file of its own");
}
