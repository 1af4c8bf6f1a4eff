//! The launcher's side of the golden files in tests/golden (tools/golden/make.py writes them).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use launcher::env::Env;
use launcher::event::Event;
use launcher::kind::Kind;
use launcher::paths::{self, Places};
use launcher::wire::{self, Progress, Request};
use launcher::{brief, copy, options};
use std::collections::HashMap;
use std::path::Path;
use support::{golden, raw_rows, rows, set_up, TempDir};

fn nowhere() -> &'static Path {
    Path::new("/nonexistent")
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn store_keys_and_sockets_are_the_golden_ones() {
    for row in rows("store_keys.tsv", nowhere()) {
        let store = paths::store_dir(b"/root", &row[0]);
        assert_eq!(shown(&store), format!("/root/stores/{}", shown(&row[1])));
    }
    for row in rows("sockets.tsv", nowhere()) {
        let uid = shown(&row[1]).parse().unwrap();
        let socket = paths::socket(&row[0], uid);
        assert_eq!(shown(&socket.path), shown(&row[2]));
        assert_eq!(socket.shared_folder.is_some(), row[2].starts_with(b"/tmp/"));
    }
}

#[test]
fn an_owner_is_started_with_the_golden_variables() {
    let text = shown(&golden("environment.txt"));
    let named = |what: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix(what)).map(|name| name.trim().to_owned()).collect()
    };
    let sorted = |list: &[&str]| {
        let mut list: Vec<_> = list.iter().map(|name| (*name).to_owned()).collect();
        list.sort();
        list
    };
    assert_eq!(named("name "), sorted(&launcher::programs::KEPT_NAMES));
    assert_eq!(named("prefix "), sorted(&launcher::programs::KEPT_PREFIXES));
    for kept in ["HOME=/h", "LC_ALL=C", "CONTEXT_GRAPH_HOME=/x", "PATH"] {
        assert!(launcher::programs::is_kept(kept.as_bytes()), "{kept}");
    }
    for left in
        ["ANTHROPIC_API_KEY=s", "CLAUDE_CODE_MESSAGING_TOKEN=s", "HOMEX=1", "PATHS=1", "AWS_SECRET_ACCESS_KEY=s", "=x"]
    {
        assert!(!launcher::programs::is_kept(left.as_bytes()), "{left}");
    }
}

/// One test for both tables: `locate` moves the process, which only one test may do at a time.
#[test]
fn places_and_store_paths_are_the_golden_ones() {
    for (raw, row) in raw_rows("paths.tsv").iter().zip(0..) {
        let folder = TempDir::new();
        set_up(&raw[1], &folder.0);
        let cells = &rows("paths.tsv", &folder.0)[row];
        check_places(&raw[0], cells, &folder.0);
    }
    for (raw, row) in raw_rows("dbpath.tsv").iter().zip(0..) {
        let folder = TempDir::new();
        set_up(&raw[1], &folder.0);
        let cells = &rows("dbpath.tsv", &folder.0)[row];
        check_store_path(&raw[0], cells, &folder.0);
    }
}

fn enter(folder: &Path, cell: &[u8]) {
    std::env::set_current_dir(folder.join(shown(cell))).expect("the row's working folder");
}

fn check_places(name: &str, cells: &[Vec<u8>], folder: &Path) {
    enter(folder, &cells[3]);
    let env = Env::from_entries(cells[2].split(|byte| *byte == b' '));
    match paths::locate(&env, None) {
        Err(_) => assert_eq!(shown(&cells[4]), "!", "{name}"),
        Ok(places) => {
            let found = [places.root, places.project, places.top].map(|place| shown(&place));
            assert_eq!(found, [shown(&cells[4]), shown(&cells[5]), shown(&cells[6])], "{name}");
        }
    }
}

fn check_store_path(name: &str, cells: &[Vec<u8>], folder: &Path) {
    enter(folder, &cells[3]);
    let env = Env::from_entries(cells[2].split(|byte| *byte == b' '));
    match paths::locate(&env, Some(&cells[4])) {
        Ok(places) => {
            let found = (shown(&cells[5]), shown(&places.store));
            assert_eq!(found, ("ok".to_owned(), shown(&cells[6])), "{name}");
        }
        Err(error) => {
            assert_eq!(shown(&cells[5]), "refused", "{name}: {}", error);
            assert!(error.contains(&shown(&cells[6])), "{name}: {}", error);
        }
    }
}

#[test]
fn a_request_is_the_golden_frame() {
    let fields: HashMap<String, Vec<u8>> =
        rows("request_v1.tsv", nowhere()).into_iter().map(|row| (shown(&row[1]), row[2].clone())).collect();
    let number = |name: &str| fields[name].clone();
    let request = Request {
        verb: &fields["verb"],
        event_id: &fields["event_id"],
        params: &fields["params"],
        body: &fields["body"],
        store: &fields["store"],
        project: &fields["project"],
        session_env: &fields["session_env"],
        cwd: &fields["cwd"],
        env: &fields["env"],
        deadline_ms: u32::from_le_bytes(number("deadline_ms").try_into().unwrap()),
        at_ms: i64::from_le_bytes(number("at_ms").try_into().unwrap()),
        version: &fields["version"],
        parent: 0,
    };
    let [before, behind] = wire::encode(&request).unwrap();
    assert_eq!([before, fields["body"].clone(), behind].concat(), golden("request_v1.bin"));
}

#[test]
fn a_request_with_the_later_fields_is_the_golden_frame() {
    let fields: HashMap<String, Vec<u8>> =
        rows("request_v1_later.tsv", nowhere()).into_iter().map(|row| (shown(&row[1]), row[2].clone())).collect();
    let request = Request {
        verb: &fields["verb"],
        env: &fields["env"],
        parent: u32::from_le_bytes(fields["parent"].clone().try_into().unwrap()),
        ..Request::default()
    };
    let [before, behind] = wire::encode(&request).unwrap();
    assert_eq!([before, behind].concat(), golden("request_v1_later.bin"));
}

#[test]
fn the_golden_response_is_understood() {
    let parts: HashMap<String, Vec<u8>> =
        rows("response_v1.tsv", nowhere()).into_iter().map(|row| (shown(&row[0]), row[1].clone())).collect();
    let bytes = golden("response_v1.bin");
    let Progress::Whole(response) = wire::decode(&bytes) else { panic!("the golden response is whole") };
    assert_eq!(response.exit_code.to_string().as_bytes(), parts["exit_code"]);
    assert_eq!(response.flags.to_string().as_bytes(), parts["flags"]);
    assert_eq!((response.stdout, response.stderr), (&parts["stdout"][..], &parts["stderr"][..]));
}

/// Invariant 10 and the log's format: what the launcher writes is byte for byte the golden record.
#[test]
fn a_logged_event_is_the_golden_record() {
    let parts = rows("event_log_v1.tsv", nowhere());
    assert_eq!(parts.iter().flat_map(|part| part[1].clone()).collect::<Vec<_>>(), golden("event_log_v1.log"));
    let whole = &parts[0][1];
    let json = &whole[55..whole.len() - 1];
    let body_at = json.windows(8).position(|part| part == b",\"body\":").unwrap() + 8;
    let args = ["--format", "claude", "--session-id", "abc", "--success=true", "--stdin"];
    let at = |text: &[u8]| text.to_vec();
    let top = at(b"/home/u/proj");
    let event = Event {
        options: options::read(Kind::PostTool, args.iter().map(|arg| arg.as_bytes())).unwrap(),
        env: Env { session_id: Some(b"0ae1c2d3-1111-4222-8333-444455556666"), ..Env::default() },
        places: Places { root: at(b"/r"), cwd: at(b"/home/u/proj/src"), project: top.clone(), top, store: at(b"/r/s") },
        id: *b"00112233445566778899aabbccddeeff",
        at_ms: 1_800_000_000_123,
        parent: 4711,
        body: Some(json[body_at..json.len() - 1].to_vec()),
    };
    assert_eq!(shown(&event.record().unwrap()), shown(whole));
}

fn store_with(bytes: &[u8]) -> TempDir {
    let store = TempDir::new();
    std::fs::write(store.join("brief.bin"), bytes).unwrap();
    store
}

fn line_in(store: &TempDir, session: Option<&[u8]>) -> String {
    let folder = store.0.to_str().unwrap().as_bytes();
    brief::lookup(folder, session).map_or(shown(brief::COLD_LINE), |slot| shown(slot.line()))
}

/// Invariant 8, REQ-SESSION-11: the golden cache gives the golden lines.
#[test]
fn the_golden_brief_cache_gives_the_golden_lines() {
    let store = store_with(&golden("brief_v2.bin"));
    for row in rows("brief_v2.tsv", nowhere()) {
        let session = (!row[0].is_empty()).then_some(&row[0][..]);
        assert_eq!(line_in(&store, session), shown(&row[1]), "{}", shown(&row[0]));
    }
    let folder = store.0.to_str().unwrap().as_bytes();
    let measures = brief::lookup(folder, Some(b"newest")).unwrap().measures().unwrap();
    assert_eq!((measures.consciousness, measures.integration, measures.ic), (0.625, 0.96875, 0.9375));
}

/// A call is quiet only where the cache knows the session, nothing is due, and no file of it may have something to tell.
#[test]
fn the_golden_brief_cache_says_what_is_quiet() {
    let store = store_with(&golden("brief_v2.bin"));
    let folder = store.0.to_str().unwrap().as_bytes();
    for row in rows("brief_v2_quiet.tsv", nowhere()) {
        let things: Vec<brief::Thing> =
            if row[1] == b"-" { Vec::new() } else { brief::Thing::of_file(&row[1]).to_vec() };
        let name = format!("{} {}", shown(&row[0]), shown(&row[1]));
        assert_eq!(brief::is_quiet(folder, &row[0], &things), row[2] == b"1", "{name}");
    }
    let torn = store_with(&golden("brief_v2.bin")[..20_000]);
    assert!(!brief::is_quiet(torn.0.to_str().unwrap().as_bytes(), b"newest", &[]));
}

/// Invariant 8: a foreign version, a cut file, garbage: the cold line, whatever is asked.
#[test]
fn a_foreign_or_damaged_cache_gives_the_cold_line() {
    let good = golden("brief_v2.bin");
    let cold = shown(brief::COLD_LINE);
    for at in 0..24 {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        let store = store_with(&bad);
        assert_eq!((line_in(&store, Some(b"newest")), line_in(&store, None)), (cold.clone(), cold.clone()), "{at}");
    }
    for len in [0, 1, 23, 24, 4095, 4096, 20_480, 20_480 + 1023] {
        let store = store_with(&good[..len]);
        assert_eq!((line_in(&store, Some(b"newest")), line_in(&store, None)), (cold.clone(), cold.clone()), "{len}");
    }
    let noise: Vec<u8> = (0..good.len() as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert_eq!(line_in(&store_with(&noise), None), cold);
}

/// REQ-HOOKS-33: no secret reaches the log, wherever it stands in the JSON of a hook.
#[test]
fn every_golden_secret_is_masked_in_what_is_logged() {
    let text = String::from_utf8(golden("secrets.tsv")).unwrap();
    let mut missed = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let cells: Vec<Vec<u8>> = line.split('\t').map(unescaped).collect();
        let (rule, secret, sample) = (shown(&cells[0]), &cells[1], &cells[2]);
        let mut json = b"{\"tool_input\":{\"command\":".to_vec();
        launcher::json::text::quote(sample, &mut json);
        json.extend_from_slice(b"}}");
        let mut out = Vec::new();
        copy::redacted(&json, &mut out).unwrap();
        if holds_part(&out, secret) {
            missed.push(format!("{rule}: {} -> {}", shown(sample), shown(&out)));
        }
    }
    assert!(missed.is_empty(), "{} not masked:\n{}", missed.len(), missed.join("\n"));
}

/// Whether the secret, or more than half of a long one, is still to be read.
fn holds_part(text: &[u8], secret: &[u8]) -> bool {
    let part = if secret.len() > 24 { secret.len() / 2 } else { secret.len() };
    secret.windows(part).any(|part| text.windows(part.len()).any(|window| window == part))
}

fn unescaped(cell: &str) -> Vec<u8> {
    let joined = cell.replace("{}", "");
    let mut out = Vec::new();
    let mut chars = joined.chars();
    while let Some(char) = chars.next() {
        let meant = match char {
            '\\' => match chars.next().expect("an escape") {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            },
            plain => plain,
        };
        out.extend_from_slice(meant.encode_utf8(&mut [0; 4]).as_bytes());
    }
    out
}
