//! Serves `mcp`: carries MCP from standard input and output to the owner, as lines of JSON-RPC.
//!
//! The client sees one server for as long as this process lives. Owners may come and go behind it: a request that
//! was on its way when one went is sent to the next, which knows it again by its bytes and does nothing twice.

mod flight;
mod link;
mod message;

use crate::env::Env;
use crate::paths;
use crate::sys::{self, AsFd, BorrowedFd, Deadline, Errno, OwnedFd, PollFlags};
use flight::{failure, Flights};
use link::Link;
use std::collections::VecDeque;

/// What the owner takes as one message (owner/socket/lines.py, LINE_MAX).
const MESSAGE_MAX: usize = 2 * 1024 * 1024;
/// What is read of a longer one, to find whose it is; beyond that a client is sending something else.
const LINE_MAX: usize = 64 * 1024 * 1024;
/// Beyond these nothing more is read of the client.
const FLYING_MAX: usize = 256;
const HELD_MAX: usize = 16 * 1024 * 1024;
/// After the client's last word: how long answers are waited for that are still due.
const LAST_ANSWERS_MS: u32 = 120_000;
/// How long an owner may be silent while requests wait, before it is asked whether it answers anybody. Those that take
/// their time leave it free to say so.
const SILENT_MS: u32 = 15_000;
/// The same, for one that did not answer somebody a moment ago.
const KNOWN_MS: u32 = 1_000;
const READ: usize = 64 * 1024;

/// SIGINT or SIGTERM came: the client wants this process gone.
pub struct Stop(OwnedFd);

impl Stop {
    /// Whether it comes within `ms`.
    fn within(&self, ms: u32) -> bool {
        let [ready] = sys::wait([(Some(self.0.as_fd()), PollFlags::IN)], Some(ms));
        !ready.is_empty()
    }
}

/// Runs until the client closes its end or sends a signal; the exit code.
pub fn run(env: &Env<'_>, args: impl Iterator<Item = &'static [u8]>) -> i32 {
    match serve(env, args) {
        Ok(()) => 0,
        Err(why) => {
            sys::write_all(sys::stderr(), format!("context-graph-cli: mcp: {why}\n").as_bytes());
            1
        }
    }
}

fn serve(env: &Env<'_>, args: impl Iterator<Item = &'static [u8]>) -> Result<(), String> {
    sys::ignore_write_signals();
    let stop = Stop(sys::signals_as_input().map_err(sys::words)?);
    let places = paths::locate(env, db_path(args)?)?;
    let link = Link::new(env, &places);
    Bridge::new(&link, stop).run();
    Ok(())
}

/// The one option: `--db-path PATH`.
fn db_path(mut args: impl Iterator<Item = &'static [u8]>) -> Result<Option<&'static [u8]>, String> {
    let mut path = None;
    while let Some(arg) = args.next() {
        path = match arg.strip_prefix(b"--db-path") {
            Some(b"") => Some(args.next().ok_or("option '--db-path' needs a value")?),
            Some(joined) if joined.starts_with(b"=") => joined.get(1..),
            _ => return Err(format!("unknown argument '{}'; see mcp --help", String::from_utf8_lossy(arg))),
        };
    }
    Ok(path)
}

/// Bytes on their way out: `count` of them have gone.
fn drop_sent(queue: &mut VecDeque<u8>, count: usize) {
    queue.drain(..count);
    if queue.is_empty() {
        queue.shrink_to(READ);
    }
}

struct Bridge<'a> {
    link: &'a Link<'a>,
    stop: Stop,
    owner: Option<OwnedFd>,
    flights: Flights,
    from_client: Vec<u8>,
    from_owner: Vec<u8>,
    to_owner: VecDeque<u8>,
    to_client: VecDeque<u8>,
    client_ended: bool,
    ended_by: Deadline,
    /// A line that never ends is being passed over.
    skipping: bool,
    /// Why there is no owner.
    why: String,
    /// When to ask whether the owner lives; counts while requests wait.
    silent_by: Deadline,
}

impl<'a> Bridge<'a> {
    fn new(link: &'a Link<'a>, stop: Stop) -> Bridge<'a> {
        Bridge {
            link,
            stop,
            owner: None,
            flights: Flights::default(),
            from_client: Vec::new(),
            from_owner: Vec::new(),
            to_owner: VecDeque::new(),
            to_client: VecDeque::new(),
            client_ended: false,
            ended_by: Deadline::from_now(LAST_ANSWERS_MS),
            skipping: false,
            why: String::new(),
            silent_by: Deadline::from_now(SILENT_MS),
        }
    }

    fn run(&mut self) {
        // At once: an owner that has to be started comes up while the client is still talking itself in.
        self.connect();
        let mut buffer = vec![0; READ];
        while !self.is_over() {
            let last_answers = self.client_ended.then(|| self.ended_by.left_ms());
            let timeout = self.silence_left().into_iter().chain(last_answers).min();
            let [client, answers, owner, signal] = sys::wait(self.watches(), timeout);
            if !signal.is_empty() {
                // What the client has said is handed on; its answers have nobody left to read them.
                if !self.to_owner.is_empty() {
                    self.write_owner();
                }
                return;
            }
            if (client | answers | owner).is_empty() && last_answers == Some(0) {
                return;
            }
            if !answers.is_empty() && !self.write_client() {
                return;
            }
            self.serve_owner(owner, &mut buffer);
            if self.silence_left() == Some(0) {
                self.probe_owner();
            }
            if !client.is_empty() {
                self.read_client(&mut buffer);
            }
        }
    }

    /// Milliseconds for which the owner may go on being silent; None if it owes us nothing.
    fn silence_left(&self) -> Option<u32> {
        (self.owner.is_some() && self.flights.count() > 0).then(|| self.silent_by.left_ms())
    }

    /// An owner that is stopped or hangs would leave the client waiting for ever: its requests are answered here.
    fn probe_owner(&mut self) {
        if !self.link.owner_answers() {
            self.link.note_silence();
            let why = "it is stopped or hangs (context-graph-cli owner status says what it does, owner restart gives \
                       a new one); what was asked may yet be done";
            self.to_client.extend(self.flights.abandon(why));
        }
        self.silent_by = Deadline::from_now(SILENT_MS);
    }

    fn is_over(&self) -> bool {
        let told = self.to_client.is_empty() && self.to_owner.is_empty();
        self.client_ended && told && self.flights.count() == 0
    }

    /// The client's words, its answers, the owner, the signal: each with what is wanted of it.
    fn watches(&self) -> [(Option<BorrowedFd<'_>>, PollFlags); 4] {
        let room = self.flights.count() < FLYING_MAX && self.flights.bytes() + self.to_owner.len() < HELD_MAX;
        let answers = &self.to_client;
        let when = |wanted: bool, flag: PollFlags| if wanted { flag } else { PollFlags::empty() };
        let owner = when(answers.len() < HELD_MAX, PollFlags::IN) | when(!self.to_owner.is_empty(), PollFlags::OUT);
        [
            (Some(sys::stdin()), when(!self.client_ended && room, PollFlags::IN)),
            (Some(sys::stdout()), when(!answers.is_empty(), PollFlags::OUT)),
            (self.owner.as_ref().map(AsFd::as_fd), owner),
            (Some(self.stop.0.as_fd()), PollFlags::IN),
        ]
    }

    fn connect(&mut self) {
        match self.link.open(&self.stop) {
            Ok(owner) => {
                self.owner = Some(owner);
                self.to_owner.clear();
                self.to_owner.extend(self.flights.replay());
            }
            Err(why) => {
                self.why = why;
                self.give_up();
            }
        }
    }

    fn give_up(&mut self) {
        self.to_client.extend(self.flights.give_up(&self.why));
    }

    fn serve_owner(&mut self, ready: PollFlags, buffer: &mut [u8]) {
        let Some(owner) = &self.owner else { return };
        let mut there = true;
        if ready.contains(PollFlags::IN) {
            self.silent_by = Deadline::from_now(SILENT_MS);
            match sys::read(owner, &mut *buffer) {
                Ok(0) => there = false,
                Ok(count) => self.take_answers(buffer.get(..count).unwrap_or(&[])),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => there = false,
            }
        }
        if there && ready.contains(PollFlags::OUT) {
            there = self.write_owner();
        }
        if !there {
            self.owner_gone();
        }
    }

    /// Sends what waits; false if nobody takes it any more.
    fn write_owner(&mut self) -> bool {
        let Some(owner) = &self.owner else { return false };
        match sys::write_some(owner, self.to_owner.as_slices().0) {
            Ok(count) => drop_sent(&mut self.to_owner, count),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Its last answers may still be there to read; the end of file behind them says the rest.
            Err(_) => return sys::poll_readable(owner, 0),
        }
        true
    }

    fn owner_gone(&mut self) {
        self.owner = None;
        self.from_owner.clear();
        self.to_owner.clear();
        self.to_client.extend(self.flights.lost_owner());
        // With nothing on its way there is no hurry: the owner may have left because nobody should run now.
        if self.flights.count() > 0 {
            self.connect();
        }
    }

    fn take_answers(&mut self, data: &[u8]) {
        let whole = whole_lines(&mut self.from_owner, data);
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            if self.flights.got(line) {
                self.to_client.extend(line);
            }
        }
    }

    /// Writes what the client takes now; false if it takes no more.
    fn write_client(&mut self) -> bool {
        match sys::write_some(sys::stdout(), self.to_client.as_slices().0) {
            Ok(count) => drop_sent(&mut self.to_client, count),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return false,
        }
        true
    }

    fn read_client(&mut self, buffer: &mut [u8]) {
        match sys::read(sys::stdin(), &mut *buffer) {
            Ok(count) if count > 0 => self.take_lines(buffer.get(..count).unwrap_or(&[])),
            Err(Errno::AGAIN | Errno::INTR) => {}
            _ => self.end_of_client(),
        }
    }

    /// A last line without its newline counts too.
    fn end_of_client(&mut self) {
        self.client_ended = true;
        self.ended_by = Deadline::from_now(LAST_ANSWERS_MS);
        if !self.from_client.is_empty() {
            self.take_lines(b"\n");
        }
    }

    fn take_lines(&mut self, data: &[u8]) {
        let whole = whole_lines(&mut self.from_client, data);
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            if !std::mem::take(&mut self.skipping) && !line.trim_ascii().is_empty() {
                self.take_line(line);
            }
        }
        if self.from_client.len() > LINE_MAX {
            self.refuse(b"null");
            self.from_client = Vec::new();
            self.skipping = true;
        }
        self.from_client.shrink_to(READ.max(self.from_client.len()));
    }

    fn take_line(&mut self, line: &[u8]) {
        if line.len() > MESSAGE_MAX {
            let id = match message::sent(line.trim_ascii()) {
                message::Sent::Request { id, .. } => id.json(),
                _ => b"null".to_vec(),
            };
            return self.refuse(&id);
        }
        if self.owner.is_none() {
            self.connect();
        }
        if self.flights.count() == 0 {
            self.silent_by = Deadline::from_now(if self.link.was_silent() { KNOWN_MS } else { SILENT_MS });
        }
        self.flights.sent(line);
        if self.owner.is_some() {
            self.to_owner.extend(line);
        } else {
            self.give_up();
        }
    }

    fn refuse(&mut self, id: &[u8]) {
        let text = format!("Invalid Request: a message may have {MESSAGE_MAX} bytes; send less in one call");
        let mut line = failure(id, -32600, &text, &text);
        line.push(b'\n');
        self.to_client.extend(line);
    }
}

/// Puts `data` behind what is `held` of a line; out come the lines that are whole now.
fn whole_lines(held: &mut Vec<u8>, data: &[u8]) -> Vec<u8> {
    let ends = data.iter().rposition(|byte| *byte == b'\n').map(|at| held.len() + at + 1);
    held.extend_from_slice(data);
    let Some(end) = ends else { return Vec::new() };
    let rest = held.split_off(end);
    std::mem::replace(held, rest)
}
