//! Tells a new session without an owner what the last owner left for it.

use super::Hook;
use crate::kind::Kind;
use crate::options::Format;
use crate::{log, prepared};

impl Hook<'_> {
    /// What the owner left, if it is still true: first asked before this event stands in the log, where none may wait.
    /// Settings that travel with the hook may be others than that owner's, and a governed project's start is its
    /// gates' as well.
    pub(super) fn prepared(&self) -> Option<&[u8]> {
        self.prepared.get_or_init(|| self.is_plain_start().then(|| self.read_prepared()).flatten()).as_deref()
    }

    fn is_plain_start(&self) -> bool {
        let options = self.options();
        options.kind == Kind::SessionStart
            && options.format == Format::Claude
            && self.facts.as_ref().is_some_and(|facts| facts.source == b"startup")
    }

    fn read_prepared(&self) -> Option<Vec<u8>> {
        let event = &self.event;
        if event.env.identity_lines.is_some() || self.is_governed() || !log::is_empty(&event.places.store) {
            return None;
        }
        prepared::text(&event.places.store, &event.places.cwd, &event.env)
    }

    /// Notes, best effort, that the session was told it.
    pub(super) fn note_prepared(&self) {
        if self.prepared().is_some() {
            let record = self.event.told_record(self.session()).map_err(|fault| fault.text());
            if let Err(why) = record.and_then(|record| self.keep(&record)) {
                self.debug(&format!("the note of what was told: {why}"));
            }
        }
    }
}
