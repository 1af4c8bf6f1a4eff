//! Reads the environment in one pass. An empty variable counts as unset.

use std::ffi::{c_char, CStr};

/// The variables that the launcher knows; all others stay unread.
#[derive(Default, Clone, Copy)]
pub struct Env<'a> {
    pub home: Option<&'a [u8]>,
    pub xdg_data_home: Option<&'a [u8]>,
    pub tmpdir: Option<&'a [u8]>,
    pub path: Option<&'a [u8]>,
    pub project_dir: Option<&'a [u8]>,
    pub session_id: Option<&'a [u8]>,
    pub root: Option<&'a [u8]>,
    pub db_path: Option<&'a [u8]>,
    pub allowed_roots: Option<&'a [u8]>,
    pub allow_links: bool,
    pub python: Option<&'a [u8]>,
    pub debug: bool,
    /// Request-scoped settings, sent to the owner as they are; so is `project_dir`.
    pub brief: Option<&'a [u8]>,
    pub auto_dream: Option<&'a [u8]>,
    pub inject: Option<&'a [u8]>,
    pub clock_offset: Option<&'a [u8]>,
    pub config_dir: Option<&'a [u8]>,
    pub skip_requirements: Option<&'a [u8]>,
    /// The client runs this hook for a plugin.
    pub plugin: bool,
}

impl<'a> Env<'a> {
    /// Reads `NAME=value` strings; of a name given twice the first counts, as for getenv(3).
    pub fn from_entries(entries: impl Iterator<Item = &'a [u8]>) -> Env<'a> {
        let mut env = Env::default();
        for entry in entries {
            env.take(entry);
        }
        env
    }

    /// What travels with a request, `NAME=value` separated by NUL.
    pub fn travelling(&self) -> Vec<u8> {
        let settings = [
            (&b"CONTEXT_GRAPH_BRIEF="[..], self.brief),
            (b"CONTEXT_GRAPH_AUTO_DREAM=", self.auto_dream),
            (b"CONTEXT_GRAPH_INJECT=", self.inject),
            (b"CONTEXT_GRAPH_CLOCK_OFFSET=", self.clock_offset),
            (b"CLAUDE_CONFIG_DIR=", self.config_dir),
            (b"CLAUDE_SKIP_REQUIREMENTS=", self.skip_requirements),
            (b"CLAUDE_PROJECT_DIR=", self.project_dir),
        ];
        let mut out = Vec::new();
        for (name, value) in settings {
            let Some(value) = value else { continue };
            if !out.is_empty() {
                out.push(0);
            }
            out.extend_from_slice(name);
            out.extend_from_slice(value);
        }
        out
    }

    fn take(&mut self, entry: &'a [u8]) {
        // Nearly all entries are told apart by their first letter, without looking for the '='.
        if !matches!(entry.first(), Some(b'C' | b'H' | b'P' | b'T' | b'X')) {
            return;
        }
        let Some(at) = entry.iter().position(|byte| *byte == b'=') else { return };
        let (Some(name), Some(value)) = (entry.get(..at), entry.get(at + 1..)) else { return };
        let value = (!value.is_empty()).then_some(value);
        let slot = match name {
            b"HOME" => &mut self.home,
            b"XDG_DATA_HOME" => &mut self.xdg_data_home,
            b"TMPDIR" => &mut self.tmpdir,
            b"PATH" => &mut self.path,
            b"CLAUDE_PROJECT_DIR" => &mut self.project_dir,
            b"CLAUDE_CODE_SESSION_ID" => &mut self.session_id,
            b"CONTEXT_GRAPH_HOME" => &mut self.root,
            b"CONTEXT_GRAPH_DB_PATH" => &mut self.db_path,
            b"CONTEXT_GRAPH_ALLOWED_ROOTS" => &mut self.allowed_roots,
            b"CONTEXT_GRAPH_PYTHON" => &mut self.python,
            b"CONTEXT_GRAPH_BRIEF" => &mut self.brief,
            b"CONTEXT_GRAPH_AUTO_DREAM" => &mut self.auto_dream,
            b"CONTEXT_GRAPH_INJECT" => &mut self.inject,
            b"CONTEXT_GRAPH_CLOCK_OFFSET" => &mut self.clock_offset,
            b"CLAUDE_CONFIG_DIR" => &mut self.config_dir,
            b"CLAUDE_SKIP_REQUIREMENTS" => &mut self.skip_requirements,
            b"CONTEXT_GRAPH_ALLOW_LINKS" => return self.allow_links = value == Some(b"1"),
            b"CLAUDE_PLUGIN_ROOT" => return self.plugin = value.is_some(),
            b"CONTEXT_GRAPH_DEBUG" => return self.debug = value == Some(b"1"),
            _ => return,
        };
        *slot = slot.or(value);
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
        assert!(env.debug && !env.allow_links);
        assert_eq!(env.path, None);
    }
}
