//! Prints `req statusline`, the client's status line about requirements, from the owner.
//! `status --line`: the session's state from brief.bin before it.
//!
//! Pure: no event, nothing logged; an owner is started only where requirements govern. Whatever fails is a short line,
//! never an error.

use crate::brief::{self, COLD_LINE};
use crate::client::{self, Answer, Client, NoAnswer};
use crate::env::Env;
use crate::gate;
use crate::input::INPUT_MAX;
use crate::json::{self, top_text, Token};
use crate::pathname::PATH_MAX;
use crate::paths::{self, Places};
use crate::programs::{self, Starter};
use crate::sys::{self, Deadline, Stop};
use crate::wire::Request;
use std::time::Instant;

/// The client asks some times a second at most, and shows the old line until it has the new one.
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
    let deadline = Deadline::after(started, WITHIN_MS);
    let ask = || from_owner(env, places, body, deadline);
    let mut folders = vec![places.cwd.clone(), places.project.clone(), places.top.clone()];
    let _ = json::fields(body, |path, token| {
        let named = matches!(path, [b"cwd"] | [b"workspace", b"current_dir" | b"project_dir"]);
        if let (true, Token::Text(raw)) = (named, token) {
            folders.push(json::text::unescaped(raw, PATH_MAX));
        }
    });
    let is_governed = gate::is_governed(&folders.iter().map(Vec::as_slice).collect::<Vec<_>>())
        || gate::holds(&places.root)
        || top_text(body, b"session_id").is_some_and(|session| gate::is_known(env, &session));
    let answer = if is_governed { Starter::new(places).ask(env, deadline, ask) } else { ask() };
    match answer {
        Ok(said) => said.stdout,
        Err(NoAnswer::Absent(_)) if !is_governed => UNGOVERNED.to_vec(),
        Err(_) => b"requirements ?\n".to_vec(),
    }
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

fn from_owner(env: &Env<'_>, places: &Places, body: &[u8], deadline: Deadline) -> Result<Answer, NoAnswer> {
    let socket = Client::new(&places.root).connect(deadline)?;
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
    client::ask(&socket, &request, deadline)
}
