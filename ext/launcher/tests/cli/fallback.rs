//! Hooks without an owner: what they say, keep and start.

use crate::world::{eventually, finished, read_request, response, text, World, BINARY, SESSION};
use std::io::Write;

const BODY: &[u8] = b"{\"session_id\":\"newest\",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_01\"}\n";
const KINDS: [&str; 7] =
    ["pre-tool", "post-tool", "post-tool-failure", "prompt-submit", "stop", "pre-compact", "session-end"];

/// D1.4, D2.3: an event is queued, the client's document or nothing is printed, exit code 0.
#[test]
fn without_an_owner_each_hook_is_queued_and_exits_0() {
    for kind in KINDS {
        let world = World::new().with_brief();
        let output = world.run(&["hooks", kind, "--format", "claude"], BODY);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{kind}");
        match (kind, text(&output.stdout)) {
            // It waits for the owner that it starts, and sees that there will be none.
            ("prompt-submit", said) => {
                assert!(said.starts_with("{\"systemMessage\":\"context-graph: no owner"), "{said}")
            }
            (_, said) => assert_eq!(said, "", "{kind}"),
        }
        let logged = world.logged();
        if kind == "pre-tool" {
            assert!(logged.is_empty(), "the cache knows that nothing is due, and the result will say all of it");
            continue;
        }
        assert_eq!(logged.len(), 1, "{kind}");
        assert!(logged[0].contains(&format!("\"verb\":\"hooks.{kind}\"")));
        assert!(logged[0].ends_with(&format!("\"body\":{}}}", text(BODY.trim_ascii()))), "{}", logged[0]);
    }
}

/// Seed 001's HookOutput from the last brief, in its three formats; absent keys are left out.
#[test]
fn the_seeds_formats_say_what_the_brief_cache_knows() {
    let world = World::new().with_brief();
    let compact = world.run(&["hooks", "post-tool", "--format", "json-compact", "--session-id", "newest"], b"");
    let said = text(&compact.stdout);
    let expected = "{\"success\":true,\"consciousness_state\":{\"consciousness\":0.625,\"integration\":0.96875,\
        \"reflection\":0.5,\"differentiation\":0.25,\"identity_continuity\":0.9375,\"johari_quadrant\":\"blind\"},\
        \"ic_classification\":{\"value\":0.9375,\"level\":\"healthy\",\"crisis_triggered\":false},\"execution_time_ms\":";
    assert!(said.starts_with(expected), "{said}");
    let unknown = text(&world.run(&["hooks", "post-tool", "--format", "json", "--session-id", "nobody"], b"").stdout);
    assert!(unknown.starts_with("{\n  \"success\": true,\n  \"execution_time_ms\": "), "{unknown}");
    let words = text(&world.run(&["hooks", "post-tool", "--format", "text", "--session-id", "newest"], b"").stdout);
    assert!(words.starts_with("success: yes (") && words.contains("identity continuity: 0.94 (healthy)"), "{words}");
}

/// D1.5: the client's session, else the input's, else the option's.
#[test]
fn the_session_is_the_clients_then_the_inputs_then_the_options() {
    let session = |world: &World| {
        let format = ["hooks", "post-tool", "--format", "json-compact", "--session-id", "cold-session", "--stdin"];
        text(&world.run(&format, BODY).stdout)
    };
    let world = World::new().with("CLAUDE_CODE_SESSION_ID", SESSION).with_brief();
    assert!(session(&world).contains("\"identity_continuity\":0.9375"));
    assert!(world.logged()[0].contains(&format!("\"session\":\"{SESSION}\"")));
    let world = world.without("CLAUDE_CODE_SESSION_ID");
    assert!(session(&world).contains("\"identity_continuity\":0.9375"), "the input names one that is measured");
    let format = ["hooks", "post-tool", "--format", "json-compact", "--session-id", "cold-session"];
    assert!(!text(&world.run(&format, b"").stdout).contains("identity_continuity"), "the option names one that is not");
}

/// An owner that comes up while the session starts is asked; its answer is the hook's.
#[test]
fn a_session_start_waits_for_the_owner_it_starts() {
    let world = World::new().coming_up(response(0, 1, b"{\"restored\":1}\n", b""));
    let output = world.run(&["hooks", "session-start"], BODY);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "{\"restored\":1}\n".to_owned()));
    assert_eq!(world.logged().len(), 1);
}

/// Invariant 3: an older owner yields; a session's start outlasts it and asks its successor.
#[test]
fn a_session_start_outlasts_an_owner_that_yields() {
    let world = World::new();
    let mut yields = 3;
    world.owner(move |mut stream| {
        let Some(_) = read_request(&mut stream) else { return };
        let answer = if yields > 0 { response(0, 4, b"", b"") } else { response(0, 1, b"successor\n", b"") };
        yields -= 1;
        let _ = stream.write_all(&answer);
    });
    let output = world.run(&["hooks", "session-start"], BODY);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "successor\n".to_owned()));
    assert_eq!(world.logged().len(), 1, "once, however often it is asked about");
}

/// What fails now fails again at once: a store that can't be used costs no prompt the wait for an owner.
#[test]
fn a_store_that_fails_is_not_waited_for() {
    let world = World::new();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    world.owner(move |mut stream| {
        let Some(_) = read_request(&mut stream) else { return };
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let _ = stream.write_all(&response(0, 2, b"\0no space", b""));
    });
    let output = world.run(&["hooks", "prompt-submit", "--format", "claude"], BODY);
    // The user is told by the first hook, the model by the session's start.
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "{\"systemMessage\":\"no space\"}\n".to_owned())
    );
    let output = world.run(&["hooks", "session-start", "--format", "claude"], BODY);
    assert!(!text(&output.stdout).contains("systemMessage"), "once a session: {}", text(&output.stdout));
    assert!(text(&output.stdout).contains("store can't be used"), "{}", text(&output.stdout));
    assert_eq!((asked.load(std::sync::atomic::Ordering::SeqCst), world.logged().len()), (2, 2));
}

/// An owner that holds the lock and never listens costs the session's start its wait, not its event.
#[test]
fn a_session_start_gives_up_on_an_owner_that_never_listens() {
    let world = World::new().with_script("exec sleep 6");
    world.run(&["hooks", "stop", "--format", "claude"], BODY); // starts it
    let output = world.run(&["hooks", "session-start", "--format", "json-compact"], BODY);
    assert_eq!((output.status.code(), world.logged().len()), (Some(0), 2), "{}", text(&output.stdout));
}

#[test]
fn a_session_start_without_an_owner_says_so_and_is_queued() {
    let world = World::new();
    let output = world.run(&["hooks", "session-start", "--format", "claude"], BODY);
    assert_eq!(output.status.code(), Some(0));
    let expected = "\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"context-graph: \
        no owner can be started (context-graph-cli doctor says why); this event is queued and will be applied.\"}}\n";
    let said = text(&output.stdout);
    assert!(
        said.starts_with("{\"systemMessage\":\"context-graph: no owner can be started") && said.ends_with(expected),
        "{said}"
    );
    assert_eq!(world.logged().len(), 1);
}

/// D1.4: detached in every respect, or the client would wait for it.
#[test]
#[cfg(target_os = "linux")] // what a process holds is told by /proc
fn the_owner_is_started_detached_with_the_lock_in_hand() {
    let world = World::new();
    let report = world.dir.join("report").display().to_string();
    let world = world.with_script(&format!(
        "{{ echo args: \"$@\"; echo cwd: $(pwd); for fd in /proc/$$/fd/*; do echo fd ${{fd##*/}} $(readlink $fd); done; \
         cut -d' ' -f1,4,5,6,7 /proc/$$/stat; grep SigIgn /proc/$$/status; echo end; }} > {report}; exec sleep 5"
    ));
    // The output's end comes although the owner lives on: it holds none of the hook's streams.
    let output = world.run(&["hooks", "stop", "--format", "claude"], BODY);
    assert_eq!(output.status.code(), Some(0));
    let said = finished(report.as_ref());
    let root = world.root().display().to_string();
    assert!(said.contains(&format!("args: -P -m context_graph.owner --root {root} --lock-fd 3")), "{said}");
    assert!(said.contains("cwd: /\n") && said.contains(&format!("fd 3 {root}/run/owner.lock")), "{said}");
    assert!(said.contains("fd 0 /dev/null") && said.contains("fd 2 /dev/null"), "{said}");
    let numbers: Vec<i64> = said
        .lines()
        .find(|line| line.chars().all(|c| c.is_ascii_digit() || " -".contains(c)))
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let [pid, parent, group, session, terminal] = numbers[..] else { panic!("{said}") };
    // Its own session, not its leader, adopted by another process than the hook's, no terminal.
    assert!(parent != i64::from(std::process::id()) && session != pid && group == session && terminal == 0, "{said}");
    let ignored = u64::from_str_radix(said.split("SigIgn:").nth(1).unwrap().trim(), 16).unwrap();
    assert_eq!(ignored & (1 << 12 | 1 << 24), 0, "SIGPIPE and SIGXFSZ are as a program expects them");
    // While it holds the lock nobody else is started.
    std::fs::remove_file(&report).unwrap();
    world.run(&["hooks", "stop", "--format", "claude"], BODY);
    assert!(!std::path::Path::new(&report).exists());
    assert_eq!(world.logged().len(), 2);
    let killed = std::process::Command::new("kill").arg(pid.to_string()).status().unwrap();
    assert!(killed.success());
}

#[test]
fn sixteen_hooks_start_one_owner() {
    let world = World::new();
    let starts = world.dir.join("starts");
    let world = std::sync::Arc::new(world.with_script(&format!("echo $$ >> {}; exec sleep 60", starts.display())));
    let hooks: Vec<_> = (0..16)
        .map(|_| {
            let world = world.clone();
            std::thread::spawn(move || world.run(&["hooks", "stop", "--format", "claude"], BODY).status.code())
        })
        .collect();
    assert!(hooks.into_iter().all(|hook| hook.join().unwrap() == Some(0)));
    let pids = eventually("the start", || std::fs::read_to_string(&starts).ok().filter(|text| text.ends_with('\n')));
    let killed = std::process::Command::new("kill").args(pids.split_whitespace()).status().unwrap();
    assert!(killed.success());
    assert_eq!(pids.lines().count(), 1, "{pids}");
    assert_eq!(world.logged().len(), 16);
}

#[test]
fn debugging_tells_why_it_fell_back_and_nothing_else_does() {
    let world = World::new().with("CONTEXT_GRAPH_PYTHON", "/nonexistent/python");
    let quiet = world.run(&["hooks", "stop", "--format", "claude"], BODY);
    assert!(quiet.stderr.is_empty());
    let world = world.with("CONTEXT_GRAPH_DEBUG", "1");
    let said = text(&world.run(&["hooks", "stop", "--format", "claude"], BODY).stderr);
    assert!(said.contains("no owner: No such file") && said.contains("looked at /nonexistent/python"), "{said}");
}

/// The standard streams closed: what is printed must not land in the log.
#[test]
fn closed_streams_do_not_leak_into_the_log() {
    let world = World::new().with_brief();
    let line = format!("exec {BINARY} hooks post-tool --session-id newest <&- >&- 2>&-");
    let output = world.command("/bin/sh", &["-c", &line]).output().unwrap();
    assert_eq!((output.status.code(), world.logged().len()), (Some(0), 1));
}
