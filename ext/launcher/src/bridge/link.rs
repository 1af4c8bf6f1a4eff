//! The way to the owner: connect, start one if there is none, attach.

use super::Stop;
use crate::arena::Arena;
use crate::client::{self, Client, NoAnswer};
use crate::env::Env;
use crate::event::fresh_id;
use crate::paths::Places;
use crate::programs::{Start, Starter};
use crate::sys::{self, Deadline, Fd};
use crate::trouble::{Heard, Silence};
use crate::wire::{self, Progress, Request, YIELDING};

/// How long an owner may take to come up, and to answer the first frame.
const UP_MS: u32 = 20_000;
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
    client: Client<'a>,
    starter: Starter<'a>,
    places: &'a Places<'a>,
    env: &'a Env<'a>,
    silence: Option<Silence<'a>>,
    /// Names this bridge in all its connections: together with a request's bytes it tells the owner a request that
    /// is sent again from a new one.
    id: [u8; 32],
}

impl<'a> Link<'a> {
    /// None if a path is too long.
    pub fn new(arena: &'a Arena, env: &'a Env<'a>, places: &'a Places<'a>) -> Option<Link<'a>> {
        let client = Client::new(arena, places.root)?;
        let silence = Silence::new(arena, places.root);
        Some(Link { client, starter: Starter::new(arena, places)?, places, env, silence, id: fresh_id() })
    }

    /// An attached connection; starts an owner where there is none. The error says why there is none.
    pub fn open(&self, stop: &Stop) -> Result<Fd, String> {
        let (up_by, willing_by) = (Deadline::from_now(UP_MS), Deadline::from_now(UNWILLING_MS));
        let mut starts = 0;
        loop {
            let why = match self.attach() {
                Ok(socket) => return Ok(socket),
                Err(Refusal::Final(why)) => return Err(why),
                Err(Refusal::NoAnswer(why)) => why,
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
        let asked = || client::ask(&self.client.connect(deadline).ok()?, &wire::encode(&request)?, b"", deadline).ok();
        asked().is_some()
    }

    /// Whether an owner did not answer a moment ago: then nobody waits for it long.
    pub fn was_silent(&self) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.heard() == Heard::JustNow)
    }

    /// It does not answer.
    pub fn note_silence(&self) {
        if let Some(silence) = &self.silence {
            silence.note();
        }
    }

    fn attach(&self) -> Result<Fd, Refusal> {
        let deadline = Deadline::from_now(if self.was_silent() { SILENT_MS } else { UP_MS });
        let socket = self.client.connect(deadline)?;
        let request = Request {
            verb: b"mcp.attach",
            event_id: &self.id,
            store: self.places.store.bytes(),
            project: self.places.top.bytes(),
            session_env: self.env.session_id.unwrap_or(&[]),
            cwd: self.places.cwd.bytes(),
            at_ms: sys::unix_ms(),
            version: env!("CARGO_PKG_VERSION").as_bytes(),
            ..Request::default()
        };
        let too_long = || Refusal::Final("the request is above 16 MiB".to_owned());
        let around = wire::encode(&request).ok_or_else(too_long)?;
        let answer = client::ask(&socket, &around, b"", deadline)?;
        match wire::decode(&answer.0) {
            Progress::Whole(said) if said.exit_code == 0 => Ok(socket),
            Progress::Whole(said) => {
                Err(Refusal::Final(String::from_utf8_lossy(said.stderr.trim_ascii()).into_owned()))
            }
            _ => Err(Refusal::NoAnswer(NoAnswer::Broken("no response frame".to_owned()))),
        }
    }
}

/// Why there is no connection.
enum Refusal {
    /// Another attempt may have one.
    NoAnswer(NoAnswer),
    /// It would not.
    Final(String),
}

impl From<NoAnswer> for Refusal {
    fn from(why: NoAnswer) -> Refusal {
        Refusal::NoAnswer(why)
    }
}
