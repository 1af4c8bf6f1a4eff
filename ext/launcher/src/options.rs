//! Parses the arguments of `hooks <kind>` (seed 001 section 2.3): every kind takes every option.

use crate::kind::Kind;

/// How the answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Json,
    JsonCompact,
    Text,
    Claude,
}

impl Format {
    /// The option's word.
    pub fn word(self) -> &'static [u8] {
        match self {
            Format::Json => b"json",
            Format::JsonCompact => b"json-compact",
            Format::Text => b"text",
            Format::Claude => b"claude",
        }
    }

    fn from_word(word: &[u8]) -> Option<Format> {
        [Format::Json, Format::JsonCompact, Format::Text, Format::Claude]
            .into_iter()
            .find(|format| format.word() == word)
    }
}

/// One hook call's arguments. An option given twice counts as given last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options<'a> {
    pub kind: Kind,
    pub format: Format,
    pub db_path: Option<&'a [u8]>,
    pub session_id: Option<&'a [u8]>,
    pub previous_session_id: Option<&'a [u8]>,
    pub tool_name: Option<&'a [u8]>,
    pub success: Option<bool>,
    pub prompt: Option<&'a [u8]>,
    pub duration_ms: Option<&'a [u8]>,
    pub stdin: Option<bool>,
    pub fast_path: Option<bool>,
    pub generate_summary: Option<bool>,
    pub help: bool,
}

/// A wrong argument; `text` names it and what would be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsageError<'a> {
    Unknown(&'a [u8]),
    NoValue(&'a [u8]),
    BadValue { name: &'a [u8], value: &'a [u8], wanted: &'static str },
}

impl UsageError<'_> {
    /// One sentence for whoever wrote the command.
    pub fn text(&self) -> String {
        let show =
            |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..bytes.len().min(200)).unwrap_or(&[])).into_owned();
        match self {
            UsageError::Unknown(arg) => format!("unknown argument '{}'; see context-graph-cli hooks --help", show(arg)),
            UsageError::NoValue(name) => format!("option '{}' needs a value", show(name)),
            UsageError::BadValue { name, value, wanted } => {
                format!("option '{}' is '{}'; it must be {wanted}", show(name), show(value))
            }
        }
    }
}

/// Whether the arguments ask for the client's format, found before anything else: its errors must look otherwise.
pub fn wants_claude<'a>(mut args: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut claude = false;
    while let Some(arg) = args.next() {
        match arg {
            b"--format" => claude = args.next() == Some(b"claude"),
            _ if arg.starts_with(b"--format=") => claude = arg == b"--format=claude",
            _ => {}
        }
    }
    claude
}

/// Reads the arguments behind `hooks <kind>`.
pub fn read<'a>(kind: Kind, args: impl Iterator<Item = &'a [u8]>) -> Result<Options<'a>, UsageError<'a>> {
    let mut options = Options::of(kind);
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        if matches!(arg, b"--help" | b"-h") {
            options.help = true;
            continue;
        }
        let (name, joined) = match arg.iter().position(|byte| *byte == b'=') {
            Some(at) if arg.starts_with(b"--") => (arg.get(..at).unwrap_or(arg), arg.get(at + 1..)),
            _ => (arg, None),
        };
        match name {
            b"--stdin" | b"--fast-path" | b"--generate-summary" => {
                let value = joined.or_else(|| args.next_if(|next| matches!(*next, b"true" | b"false")));
                options.set_switch(name, boolean(name, value.unwrap_or(b"true"))?);
            }
            _ if takes_value(name) => {
                // A prompt may begin with dashes; anything else that does is the next option.
                let next = |next: &&[u8]| name == b"--prompt" || !next.starts_with(b"--");
                let value = joined.or_else(|| args.next_if(next)).ok_or(UsageError::NoValue(name))?;
                options.set_value(name, value)?;
            }
            _ => return Err(UsageError::Unknown(arg)),
        }
    }
    Ok(options)
}

fn takes_value(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 8] = [
        b"--db-path",
        b"--session-id",
        b"--previous-session-id",
        b"--tool-name",
        b"--success",
        b"--prompt",
        b"--duration-ms",
        b"--format",
    ];
    NAMES.contains(&name)
}

fn boolean<'a>(name: &'a [u8], value: &'a [u8]) -> Result<bool, UsageError<'a>> {
    match value {
        b"true" => Ok(true),
        b"false" => Ok(false),
        _ => Err(UsageError::BadValue { name, value, wanted: "true or false" }),
    }
}

impl<'a> Options<'a> {
    /// Nothing given: the defaults.
    fn of(kind: Kind) -> Options<'a> {
        Options {
            kind,
            format: Format::Json,
            db_path: None,
            session_id: None,
            previous_session_id: None,
            tool_name: None,
            success: None,
            prompt: None,
            duration_ms: None,
            stdin: None,
            fast_path: None,
            generate_summary: None,
            help: false,
        }
    }

    fn set_switch(&mut self, name: &[u8], value: bool) {
        match name {
            b"--stdin" => self.stdin = Some(value),
            b"--fast-path" => self.fast_path = Some(value),
            _ => self.generate_summary = Some(value),
        }
    }

    fn set_value(&mut self, name: &'a [u8], value: &'a [u8]) -> Result<(), UsageError<'a>> {
        // Scripts pass "$SESSION_ID" whether it is set or not. An empty store path is a mistake that must be told.
        let given = (!value.is_empty()).then_some(value);
        match name {
            b"--db-path" => self.db_path = Some(value),
            b"--session-id" => self.session_id = given,
            b"--previous-session-id" => self.previous_session_id = given,
            b"--tool-name" => self.tool_name = given,
            b"--prompt" => self.prompt = Some(value),
            b"--success" => self.success = Some(boolean(name, value)?),
            b"--duration-ms" => {
                if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
                    return Err(UsageError::BadValue { name, value, wanted: "a whole number of milliseconds" });
                }
                self.duration_ms = given;
            }
            _ => {
                let wanted = "json, json-compact, text or claude";
                self.format = Format::from_word(value).ok_or(UsageError::BadValue { name, value, wanted })?;
            }
        }
        Ok(())
    }

    /// Whether standard input is asked for by name, so that an empty one is a mistake.
    pub fn insists_on_stdin(&self) -> bool {
        self.stdin == Some(true)
    }

    /// Whether standard input is read at all.
    pub fn reads_stdin(&self) -> bool {
        self.stdin.unwrap_or(self.format == Format::Claude || self.session_id.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<'a>(args: &[&'a str]) -> Result<Options<'a>, UsageError<'a>> {
        read(Kind::PostTool, args.iter().map(|arg| arg.as_bytes()).collect::<Vec<_>>().into_iter())
    }

    #[test]
    fn every_option_is_read_in_every_spelling() {
        let Ok(options) = parsed(&[
            "--stdin",
            "--format",
            "claude",
            "--session-id=s",
            "--tool-name",
            "Bash",
            "--success",
            "false",
            "--fast-path",
            "true",
            "--generate-summary=false",
            "--prompt",
            "--not-an-option",
            "--duration-ms",
            "12",
            "--db-path=/x",
            "--previous-session-id",
            "p",
        ]) else {
            unreachable!("all options are known")
        };
        assert_eq!((options.stdin, options.format, options.session_id), (Some(true), Format::Claude, Some(&b"s"[..])));
        assert_eq!(
            (options.success, options.fast_path, options.generate_summary),
            (Some(false), Some(true), Some(false))
        );
        assert_eq!((options.prompt, options.duration_ms), (Some(&b"--not-an-option"[..]), Some(&b"12"[..])));
    }

    #[test]
    fn a_switch_takes_the_next_word_only_if_that_is_a_boolean() {
        assert_eq!(parsed(&["--stdin", "false", "--format", "text"]).map(|options| options.stdin), Ok(Some(false)));
        assert_eq!(parsed(&["--stdin", "--format", "text"]).map(|options| options.stdin), Ok(Some(true)));
        assert_eq!(parsed(&["--stdin", "maybe"]), Err(UsageError::Unknown(b"maybe")));
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(parsed(&["--colour"]), Err(UsageError::Unknown(b"--colour")));
        assert_eq!(parsed(&["x"]), Err(UsageError::Unknown(b"x")));
        assert_eq!(parsed(&["--session-id"]), Err(UsageError::NoValue(b"--session-id")));
        assert_eq!(parsed(&["--session-id", "--stdin"]), Err(UsageError::NoValue(b"--session-id")));
        for args in [["--success", "yes"], ["--format", "xml"], ["--duration-ms", "-1"], ["--stdin=1", "--help"]] {
            assert!(matches!(parsed(&args), Err(UsageError::BadValue { .. })), "{args:?}");
        }
    }

    #[test]
    fn empty_ids_count_as_not_given_but_an_empty_store_path_does_not() {
        let Ok(options) = parsed(&["--session-id", "", "--db-path", ""]) else { unreachable!("valid") };
        assert_eq!((options.session_id, options.db_path), (None, Some(&b""[..])));
    }

    #[test]
    fn stdin_is_read_when_asked_for_by_the_client_or_without_a_session() {
        let reads = |args: &[&str]| parsed(args).ok().map(|options| options.reads_stdin());
        assert_eq!(reads(&["--session-id", "s"]), Some(false));
        assert_eq!(reads(&["--session-id", "s", "--format", "claude"]), Some(true));
        assert_eq!(reads(&["--session-id", "s", "--stdin"]), Some(true));
        assert_eq!(reads(&[]), Some(true));
        assert_eq!(reads(&["--stdin=false"]), Some(false));
    }

    #[test]
    fn the_clients_format_is_seen_behind_any_error() {
        let wants = |args: &[&str]| wants_claude(args.iter().map(|arg| arg.as_bytes()).collect::<Vec<_>>().into_iter());
        assert!(wants(&["--colour", "--format", "claude"]) && wants(&["--format=claude"]));
        assert!(!wants(&["--format", "json"]) && !wants(&["claude"]) && !wants(&["--format"]));
    }
}
