//! Decides the gates where no owner does, and says whether there is anything to decide.

use super::{joined, Ending, Hook, TOOL_NAME_MAX};
use crate::brief;
use crate::facts::Facts;
use crate::gate;
use crate::json::text;
use crate::kind::Kind;
use crate::options::Format;
use crate::output::{client_document, denial};
use crate::pathname::{below, PATH_MAX};
use crate::sys::{self, Deadline};
use crate::trouble::first_to_tell;

/// For the user alone, where an owner is not up yet.
pub(super) const STARTING: &str = "context-graph: the gates are starting; the first call may wait.";

impl Hook<'_> {
    /// Whether the project has requirements that this event may concern. The input's folder is the process's own with
    /// the client we know; looking for it in 4 MiB of input is left to Python.
    pub(super) fn is_governed(&self, in_body: bool) -> bool {
        let (event, kind) = (&self.event, self.options().kind);
        let named = self.facts.as_ref().filter(|_| in_body).map_or(&[][..], |facts| &facts.cwd);
        gate::decides(kind, self.options().format)
            && (gate::is_governed(&[&event.places.cwd, &event.places.project, &event.places.top, named])
                || gate::holds(&event.places.root)
                || (in_body && (self.names_governed_files() || gate::is_known(&event.env, self.session()))))
    }

    /// Whether a file that the call names lies in a project with requirements: it is held to that project's, wherever
    /// the client was started.
    fn names_governed_files(&self) -> bool {
        let paths = self.facts.as_ref().map_or(&[][..], |facts| &facts.paths);
        paths.iter().any(|path| {
            let whole = if path.starts_with(b"/") { path.clone() } else { below(&self.event.places.cwd, path) };
            gate::is_governed(&[&whole])
        })
    }

    /// Lets Python decide from the project's files. Should that fail too, the call is allowed, and said to be.
    pub(super) fn gated(&self, context: &[u8], notice: &str) -> Ending {
        let (event, kind) = (&self.event, self.options().kind);
        // An argument can't hold a NUL; a name or folder with one names nothing.
        let without_nul = |value: &'_ [u8]| if value.contains(&0) { Vec::new() } else { value.to_vec() };
        let session_id = without_nul(self.session());
        let of = |field: fn(&Facts) -> &Vec<u8>| {
            self.facts.as_ref().map_or_else(Vec::new, |facts| without_nul(field(facts)))
        };
        let (tool_name, cwd) = (of(|facts| &facts.tool_name), of(|facts| &facts.cwd));
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
            Err(why) if why.ends_with(sys::LATE) && self.is_first_late_call() => self.held(notice),
            Err(why) => self.ungated(context, notice, &why),
        }
    }

    /// Whether this is a call that could not be decided in time, and the first of its session: it is asked for again, and
    /// by then there is an owner. A second one passes as it always did, so that no broken machine stops the work.
    fn is_first_late_call(&self) -> bool {
        self.options().kind == Kind::PreTool
            && self.options().format == Format::Claude
            && !self.session().is_empty()
            && first_to_tell(&self.event.places.root, b"late", self.session(), false)
    }

    fn held(&self, notice: &str) -> Ending {
        let document = denial(b"The gates are starting; run the same call again.", &joined(notice, STARTING));
        Ending { code: 0, stdout: document, stderr: String::new() }
    }

    /// What is said when nothing could decide: to the user, to the model where it listens, and to the log.
    fn ungated(&self, context: &[u8], notice: &str, why: &str) -> Ending {
        let (kind, format) = (self.options().kind, self.options().format);
        if kind != Kind::PreTool && kind != Kind::Stop && why.ends_with(sys::LATE) {
            return self.told(context, &joined(notice, if kind == Kind::SessionStart { STARTING } else { "" }));
        }
        let why = if why.ends_with(sys::LATE) { "they did not answer in time" } else { why };
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
        let kept =
            self.event.decision_record(record).map_err(|fault| fault.text()).and_then(|record| self.keep(&record));
        if let Err(why) = kept {
            self.debug(&format!("the gate's record: {why}"));
        }
    }
}
