//! `consciousness brief`: one line, exit code 0, whatever is on disk.

use crate::support::golden;
use crate::world::{text, World, BINARY};
use std::process::Stdio;

const COLD: &str = "[C:? r=? IC=?]\n";

fn brief(world: &World, args: &[&str]) -> String {
    let output = world.run(&[&["consciousness", "brief"], args].concat(), b"");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    text(&output.stdout)
}

/// REQ-SESSION-11, TC-SESSION-12, TC-SESSION-13.
#[test]
fn the_brief_prints_the_sessions_line_or_the_cold_one() {
    let world = World::new().with("CLAUDE_CODE_SESSION_ID", "newest");
    assert_eq!(brief(&world, &[]), COLD);
    let world = world.with_brief();
    assert_eq!(brief(&world, &[]), "[C:CON r=0.88 IC=0.91]\n");
    assert_eq!(brief(&world, &["--session-id", "cold-session"]), COLD);
    assert_eq!(brief(&world, &["--session-id=nobody"]), COLD);
    let world = world.with("CLAUDE_CODE_SESSION_ID", "torn-session");
    assert_eq!(brief(&world, &[]), COLD);
    assert_eq!(brief(&world.without("CLAUDE_CODE_SESSION_ID"), &[]), "[C:CON r=0.88 IC=0.91]\n");
}

#[test]
fn the_brief_of_a_worktree_is_that_of_its_repository() {
    let world = World::new().with_brief();
    let tree = world.dir.join("tree");
    std::fs::create_dir_all(world.project().join(".git/worktrees/w")).unwrap();
    std::fs::create_dir(&tree).unwrap();
    let git = format!("gitdir: {}/.git/worktrees/w\n", world.project().display());
    std::fs::write(tree.join(".git"), git).unwrap();
    let world = world.with("CLAUDE_PROJECT_DIR", &tree.display().to_string());
    assert_eq!(brief(&world, &[]), COLD, "a repository that does not name it back");
    let back = format!("{}/.git\n", tree.display());
    std::fs::write(world.project().join(".git/worktrees/w/gitdir"), back).unwrap();
    assert_eq!(brief(&world, &[]), "[C:CON r=0.88 IC=0.91]\n");
}

#[test]
fn nothing_in_arguments_or_environment_makes_the_brief_fail() {
    for args in
        [&["--colour"][..], &["x", "--session-id"], &["--session-id="], &["--db-path"], &["--db-path", "/etc/x"]]
    {
        assert_eq!(brief(&World::new(), args), COLD, "{args:?}");
    }
    let long = "/x".repeat(50_000);
    for (name, value) in [
        ("CONTEXT_GRAPH_HOME", "relative"),
        ("CONTEXT_GRAPH_HOME", &long[..]),
        ("CLAUDE_PROJECT_DIR", &long[..]),
        ("CONTEXT_GRAPH_DB_PATH", "../x"),
        ("CLAUDE_CODE_SESSION_ID", &long[..]),
    ] {
        assert_eq!(brief(&World::new().with(name, value), &[]), COLD, "{name}");
    }
    assert_eq!(brief(&World::new().without("CONTEXT_GRAPH_HOME").without("HOME"), &[]), COLD);
    let strange = brief(&World::new().with_brief(), &["--colour"]);
    assert_eq!(strange, "[C:CON r=0.88 IC=0.91]\n");
}

/// Invariant 8.
#[test]
fn garbage_in_the_place_of_the_cache_gives_the_cold_line() {
    let noise: Vec<u8> = (0..100_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    let cut = golden("brief_v2.bin")[..30_000].to_vec();
    for bytes in [Vec::new(), b"CGBRIEF2".to_vec(), noise, cut] {
        let world = World::new().with_brief();
        std::fs::write(world.store().join("brief.bin"), bytes).unwrap();
        assert_eq!(brief(&world, &[]), COLD);
        assert_eq!(brief(&world, &["--session-id", "newest"]), COLD);
    }
}

/// A FIFO would hang whoever opens it for reading, a link could lead anywhere, a folder can't be read.
#[test]
fn what_is_no_file_in_the_place_of_the_cache_gives_the_cold_line() {
    for make in ["mkfifo brief.bin", "mkdir brief.bin", "ln -s other brief.bin", "ln -s /dev/zero brief.bin"] {
        let world = World::new().with_brief();
        let store = world.store();
        std::fs::rename(store.join("brief.bin"), store.join("other")).unwrap();
        let made = world.command("/bin/sh", &["-c", make]).current_dir(&store).status().unwrap();
        assert!(made.success(), "{make}");
        assert_eq!(brief(&world, &[]), COLD, "{make}");
    }
}

#[test]
fn a_reader_that_is_gone_does_not_change_the_exit_code() {
    let world = World::new();
    for redirection in [">&-", "<&- >&- 2>&-", "| true"] {
        let line = format!("{BINARY} consciousness brief {redirection}; exit $?");
        let output = world.command("/bin/sh", &["-c", &line]).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{redirection}");
    }
    if cfg!(target_os = "linux") {
        let line = format!("exec {BINARY} consciousness brief >/dev/full");
        assert_eq!(world.command("/bin/sh", &["-c", &line]).output().unwrap().status.code(), Some(0));
    }
}

/// REQ-SESSION-11 on the hot path: no Python, no socket, one file.
#[test]
fn the_brief_opens_one_file_and_no_socket() {
    let world = World::new().with_brief();
    let trace = world.dir.join("trace");
    let calls = "trace=open,openat,openat2,creat,socket,connect,execve,clone,clone3,fork,vfork";
    let args = ["-f", "-o", trace.to_str().unwrap(), "-e", calls, BINARY, "consciousness", "brief"];
    let Ok(output) = world.command("strace", &args).stdin(Stdio::null()).output() else {
        eprintln!("no strace here: system calls not counted");
        return;
    };
    assert_eq!(text(&output.stdout), "[C:CON r=0.88 IC=0.91]\n");
    let calls = std::fs::read_to_string(trace).unwrap();
    let opened: Vec<_> = calls.lines().filter(|line| line.contains("open")).collect();
    assert!(opened.len() == 1 && opened[0].contains("brief.bin"), "{calls}");
    assert!(
        !calls.contains("socket(")
            && !calls.contains("clone(")
            && !calls.contains("clone3(")
            && !calls.contains("fork("),
        "{calls}"
    );
    assert_eq!(calls.matches("execve(").count(), 1, "{calls}");
}
