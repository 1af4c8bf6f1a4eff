//! The spool under pressure: many writers, a drainer, crashes, a full disk, secrets.

use crate::world::{records, text, World, BINARY};
use std::collections::HashSet;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

extern "C" {
    fn flock(fd: i32, operation: i32) -> i32;
}

const EXCLUSIVE: i32 = 2;

fn lock(file: &std::fs::File) {
    // SAFETY: plain system call on a file that the caller owns.
    assert_eq!(unsafe { flock(file.as_raw_fd(), EXCLUSIVE) }, 0);
}

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
    let sessions: HashSet<String> = world.spooled().iter().map(|record| session_of(record)).collect();
    assert_eq!(sessions.len(), 80);
}

/// The owner renames the file away at any moment: no event may go into a file that nobody will read again.
#[test]
fn nothing_is_lost_while_the_owner_drains() {
    let world = Arc::new(World::new());
    let spool = world.store().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (drained_stop, drained_spool) = (stop.clone(), spool.clone());
    let drainer = std::thread::spawn(move || {
        let (log, mut found) = (drained_spool.join("events.log"), Vec::new());
        loop {
            let last = drained_stop.load(Ordering::Acquire);
            // As the owner does: lock, rename, unlock, and from then on the file is complete.
            if let Ok(file) = std::fs::File::open(&log) {
                lock(&file);
                let renamed = drained_spool.join("events.1.draining");
                std::fs::rename(&log, &renamed).unwrap();
                drop(file);
                found.extend(records(&std::fs::read(&renamed).unwrap()));
                std::fs::remove_file(renamed).unwrap();
            }
            if last {
                return found;
            }
        }
    });
    in_parallel(&world, 8, 10);
    stop.store(true, Ordering::Release);
    let mut found: Vec<String> = drainer.join().unwrap().iter().map(|record| session_of(record)).collect();
    found.extend(world.spooled().iter().map(|record| session_of(record)));
    let unique: HashSet<&String> = found.iter().collect();
    assert_eq!((found.len(), unique.len()), (80, 80));
}

#[test]
fn a_locked_spool_makes_the_event_a_file_of_its_own() {
    let world = World::new();
    hook(&world, "first");
    let log = std::fs::File::open(world.store().join("spool/events.log")).unwrap();
    lock(&log);
    hook(&world, "second");
    drop(log);
    let mut names: Vec<String> = std::fs::read_dir(world.store().join("spool"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_by_key(String::len);
    assert!(names.len() == 2 && names[0] == "events.log" && names[1].len() == "events..log".len() + 32, "{names:?}");
    assert_eq!(world.spooled().len(), 2);
}

#[test]
fn a_torn_predecessor_costs_its_own_line_only() {
    let world = World::new();
    hook(&world, "torn");
    let log = world.store().join("spool/events.log");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() / 2]).unwrap();
    hook(&world, "next");
    let file = std::fs::read(&log).unwrap();
    let lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(session_of(&records(lines[1])[0]), "next");
}

/// A full disk: the record is taken back whole, the user is told, the hook still ends well.
#[test]
fn a_spool_that_cannot_grow_is_told_and_left_whole() {
    let world = World::new();
    hook(&world, "first");
    let limited = |format: &str| {
        // A limit of 4 blocks of 1024 or 512 bytes: the first record fits, the second does not.
        let line = format!(
            "ulimit -f $(( ($(wc -c < {0}/spool/events.log) + 1023) / 512 )); exec {BINARY} hooks stop \
             --format {format} --session-id s --prompt {1}",
            world.store().display(),
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
    assert_eq!(world.spooled().len(), 1, "and the file is as it was");
}

#[test]
fn a_root_that_cannot_be_made_is_told() {
    let world = World::new();
    std::fs::write(world.dir.join("file"), "").unwrap();
    let root = world.dir.join("file/root").display().to_string();
    let world = world.with("CONTEXT_GRAPH_HOME", &root);
    let output = world.run(&["hooks", "stop", "--format", "claude"], b"{\"session_id\":\"s\"}");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("could not be recorded: the spool can't be opened: Not a directory"));
    assert_eq!(world.run(&["hooks", "stop", "--session-id", "s"], b"").status.code(), Some(3));
}

/// The owner never starts: the spool must not fill the disk.
#[test]
fn a_spool_of_64_mebibytes_takes_no_more() {
    let world = World::new();
    hook(&world, "first");
    let log = std::fs::File::options().append(true).open(world.store().join("spool/events.log")).unwrap();
    log.set_len(64 * 1024 * 1024).unwrap();
    let output = world.run(&["hooks", "stop", "--session-id", "s"], b"");
    assert!(output.status.code() == Some(3) && text(&output.stdout).contains("has reached 64 MiB"));
}

/// Invariant 10, REQ-HOOKS-33: folders and files are private, and hold nothing secret.
/// The owner takes once what settings and a plugin bring; without it only the record can tell the two apart.
#[test]
fn a_plugin_s_hook_says_so_in_its_record() {
    let args = ["hooks", "stop", "--format", "claude"];
    let world = World::new();
    world.run(&args, b"{\"session_id\":\"s\"}");
    let world = world.with("CLAUDE_PLUGIN_ROOT", "/opt/plugin");
    world.run(&args, b"{\"session_id\":\"s\"}");
    let told: Vec<bool> = world.spooled().iter().map(|record| record.contains("\"plugin\":true")).collect();
    assert_eq!(told, [false, true]);
}

#[test]
fn what_is_spooled_is_private_and_redacted() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let key = ["sk-ant-", "api03-Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"].concat();
    let body = format!(
        "{{\"session_id\":\"s\",\"prompt\":\"use \\u0073k-ant-{0} and password=\\\"hunter2 x\\\"\",\"tool_input\":{{\"api_key\":\"plain\",\"{key}\":1}}}}",
        &key[7..]
    );
    let prompt = format!("export TOKEN={key}");
    let args = ["hooks", "prompt-submit", "--format", "claude", "--prompt", &prompt];
    assert_eq!(world.run(&args, body.as_bytes()).status.code(), Some(0));
    let record = &world.spooled()[0];
    for secret in [&key[7..], "hunter2", "plain"] {
        assert!(!record.contains(secret), "{record}");
    }
    assert!(record.contains("\"session_id\":\"s\"") && record.contains("[redacted:"), "{record}");
    for (path, mode) in [("", 0o700), ("run", 0o700), ("run/owner.lock", 0o600)] {
        let found = std::fs::metadata(world.root().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path}");
    }
    for (path, mode) in [("", 0o700), ("spool", 0o700), ("spool/events.log", 0o600)] {
        let found = std::fs::metadata(world.store().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path}");
    }
}

#[test]
fn a_link_in_the_place_of_the_spool_is_not_followed() {
    let world = World::new();
    std::fs::create_dir_all(world.store().join("spool")).unwrap();
    let target = world.dir.join("victim");
    std::fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, world.store().join("spool/events.log")).unwrap();
    assert_eq!(world.run(&["hooks", "stop", "--session-id", "s"], b"").status.code(), Some(3));
    assert_eq!(std::fs::read_to_string(target).unwrap(), "mine");
}
