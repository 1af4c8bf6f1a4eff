//! Lists the hook events, which build.rs makes of the table of the client's events.

macro_rules! kinds {
    ($($kind:ident = $facts:expr;)*) => {
        /// The events.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind { $($kind),* }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            const fn facts(self) -> (&'static str, &'static str, u32, u32, u32, bool, bool, bool) {
                match self { $(Kind::$kind => $facts),* }
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/kinds.rs"));

impl Kind {
    /// The verb on the owner's socket; the command is what stands behind the dot.
    pub fn verb(self) -> &'static [u8] {
        self.facts().0.as_bytes()
    }

    /// The command, `hooks <word>`.
    pub fn word(self) -> &'static [u8] {
        self.verb().strip_prefix(b"hooks.").unwrap_or(b"")
    }

    /// The kind whose command is `word`.
    pub fn from_word(word: &[u8]) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// The client's own name of the event.
    pub fn event_name(self) -> &'static str {
        self.facts().1
    }

    /// Seed 001's time budget, milliseconds.
    pub fn budget_ms(self) -> u32 {
        self.facts().2
    }

    /// Milliseconds that a client's hook waits for the owner's answer.
    pub fn waits_ms(self) -> u32 {
        self.facts().3
    }

    /// Milliseconds from its start within which a client's hook has ended: before the client's own limit, whose end would
    /// be a call allowed in silence.
    pub fn ends_ms(self) -> u32 {
        self.facts().4
    }

    /// Whether requirements may decide something.
    pub fn has_gates(self) -> bool {
        self.facts().5
    }

    /// Whether an ungoverned client's hook waits for what the owner says, if that has anything to say.
    pub fn asks(self) -> bool {
        self.facts().6
    }

    /// Whether the client shows the model what such a hook gives as additional context.
    pub fn takes_context(self) -> bool {
        self.facts().7
    }
}
