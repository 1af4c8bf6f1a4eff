//! Serves `hooks <kind>`: appends the event to the store's log, and asks the owner only for what needs an answer.
//!
//! The event is durable before anybody is asked, so that whatever goes wrong loses nothing and blocks nobody. What a
//! tool call may be told stands in the owner's cache: where nothing does, the owner is told of the event and not asked.

mod gated;
mod start;

use crate::brief;
use crate::client::{self, Answer, Client, NoAnswer};
use crate::env::Env;
use crate::event::{fresh_id, Event};
use crate::facts::Facts;
use crate::gate;
use crate::git;
use crate::json::{self, Fault};
use crate::kind::Kind;
use crate::options::{Format, Options};
use crate::output::{client_document, HookOutput};
use crate::programs::{self, Start, Starter};
use crate::sys::{self, Deadline};
use crate::trouble::first_to_tell;
use crate::wire::APPLIED;
use crate::{input, log, paths};
use std::cell::OnceCell;
use std::time::Instant;

/// Seed 001's exit codes. In the client's format every one of them is 0.
const TIMED_OUT: i32 = 2;
const STORE_FAILED: i32 = 3;
const BAD_INPUT: i32 = 4;
/// The client waits no longer than this for a hook of ours, but for those that start an owner and wait for it.
pub const CLIENT_BUDGET_MS: u32 = 1_000;
/// How long a session start or a prompt waits for an owner that is being started, and for its answer: on a loaded
/// machine that takes longer than a hook may take else, and what it is told can't be made up for later.
const START_WAIT_MS: u32 = 3_000;
/// What an owner that has just come up is given for its answer, whatever its start has used of the budget.
const FIRST_ANSWER_MS: u32 = 250;

/// One call, from its arguments to its exit code.
pub struct Hook<'a> {
    started: Instant,
    event: Event<'a>,
    /// Of the input; None if it is no JSON object.
    facts: Option<Facts>,
    prepared: OnceCell<Option<Vec<u8>>>,
    governed: OnceCell<bool>,
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
        Ok(hook) => hook.serve(),
        Err(Refusal::Input(why)) => refusal(options.format, &why, started),
        Err(Refusal::Nowhere(why)) => homeless(options, &why, started),
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

/// Why nothing can be done with a call.
enum Refusal {
    Input(String),
    /// There is no place for a data root.
    Nowhere(String),
}

/// The end of a call that has no data root: the user hears of it when a session starts.
fn homeless(options: &Options<'_>, why: &str, started: Instant) -> Ending {
    let ending = refusal(options.format, why, started);
    if options.kind != Kind::SessionStart || !options.format.is_client() {
        return ending;
    }
    let notice = format!("context-graph: nothing is remembered: {why}");
    Ending { stdout: client_document(options.format, options.kind.event_name(), &[], &notice), ..ending }
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

/// What the user is told of an event that is lost.
fn not_recorded(why: String) -> String {
    format!("this event could not be recorded: {why}")
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
    if options.format.is_client() {
        options.kind.waits_ms()
    } else {
        options.kind.budget_ms()
    }
}

fn prepare<'a>(env: &Env<'a>, options: &Options<'a>, started: Instant) -> Result<Hook<'a>, Refusal> {
    let at_ms = sys::unix_ms();
    let env = &env.of_host(options.format);
    let places = paths::locate(env, options.db_path()).map_err(Refusal::Nowhere)?;
    let body = if options.reads_stdin() && !sys::isatty(sys::stdin()) {
        input::read(options, started).map_err(Refusal::Input)?
    } else {
        None
    };
    // Of these it matters which client they come from, also when the owner reads them later.
    let told_of_client = matches!(options.kind, Kind::SessionStart | Kind::SessionEnd);
    let parent = if told_of_client { sys::caller() } else { sys::parent() };
    let event = Event { options: *options, env: *env, places, id: fresh_id(), at_ms, parent, body };
    let facts = event.body.as_deref().and_then(Facts::read);
    Ok(Hook { started, event, facts, prepared: OnceCell::new(), governed: OnceCell::new() })
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

    fn serve(&self) -> Ending {
        self.point_git_here();
        let asks = self.asks();
        if !asks && self.is_needless() {
            return self.told(&[], "");
        }
        let record = match self.record() {
            Ok(record) => record,
            Err(why) => return self.refused(&why),
        };
        self.prepared(); // it is judged before this event stands in the log
        let kept = self.keep(&record);
        if asks {
            return match self.ask_owner() {
                Ok(said) => self.passed_on(said, kept.err()),
                Err(why) => self.without_answer(&why, kept),
            };
        }
        let places = &self.event.places;
        match Client::new(&places.root).wake(&[&places.store[..], b"\0", &places.top].concat()) {
            // Nothing governs here: that would have been asked about.
            Ok(()) => self.with_loss(kept.err(), |notice| self.told(&[], notice)),
            Err(why) => self.without_answer(&why, kept),
        }
    }

    /// Has the session's shells ask before commits and pushes, if the project has requirements.
    fn point_git_here(&self) {
        let event = &self.event;
        let Some(file) = event.env.env_file else { return };
        if self.options().kind == Kind::SessionStart && self.options().format == Format::Claude && self.is_governed() {
            if let Err(why) = git::point_git_here(&event.places.root, file, &event.places.project) {
                self.debug(&format!("git is not pointed to our hooks: {why}"));
            }
        }
    }

    /// Whether somebody waits for what the owner says to this event.
    fn asks(&self) -> bool {
        let kind = self.options().kind;
        let is_told = match kind {
            Kind::PreTool | Kind::PostTool => !self.is_quiet(),
            Kind::Stop => self.slot().is_some_and(|slot| slot.asks_at_stop()),
            _ => kind.asks(),
        };
        is_told || !self.is_client() || self.is_governed()
    }

    /// Whether the cache has nothing for this tool call.
    fn is_quiet(&self) -> bool {
        let event = &self.event;
        let things = self.facts.as_ref().map_or_else(Vec::new, |facts| facts.things(&event.places.cwd));
        event.env.identity_lines.is_none() && brief::is_quiet(&event.places.store, self.session(), &things)
    }

    /// Whether the event says nothing that a later one would not say: a tool call before it has run, unless somebody will
    /// ask whose it is (a tool of an MCP server) or what it was for (a subagent's task).
    fn is_needless(&self) -> bool {
        let is_asked_for = |name: &[u8]| name.starts_with(b"mcp__") || name == b"Task" || name == b"Agent";
        self.options().kind == Kind::PreTool && !is_asked_for(self.facts.as_ref().map_or(&[], |facts| &facts.tool_name))
    }

    /// The log's record of the event; the error says why the input can't be one.
    fn record(&self) -> Result<Vec<u8>, String> {
        let record = self.event.record().map_err(|_| self.bad_body())?;
        self.missing_session().map_or(Ok(record), |missing| Err(missing.to_owned()))
    }

    /// The end of a call that can't be recorded; it may have to be held all the same.
    fn refused(&self, why: &str) -> Ending {
        if !self.is_governed() || self.facts.is_none() {
            return refusal(self.options().format, why, self.started);
        }
        let gated = match self.ask_owner() {
            Ok(said) => self.passed_on(said, None),
            Err(none) => self.say(&none, &[], ""),
        };
        Ending { stderr: format!("context-graph: {why}\n{}", gated.stderr), ..gated }
    }

    /// What the owner said, in the form that the caller reads; `lost` says why the event is not recorded.
    fn passed_on(&self, said: Answer, lost: Option<String>) -> Ending {
        let lost = lost.filter(|_| said.flags & APPLIED == 0); // else the owner has it all the same
        let ending = |_: &str| Ending { code: i32::from(said.exit_code), stdout: said.stdout, stderr: said.stderr };
        self.with_loss(lost, ending)
    }

    /// What the owner says to the event, whom a session's start or a prompt waits for while it is started.
    fn ask_owner(&self) -> Result<Answer, NoAnswer> {
        // Reading stdin had its own limit; the owner gets the verb's budget whole, as far as the client waits for it.
        let budget = self.in_time(budget_ms(self.options()).max(self.gate_ms().unwrap_or(0)));
        let asked = Instant::now();
        let client = Client::new(&self.event.places.root);
        let Some(wait_ms) = self.start_wait_ms() else {
            return self.ask_once(&client, Deadline::after(asked, budget));
        };
        let whole = self.in_time(budget.max(wait_ms));
        let mut within = budget; // an owner that was started meanwhile has what is left, and some time in any case
        Starter::new(&self.event.places).ask(&self.event.env, Deadline::after(asked, whole), || {
            let left = Deadline::after(asked, within).left_ms().max(FIRST_ANSWER_MS);
            within = whole;
            self.ask_once(&client, Deadline::from_now(left))
        })
    }

    /// Of `ms` as many as are left before the client ends the hook, and with it the event.
    fn in_time(&self, ms: u32) -> u32 {
        if !self.is_client() {
            return ms;
        }
        let gone = u32::try_from(elapsed_ms(self.started)).unwrap_or(u32::MAX);
        ms.min(self.options().kind.ends_ms().saturating_sub(gone).max(FIRST_ANSWER_MS))
    }

    /// How long gates may take, if there are any.
    fn gate_ms(&self) -> Option<u32> {
        self.is_governed().then(|| self.options().kind.ends_ms())
    }

    fn ask_once(&self, client: &Client, deadline: Deadline) -> Result<Answer, NoAnswer> {
        let socket = client.connect(deadline)?;
        let ungoverned = gate::decides(self.options().kind, self.options().format) && !self.is_governed();
        let (params, env) = (self.event.params(ungoverned), self.event.env.travelling());
        let build = programs::build(&self.event.env);
        // Counted from the hook's start, as the owner sees it: reading the input took its part.
        let waits_ms = u32::try_from(elapsed_ms(self.started)).unwrap_or(0).saturating_add(deadline.left_ms().max(1));
        client::ask(&socket, &self.event.request(&params, &env, &build, waits_ms), deadline)
    }

    /// How long the hook waits for an owner that it starts, if it does: what a session's start and a prompt are told
    /// needs the store, gates are decided by an owner, and after an idle hour there is none.
    fn start_wait_ms(&self) -> Option<u32> {
        self.gate_ms().or_else(|| match self.options().kind {
            Kind::SessionStart => self.prepared().is_none().then_some(START_WAIT_MS),
            Kind::PromptSubmit if self.is_client() => Some(START_WAIT_MS),
            _ => None,
        })
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

    /// Says what can be said without an owner, and sees to it that one comes.
    fn without_answer(&self, why: &NoAnswer, kept: Result<(), String>) -> Ending {
        self.debug(&why.text());
        let format = self.options().format;
        self.note_prepared(); // the owner that starts reads it
        let started = self.start_owner(&Starter::new(&self.event.places));
        // What keeps the event from being recorded is told with its cure, and that is enough.
        let trouble = if kept.is_ok() { self.trouble(why, &started) } else { String::new() };
        match (kept, why) {
            (Ok(()), why) if self.is_client() => self.say(why, &self.context_without_owner(why, true), &trouble),
            (Err(lost), why) if self.is_client() => {
                let context = self.context_without_owner(why, false);
                self.with_loss(Some(lost), |notice| self.say(why, &context, notice))
            }
            (Err(text), _) => failure(format, &not_recorded(text), STORE_FAILED, self.started),
            (Ok(()), NoAnswer::Timeout) => {
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
            // What the gates say comes first; the next event has room for it.
            (NoAnswer::Failing { document, .. }, _) if !document.is_empty() => return String::new(),
            (NoAnswer::Failing { text, .. }, _) => (&b"store"[..], text.clone()),
            (NoAnswer::Unstartable(why), _) | (_, Start::Failed(why)) => {
                let text = format!(
                    "context-graph: no owner can be started ({why}). Nothing is remembered or brought meanwhile; \
                     events wait in the log. `context-graph-cli doctor` says more."
                );
                (&b"owner"[..], text)
            }
            _ => return String::new(),
        };
        let kind = self.options().kind;
        if text.is_empty() || !self.is_client() || kind == Kind::SessionEnd {
            return String::new();
        }
        let anyway = matches!(kind, Kind::SessionStart | Kind::PromptSubmit);
        let first = first_to_tell(&self.event.places.root, what, self.session(), anyway);
        if first {
            text
        } else {
            String::new()
        }
    }

    /// Appends one record to the store's log; the error says why that can't be.
    fn keep(&self, record: &[u8]) -> Result<(), String> {
        log::append(&self.event.places.store, record)
    }

    /// The end that `ending` makes of what the user has to know. That an event is lost goes to standard error every time,
    /// and to the user once a session; where nothing can remember that, when a session starts.
    fn with_loss(&self, lost: Option<String>, ending: impl FnOnce(&str) -> Ending) -> Ending {
        let Some(why) = lost else { return ending("") };
        let told = format!("context-graph: {}", not_recorded(why));
        let kind = self.options().kind;
        let first = kind != Kind::SessionEnd
            && first_to_tell(&self.event.places.root, b"loss", self.session(), kind == Kind::SessionStart);
        let ending = ending(if first { &told } else { "" });
        Ending { stderr: joined(&ending.stderr, &(told + "\n")), ..ending }
    }

    /// The client's document without the owner's answer: `context` for the model, `notice` for the user, and where the
    /// project has requirements what becomes of the call.
    fn say(&self, why: &NoAnswer, context: &[u8], notice: &str) -> Ending {
        match why {
            NoAnswer::Failing { document, .. } if !document.is_empty() => {
                Ending { code: 0, stdout: document.clone(), stderr: String::new() }
            }
            NoAnswer::Failing { .. } => self.told(context, notice), // it was asked, and the gates say nothing
            _ if self.is_governed() && self.facts.is_some() => self.undecided(why, context, notice),
            _ => self.told(context, notice),
        }
    }

    fn told(&self, context: &[u8], notice: &str) -> Ending {
        let stdout = client_document(self.options().format, self.options().kind.event_name(), context, notice);
        Ending { code: 0, stdout, stderr: String::new() }
    }

    /// The session's id as the owner will determine it (D1.5): the client's, the input's, the option's; empty if there is
    /// none.
    fn session(&self) -> &[u8] {
        let in_body = self.facts.as_ref().map(|facts| &facts.session_id[..]).filter(|id| !id.is_empty());
        self.event.env.session_id.or(in_body).or_else(|| self.options().session_id()).unwrap_or_default()
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
        let needed = self.options().kind != Kind::SessionStart && self.session().is_empty();
        needed.then_some(
            "session_id is missing: give it in the stdin JSON, with --session-id, or in CLAUDE_CODE_SESSION_ID",
        )
    }

    fn slot(&self) -> Option<brief::Slot> {
        let session = Some(self.session()).filter(|id| !id.is_empty())?;
        brief::lookup(&self.event.places.store, Some(session))
    }

    /// What the client's model is told when the event is queued: the last known brief if it is wanted always, or at a
    /// session's start why there is nothing to tell. The other events have nothing that can't wait.
    fn context_without_owner(&self, why: &NoAnswer, recorded: bool) -> Vec<u8> {
        match self.options().kind {
            Kind::SessionStart if self.prepared().is_some() => self.prepared().unwrap_or_default().to_vec(),
            Kind::SessionStart => {
                let cause = match why {
                    NoAnswer::Timeout | NoAnswer::Absent(_) | NoAnswer::Declined(_) if recorded => return Vec::new(),
                    NoAnswer::Unstartable(_) => "no owner can be started (context-graph-cli doctor says why)",
                    NoAnswer::Failing { .. } => {
                        "this project's store can't be used (context-graph-cli doctor says why)"
                    }
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
