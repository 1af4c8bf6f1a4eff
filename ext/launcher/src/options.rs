//! Parses the arguments of `hooks <kind>` (seed 001 section 2.3): every kind takes every option.

use crate::kind::Kind;
use std::borrow::Cow;

/// How the answer is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Json,
    JsonCompact,
    Text,
    Claude,
    Codex,
    Gemini,
    Cursor,
}

impl Format {
    /// The option's word.
    pub fn word(self) -> &'static [u8] {
        match self {
            Format::Json => b"json",
            Format::JsonCompact => b"json-compact",
            Format::Text => b"text",
            Format::Claude => b"claude",
            Format::Codex => b"codex",
            Format::Gemini => b"gemini",
            Format::Cursor => b"cursor",
        }
    }

    /// The formats of programs whose hooks call us. They get exit code 0 and a document of theirs, or nothing.
    const CLIENTS: [Format; 4] = [Format::Claude, Format::Codex, Format::Gemini, Format::Cursor];

    fn from_word(word: &[u8]) -> Option<Format> {
        let own = [Format::Json, Format::JsonCompact, Format::Text];
        own.into_iter().chain(Format::CLIENTS).find(|format| format.word() == word)
    }

    /// Whether a program's hook reads the answer.
    pub fn is_client(self) -> bool {
        Format::CLIENTS.contains(&self)
    }
}

/// What an option takes.
#[derive(Clone, Copy, PartialEq)]
pub enum Takes {
    /// `true` or `false`, or nothing: `true`.
    Switch,
    Boolean,
    Format,
    Milliseconds,
    /// An empty one counts as not given: scripts pass "$SESSION_ID" whether it is set or not.
    Name,
    /// An empty store path is a mistake that must be told.
    Path,
    /// Anything, even what begins with dashes.
    Text,
}

/// Every option: its name, on the command line and in a request's parameters, and what it takes.
/// src/context_graph/cli/words.py has them too, for help; tests/contract/test_hook_options.py compares the two.
const OPTIONS: [(&str, Takes); 11] = [
    ("format", Takes::Format),
    ("db-path", Takes::Path),
    ("session-id", Takes::Name),
    ("previous-session-id", Takes::Name),
    ("tool-name", Takes::Name),
    ("success", Takes::Boolean),
    ("prompt", Takes::Text),
    ("duration-ms", Takes::Milliseconds),
    ("stdin", Takes::Switch),
    ("fast-path", Takes::Switch),
    ("generate-summary", Takes::Switch),
];

impl Takes {
    /// Whether the argument behind such an option is its value.
    fn takes(self, next: &[u8]) -> bool {
        match self {
            Takes::Switch => matches!(next, b"true" | b"false"),
            Takes::Text => true,
            _ => !next.starts_with(b"--"),
        }
    }

    /// What is wrong with `value`, as what it must be.
    fn refusal(self, value: &[u8]) -> Option<&'static str> {
        match self {
            Takes::Switch | Takes::Boolean if !matches!(value, b"true" | b"false") => Some("true or false"),
            Takes::Milliseconds if !(1..=18).contains(&value.len()) || !value.iter().all(u8::is_ascii_digit) => {
                Some("a whole number of milliseconds")
            }
            Takes::Format if Format::from_word(value).is_none() => {
                Some("json, json-compact, text, claude, codex, gemini or cursor")
            }
            _ => None,
        }
    }
}

/// One hook call's arguments. An option given twice counts as given last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options<'a> {
    pub kind: Kind,
    pub format: Format,
    pub help: bool,
    /// Values in the order of OPTIONS.
    given: [Option<&'a [u8]>; OPTIONS.len()],
}

fn shown(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.get(..200).unwrap_or(bytes))
}

/// The format that the arguments ask for if it is a client's, else JSON. It is found before anything else: a client's
/// errors must look otherwise.
pub fn wanted<'a>(mut args: impl Iterator<Item = &'a [u8]>) -> Format {
    let mut word = None;
    while let Some(arg) = args.next() {
        match arg {
            b"--format" => word = args.next(),
            _ => word = arg.strip_prefix(b"--format=").or(word),
        }
    }
    word.and_then(Format::from_word).filter(|format| format.is_client()).unwrap_or(Format::Json)
}

/// Reads the arguments behind `hooks <kind>`; the error names the wrong one and what would be right.
pub fn read<'a>(kind: Kind, args: impl Iterator<Item = &'a [u8]>) -> Result<Options<'a>, String> {
    let mut options = Options { kind, format: Format::Json, help: false, given: [None; OPTIONS.len()] };
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
        let mut known = OPTIONS.iter().zip(&mut options.given);
        let is_named = |option: &str| name.strip_prefix(b"--") == Some(option.as_bytes());
        let Some(((_, takes), place)) = known.find(|((option, _), _)| is_named(option)) else {
            return Err(format!("unknown argument '{}'; see context-graph-cli hooks --help", shown(arg)));
        };
        let behind = || args.next_if(|next| takes.takes(next)).or((*takes == Takes::Switch).then_some(b"true"));
        let Some(value) = joined.or_else(behind) else {
            return Err(format!("option '{}' needs a value", shown(name)));
        };
        if let Some(wanted) = takes.refusal(value) {
            return Err(format!("option '{}' is '{}'; it must be {wanted}", shown(name), shown(value)));
        }
        *place = Some(value).filter(|value| *takes != Takes::Name || !value.is_empty());
    }
    options.format = options.value("format").and_then(Format::from_word).unwrap_or(Format::Json);
    Ok(options)
}

impl<'a> Options<'a> {
    fn value(&self, name: &str) -> Option<&'a [u8]> {
        OPTIONS.iter().zip(self.given).find(|((option, _), _)| *option == name)?.1
    }

    /// `--db-path`.
    pub fn db_path(&self) -> Option<&'a [u8]> {
        self.value("db-path")
    }

    /// `--session-id`.
    pub fn session_id(&self) -> Option<&'a [u8]> {
        self.value("session-id")
    }

    /// What was given, and the format in any case: name, what it takes, value.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, Takes, &'a [u8])> {
        let format = self.format.word();
        OPTIONS.into_iter().zip(self.given).filter_map(move |((name, takes), given)| {
            let value = if takes == Takes::Format { Some(format) } else { given };
            value.map(|value| (name, takes, value))
        })
    }

    /// Whether standard input is asked for by name, so that an empty one is a mistake.
    pub fn insists_on_stdin(&self) -> bool {
        self.value("stdin") == Some(b"true")
    }

    /// Whether standard input is read at all.
    pub fn reads_stdin(&self) -> bool {
        let asked = self.value("stdin").map(|value| value == b"true");
        asked.unwrap_or(self.format.is_client() || self.session_id().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<'a>(args: &[&'a str]) -> Result<Options<'a>, String> {
        read(Kind::PostTool, args.iter().map(|arg| arg.as_bytes()).collect::<Vec<_>>().into_iter())
    }

    fn unknown<T>(arg: &str) -> Result<T, String> {
        Err(format!("unknown argument '{arg}'; see context-graph-cli hooks --help"))
    }

    #[test]
    fn every_option_is_read_in_every_spelling() {
        let Ok(options) = parsed(&[
            "--stdin", "--format", "claude", "--session-id=s", "--tool-name", "Bash", "--success", "false",
            "--fast-path", "true", "--generate-summary=false", "--prompt", "--not-an-option", "--duration-ms", "12",
            "--db-path=/x", "--previous-session-id", "p",
        ]) else {
            unreachable!("all options are known")
        };
        assert_eq!(options.format, Format::Claude);
        let values =
            ["stdin", "session-id", "success", "fast-path", "generate-summary"].map(|name| options.value(name));
        assert_eq!(values, [&b"true"[..], b"s", b"false", b"true", b"false"].map(Some));
        let values = ["prompt", "duration-ms", "db-path", "previous-session-id"].map(|name| options.value(name));
        assert_eq!(values, [&b"--not-an-option"[..], b"12", b"/x", b"p"].map(Some));
        assert_eq!(options.given().count(), OPTIONS.len());
    }

    #[test]
    fn a_switch_takes_the_next_word_only_if_that_is_a_boolean() {
        assert_eq!(
            parsed(&["--stdin", "false", "--format", "text"]).map(|options| options.value("stdin")),
            Ok(Some(&b"false"[..]))
        );
        assert_eq!(
            parsed(&["--stdin", "--format", "text"]).map(|options| options.value("stdin")),
            Ok(Some(&b"true"[..]))
        );
        assert_eq!(parsed(&["--stdin", "maybe"]), unknown("maybe"));
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(parsed(&["--colour"]), unknown("--colour"));
        assert_eq!(parsed(&["x"]), unknown("x"));
        assert_eq!(parsed(&["--session-id"]), Err("option '--session-id' needs a value".to_owned()));
        assert_eq!(parsed(&["--session-id", "--stdin"]), Err("option '--session-id' needs a value".to_owned()));
        for args in [["--success", "yes"], ["--format", "xml"], ["--duration-ms", "-1"], ["--stdin=1", "--help"]] {
            assert!(parsed(&args).is_err_and(|error| error.contains("; it must be ")), "{args:?}");
        }
    }

    #[test]
    fn empty_ids_count_as_not_given_but_an_empty_store_path_does_not() {
        let Ok(options) = parsed(&["--session-id", "", "--db-path", ""]) else { unreachable!("valid") };
        assert_eq!((options.session_id(), options.db_path()), (None, Some(&b""[..])));
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
        let wants = |args: &[&str]| wanted(args.iter().map(|arg| arg.as_bytes()).collect::<Vec<_>>().into_iter());
        assert_eq!(wants(&["--colour", "--format", "claude"]), Format::Claude);
        assert_eq!([wants(&["--format=codex"]), wants(&["--format", "cursor"])], [Format::Codex, Format::Cursor]);
        for args in [&["--format", "text"][..], &["claude"], &["--format"], &["--format", "vim"]] {
            assert_eq!(wants(args), Format::Json);
        }
    }
}
