//! Lists the hook events: their words, the client's names for them, their time budgets.

macro_rules! kinds {
    ($($kind:ident = $facts:expr;)*) => {
        /// The events.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind { $($kind),* }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            const fn facts(self) -> (&'static str, &'static str, u32, bool) {
                match self { $(Kind::$kind => $facts),* }
            }
        }
    };
}

// Verb, the client's own name, milliseconds, and whether it takes context. Words and budgets are those of seed 001; the
// events that it does not have get UserPromptSubmit's.
kinds! {
    SessionStart = ("hooks.session-start", "SessionStart", 5_000, true);
    PreTool = ("hooks.pre-tool", "PreToolUse", 100, true);
    PostTool = ("hooks.post-tool", "PostToolUse", 3_000, true);
    PostToolFailure = ("hooks.post-tool-failure", "PostToolUseFailure", 3_000, true);
    PromptSubmit = ("hooks.prompt-submit", "UserPromptSubmit", 2_000, true);
    Stop = ("hooks.stop", "Stop", 2_000, false);
    PreCompact = ("hooks.pre-compact", "PreCompact", 2_000, false);
    SessionEnd = ("hooks.session-end", "SessionEnd", 30_000, false);
    PermissionRequest = ("hooks.permission-request", "PermissionRequest", 2_000, false);
    SubagentStop = ("hooks.subagent-stop", "SubagentStop", 2_000, false);
    PromptExpansion = ("hooks.prompt-expansion", "UserPromptExpansion", 2_000, true);
    PermissionDenied = ("hooks.permission-denied", "PermissionDenied", 2_000, false);
    PostCompact = ("hooks.post-compact", "PostCompact", 2_000, false);
    SubagentStart = ("hooks.subagent-start", "SubagentStart", 2_000, true);
    ConfigChange = ("hooks.config-change", "ConfigChange", 2_000, false);
}

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

    /// Whether the client shows the model what such a hook gives as additional context. Stop would be forced into another
    /// turn by it, SessionEnd fails the client's schema.
    pub fn takes_context(self) -> bool {
        self.facts().3
    }
}
