//! Finds and starts the Python programs: the owner, and the CLI for what this program does not do.

use crate::client::NoAnswer;
use crate::env::Env;
use crate::pathname::below;
use crate::paths::Places;
use crate::sys::{self, AsRawFd, Deadline, Errno, Open, OwnedFd};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// One of the two Python programs.
#[derive(Clone, Copy)]
pub struct Program {
    script: &'static [u8],
    module: &'static [u8],
}

/// The process that holds the stores.
pub const OWNER: Program = Program { script: b"context-graph-owner", module: b"context_graph.owner" };
/// All other commands.
pub const CLI: Program = Program { script: b"context-graph-py", module: b"context_graph.cli" };

/// The command line that starts `program`: $CONTEXT_GRAPH_PYTHON's module, else the script beside this program, else
/// the script on PATH. A relative variable is meant from `base` (empty: the working folder). The error lists where it
/// was looked for.
pub fn find(program: Program, env: &Env<'_>, base: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut looked = Vec::new();
    if let Some(python) = env.python {
        // -P: a folder `context_graph` in the working folder, which anybody's repository may hold, must not be imported.
        let command = |path: Vec<u8>| vec![path, b"-P".to_vec(), b"-m".to_vec(), program.module.to_vec()];
        let relative = python.contains(&b'/') && !python.starts_with(b"/") && !base.is_empty();
        let python = if relative { [base, b"/", python].concat() } else { python.to_vec() };
        if let Some(path) = on_disk(&python, env, &mut looked) {
            return Ok(command(path));
        }
    } else {
        let sibling = below(&own_folder().unwrap_or_default(), program.script);
        if sys::executable(&sibling[..]) {
            return Ok(vec![sibling]);
        }
        looked.push(sibling);
        if let Some(path) = on_disk(program.script, env, &mut looked) {
            return Ok(vec![path]);
        }
    }
    let places: Vec<_> = looked.iter().map(|path| String::from_utf8_lossy(path)).collect();
    let script = String::from_utf8_lossy(program.script);
    Err(format!(
        "{script} was not found; looked at {}; install context-graph or set CONTEXT_GRAPH_PYTHON",
        places.join(", ")
    ))
}

/// The version of this package, with the time at which the owner that would be started was installed: an owner of an
/// earlier build makes way. Twin: context_graph.wire.build. An interpreter that a variable names says nothing of that.
pub fn build(env: &Env<'_>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let script = find(OWNER, env, b"").ok().filter(|words| words.len() == 1);
    let written = script.and_then(|words| sys::stat(words.first().map_or(&b""[..], Vec::as_slice)).ok());
    written.map_or_else(|| version.to_owned(), |stat| format!("{version}+build.{}", stat.st_mtime))
}

/// The folder of this program's file, links resolved.
fn own_folder() -> Option<Vec<u8>> {
    let own = std::env::current_exe().ok()?;
    Some(own.parent()?.as_os_str().as_bytes().to_vec())
}

/// The command that runs `words`, whose first is a path, and after them `rest`.
pub fn command(words: &[Vec<u8>], rest: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Command {
    let mut words = words.iter().map(|word| OsStr::from_bytes(word));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    for part in rest {
        command.arg(OsStr::from_bytes(part.as_ref()));
    }
    command
}

/// `name` as a path, or looked up on PATH if it has no slash. Relative PATH entries are left out: they would let the
/// working folder decide what runs.
fn on_disk(name: &[u8], env: &Env<'_>, looked: &mut Vec<Vec<u8>>) -> Option<Vec<u8>> {
    let candidates: Vec<Vec<u8>> = if name.contains(&b'/') {
        vec![name.to_vec()]
    } else {
        let folders = env.path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin").split(|byte| *byte == b':');
        folders.filter(|folder| folder.starts_with(b"/")).map(|folder| below(folder, name)).collect()
    };
    for path in candidates {
        if sys::executable(&path[..]) {
            return Some(path);
        }
        looked.push(path);
    }
    None
}

/// Becomes the Python CLI with the same arguments; returns only if that is not possible, with the reason.
pub fn exec_cli(env: &Env<'_>, args: impl Iterator<Item = &'static [u8]>) -> String {
    match find(CLI, env, b"") {
        Ok(words) => {
            sys::hold_interrupt(); // `context_graph.cli.__main__` lets it through
            format!("{} can't be run: {}", shown(&words), sys::words(sys::become_program(command(&words, args))))
        }
        Err(why) => why,
    }
}

/// The program of a command line, for people.
pub fn shown(command: &[Vec<u8>]) -> String {
    command.first().map(|path| String::from_utf8_lossy(path).into_owned()).unwrap_or_default()
}

/// The variables that an owner is started with: what is not on these lists stays with the client, whose keys and tokens
/// nobody else needs. Twin: context_graph.wire.environment; tests/golden/environment.txt holds both to one list.
pub const KEPT_NAMES: [&str; 30] = [
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "CLAUDE_CONFIG_DIR", "VIRTUAL_ENV",
    "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "MALLOC_ARENA_MAX", "PYTHONHOME", "PYTHONPATH",
    "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "PYTHONUTF8",
    "PYTHONFAULTHANDLER", "PYTHONSAFEPATH",
];
pub const KEPT_PREFIXES: [&str; 3] = ["CONTEXT_GRAPH_", "LC_", "XDG_"];

/// Whether an owner is started with the variable `entry`, `NAME=value`.
pub fn is_kept(entry: &[u8]) -> bool {
    let name = entry.split(|byte| *byte == b'=').next().unwrap_or(&[]);
    KEPT_NAMES.iter().any(|kept| kept.as_bytes() == name)
        || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

/// How an attempt to start an owner ended.
#[derive(Debug)]
pub enum Start {
    Started,
    /// Somebody holds the lock: an owner that serves, starts or is leaving.
    Owned,
    Failed(String),
}

/// Starts owners of one data root.
pub struct Starter<'a> {
    places: &'a Places,
    lock: Vec<u8>,
}

impl<'a> Starter<'a> {
    pub fn new(places: &'a Places) -> Starter<'a> {
        Starter { places, lock: below(&places.root, b"run/owner.lock") }
    }

    /// Starts an owner unless there is one. The lock is taken here and handed over with its descriptor, so two are
    /// never started (invariant 1).
    pub fn start(&self, env: &Env<'_>) -> Start {
        let lock = match self.take_lock() {
            Ok(lock) => lock,
            Err(other) => return other,
        };
        // It will run in `/`, so its program must not be relative.
        let words = match find(OWNER, env, &self.places.cwd) {
            Ok(words) => words,
            Err(why) => return Start::Failed(why),
        };
        let descriptor = lock.as_raw_fd().to_string();
        let rest: [&[u8]; 4] = [b"--root", &self.places.root, b"--lock-fd", descriptor.as_bytes()];
        match sys::spawn_detached(command(&words, rest), is_kept, &lock) {
            Ok(()) => Start::Started,
            Err(error) => Start::Failed(format!("{} can't be run: {}", shown(&words), sys::words(error))),
        }
    }

    /// Whether nobody holds the lock: no owner serves, starts or is leaving.
    pub fn is_free(&self) -> bool {
        self.take_lock().is_ok()
    }

    /// Asks until an owner answers or the time is up; starts one where none listens.
    pub fn ask<T>(
        &self,
        env: &Env<'_>,
        up_by: Deadline,
        mut ask: impl FnMut() -> Result<T, NoAnswer>,
    ) -> Result<T, NoAnswer> {
        let mut started = false;
        loop {
            let answer = ask();
            if !matches!(answer, Err(NoAnswer::Absent(_) | NoAnswer::Declined(_))) || up_by.left_ms() == 0 {
                return answer;
            }
            if started {
                // It held the lock from its first moment on: what has let go of it will never listen.
                if matches!(answer, Err(NoAnswer::Absent(_))) && self.is_free() {
                    let why = "it ends at its start, and `context-graph-cli owner start` says why".to_owned();
                    return Err(NoAnswer::Unstartable(why));
                }
                sys::sleep_ms(5);
                continue;
            }
            match self.start(env) {
                Start::Started => started = true,
                // Again while another owner holds the lock: it may be leaving.
                Start::Owned => sys::sleep_ms(5),
                Start::Failed(why) => return Err(NoAnswer::Unstartable(why)),
            }
        }
    }

    fn take_lock(&self) -> Result<OwnedFd, Start> {
        let failed =
            |errno: Errno| Start::Failed(format!("{}: {}", String::from_utf8_lossy(&self.lock), sys::words(errno)));
        let lock = sys::open_below(&self.lock, Open::Lock).map_err(failed)?;
        match sys::try_lock(&lock) {
            Ok(true) => Ok(lock),
            Ok(false) => Err(Start::Owned),
            Err(errno) => Err(failed(errno)),
        }
    }
}
