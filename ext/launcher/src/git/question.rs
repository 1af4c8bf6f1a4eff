//! Asks the owner whether git may go on. Nobody ends this hook early, so it waits where others may not.

use crate::client::{self, Client, NoAnswer};
use crate::env::Env;
use crate::event::{fresh_id, Event};
use crate::gate;
use crate::json::text;
use crate::kind::Kind;
use crate::options;
use crate::pathname::below;
use crate::paths;
use crate::programs::{self, Starter};
use crate::sys::{self, Deadline};
use crate::wire::Request;
use std::time::Instant;

/// The longest that git is kept waiting.
const WITHIN_MS: u32 = 30_000;
/// From here on the wait is told.
const SILENT_MS: u32 = 1_500;
const VERB: &[u8] = b"hooks.git";
/// First line of a decision that holds git back.
const DENY: &[u8] = b"deny\n";
const PASS: &[u8] = b"pass\n";

/// Whether git may go on, with what is said about it.
pub enum Decision {
    Passes(Vec<u8>),
    Held(Vec<u8>),
}

/// Asks about the hook `name`, run in `cwd`. Where no requirements govern, nobody is asked.
pub fn ask<'a>(env: &Env<'_>, cwd: &[u8], name: &[u8], args: impl Iterator<Item = &'a [u8]>) -> Decision {
    let started = Instant::now();
    let (git_dir, index) = (whole_path("GIT_DIR", cwd), whole_path("GIT_INDEX_FILE", cwd));
    // The folder decides here, not the one that the client was started in.
    let here = Env { project_dir: None, ..*env };
    let places = match paths::locate(&here, None) {
        Ok(places) => places,
        Err(why) => return undecided(env, None, &why),
    };
    if !gate::is_governed(&[cwd, &places.top, &git_dir]) && !gate::holds(&places.root) {
        return Decision::Passes(Vec::new());
    }
    let body = body(name, args, &git_dir, &index);
    let Ok(options) = options::read(Kind::PreTool, std::iter::empty()) else { return Decision::Passes(Vec::new()) };
    let event =
        Event { options, env: *env, places, id: fresh_id(), at_ms: sys::unix_ms(), parent: sys::parent(), body: None };
    match of_owner(&event, &body, started) {
        Ok(verdict) => {
            keep(&event, &verdict.record);
            said(verdict.document)
        }
        Err(why) => undecided(env, Some(&event), &why.text()),
    }
}

/// The path that the variable names; relative ones are meant from `cwd`, where git runs its hooks. Empty if it is unset.
fn whole_path(name: &str, cwd: &[u8]) -> Vec<u8> {
    match std::env::var_os(name).map(std::os::unix::ffi::OsStringExt::into_vec) {
        Some(path) if !path.is_empty() && !path.starts_with(b"/") => below(cwd, &path),
        path => path.unwrap_or_default(),
    }
}

fn body<'a>(name: &[u8], args: impl Iterator<Item = &'a [u8]>, git_dir: &[u8], index: &[u8]) -> Vec<u8> {
    let words: Vec<_> = args.take(8).map(text::quoted).collect();
    let parts: [&[u8]; 9] = [
        b"{\"name\":",
        &text::quoted(name),
        b",\"args\":[",
        &words.join(&b","[..]),
        b"],\"git_dir\":",
        &text::quoted(git_dir),
        b",\"index\":",
        &text::quoted(index),
        b"}",
    ];
    parts.concat()
}

fn said(document: Vec<u8>) -> Decision {
    match document.strip_prefix(DENY) {
        Some(text) => Decision::Held(text.to_vec()),
        None => Decision::Passes(document.strip_prefix(PASS).unwrap_or_default().to_vec()),
    }
}

/// The owner's decision; one is started if there is none. The error says why it has none.
fn of_owner(event: &Event<'_>, body: &[u8], started: Instant) -> Result<Verdict, NoAnswer> {
    let client = Client::new(&event.places.root);
    let by = Deadline::after(started, WITHIN_MS);
    let mut is_told = false;
    Starter::new(&event.places).ask(&event.env, by, || {
        if !is_told {
            let answer = ask_once(event, &client, body, Deadline::after(started, SILENT_MS));
            is_told = matches!(answer, Err(NoAnswer::Timeout)) || Deadline::after(started, SILENT_MS).left_ms() == 0;
            if !is_told || answer.is_ok() {
                return answer;
            }
            let text = format!("context-graph: waiting for the requirement gates (at most {} s)\n", WITHIN_MS / 1_000);
            sys::write_all(sys::stderr(), text.as_bytes());
        }
        ask_once(event, &client, body, by)
    })
}

fn ask_once(event: &Event<'_>, client: &Client, body: &[u8], by: Deadline) -> Result<Verdict, NoAnswer> {
    let socket = client.connect(by)?;
    let (env, build) = (event.env.travelling(), programs::build(&event.env));
    let request = Request {
        verb: VERB,
        event_id: &event.id,
        body,
        session_env: event.env.session_id.unwrap_or_default(),
        cwd: &event.places.cwd,
        env: &env,
        deadline_ms: WITHIN_MS,
        at_ms: event.at_ms,
        version: build.as_bytes(),
        parent: event.parent,
        ..Request::default()
    };
    let answer = client::ask(&socket, &request, by)?;
    if answer.exit_code != 0 {
        return Err(NoAnswer::Refused(answer.stderr.trim_end().to_owned()));
    }
    verdict(&answer.stdout).ok_or_else(|| NoAnswer::Broken("not a decision".to_owned()))
}

/// What the owner has decided.
struct Verdict {
    /// JSON object for the store's log of requirements; empty if there is nothing to record.
    record: Vec<u8>,
    document: Vec<u8>,
}

/// The verdict of its two parts: the record on a line of its own, then the document.
fn verdict(answer: &[u8]) -> Option<Verdict> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let (record, document) = (answer.get(..end)?, answer.get(end + 1..)?);
    document.ends_with(b"\n").then(|| Verdict { record: record.to_vec(), document: document.to_vec() })
}

/// What becomes of git where nothing could decide: with strict gates it is held, else it goes on, and either is said.
fn undecided(env: &Env<'_>, event: Option<&Event<'_>>, why: &str) -> Decision {
    let is_strict = gate::is_strict(env, event.map_or(&[][..], |event| &event.places.project));
    let text = gate::undecided("git", why, is_strict) + "\n";
    if let Some(event) = event {
        let detail = text::quoted(text.trim_end().as_bytes());
        keep(event, &[b"{\"records\":[{\"kind\":\"error\",\"detail\":", &detail[..], b"}]}"].concat());
    }
    if is_strict {
        Decision::Held(text.into_bytes())
    } else {
        Decision::Passes(text.into_bytes())
    }
}

/// Whether a client that gates have seen at work is among our ancestors: other hosts' shells do not name the session.
pub fn is_below_client(env: &Env<'_>) -> bool {
    let clients = sys::ancestors();
    let line = |pid: &u32| [format!("\"ppid\": {pid},"), format!("\"ppid\": {pid}}}")];
    clients.iter().flat_map(line).any(|text| gate::is_known(env, text.as_bytes()))
}

/// Best effort: the decision stands in the project's state files whether or not the log has it.
fn keep(event: &Event<'_>, record: &[u8]) {
    if let (false, Ok(record)) = (record.is_empty(), event.decision_record(record)) {
        let _ = crate::log::append(&event.places.store, &record);
    }
}
