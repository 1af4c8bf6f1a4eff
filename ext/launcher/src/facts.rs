//! Reads once what a hook needs to know of its input.

use crate::brief::Thing;
use crate::json::{self, text, Token};
use crate::pathname::normal;

/// Words of a command that are looked at; a longer one is a script, whose end says little.
const WORDS_MAX: usize = 256;
/// What is kept of a text.
const TEXT_MAX: usize = 8192;

/// The fields of an input that decide what becomes of it.
#[derive(Default)]
pub struct Facts {
    pub session_id: Vec<u8>,
    pub cwd: Vec<u8>,
    pub tool_name: Vec<u8>,
    /// The tool's arguments that are called a path.
    pub paths: Vec<Vec<u8>>,
    /// Those that may name files among other words.
    commands: Vec<Vec<u8>>,
}

impl Facts {
    /// The facts of `body`; None if it is no JSON object.
    pub fn read(body: &[u8]) -> Option<Facts> {
        let mut facts = Facts::default();
        let on_field = |path: &[&[u8]], token: Token<'_>| {
            let Token::Text(raw) = token else { return };
            match *path {
                [b"session_id"] => facts.session_id = text::unescaped(raw, usize::MAX),
                [b"cwd"] => facts.cwd = text::unescaped(raw, usize::MAX),
                [b"tool_name"] => facts.tool_name = text::unescaped(raw, usize::MAX),
                [b"tool_input", b"command" | b"pattern"] => facts.commands.push(text::unescaped(raw, TEXT_MAX)),
                [b"tool_input", name] if name.to_ascii_lowercase().ends_with(b"path") => {
                    facts.paths.push(text::unescaped(raw, TEXT_MAX));
                }
                _ => {}
            }
        };
        json::fields(body, on_field).ok()?;
        Some(facts)
    }

    /// The files that the tool call touches, seen from the folder `cwd`: every path, and every word of a command that has a
    /// slash. Too many do no harm, one too few would.
    pub fn files(&self, cwd: &[u8]) -> Vec<Thing> {
        let words = |command| <[u8]>::split(command, |byte| between(*byte)).filter(|word| word.contains(&b'/'));
        let named = self.commands.iter().flat_map(|command| words(&command[..]).take(WORDS_MAX));
        self.paths.iter().map(|path| &path[..]).chain(named).flat_map(|path| things(path, cwd)).collect()
    }
}

fn things(path: &[u8], cwd: &[u8]) -> [Thing; 2] {
    Thing::of_file(&if path.starts_with(b"/") { normal(&[path]) } else { normal(&[cwd, path]) })
}

/// Whether the byte ends a word of a command.
fn between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`;|&()<>=,:{}[]$*?!#".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<Thing> {
        Facts::read(body.as_bytes()).map_or_else(Vec::new, |facts| facts.files(b"/w/app"))
    }

    #[test]
    fn a_file_is_the_same_however_a_call_names_it() {
        let file = Thing::of_file(b"/w/app/src/a.py");
        for input in [
            r#"{"file_path":"/w/app/src/a.py"}"#,
            r#"{"file_path":"src/a.py"}"#,
            r#"{"notebook_path":"/w/app/./src/a.py"}"#,
            r#"{"command":"cd x && python3 'src/a.py' --fast"}"#,
            r#"{"command":"grep -n b ./src/a.py|head"}"#,
        ] {
            assert_eq!(of(&format!(r#"{{"tool_input":{input}}}"#)), file, "{input}");
        }
    }

    #[test]
    fn words_without_a_slash_are_no_files() {
        assert_eq!(of(r#"{"tool_input":{"command":"make test"}}"#), []);
    }
}
