//! Where the Python side is: the owner and the CLI that takes what this program does not do.

use crate::arena::{Arena, CPath};
use crate::env::Env;
use crate::paths::Places;
use crate::sys::{self, CStrings, Fd, FileKind, LockError, Open};
use crate::{paths, spool};
use std::ffi::CString;

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

/// What `-c` runs: the package's folder goes first, the other packages' last, so that nothing shadows the library.
const GATE_CODE: &[u8] = b"import sys
a = sys.argv
sys.path.insert(0, a[1])
sys.path.append(a[2])
from context_graph.requirements.slow import main
main(a[3:])";
const GATE_MODULE: &[u8] = b"context_graph.requirements.slow";
const GATE_FILE: &[u8] = b"context_graph/requirements/slow.py";

/// The same for `req …`: agents run it between two tool calls.
const REQ_CODE: &[u8] = b"import sys
a = sys.argv
sys.path.insert(0, a[1])
sys.path.append(a[2])
from context_graph.cli.req_main import main
main(a[3:])";

/// Becomes `req` with its arguments in a bare interpreter; returns if that can't be, for `exec_cli` to do it.
pub fn exec_req(arena: &Arena, env: &Env<'_>, args: impl Iterator<Item = &'static [u8]>) {
    if env.python.is_some() {
        return; // whoever names an interpreter gets it
    }
    if sys::working_dir(arena).is_none() {
        return; // it has been removed, which the other program says
    }
    let Ok(places) = paths::locate(arena, env, None) else { return };
    let found = bare_interpreter(REQ_CODE).zip(find(CLI, env, b"").ok());
    // Working out the places went to the project's folder; the command is about the user's.
    if sys::canonical(arena, places.cwd).is_none() {
        return;
    }
    let Some((command, slower)) = found else { return };
    let mut parts: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
    parts.extend([places.root.bytes(), places.store.bytes(), places.top.bytes()]);
    parts.extend(slower.first().map(Vec::as_slice));
    parts.extend(args.map(|arg| -> &[u8] { arg }));
    if let Some(argv) = CStrings::new(parts) {
        sys::exec(&argv);
    }
}

/// A command line that runs `code` without `site`, if interpreter and package can be told by looking beside us.
fn bare_interpreter(code: &[u8]) -> Option<Vec<Vec<u8>>> {
    let own = sys::own_path()?;
    let folder = own.get(..own.iter().rposition(|byte| *byte == b'/')?)?;
    let python = interpreter_of(&[folder, b"/", CLI.script].concat())?;
    let (package, others) = package_near(folder)?;
    Some([python, b"-I".to_vec(), b"-S".to_vec(), b"-c".to_vec(), code.to_vec(), package, others].to_vec())
}

/// The command lines that decide a gate without an owner, best first. The first two thirds of a Python start are `site`
/// and its path files: where the package can be told by looking, the interpreter is started without (-I -S).
pub fn find_gate(env: &Env<'_>, base: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let mut commands: Vec<_> = bare_interpreter(GATE_CODE).into_iter().collect();
    match find(Program { script: CLI.script, module: GATE_MODULE }, env, base) {
        Ok(command) if env.python.is_some() => commands.push(command),
        // A script can't be told to run another module, but its interpreter can.
        Ok(command) => commands.extend(
            command
                .first()
                .and_then(|script| interpreter_of(script))
                .map(|python| [&python[..], b"-P", b"-m", GATE_MODULE].map(<[u8]>::to_vec).to_vec()),
        ),
        Err(why) if commands.is_empty() => return Err(why),
        Err(_) => {}
    }
    Ok(commands)
}

/// The interpreter that `script` names on its first line, or where installers wrap a long path, on its second.
fn interpreter_of(script: &[u8]) -> Option<Vec<u8>> {
    let text = first_bytes(script)?;
    let mut lines = text.split(|byte| *byte == b'\n');
    let named = lines.next()?.strip_prefix(b"#!")?.trim_ascii();
    let python = match named {
        b"/bin/sh" => lines.next()?.strip_prefix(b"'''exec' ")?.strip_suffix(b" \"$0\" \"$@\"")?.trim_ascii(),
        python => python,
    };
    let python = python.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(python);
    (python.starts_with(b"/") && sys::executable(python)).then(|| python.to_vec())
}

/// The folder that holds our package and the one that holds the packages it needs, for programs in `bin`.
fn package_near(bin: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let prefix = bin.get(..bin.iter().rposition(|byte| *byte == b'/')?)?;
    for minor in OLDEST_PYTHON..=NEWEST_PYTHON {
        for (lib, packages) in [("lib", "site-packages"), ("lib64", "site-packages"), ("lib", "dist-packages")] {
            let others = [prefix, format!("/{lib}/python3.{minor}/{packages}").as_bytes()].concat();
            if is_file(&[&others, &b"/"[..], GATE_FILE].concat()) {
                return Some((others.clone(), others));
            }
            let link = [&others, EDITABLE].concat();
            let Some(text) = first_bytes(&link) else { continue };
            let package = text.split(|byte| *byte == b'\n').next().unwrap_or(&[]).to_vec();
            if package.starts_with(b"/") && is_file(&[&package, &b"/"[..], GATE_FILE].concat()) {
                return Some((package, others));
            }
        }
    }
    None
}

const OLDEST_PYTHON: u32 = 11;
/// Beyond it Python is found the slower way, through its start files.
const NEWEST_PYTHON: u32 = 16;
/// What an editable installation leaves in place of the package: its source folder, on one line.
const EDITABLE: &[u8] = concat!("/__editable__.context_graph-", env!("CARGO_PKG_VERSION"), ".pth").as_bytes();

fn is_file(path: &[u8]) -> bool {
    let Ok(path) = CString::new(path) else { return false };
    sys::stat(CPath::from_c_str(&path)).is_ok_and(|stat| stat.kind == FileKind::Regular)
}

/// The first 4 KiB of a small file; links are followed only up to its last component.
fn first_bytes(path: &[u8]) -> Option<Vec<u8>> {
    let path = CString::new(path).ok()?;
    let file = sys::open(CPath::from_c_str(&path), Open::Read).ok()?;
    let mut buffer = vec![0u8; 4096];
    let len = sys::pread(&file, &mut buffer, 0).ok()?;
    buffer.truncate(len);
    Some(buffer)
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

/// The program of a command line, for people.
pub fn shown(command: &[Vec<u8>]) -> String {
    command.first().map(|path| String::from_utf8_lossy(path).into_owned()).unwrap_or_default()
}

/// The variables that an owner is started with: what is not on these lists stays with the client, whose keys and tokens
/// nobody else needs. Twin: context_graph.wire.environment; tests/golden/environment.txt holds both to one list.
pub const KEPT_NAMES: [&str; 30] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "CLAUDE_CONFIG_DIR",
    "VIRTUAL_ENV",
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_LIBRARY_PATH",
    "MALLOC_ARENA_MAX",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONNOUSERSITE",
    "PYTHONUSERBASE",
    "PYTHONUTF8",
    "PYTHONFAULTHANDLER",
    "PYTHONSAFEPATH",
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
        match sys::spawn_detached(&argv, is_kept, &lock) {
            Ok(()) => Start::Started,
            Err(errno) => Start::Failed(format!("{} can't be run: {}", shown(&command), errno.text())),
        }
    }

    /// Whether nobody holds the lock: no owner serves, starts or is leaving.
    pub fn is_free(&self) -> bool {
        self.take_lock().is_ok()
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
