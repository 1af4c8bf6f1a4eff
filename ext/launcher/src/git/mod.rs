//! Serves `hooks git NAME`: what git itself runs around a commit or a push. An agent is asked its requirements, then
//! the hook runs that git would have run without us (docs/dev/adr/0032-git-hooks.md).
//!
//! A person is never asked: without the session's variable nothing is looked at but where the own hook lies.

mod chain;
mod folder;
mod question;

pub use folder::point_git_here;

use crate::env::Env;
use crate::pathname::{below, split_last};
use crate::programs;
use crate::sys;
use question::Decision;
use std::os::unix::ffi::OsStrExt;

/// What git takes for "no".
const HELD: i32 = 1;

/// The hooks that ask: `prepare-commit-msg` about each commit, because `--no-verify` does not skip it; that before a
/// patch is committed, and the push.
const ASKING: [&[u8]; 3] = [COMMITS, b"pre-applypatch", b"pre-push"];
const COMMITS: &[u8] = b"prepare-commit-msg";

/// Those behind which `prepare-commit-msg` asks as well: they ask so that a slow own hook does not run in vain, and are
/// there where a repository was seen to have one.
const FOLLOWED: [&[u8]; 2] = [b"pre-commit", b"pre-merge-commit"];

/// The own hook that git would have run before this `prepare-commit-msg`, had it been seen earlier, one of `new`.
fn passed_over(name: &[u8], new: &[&'static [u8]]) -> Option<&'static [u8]> {
    if name != COMMITS || new.is_empty() {
        return None;
    }
    let words = sys::words_of_parent();
    let has = |names: &[&[u8]]| words.iter().any(|word| names.contains(&&word[..]));
    let skips = |word: &Vec<u8>| word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'n');
    if has(&[b"cherry-pick", b"revert", b"rebase", b"am", b"--no-verify"]) || words.iter().any(skips) {
        return None;
    }
    let due = if has(&[b"merge", b"pull"]) { FOLLOWED[1] } else { FOLLOWED[0] };
    new.contains(&due).then_some(due)
}

/// Behind the name of a hook that was there before ours was installed (gates/commands/upkeep.py).
const BEFORE: &[u8] = b".before-context-graph";

/// Whether git only shows what it would push, as far as its own command line says.
fn is_dry_run(name: &[u8]) -> bool {
    let words = if name == b"pre-push" { sys::words_of_parent() } else { Vec::new() };
    let behind = words.iter().skip_while(|word| *word != b"push");
    behind.skip(1).take_while(|word| *word != b"--").any(|word| word == b"--dry-run" || word == b"-n")
}

/// The hook that was there before ours was installed.
fn before(folder: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    Some([&below(folder, name)[..], BEFORE].concat())
}

/// The hook that git would have run in `cwd`, were it not for those in `folder`; and those seen for the first time.
fn passed_on(cwd: &[u8], folder: &[u8], name: &[u8]) -> Option<(Vec<u8>, Vec<&'static [u8]>)> {
    let own = chain::own_folder(cwd, folder)?;
    let new = folder::take_in(folder, &own);
    Some((below(&own, name), new))
}

/// Runs the hook `path`, a name or where it lies, with git's `args`; returns its exit code if it becomes no program.
pub fn run<'a>(env: &Env<'a>, path: &'a [u8], args: impl Iterator<Item = &'a [u8]> + Clone) -> i32 {
    sys::ignore_write_signals();
    let (folder, name) = split_last(path).unwrap_or((b"", path));
    // The pre-commit framework calls the hook that it found by this name.
    let name = name.strip_suffix(b".legacy").unwrap_or(name);
    let cwd = sys::working_dir().unwrap_or_default();
    let is_ours = folder::is_ours(folder);
    // Another host's shell does not name the session; ours are called in an agent's alone.
    let is_agents = env.session_id.is_some() || (!is_ours && question::is_below_client(env));
    let mut new = Vec::new();
    let hook = match folder {
        _ if is_ours => passed_on(&cwd, folder, name).map(|(hook, seen)| {
            new = seen;
            hook
        }),
        // By its name alone it is called by a hook of the repository, which goes on by itself.
        b"" => None,
        // One that `req git-hooks install` has put into a repository's own folder.
        _ => before(folder, name),
    };
    let is_there = hook.as_ref().is_some_and(|path| sys::executable(&path[..]));
    if !is_there && !folder.is_empty() && FOLLOWED.contains(&name) {
        return 0;
    }
    if (ASKING.contains(&name) || FOLLOWED.contains(&name)) && is_agents && !is_dry_run(name) {
        let env = folder::of_root(env, folder);
        match question::ask(&env, &cwd, name, args.clone()) {
            Decision::Passes(said) => sys::write_all(sys::stderr(), &said),
            Decision::Held(said) => {
                sys::write_all(sys::stderr(), &said);
                return HELD;
            }
        }
    }
    if let Some(missed) = passed_over(name, &new) {
        let missed = String::from_utf8_lossy(missed);
        let text = format!(
            "context-graph: this repository has a {missed} hook since a moment ago, and git has not run it yet: \
             run the same command again\n"
        );
        sys::write_all(sys::stderr(), text.as_bytes());
        return HELD;
    }
    let Some(hook) = hook.filter(|_| is_there) else { return 0 };
    // Finding our places may have changed the folder, and an own hook relies on git's.
    let _ = std::env::set_current_dir(std::ffi::OsStr::from_bytes(&cwd));
    let command = programs::command(std::slice::from_ref(&hook), args);
    let why = sys::words(sys::become_program(command));
    let text = format!("context-graph: {} can't be run: {why}\n", String::from_utf8_lossy(&hook));
    sys::write_all(sys::stderr(), text.as_bytes());
    HELD
}
