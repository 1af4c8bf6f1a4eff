//! Where the Python side is: the owner and the CLI that takes what this program does not do.

use crate::arena::{Arena, CPath};
use crate::env::Env;
use crate::paths::Places;
use crate::sys::{self, CStrings, Fd, LockError, Open};
use crate::{paths, spool};

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
        let own = sys::own_path().unwrap_or_default();
        let folder = own.iter().rposition(|byte| *byte == b'/').and_then(|slash| own.get(..slash)).unwrap_or(&[]);
        let sibling = [folder, b"/", program.script].concat();
        if sys::executable(&sibling) {
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

/// `name` as a path, or looked up on PATH if it has no slash. Relative PATH entries are left out: they would let the
/// working folder decide what runs.
fn on_disk(name: &[u8], env: &Env<'_>, looked: &mut Vec<Vec<u8>>) -> Option<Vec<u8>> {
    let candidates: Vec<Vec<u8>> = if name.contains(&b'/') {
        vec![name.to_vec()]
    } else {
        let folders = env.path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin").split(|byte| *byte == b':');
        folders.filter(|folder| folder.starts_with(b"/")).map(|folder| [folder, b"/", name].concat()).collect()
    };
    for path in candidates {
        if sys::executable(&path) {
            return Some(path);
        }
        looked.push(path);
    }
    None
}

/// Becomes the Python CLI with the same arguments; returns only if that is not possible, with the reason.
pub fn exec_cli(env: &Env<'_>, args: impl Iterator<Item = &'static [u8]>) -> String {
    let command = match find(CLI, env, b"") {
        Ok(command) => command,
        Err(why) => return why,
    };
    let args: Vec<&[u8]> = args.collect();
    match CStrings::new(command.iter().map(Vec::as_slice).chain(args)) {
        Some(argv) => format!("{} can't be run: {}", shown(&command), sys::exec(&argv).text()),
        None => "an argument holds a NUL".to_owned(),
    }
}

fn shown(command: &[Vec<u8>]) -> String {
    command.first().map(|path| String::from_utf8_lossy(path).into_owned()).unwrap_or_default()
}

/// How an attempt to start an owner ended.
#[derive(Debug)]
pub enum Start {
    Started,
    /// Somebody holds the lock: an owner that serves, starts or is leaving.
    Owned,
    Failed(String),
}

/// Starts owners of one data root; made once a call, for its paths live as long as the arena.
pub struct Starter<'a> {
    root: CPath<'a>,
    cwd: CPath<'a>,
    run: CPath<'a>,
    lock: CPath<'a>,
}

impl<'a> Starter<'a> {
    /// None if a path is too long.
    pub fn new(arena: &'a Arena, places: &Places<'a>) -> Option<Starter<'a>> {
        let run = paths::below(arena, places.root, b"run")?;
        let lock = paths::below(arena, run, b"owner.lock")?;
        Some(Starter { root: places.root, cwd: places.cwd, run, lock })
    }

    /// Starts an owner unless there is one. The lock is taken here and handed over with its descriptor, so two are
    /// never started (invariant 1).
    pub fn start(&self, env: &Env<'_>) -> Start {
        let lock = match self.take_lock() {
            Ok(lock) => lock,
            Err(other) => return other,
        };
        // It will run in `/`, so its program must not be relative.
        let command = match find(OWNER, env, self.cwd.bytes()) {
            Ok(command) => command,
            Err(why) => return Start::Failed(why),
        };
        let descriptor = sys::HANDED_FD.to_string();
        let rest: [&[u8]; 4] = [b"--root", self.root.bytes(), b"--lock-fd", descriptor.as_bytes()];
        let Some(argv) = CStrings::new(command.iter().map(Vec::as_slice).chain(rest)) else {
            return Start::Failed("an argument holds a NUL".to_owned());
        };
        match sys::spawn_detached(&argv, &lock) {
            Ok(()) => Start::Started,
            Err(errno) => Start::Failed(format!("{} can't be run: {}", shown(&command), errno.text())),
        }
    }

    fn take_lock(&self) -> Result<Fd, Start> {
        let failed = |errno: sys::Errno| {
            Start::Failed(format!("{}: {}", String::from_utf8_lossy(self.lock.bytes()), errno.text()))
        };
        let lock = match sys::open(self.lock, Open::Lock) {
            Err(sys::Errno::NOT_FOUND) => {
                spool::make_dirs(self.run).map_err(failed)?;
                sys::open(self.lock, Open::Lock)
            }
            other => other,
        };
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(LockError::Busy) => Err(Start::Owned),
            Err(LockError::Failed(errno)) => Err(failed(errno)),
        }
    }
}
