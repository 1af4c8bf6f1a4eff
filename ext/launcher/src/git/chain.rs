//! Finds the hooks that git would have run without us: where `core.hooksPath` of its configuration says, else in the
//! repository's own folder.
//!
//! Where no configuration file speaks of `hooksPath` or includes another, the answer is known without git; else git is
//! asked, with our own entry out of its environment.

use crate::pathname::{below, normal};
use crate::repository;
use crate::sys::{self, Deadline, Open};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::Command;

const KEY: &[u8] = b"core.hookspath";
/// What is read of a configuration file; git is asked about a longer one.
const CONFIG_MAX: usize = 64 * 1024;
const GIT_MS: u32 = 5_000;

/// The folder of hooks that git would have looked into in `cwd`, were it not for ours, `ours`; None outside repositories.
pub fn own_folder(cwd: &[u8], ours: &[u8]) -> Option<Vec<u8>> {
    named(cwd, ours).filter(|folder| folder != ours)
}

fn named(cwd: &[u8], ours: &[u8]) -> Option<Vec<u8>> {
    let git_dir = match variable("GIT_DIR") {
        Some(named) => absolute(cwd, &named),
        None => repository::git_dir(cwd)?,
    };
    let common = repository::common_dir(&git_dir);
    let entries = entries();
    let own = entries.iter().find(|entry| entry.value == ours && entry.names_hooks());
    let is_plain = !entries.iter().any(|entry| entry.names_hooks() && entry.value != ours)
        && config_files(&git_dir, &common).iter().all(|path| says_nothing(path));
    if is_plain {
        return Some(below(&common, b"hooks"));
    }
    let mut command = Command::new("git");
    command.args(["rev-parse", "--git-path", "hooks"]);
    if let Some(own) = own {
        command.env(format!("GIT_CONFIG_KEY_{}", own.number), "context-graph.hooks");
    }
    let said = sys::ask_program(command, b"", Deadline::from_now(GIT_MS)).ok()?;
    let line = said.strip_suffix(b"\n").unwrap_or(&said);
    (!line.is_empty()).then(|| absolute(cwd, line))
}

/// One of the environment's settings for git.
struct Entry {
    number: usize,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Entry {
    fn names_hooks(&self) -> bool {
        self.key.eq_ignore_ascii_case(KEY)
    }
}

fn entries() -> Vec<Entry> {
    let count = variable("GIT_CONFIG_COUNT").and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse().ok());
    let of = |number| {
        let key = variable(&format!("GIT_CONFIG_KEY_{number}"))?;
        Some(Entry { number, key, value: variable(&format!("GIT_CONFIG_VALUE_{number}")).unwrap_or_default() })
    };
    (0..count.unwrap_or(0).min(1_000)).filter_map(of).collect()
}

fn variable(name: &str) -> Option<Vec<u8>> {
    std::env::var_os(name).map(OsStringExt::into_vec).filter(|value| !value.is_empty())
}

/// Every file that git may read its configuration from. Where the system's lies depends on how git was built.
fn config_files(git_dir: &[u8], common: &[u8]) -> Vec<Vec<u8>> {
    let mut files = vec![below(common, b"config"), below(git_dir, b"config.worktree")];
    let home = variable("HOME").unwrap_or_default();
    match variable("GIT_CONFIG_GLOBAL") {
        Some(named) => files.push(named),
        None => {
            let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| below(&home, b".config"));
            files.extend([below(&home, b".gitconfig"), below(&config, b"git/config")]);
        }
    }
    if variable("GIT_CONFIG_NOSYSTEM").is_some() {
        return files;
    }
    files.extend(variable("GIT_CONFIG_SYSTEM"));
    let mut prefixes: Vec<Vec<u8>> = [&b""[..], b"/usr", b"/usr/local", b"/opt/homebrew"].map(<[u8]>::to_vec).to_vec();
    // git puts its own programs first on a hook's PATH: <prefix>/lib/git-core, or libexec.
    let path = variable("PATH").unwrap_or_default();
    let first = path.split(|byte| *byte == b':').next().unwrap_or_default();
    if first.ends_with(b"/git-core") {
        prefixes.push(normal(&[first, b"../.."]));
    }
    let system = |prefix: &Vec<u8>| [below(prefix, b"etc/gitconfig"), below(prefix, b"share/git-core/gitconfig")];
    files.extend(prefixes.iter().flat_map(system));
    files
}

/// Whether the file names no folder of hooks, and no other file that might.
fn says_nothing(path: &[u8]) -> bool {
    let file = match sys::open(path, Open::Read) {
        Ok(file) => file,
        Err(why) => return why == sys::Errno::NOENT,
    };
    let mut text = vec![0; CONFIG_MAX + 1];
    let Ok(len) = sys::pread(file, &mut text[..], 0) else { return false };
    text.truncate(len);
    text.make_ascii_lowercase();
    let holds = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    len <= CONFIG_MAX && !holds(b"hookspath") && !holds(b"[include")
}

fn absolute(cwd: &[u8], path: &[u8]) -> Vec<u8> {
    let path = if path.starts_with(b"/") { path.to_vec() } else { below(cwd, path) };
    let real = std::fs::canonicalize(OsStr::from_bytes(&path));
    real.map_or(path, |real| real.into_os_string().into_vec())
}
