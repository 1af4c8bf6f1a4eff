//! Prints `req statusline`, the client's status line about requirements, from the owner, else from Python.
//! `status --line`: the session's state from brief.bin before it.
//!
//! Pure: no event, nothing logged, no owner started. Whatever fails is a short line, never an error.

use crate::brief::{self, COLD_LINE};
use crate::client::{self, Answer, Client};
use crate::env::Env;
use crate::gate::{self, Question};
use crate::input::INPUT_MAX;
use crate::json::top_text;
use crate::paths::{self, Places};
use crate::programs;
use crate::sys::{self, Deadline, Stop};
use crate::wire::Request;
use std::time::Instant;

/// The client asks some times a second at most, and shows the old line until it has the new one.
const OWNER_MS: u32 = 150;
const WITHIN_MS: u32 = 2_000;
const STDIN_MS: u32 = 1_000;

/// What a project without requirements is told; nothing that a line about the whole session needs.
const UNGOVERNED: &[u8] = b"no requirements here\n";

/// Prints the line about requirements, with the session's state before it if `with_state`; there it is left out where
/// no requirements hold.
pub fn run(env: &Env<'_>, with_state: bool) {
    sys::ignore_write_signals();
    let started = Instant::now();
    let line = match paths::locate(env, None) {
        Ok(places) => {
            let body = body(started);
            let state = if with_state { state(env, &places, &body) } else { Vec::new() };
            match requirements(env, &places, &body, started) {
                told if !with_state => told,
                told if told == UNGOVERNED => [&state[..], b"\n"].concat(),
                told => [&state[..], b"  ", &told].concat(),
            }
        }
        Err(error) if with_state => format!("context-graph: {error}\n").into_bytes(),
        Err(error) => format!("requirements ? ({error})\n").into_bytes(),
    };
    sys::write_all(sys::stdout(), &line);
}

/// The brief of the session that the client's JSON names, else the environment's, else the store's newest.
fn state(env: &Env<'_>, places: &Places, body: &[u8]) -> Vec<u8> {
    let named = top_text(body, b"session_id").filter(|id| !id.is_empty());
    let slot = brief::lookup(&places.store, named.as_deref().or(env.session_id));
    slot.as_ref().map_or(COLD_LINE, |slot| slot.line()).to_vec()
}

fn requirements(env: &Env<'_>, places: &Places, body: &[u8], started: Instant) -> Vec<u8> {
    from_owner(env, places, body)
        .or_else(|| from_python(env, places, body, started))
        .unwrap_or_else(|| b"requirements ?\n".to_vec())
}

/// The client's JSON as it came; nothing from a terminal.
fn body(started: Instant) -> Vec<u8> {
    if sys::isatty(sys::stdin()) {
        return Vec::new();
    }
    let (bytes, stop) = sys::read_to_end(sys::stdin(), INPUT_MAX, Deadline::after(started, STDIN_MS));
    if stop == Stop::Late || bytes.len() <= INPUT_MAX {
        bytes
    } else {
        Vec::new()
    }
}

fn from_owner(env: &Env<'_>, places: &Places, body: &[u8]) -> Option<Vec<u8>> {
    let client = Client::new(&places.root);
    let deadline = Deadline::from_now(OWNER_MS);
    let socket = client.connect(deadline).ok()?;
    let (travelling, build) = (env.travelling(), programs::build(env));
    let request = Request {
        verb: b"req.statusline",
        body,
        session_env: env.session_id.unwrap_or(&[]),
        cwd: &places.cwd,
        env: &travelling,
        at_ms: sys::unix_ms(),
        version: build.as_bytes(),
        ..Request::default()
    };
    // An owner of before the status line has another answer to this verb.
    let answered = |said: &Answer| said.exit_code == 0 && !said.stdout.is_empty();
    client::ask(&socket, &request, deadline).ok().filter(answered).map(|said| said.stdout)
}

fn from_python(env: &Env<'_>, places: &Places, body: &[u8], started: Instant) -> Option<Vec<u8>> {
    let question = Question {
        verb: b"statusline",
        root: &places.root,
        cwd: &places.cwd,
        session_id: env.session_id.unwrap_or(&[]),
        tool_name: b"",
        at_ms: sys::unix_ms(),
        context: b"",
        notice: "",
        format: b"",
    };
    let deadline = Deadline::after(started, WITHIN_MS);
    gate::ask(env, &places.cwd, &question, body, deadline).ok().map(|verdict| verdict.document)
}
