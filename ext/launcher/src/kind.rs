//! Lists the hook events: their words, the client's names for them, their time budgets.

/// The events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    SessionStart,
    PreTool,
    PostTool,
    PostToolFailure,
    PromptSubmit,
    Stop,
    PreCompact,
    SessionEnd,
    PermissionRequest,
    SubagentStop,
    PromptExpansion,
    PermissionDenied,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 12] = [
        Kind::SessionStart,
        Kind::PreTool,
        Kind::PostTool,
        Kind::PostToolFailure,
        Kind::PromptSubmit,
        Kind::Stop,
        Kind::PreCompact,
        Kind::SessionEnd,
        Kind::PermissionRequest,
        Kind::SubagentStop,
        Kind::PromptExpansion,
        Kind::PermissionDenied,
    ];

    /// Verb, the client's own name, milliseconds, and whether it takes context. Words and budgets are those of seed 001;
    /// the events that it does not have get UserPromptSubmit's.
    const fn facts(self) -> (&'static str, &'static str, u32, bool) {
        match self {
            Kind::SessionStart => ("hooks.session-start", "SessionStart", 5_000, true),
            Kind::PreTool => ("hooks.pre-tool", "PreToolUse", 100, true),
            Kind::PostTool => ("hooks.post-tool", "PostToolUse", 3_000, true),
            Kind::PostToolFailure => ("hooks.post-tool-failure", "PostToolUseFailure", 3_000, true),
            Kind::PromptSubmit => ("hooks.prompt-submit", "UserPromptSubmit", 2_000, true),
            Kind::Stop => ("hooks.stop", "Stop", 2_000, false),
            Kind::PreCompact => ("hooks.pre-compact", "PreCompact", 2_000, false),
            Kind::SessionEnd => ("hooks.session-end", "SessionEnd", 30_000, false),
            Kind::PermissionRequest => ("hooks.permission-request", "PermissionRequest", 2_000, false),
            Kind::SubagentStop => ("hooks.subagent-stop", "SubagentStop", 2_000, false),
            Kind::PromptExpansion => ("hooks.prompt-expansion", "UserPromptExpansion", 2_000, true),
            Kind::PermissionDenied => ("hooks.permission-denied", "PermissionDenied", 2_000, false),
        }
    }

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
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
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
