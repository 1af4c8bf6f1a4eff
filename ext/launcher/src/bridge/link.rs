//! Connects to the owner: starts one if there is none, and attaches.

use super::Stop;
use crate::client::{self, Client, NoAnswer};
use crate::env::Env;
use crate::event::fresh_id;
use crate::paths::Places;
use crate::programs::{self, Start, Starter};
use crate::sys::{self, Deadline, OwnedFd};
use crate::wire::{Request, YIELDING};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long an owner may take to come up, and to answer the first frame.
const UP_MS: u32 = 20_000;
/// For how long an owner that did not answer is not waited for long.
const REMEMBERED: Duration = Duration::from_secs(10);
/// What one gets that was silent a moment ago.
const SILENT_MS: u32 = 1_000;
const PAUSE_MS: u32 = 5;
/// How long an owner that has been silent may take for the least of answers.
const PING_MS: u32 = 5_000;
/// How long an owner that is there but will not is asked again: it may be serving too many others.
const UNWILLING_MS: u32 = 2_000;
/// How many owners are started for one connection: one that ends at its start will end again.
const STARTS_MAX: u32 = 3;

/// Makes connections that speak JSON-RPC.
pub struct Link<'a> {
    client: Client,
    starter: Starter<'a>,
    places: &'a Places,
    env: &'a Env<'a>,
    /// When the owner last did not answer.
    silent_at: Cell<Option<Instant>>,
    /// Names this bridge in all its connections: together with a request's bytes it tells the owner a request that
    /// is sent again from a new one.
    id: [u8; 32],
}

impl<'a> Link<'a> {
    /// To the owner of the data root among `places`.
    pub fn new(env: &'a Env<'a>, places: &'a Places) -> Link<'a> {
        let client = Client::new(&places.root);
        Link { client, starter: Starter::new(places), places, env, silent_at: Cell::new(None), id: fresh_id() }
    }

    /// An attached connection; starts an owner where there is none. The error says why there is none.
    pub fn open(&self, stop: &Stop) -> Result<OwnedFd, String> {
        let (up_by, willing_by) = (Deadline::from_now(UP_MS), Deadline::from_now(UNWILLING_MS));
        let mut starts = 0;
        loop {
            let why = match self.attach() {
                Ok(socket) => return Ok(socket),
                Err(NoAnswer::Refused(why)) => return Err(why),
                Err(why) => why,
            };
            if matches!(why, NoAnswer::Absent(_) | NoAnswer::Declined(_)) && starts < STARTS_MAX {
                match self.starter.start(self.env) {
                    Start::Started => starts += 1,
                    Start::Owned => {}
                    Start::Failed(reason) => return Err(reason),
                }
            } else if matches!(why, NoAnswer::Absent(_)) && self.starter.is_free() {
                return Err("the owner ends at its start; its log says why".to_owned());
            }
            let unwilling = matches!(why, NoAnswer::Declined(flags) if flags & YIELDING == 0);
            if unwilling && willing_by.left_ms() == 0 {
                return Err(format!("{}; its log may say why", why.text()));
            }
            if matches!(why, NoAnswer::Timeout) {
                self.note_silence();
                return Err("it does not answer; context-graph-cli owner status says what it does".to_owned());
            }
            if up_by.left_ms() == 0 {
                return Err(why.text());
            }
            if stop.within(PAUSE_MS) {
                return Err("it was told to end".to_owned());
            }
        }
    }

    /// Whether the owner answers at all, asked beside what it is doing for us.
    pub fn owner_answers(&self) -> bool {
        let deadline = Deadline::from_now(PING_MS);
        let request =
            Request { verb: b"owner.ping", version: env!("CARGO_PKG_VERSION").as_bytes(), ..Request::default() };
        self.client.connect(deadline).is_ok_and(|socket| client::ask(&socket, &request, deadline).is_ok())
    }

    /// Whether an owner did not answer a moment ago: then nobody waits for it long.
    pub fn was_silent(&self) -> bool {
        self.silent_at.get().is_some_and(|at| at.elapsed() < REMEMBERED)
    }

    /// It does not answer.
    pub fn note_silence(&self) {
        self.silent_at.set(Some(Instant::now()));
    }

    fn attach(&self) -> Result<OwnedFd, NoAnswer> {
        let deadline = Deadline::from_now(if self.was_silent() { SILENT_MS } else { UP_MS });
        let socket = self.client.connect(deadline)?;
        let (env, build) = (self.env.travelling(), programs::build(self.env));
        let request = Request {
            verb: b"mcp.attach",
            event_id: &self.id,
            store: &self.places.store,
            project: &self.places.top,
            session_env: self.env.session_id.unwrap_or(&[]),
            cwd: &self.places.cwd,
            env: &env,
            at_ms: sys::unix_ms(),
            version: build.as_bytes(),
            ..Request::default()
        };
        let said = client::ask(&socket, &request, deadline)?;
        if said.exit_code == 0 {
            Ok(socket)
        } else {
            Err(NoAnswer::Refused(said.stderr.trim_ascii().to_owned()))
        }
    }
}
