//! Serves `hooks <kind>`: asks the owner; whatever goes wrong, it loses nothing and never blocks the client.
//!
//! The launcher decides nothing hard (invariant 2): it is the happy path, or the fallback.

use crate::brief;
use crate::client::{self, Answer, Client, NoAnswer};
use crate::env::Env;
use crate::event::{fresh_id, Event};
use crate::gate;
use crate::json::{self, text, Fault};
use crate::kind::Kind;
use crate::options::{Format, Options};
use crate::output::{client_document, HookOutput};
use crate::pathname::{below, PATH_MAX};
use crate::programs::{Start, Starter};
use crate::sys::{self, Deadline};
use crate::trouble::{first_to_tell, Heard, Silence};
use crate::wire::GATE_IT;
use crate::{input, paths, spool};
use std::time::Instant;

/// Seed 001's exit codes. In the client's format every one of them is 0.
const TIMED_OUT: i32 = 2;
const STORE_FAILED: i32 = 3;
const BAD_INPUT: i32 = 4;
/// The client waits no longer than this for a hook of ours, but for those that start an owner and wait for it.
pub const CLIENT_BUDGET_MS: u32 = 1_000;
/// What a governed project's owner is given for an event that would have less: its second choice, a Python start, costs more.
const GOVERNED_BUDGET_MS: u32 = 500;
const TOOL_NAME_MAX: usize = 1_000;
/// How long a session start or a prompt waits for an owner that is being started, and for its answer: on a loaded
/// machine that takes longer than a hook may take else, and what it is told can't be made up for later. A gate waits
/// for half of its own time, so that Python has the other half.
const START_WAIT_MS: u32 = 3_000;
/// What an owner that has just come up is given for its answer, whatever its start has used of the budget.
const FIRST_ANSWER_MS: u32 = 250;

/// One call, from its arguments to its exit code.
pub struct Hook<'a> {
    started: Instant,
    event: Event<'a>,
}

/// How the call ends: exit code, standard output, standard error.
struct Ending {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

/// Runs the hook that `options` describes; returns its exit code.
pub fn run(env: &Env<'_>, options: &Options<'_>, started: Instant) -> i32 {
    sys::ignore_write_signals();
    let ending = match prepare(env, options, started) {
        Ok(hook) => hook.ask_owner(),
        Err(why) => refusal(options.format, &why, started),
    };
    finish(options.format, &ending)
}

/// The end of a call whose arguments are wrong; the exit code.
pub fn refuse(format: Format, why: &str, started: Instant) -> i32 {
    finish(format, &refusal(format, why, started))
}

fn finish(format: Format, ending: &Ending) -> i32 {
    sys::write_all(sys::stdout(), &ending.stdout);
    sys::write_all(sys::stderr(), ending.stderr.as_bytes());
    if format.is_client() {
        0
    } else {
        ending.code
    }
}

fn refusal(format: Format, why: &str, started: Instant) -> Ending {
    failure(format, why, BAD_INPUT, started)
}

/// A failure in the caller's format: the client gets it on stderr only, for JSON there would reach the model or user.
fn failure(format: Format, why: &str, code: i32, started: Instant) -> Ending {
    let output = HookOutput { error: Some(why.to_owned()), measures: None, elapsed_ms: elapsed_ms(started) };
    let stdout = if format.is_client() { Vec::new() } else { output.render(format) };
    Ending { code, stdout, stderr: format!("context-graph: {why}\n") }
}

/// The texts that are not empty, one below the other.
fn joined(one: &str, other: &str) -> String {
    let between = if one.is_empty() || other.is_empty() { "" } else { "\n" };
    [one, between, other].concat()
}

fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds that the owner may take for its answer.
pub fn budget_ms(options: &Options<'_>) -> u32 {
    let budget = options.kind.budget_ms();
    match options.kind {
        _ if !options.format.is_client() => budget,
        // What it is told can't be made up for later.
        Kind::SessionStart => START_WAIT_MS,
        _ => budget.min(CLIENT_BUDGET_MS),
    }
}

fn prepare<'a>(env: &Env<'a>, options: &Options<'a>, started: Instant) -> Result<Hook<'a>, String> {
    let at_ms = sys::unix_ms();
    let env = &env.of_host(options.format);
    let places = paths::locate(env, options.db_path())?;
    let body = if options.reads_stdin() && !sys::isatty(sys::stdin()) { input::read(options, started)? } else { None };
    let event = Event { options: *options, env: *env, places, id: fresh_id(), at_ms, body };
    Ok(Hook { started, event })
}

impl Hook<'_> {
    fn options(&self) -> &Options<'_> {
        &self.event.options
    }

    fn is_client(&self) -> bool {
        self.options().format.is_client()
    }

    fn debug(&self, text: &str) {
        if self.event.env.is_debug() {
            sys::write_all(sys::stderr(), format!("context-graph-cli: debug: {text}\n").as_bytes());
        }
    }

    /// The happy path, or the way to the fallback.
    fn ask_owner(&self) -> Ending {
        // Reading stdin had its own limit; the owner gets the verb's budget whole, as far as the client waits for it.
        let budget = self.in_time(self.owner_budget_ms());
        let asked = Instant::now();
        let client = Client::new(&self.event.places.root);
        let silence = Silence::new(&self.event.places.root);
        let heard = silence.heard();
        match heard {
            Heard::JustNow => return self.fall_back(&NoAnswer::Silent),
            Heard::Before => silence.note(), // the others need not try too
            Heard::Nothing => {}
        }
        let answer = match self.ask_once(&client, Deadline::after(asked, budget)) {
            Err(why @ (NoAnswer::Absent(_) | NoAnswer::Declined(_))) => match self.start_wait_ms() {
                Some(wait_ms) => {
                    self.debug(&format!("{}; starting one", why.text()));
                    self.ask_fresh_owner(&client, asked, self.in_time(budget.max(wait_ms)))
                }
                None => Err(why),
            },
            other => other,
        };
        match &answer {
            Err(NoAnswer::Timeout) => silence.note(),
            _ if heard != Heard::Nothing => silence.forget(),
            _ => {}
        }
        match answer {
            Ok(said) if said.flags & GATE_IT != 0 && self.is_client() => {
                self.debug("the owner leaves the gates to us");
                let mut parts = said.stdout.splitn(2, |byte| *byte == 0);
                let (context, notice) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
                let ending = self.say(context, &String::from_utf8_lossy(notice));
                Ending { stderr: said.stderr + &ending.stderr, ..ending }
            }
            Ok(said) => Ending { code: i32::from(said.exit_code), stdout: said.stdout, stderr: said.stderr },
            Err(why) => self.fall_back(&why),
        }
    }

    /// Of `ms` as many as are left before the client ends the hook, and with it the event.
    fn in_time(&self, ms: u32) -> u32 {
        if !self.is_client() {
            return ms;
        }
        let gone = u32::try_from(elapsed_ms(self.started)).unwrap_or(u32::MAX);
        ms.min(gate::within_ms(self.options().kind).saturating_sub(gone).max(FIRST_ANSWER_MS))
    }

    fn owner_budget_ms(&self) -> u32 {
        let budget = budget_ms(self.options());
        let short = budget < GOVERNED_BUDGET_MS && self.is_governed(false);
        if short {
            GOVERNED_BUDGET_MS
        } else {
            budget
        }
    }

    fn ask_once(&self, client: &Client, deadline: Deadline) -> Result<Answer, NoAnswer> {
        let socket = client.connect(deadline)?;
        let (params, env) = (self.event.params(false), self.event.env.travelling());
        // Counted from the hook's start, as the owner sees it: reading the input took its part.
        let waits_ms = u32::try_from(elapsed_ms(self.started)).unwrap_or(0).saturating_add(deadline.left_ms().max(1));
        client::ask(&socket, &self.event.request(&params, &env, waits_ms), deadline)
    }

    /// How long the hook waits for an owner that it starts, if it does: what a session's start and a prompt are told
    /// needs the store, gates are decided by an owner, and after an idle hour there is none. A session's end has no
    /// time for both an owner's start and a Python.
    fn start_wait_ms(&self) -> Option<u32> {
        match self.options().kind {
            Kind::SessionStart => Some(START_WAIT_MS),
            Kind::PromptSubmit if self.is_client() => Some(START_WAIT_MS),
            Kind::SessionEnd => None,
            kind => self.is_governed(true).then(|| gate::within_ms(kind) / 2),
        }
    }

    /// Starts an owner and asks until it listens.
    fn ask_fresh_owner(&self, client: &Client, asked: Instant, budget: u32) -> Result<Answer, NoAnswer> {
        let up_by = Deadline::after(asked, budget.min(START_WAIT_MS));
        let starter = Starter::new(&self.event.places);
        let mut started = false;
        loop {
            // Again while another owner holds the lock: it may be leaving.
            if !started {
                match self.start_owner(&starter) {
                    Start::Owned => {}
                    Start::Failed(why) => return Err(NoAnswer::Unstartable(why)),
                    Start::Started => started = true,
                }
            }
            let left = Deadline::after(asked, budget).left_ms().max(FIRST_ANSWER_MS);
            match self.ask_once(client, Deadline::from_now(left)) {
                // It held the lock from its first moment on: what has let go of it will never listen.
                Err(NoAnswer::Absent(_)) if started && starter.is_free() => {
                    let why = "it ends at its start, and `context-graph-cli owner start` says why".to_owned();
                    return Err(NoAnswer::Unstartable(why));
                }
                Err(NoAnswer::Absent(_) | NoAnswer::Declined(_)) if up_by.left_ms() > 0 => sys::sleep_ms(5),
                other => return other,
            }
        }
    }

    fn start_owner(&self, starter: &Starter<'_>) -> Start {
        let start = starter.start(&self.event.env);
        match &start {
            Start::Failed(why) => self.debug(&format!("the owner was not started: {why}")),
            Start::Started => self.debug("an owner was started"),
            Start::Owned => {}
        }
        start
    }

    /// Keeps the event in the spool, says what can be said without an owner, and sees to it that one comes.
    fn fall_back(&self, why: &NoAnswer) -> Ending {
        self.debug(&why.text());
        let format = self.options().format;
        let Ok(json) = self.event.spool_json() else {
            return refusal(format, &self.bad_body(), self.started);
        };
        if let Some(missing) = self.missing_session() {
            return refusal(format, missing, self.started);
        }
        let kept = self.keep(&json);
        let started = self.start_owner(&Starter::new(&self.event.places));
        let trouble = self.trouble(why, &started);
        match (kept, why) {
            (kept, why) if self.is_client() => self.client_words(why, kept.err(), &trouble),
            (Err(text), _) => failure(format, &text, STORE_FAILED, self.started),
            (Ok(()), NoAnswer::Timeout | NoAnswer::Silent) => {
                let text = format!("Hook timeout after {}ms", budget_ms(self.options()));
                failure(format, &text, TIMED_OUT, self.started)
            }
            (Ok(()), _) => {
                let measures = self.slot().and_then(|slot| slot.measures());
                let output = HookOutput { error: None, measures, elapsed_ms: elapsed_ms(self.started) };
                Ending { code: 0, stdout: output.render(format), stderr: String::new() }
            }
        }
    }

    /// What the user has to know of an owner or a store that can't be had: once a session, for it goes on for long.
    fn trouble(&self, why: &NoAnswer, started: &Start) -> String {
        let (what, text) = match (why, started) {
            (NoAnswer::Failing(said), _) => (&b"store"[..], said.clone()),
            (NoAnswer::Unstartable(why), _) | (_, Start::Failed(why)) => {
                let text = format!(
                    "context-graph: no owner can be started ({why}). Nothing is remembered or brought meanwhile; \
                     events wait in the spool. `context-graph-cli doctor` says more."
                );
                (&b"owner"[..], text)
            }
            _ => return String::new(),
        };
        let kind = self.options().kind;
        if text.is_empty() || !self.is_client() || kind == Kind::SessionEnd {
            return String::new();
        }
        let session = self.session();
        let anyway = matches!(kind, Kind::SessionStart | Kind::PromptSubmit);
        let first = first_to_tell(&self.event.places.root, what, &session, anyway);
        if first {
            text
        } else {
            String::new()
        }
    }

    /// Puts one record into the store's spool; the error is a sentence for the user.
    fn keep(&self, json: &[u8]) -> Result<(), String> {
        spool::append(&self.event.places.store, &fresh_id(), &spool::frame(json))
            .map_err(|error| format!("this event could not be recorded: {error}"))
    }

    /// The client's document when no owner has spoken.
    fn client_words(&self, why: &NoAnswer, not_recorded: Option<String>, trouble: &str) -> Ending {
        let context = self.context_without_owner(why, not_recorded.is_none());
        let lost = not_recorded.map_or_else(String::new, |text| format!("context-graph: {text}"));
        self.say(&context, &joined(&lost, trouble))
    }

    /// The client's document without the owner's help: `context` for the model, `notice` for the user, and where the
    /// project has requirements the gates' decision.
    fn say(&self, context: &[u8], notice: &str) -> Ending {
        if self.is_governed(true) && self.has_object() {
            return self.gated(context, notice);
        }
        let stdout = client_document(self.options().format, self.options().kind.event_name(), context, notice);
        Ending { code: 0, stdout, stderr: String::new() }
    }

    /// The session's id, empty if there is none.
    fn session(&self) -> Vec<u8> {
        self.event.session_id().unwrap_or_default()
    }

    /// Whether the input is a JSON object: no tool call of the client's is anything else.
    fn has_object(&self) -> bool {
        self.event.body.as_deref().is_some_and(|body| json::walk(body, &mut ()).is_ok())
    }

    /// Whether the project has requirements that this event may concern. The input's folder is the process's own with
    /// the client we know; looking for it in 4 MiB of input is left to Python.
    fn is_governed(&self, in_body: bool) -> bool {
        let (event, kind) = (&self.event, self.options().kind);
        let named = || if in_body { self.field(b"cwd") } else { Vec::new() };
        gate::decides(kind, self.options().format)
            && (gate::is_governed(&[&event.places.cwd, &event.places.project, &event.places.top])
                || gate::is_governed(&[&named()])
                || gate::holds(&event.places.root)
                || (in_body && (self.names_governed_files() || gate::is_known(&event.env, &self.session()))))
    }

    /// Whether a file that the call names lies in a project with requirements: it is held to that project's, wherever
    /// the client was started.
    fn names_governed_files(&self) -> bool {
        let body = self.event.body.as_deref().unwrap_or(&[]);
        let is_path = |name: &[u8]| name.to_ascii_lowercase().ends_with(b"path");
        json::inner_texts(body, b"tool_input", is_path).iter().any(|path| {
            let whole = if path.starts_with(b"/") { path.clone() } else { below(&self.event.places.cwd, path) };
            gate::is_governed(&[&whole])
        })
    }

    /// A text of the input's top level, empty if there is none.
    fn field(&self, name: &[u8]) -> Vec<u8> {
        self.event.body.as_deref().and_then(|body| json::top_text(body, name)).unwrap_or_default()
    }

    /// Lets Python decide from the project's files. Should that fail too, the call is allowed, and said to be.
    fn gated(&self, context: &[u8], notice: &str) -> Ending {
        let (event, kind) = (&self.event, self.options().kind);
        // An argument can't hold a NUL; a name or folder with one names nothing.
        let without_nul = |value: Vec<u8>| if value.contains(&0) { Vec::new() } else { value };
        let session_id = without_nul(self.session());
        let (tool_name, cwd) = (without_nul(self.field(b"tool_name")), without_nul(self.field(b"cwd")));
        let question = gate::Question {
            verb: kind.word(),
            root: &event.places.root,
            cwd: if cwd.starts_with(b"/") && cwd.len() <= PATH_MAX { &cwd } else { &event.places.cwd },
            session_id: brief::cut_session(&session_id),
            tool_name: tool_name.get(..TOOL_NAME_MAX).unwrap_or(&tool_name),
            at_ms: event.at_ms,
            context,
            notice,
            format: self.options().format.word(),
        };
        let body = event.body.as_deref().unwrap_or(&[]);
        let deadline = Deadline::after(self.started, gate::within_ms(kind));
        match gate::ask(&event.env, &event.places.cwd, &question, body, deadline) {
            Ok(verdict) => {
                self.keep_decision(&verdict.record);
                Ending { code: 0, stdout: verdict.document, stderr: String::new() }
            }
            Err(why) => self.ungated(context, notice, &why),
        }
    }

    /// What is said when nothing could decide: to the user, to the model where it listens, and to the log.
    fn ungated(&self, context: &[u8], notice: &str, why: &str) -> Ending {
        let (kind, format) = (self.options().kind, self.options().format);
        let warning = format!(
            "context-graph: the requirement gates could not be checked ({why}); this {} was let through without them. \
             `context-graph-cli req doctor` says more.",
            kind.event_name()
        );
        let detail = text::quoted(warning.as_bytes());
        self.keep_decision(&[b"{\"records\":[{\"kind\":\"error\",\"detail\":", &detail[..], b"}]}"].concat());
        let said = match context {
            _ if !kind.takes_context() => Vec::new(),
            b"" => warning.clone().into_bytes(),
            context => [context, b"\n", warning.as_bytes()].concat(),
        };
        let both = joined(notice, &warning);
        // The client shows no message at a session's end, and refuses documents it does not expect.
        let shown = if kind == Kind::SessionEnd { "" } else { &both };
        Ending {
            code: 0,
            stdout: client_document(format, kind.event_name(), &said, shown),
            stderr: format!("{warning}\n"),
        }
    }

    /// Best effort: the decision stands in the project's state files whether or not the log has it.
    fn keep_decision(&self, record: &[u8]) {
        if record.is_empty() {
            return;
        }
        let kept = self.event.decision_json(record).map_err(|fault| fault.text()).and_then(|json| self.keep(&json));
        if let Err(why) = kept {
            self.debug(&format!("the gate's record: {why}"));
        }
    }

    fn bad_body(&self) -> String {
        let body = self.event.body.as_deref().unwrap_or(&[]);
        if body.trim_ascii().is_empty() {
            return "stdin: empty, but --stdin asks for it; send the client's hook JSON or seed 001's HookInput"
                .to_owned();
        }
        json::walk(body, &mut ()).err().map_or_else(String::new, |fault: Fault| fault.text())
    }

    /// Without a session the owner could not apply the event later either; only a session's start may have none.
    fn missing_session(&self) -> Option<&'static str> {
        let needed = self.options().kind != Kind::SessionStart && self.event.session_id().is_none();
        needed.then_some(
            "session_id is missing: give it in the stdin JSON, with --session-id, or in CLAUDE_CODE_SESSION_ID",
        )
    }

    fn slot(&self) -> Option<brief::Slot> {
        let session = self.event.session_id()?;
        brief::lookup(&self.event.places.store, Some(&session))
    }

    /// What the client's model is told when the event is queued: the last known brief if it is wanted always, or at a
    /// session's start why there is nothing to tell. The other events have nothing that can't wait.
    fn context_without_owner(&self, why: &NoAnswer, recorded: bool) -> Vec<u8> {
        match self.options().kind {
            // What changed since the model saw a brief, only the owner knows: it says so at the next call.
            Kind::PreTool if self.event.env.brief == Some(b"always") => {
                self.slot().as_ref().and_then(brief::Slot::warm_line).map_or_else(Vec::new, <[u8]>::to_vec)
            }
            Kind::SessionStart => {
                let cause = match why {
                    NoAnswer::Unstartable(_) => "no owner can be started (context-graph-cli doctor says why)",
                    NoAnswer::Failing(_) => "this project's store can't be used (context-graph-cli doctor says why)",
                    _ => "the owner did not answer in time",
                };
                let fate =
                    if recorded { "this event is queued and will be applied" } else { "this event is not recorded" };
                format!("context-graph: {cause}; {fate}.").into_bytes()
            }
            _ => Vec::new(),
        }
    }
}
