//! Prints `consciousness brief`, the most frequent command: it runs before anything else of the program.
//!
//! One line and exit code 0, always. At most one file is opened (two in a linked git worktree).

use crate::brief::{self, COLD_LINE};
use crate::env::Env;
use crate::paths;
use crate::sys;

/// What the arguments after `consciousness brief` say.
#[derive(Default, Clone, Copy, PartialEq, Debug)]
pub struct Options<'a> {
    pub db_path: Option<&'a [u8]>,
    pub session_id: Option<&'a [u8]>,
    pub help: bool,
    /// The first argument that is not understood; the brief prints all the same.
    pub unknown: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    /// Reads the arguments; never fails, for the brief never does.
    pub fn read(mut args: impl Iterator<Item = &'a [u8]>) -> Options<'a> {
        let mut options = Options::default();
        while let Some(arg) = args.next() {
            match arg {
                b"--help" | b"-h" => options.help = true,
                b"--db-path" => options.db_path = args.next(),
                b"--session-id" => options.session_id = args.next(),
                _ => match (arg.strip_prefix(b"--db-path="), arg.strip_prefix(b"--session-id=")) {
                    (Some(path), _) => options.db_path = Some(path),
                    (_, Some(id)) => options.session_id = Some(id),
                    _ => options.unknown = options.unknown.or(Some(arg)),
                },
            }
        }
        options
    }
}

/// Prints the line.
///
/// The session is --session-id, for a question names what it asks about; else the client's; else the newest
/// of the store.
pub fn run(env: &Env<'_>, options: &Options<'_>) {
    sys::ignore_write_signals();
    let slot = slot(env, options);
    // One write, so that a reader never sees half of the line.
    sys::write_all(sys::stdout(), &[slot.as_ref().map_or(COLD_LINE, brief::Slot::line), b"\n"].concat());
    if let Some(unknown) = options.unknown {
        sys::write_all(sys::stderr(), b"context-graph-cli: consciousness brief ignores '");
        sys::write_all(sys::stderr(), unknown);
        sys::write_all(sys::stderr(), b"'\n");
    }
}

fn slot(env: &Env<'_>, options: &Options<'_>) -> Option<brief::Slot> {
    match paths::locate(env, options.db_path) {
        Ok(places) => {
            let session = options.session_id.filter(|id| !id.is_empty()).or(env.session_id);
            brief::lookup(&places.store, session)
        }
        Err(error) => {
            if env.is_debug() {
                sys::write_all(sys::stderr(), format!("context-graph-cli: debug: {}\n", error).as_bytes());
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(args: &[&'a [u8]]) -> Options<'a> {
        Options::read(args.iter().copied())
    }

    #[test]
    fn options_are_read_in_both_spellings() {
        let expected = Options { db_path: Some(b"/p"), session_id: Some(b"s"), ..Options::default() };
        assert_eq!(read(&[b"--db-path", b"/p", b"--session-id=s"]), expected);
        assert_eq!(read(&[b"--session-id", b"s", b"--db-path=/p"]), expected);
    }

    #[test]
    fn strange_arguments_are_remembered_not_refused() {
        assert_eq!(read(&[b"x", b"y"]).unknown, Some(&b"x"[..]));
        assert_eq!(read(&[b"--session-id"]), Options::default());
        assert!(read(&[b"-h"]).help);
    }
}
