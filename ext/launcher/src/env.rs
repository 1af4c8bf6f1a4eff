//! Reads the environment in one pass. An empty variable counts as unset.

use crate::options::Format;
use std::ffi::{c_char, CStr};

macro_rules! variables {
    ({ $($field:ident = $name:literal;)* } travelling { $($sent:ident = $sent_name:literal;)* }) => {
        /// The variables that the launcher knows; all others stay unread.
        #[derive(Default, Clone, Copy)]
        pub struct Env<'a> {
            $(pub $field: Option<&'a [u8]>,)*
            $(pub $sent: Option<&'a [u8]>,)*
        }

        impl<'a> Env<'a> {
            /// What travels with a request, `NAME=value` separated by NUL.
            pub fn travelling(&self) -> Vec<u8> {
                let settings = [$((&$sent_name[..], self.$sent)),*];
                let given = settings.into_iter().filter_map(|(name, value)| Some([name, b"=", value?].concat()));
                given.collect::<Vec<_>>().join(&0)
            }

            fn place(&mut self, name: &[u8]) -> Option<&mut Option<&'a [u8]>> {
                match name {
                    $($name => Some(&mut self.$field),)*
                    $($sent_name => Some(&mut self.$sent),)*
                    _ => None,
                }
            }
        }
    };
}

// Those behind `travelling` are a request's own settings, sent to the owner as they are.
variables! { {
    home = b"HOME";
    xdg_data_home = b"XDG_DATA_HOME";
    tmpdir = b"TMPDIR";
    path = b"PATH";
    session_id = b"CLAUDE_CODE_SESSION_ID";
    env_file = b"CLAUDE_ENV_FILE";
    plugin_root = b"CLAUDE_PLUGIN_ROOT";
    root = b"CONTEXT_GRAPH_HOME";
    db_path = b"CONTEXT_GRAPH_DB_PATH";
    allowed_roots = b"CONTEXT_GRAPH_ALLOWED_ROOTS";
    allow_links = b"CONTEXT_GRAPH_ALLOW_LINKS";
    python = b"CONTEXT_GRAPH_PYTHON";
    debug = b"CONTEXT_GRAPH_DEBUG";
} travelling {
    identity_lines = b"CONTEXT_GRAPH_IDENTITY_LINES";
    auto_dream = b"CONTEXT_GRAPH_AUTO_DREAM";
    config_dir = b"CLAUDE_CONFIG_DIR";
    skip_requirements = b"CLAUDE_SKIP_REQUIREMENTS";
    project_dir = b"CLAUDE_PROJECT_DIR";
} }

impl<'a> Env<'a> {
    /// Reads `NAME=value` strings; of a name given twice the first counts, as for getenv(3).
    pub fn from_entries(entries: impl Iterator<Item = &'a [u8]>) -> Env<'a> {
        let mut env = Env::default();
        entries.for_each(|entry| env.take(entry));
        env
    }

    /// The same for a hook of `format`'s program. What Claude Code says of its own session is not about another program
    /// that was started in it. Codex names no project either.
    pub fn of_host(&self, format: Format) -> Env<'a> {
        match format {
            Format::Codex => Env { session_id: None, plugin_root: None, project_dir: None, ..*self },
            Format::Gemini | Format::Cursor => Env { session_id: None, plugin_root: None, ..*self },
            _ => *self,
        }
    }

    /// Whether to say on standard error what is done and why.
    pub fn is_debug(&self) -> bool {
        self.debug == Some(b"1")
    }

    fn take(&mut self, entry: &'a [u8]) {
        // Nearly all entries are told apart by their first letter, without looking for the '='.
        if !matches!(entry.first(), Some(b'C' | b'H' | b'P' | b'T' | b'X')) {
            return;
        }
        let Some(at) = entry.iter().position(|byte| *byte == b'=') else { return };
        let (Some(name), Some(value)) = (entry.get(..at), entry.get(at + 1..)) else { return };
        if let Some(place) = self.place(name) {
            *place = place.or(Some(value).filter(|value| !value.is_empty()));
        }
    }
}

/// The strings of a NULL-terminated array, as the C runtime hands over arguments and environment.
#[derive(Clone)]
pub struct Strings(*const *const c_char);

impl Strings {
    /// # Safety
    /// `array` is NULL or a NULL-terminated array of NUL-terminated strings; all live and stay as they are for the
    /// rest of the process.
    pub unsafe fn new(array: *const *const c_char) -> Strings {
        Strings(array)
    }
}

impl Iterator for Strings {
    type Item = &'static [u8];

    fn next(&mut self) -> Option<&'static [u8]> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: `new` vouches for the array; the pointer never moves past its NULL.
        let string = unsafe { *self.0 };
        if string.is_null() {
            return None;
        }
        // SAFETY: this entry was not the NULL, so there is a next one.
        self.0 = unsafe { self.0.add(1) };
        // SAFETY: `new` vouches that each string is NUL-terminated and lives as long as the process.
        Some(unsafe { CStr::from_ptr(string) }.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_taken_and_empty_ones_count_as_unset() {
        let entries: [&[u8]; 8] = [
            b"HOME=/home/u",
            b"HOMEX=/no",
            b"HOME=/second",
            b"CONTEXT_GRAPH_HOME=",
            b"CLAUDE_CODE_SESSION_ID=a=b",
            b"CONTEXT_GRAPH_DEBUG=1",
            b"CONTEXT_GRAPH_ALLOW_LINKS=yes",
            b"PATH",
        ];
        let env = Env::from_entries(entries.into_iter());
        assert_eq!(env.home, Some(&b"/home/u"[..]));
        assert_eq!(env.root, None);
        assert_eq!(env.session_id, Some(&b"a=b"[..]));
        assert!(env.is_debug() && env.allow_links != Some(b"1"));
        assert_eq!(env.path, None);
    }
}
