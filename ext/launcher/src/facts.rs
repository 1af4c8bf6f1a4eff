//! Reads once what a hook needs to know of its input.

use crate::brief::Thing;
use crate::json::{self, text, Token};
use crate::pathname::normal;

/// Words of a command that are looked at; a longer one is a script, whose end says little.
const WORDS_MAX: usize = 256;
/// Folders of a path that are looked at, the nearest ones, and letters of a name.
const FOLDERS_MAX: usize = 16;
const NAME_MAX: usize = 64;
/// What is kept of a text.
const TEXT_MAX: usize = 8192;

/// The fields of an input that decide what becomes of it.
#[derive(Default)]
pub struct Facts {
    pub session_id: Vec<u8>,
    pub cwd: Vec<u8>,
    pub tool_name: Vec<u8>,
    /// Of a session's start: `startup`, `resume`, `clear`, `compact`, `fork`.
    pub source: Vec<u8>,
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
                [b"source"] => facts.source = text::unescaped(raw, TEXT_MAX),
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

    /// What the tool call touches, seen from the folder `cwd`: the files of every path and of every word of a command that
    /// has a slash, their folders and their kinds, and each word of a command as a program or what it is told to do. Too
    /// many do no harm, one too few would.
    pub fn things(&self, cwd: &[u8]) -> Vec<Thing> {
        let mut things = Vec::with_capacity(16);
        self.paths.iter().for_each(|path| push_file(path, cwd, &mut things));
        for command in &self.commands {
            for word in command.split(|byte| between(*byte)).filter(|word| !word.is_empty()).take(WORDS_MAX) {
                if word.contains(&b'/') {
                    push_file(word, cwd, &mut things);
                }
                push_word(word, &mut things);
            }
        }
        things
    }
}

fn push_file(path: &[u8], cwd: &[u8], things: &mut Vec<Thing>) {
    let whole = if path.starts_with(b"/") { normal(&[path]) } else { normal(&[cwd, path]) };
    things.extend(Thing::of_file(&whole));
    let mut parts = whole.rsplit(|byte| *byte == b'/');
    let name = parts.next().unwrap_or(&[]);
    if let Some(dot) = name.iter().rposition(|byte| *byte == b'.') {
        let ending = name.get(dot + 1..).unwrap_or(&[]).to_ascii_lowercase();
        things.push(Thing::named(&[b"*.", &ending[..]].concat()));
    }
    let folders = parts.filter(|folder| !folder.is_empty()).take(FOLDERS_MAX);
    things.extend(folders.map(|folder| Thing::named(&[folder, b"/"].concat())));
}

fn push_word(word: &[u8], things: &mut Vec<Thing>) {
    let slash = word.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let name = word.get(slash..).unwrap_or(&[]);
    if !name.is_empty() && name.len() <= NAME_MAX && !name.starts_with(b"-") {
        things.push(Thing::named(&[b"$", &name.to_ascii_lowercase()[..]].concat()));
    }
}

/// Whether the byte ends a word of a command.
fn between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`;|&()<>=,:{}[]$*?!#".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<Thing> {
        Facts::read(body.as_bytes()).map_or_else(Vec::new, |facts| facts.things(b"/w/app"))
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
            let things = of(&format!(r#"{{"tool_input":{input}}}"#));
            assert!(file.iter().all(|one| things.contains(one)), "{input}");
            assert!(things.contains(&Thing::named(b"*.py")) && things.contains(&Thing::named(b"src/")), "{input}");
        }
    }

    #[test]
    fn words_of_a_command_are_programs_and_what_they_do() {
        let things = of(r#"{"tool_input":{"command":"cd web && /usr/bin/NPM -q install"}}"#);
        for name in [&b"$npm"[..], b"$install", b"$cd", b"$web"] {
            assert!(things.contains(&Thing::named(name)));
        }
        assert!(!things.contains(&Thing::named(b"$-q")));
        assert_eq!(
            of(r#"{"tool_input":{"command":"make test"}}"#),
            [b"$make", b"$test"].map(|name| Thing::named(name))
        );
    }
}
