//! Says whether requirements govern an event, and what becomes of one that no owner decided.

use super::{joined, Ending, Hook};
use crate::client::NoAnswer;
use crate::gate;
use crate::json::text;
use crate::kind::Kind;
use crate::options::Format;
use crate::output::{client_document, denial};
use crate::pathname::below;
use crate::trouble::first_to_tell;

/// For the user alone, where an owner is not up yet.
const STARTING: &str = "context-graph: the gates are starting; the first call may wait.";

impl Hook<'_> {
    /// Whether the project has requirements that this event may concern.
    pub(super) fn is_governed(&self) -> bool {
        *self.governed.get_or_init(|| {
            let event = &self.event;
            let named = self.facts.as_ref().map_or(&[][..], |facts| &facts.cwd);
            gate::decides(self.options().kind, self.options().format)
                && (gate::is_governed(&[&event.places.cwd, &event.places.project, &event.places.top, named])
                    || gate::holds(&event.places.root)
                    || self.names_governed_files()
                    || gate::is_known(&event.env, self.session()))
        })
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

    /// The end of an event whose gates no owner decided. A call before it runs that is only late is asked for again, once
    /// a session: by then there is an owner. What comes after it passes, so that no broken machine stops the work; where
    /// gates are strict, it is held.
    pub(super) fn undecided(&self, why: &NoAnswer, context: &[u8], notice: &str) -> Ending {
        let kind = self.options().kind;
        let is_late = matches!(why, NoAnswer::Timeout | NoAnswer::Absent(_) | NoAnswer::Declined(_));
        if is_late && self.is_first_late_call() {
            return self.denied(b"The gates are starting; run the same call again.", &joined(notice, STARTING));
        }
        if is_late && kind != Kind::PreTool && kind != Kind::Stop {
            return self.told(context, &joined(notice, if kind == Kind::SessionStart { STARTING } else { "" }));
        }
        let why = if is_late { "they did not answer in time".to_owned() } else { why.text() };
        let is_strict = self.can_be_denied() && gate::is_strict(&self.event.env, &self.event.places.project);
        let warning = gate::undecided(&format!("this {}", kind.event_name()), &why, is_strict);
        let detail = text::quoted(warning.as_bytes());
        self.keep_decision(&[b"{\"records\":[{\"kind\":\"error\",\"detail\":", &detail[..], b"}]}"].concat());
        let ending =
            if is_strict { self.denied(warning.as_bytes(), notice) } else { self.ungated(&warning, context, notice) };
        Ending { stderr: format!("{warning}\n"), ..ending }
    }

    /// The end of an event that passes: said to the user, and to the model where it listens.
    fn ungated(&self, warning: &str, context: &[u8], notice: &str) -> Ending {
        let kind = self.options().kind;
        let said = match context {
            _ if !kind.takes_context() => Vec::new(),
            b"" => warning.as_bytes().to_vec(),
            context => [context, b"\n", warning.as_bytes()].concat(),
        };
        let both = joined(notice, warning);
        // The client shows no message at a session's end, and refuses documents it does not expect.
        let shown = if kind == Kind::SessionEnd { "" } else { &both };
        let stdout = client_document(self.options().format, kind.event_name(), &said, shown);
        Ending { code: 0, stdout, stderr: String::new() }
    }

    fn denied(&self, reason: &[u8], notice: &str) -> Ending {
        Ending { code: 0, stdout: denial(reason, notice), stderr: String::new() }
    }

    fn can_be_denied(&self) -> bool {
        self.options().kind == Kind::PreTool && self.options().format == Format::Claude
    }

    fn is_first_late_call(&self) -> bool {
        self.can_be_denied()
            && !self.session().is_empty()
            && first_to_tell(&self.event.places.root, b"late", self.session(), false)
    }

    /// Best effort: for the log of requirements.
    fn keep_decision(&self, record: &[u8]) {
        let kept =
            self.event.decision_record(record).map_err(|fault| fault.text()).and_then(|record| self.keep(&record));
        if let Err(why) = kept {
            self.debug(&format!("the gate's record: {why}"));
        }
    }
}
