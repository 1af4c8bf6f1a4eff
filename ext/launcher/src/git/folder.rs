//! Makes the folder of hooks that an agent's git is pointed to, and points it there: by variables in the client's
//! environment file, so that nothing is written into a repository and no other process is concerned.

use super::chain;
use super::{ASKING, FOLLOWED};
use crate::env::Env;
use crate::pathname::{below, split_last};
use crate::sys::{self, Open, OwnedFd};
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Below the data root.
const FOLDER: &[u8] = b"git-hooks";
/// Hooks that are only passed on: from the start, because none of ours runs before them.
const PASSED_ON: [&[u8]; 9] = [
    b"applypatch-msg", b"post-applypatch", b"post-checkout", b"post-merge", b"post-rewrite", b"pre-auto-gc",
    b"pre-rebase", b"push-to-checkout", b"sendemail-validate",
];
/// Those that would cost every commit something: passed on once a repository was seen to have one.
const ONCE_SEEN: [&[u8]; 6] =
    [FOLLOWED[0], FOLLOWED[1], b"commit-msg", b"post-commit", b"reference-transaction", b"post-index-change"];
const ENV_FILE_MAX: usize = 1024 * 1024;

/// Makes the folder of the data root `root`, and has the shells that read `env_file` point git there. `cwd` is the
/// project.
pub fn point_git_here(root: &[u8], env_file: &[u8], cwd: &[u8]) -> io::Result<()> {
    let folder = below(root, FOLDER);
    let own = chain::own_folder(cwd, &folder);
    if let Some(own) = &own {
        give_back(&folder, own);
    }
    // One of the others may be there as an installer left it.
    let seen = ONCE_SEEN.into_iter().filter(|name| sys::lstat(below(&folder, name)).is_ok());
    make(&folder, ASKING.iter().chain(&PASSED_ON).copied().chain(seen))?;
    if let Some(own) = own {
        take_in(&folder, &own);
    }
    append_once(env_file, &lines(&own_program()?, &folder))
}

/// The environment of the data root that `folder` lies in: a shell may lack the variable that names it.
pub fn of_root<'a>(env: &Env<'a>, folder: &'a [u8]) -> Env<'a> {
    match split_last(folder) {
        Some((root, FOLDER)) if !root.is_empty() => Env { root: Some(root), ..*env },
        _ => *env,
    }
}

/// Whether `folder` is the one that agents' git is pointed to.
pub fn is_ours(folder: &[u8]) -> bool {
    split_last(folder).is_some_and(|(_, name)| name == FOLDER)
}

/// Moves what an installer of other hooks has written into our folder to the repository's, `own`, which it meant.
fn give_back(folder: &[u8], own: &[u8]) {
    for name in ASKING.iter().chain(&PASSED_ON).chain(&ONCE_SEEN) {
        let (here, there) = (below(folder, name), below(own, name));
        let is_foreign = std::fs::read(path(&here)).is_ok_and(|text| !holds(&text, NOTE));
        if is_foreign && sys::lstat(&there).is_err() {
            let _ = std::fs::create_dir_all(path(own));
            let _ = std::fs::copy(path(&here), path(&there));
        }
    }
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Has those of the repository's hooks, in `own`, run that ours pass on once they were seen; returns the new ones.
pub fn take_in(folder: &[u8], own: &[u8]) -> Vec<&'static [u8]> {
    if !is_ours(folder) {
        return Vec::new();
    }
    let is_new = |name: &&[u8]| sys::executable(&below(own, name)[..]) && sys::lstat(below(folder, name)).is_err();
    let seen: Vec<_> = ONCE_SEEN.into_iter().filter(is_new).collect();
    if !seen.is_empty() {
        let _ = make(folder, seen.iter().copied());
    }
    seen
}

/// Writes the hooks `names` as they must be. The folder is closed afterwards: an installer of other hooks takes it for
/// the repository's, and had better fail than write there.
fn make<'n>(folder: &[u8], names: impl Iterator<Item = &'n [u8]>) -> io::Result<()> {
    let text = script(&own_program()?);
    let is_wrong = |name: &&[u8]| std::fs::read(path(&below(folder, name))).ok().as_deref() != Some(&text[..]);
    let wrong: Vec<_> = names.filter(is_wrong).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(path(folder))?;
    std::fs::set_permissions(path(folder), Permissions::from_mode(0o700))?;
    let mut written = Ok(());
    for name in wrong {
        written = written.and(write(&below(folder, name), &text));
    }
    std::fs::set_permissions(path(folder), Permissions::from_mode(0o500))?;
    written
}

fn write(to: &[u8], text: &[u8]) -> io::Result<()> {
    let draft = [to, format!(".{}", std::process::id()).as_bytes()].concat();
    std::fs::write(path(&draft), text)?;
    std::fs::set_permissions(path(&draft), Permissions::from_mode(0o500))?;
    std::fs::rename(path(&draft), path(to))
}

const NOTE: &[u8] = b"# Made by context-graph: asks the requirement gates, then runs the repository's own hook.\n";
/// The longest path of a program that every kernel takes on a script's first line.
const INTERPRETER_MAX: usize = 100;

/// A hook of ours: the program reads it, where its path can stand on a first line, for a shell costs as much again.
fn script(program: &[u8]) -> Vec<u8> {
    if program.len() <= INTERPRETER_MAX && !program.iter().any(u8::is_ascii_whitespace) {
        return [&b"#!"[..], program, b" hooks git\n", NOTE].concat();
    }
    [&b"#!/bin/sh\n"[..], NOTE, b"exec ", &quoted(program), b" hooks git \"$0\" \"$@\"\n"].concat()
}

/// What shells run that are to point git to `folder`, behind the settings that are there: one line that ends well. It
/// does nothing where the program is gone: git would fail, and the repository's own hooks with it.
fn lines(program: &[u8], folder: &[u8]) -> Vec<u8> {
    [
        &b"if [ -x "[..],
        &quoted(program),
        b" ]; then cg_d=",
        &quoted(folder),
        b"; cg_n=0; while [ \"$cg_n\" -lt \"${GIT_CONFIG_COUNT:-0}\" ] && \
        eval \"[ \\\"\\${GIT_CONFIG_VALUE_$cg_n}\\\" != \\\"\\$cg_d\\\" ]\"; \
        do cg_n=$((cg_n+1)); done; if [ \"$cg_n\" -ge \"${GIT_CONFIG_COUNT:-0}\" ]; then \
        export \"GIT_CONFIG_KEY_$cg_n=core.hooksPath\" \"GIT_CONFIG_VALUE_$cg_n=$cg_d\" \
        \"GIT_CONFIG_COUNT=$((cg_n+1))\"; fi; unset cg_d cg_n; fi\n",
    ]
    .concat()
}

fn own_program() -> io::Result<Vec<u8>> {
    Ok(std::env::current_exe()?.into_os_string().into_vec())
}

fn quoted(text: &[u8]) -> Vec<u8> {
    let inner = text.split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&b"'\\''"[..]);
    [b"'", &inner[..], b"'"].concat()
}

/// Appends `line` to the file unless it is there: a resumed session gets the same file again.
fn append_once(file: &[u8], line: &[u8]) -> io::Result<()> {
    let there = match sys::open(file, Open::Read) {
        Ok(open) => head(&open)?,
        Err(sys::Errno::NOENT) => Vec::new(),
        Err(errno) => return Err(errno.into()),
    };
    if holds(&there, line) {
        return Ok(());
    }
    let between: &[u8] = if there.is_empty() || there.ends_with(b"\n") { b"" } else { b"\n" };
    let open = sys::open(file, Open::Append)?;
    sys::write_all(std::os::fd::AsFd::as_fd(&open), &[between, line].concat());
    Ok(())
}

fn head(open: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut text = vec![0; ENV_FILE_MAX];
    let len = sys::pread(open, &mut text[..], 0)?;
    text.truncate(len);
    Ok(text)
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
