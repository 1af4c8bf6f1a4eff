//! Implements the native launcher, which Claude Code runs for every hook.
//!
//! `consciousness brief` reads one slot of a file. `hooks <kind>` sends one frame to the owner, or logs. Everything
//! else becomes the Python CLI. Start reading at `start`; `hook` is the middle, `sys` the edge.

mod bridge;
pub mod brief;
mod briefcmd;
mod client;
pub mod copy;
pub mod dbpath;
pub mod env;
pub mod event;
mod facts;
mod gate;
mod git;
pub mod hash;
mod hook;
mod input;
pub mod json;
pub mod kind;
pub mod log;
pub mod options;
mod output;
mod pathname;
pub mod paths;
mod prepared;
pub mod programs;
pub mod repository;
mod statusline;
mod sys;
mod trouble;
pub mod wire;

use env::{Env, Strings};
use kind::Kind;
use std::ffi::{c_char, c_int};
use std::time::Instant;

/// The program. The brief comes before anything else.
///
/// # Safety
/// Called once, by main, with the arrays of the C runtime: NULL-terminated, of NUL-terminated strings, alive and
/// unchanged for the rest of the process.
pub unsafe fn start(_argc: c_int, argv: *const *const c_char, envp: *const *const c_char) -> c_int {
    // SAFETY: passed on from the caller.
    let (argv, environment) = unsafe { (Strings::new(argv), Strings::new(envp)) };
    let env = Env::from_entries(environment);
    let args = |from: usize| argv.clone().skip(from);
    let mut words = args(1);
    match (words.next(), words.next()) {
        (Some(b"consciousness"), Some(b"brief")) => {
            sys::exit_on_panic(0);
            let options = briefcmd::Options::read(words);
            if options.help {
                return become_cli(&env, args(1));
            }
            briefcmd::run(&env, &options);
            sys::exit(0)
        }
        (Some(b"hooks"), None) => become_cli(&env, [&b"hooks"[..], b"--help"].into_iter()),
        (Some(b"hooks"), Some(b"git")) => match words.next() {
            None | Some(b"--help" | b"-h") => become_cli(&env, [&b"hooks"[..], b"git", b"--help"].into_iter()),
            Some(name) => git_hook(&env, name, words),
        },
        // As a script's interpreter: Linux gives the words behind it in one.
        (Some(b"hooks git"), Some(path)) => git_hook(&env, path, words),
        (Some(b"hooks"), Some(word)) => match Kind::from_word(word) {
            Some(kind) => sys::exit(hooks(&env, kind, || args(3))),
            None if matches!(word, b"generate-config" | b"--help" | b"-h") => become_cli(&env, args(1)),
            None => sys::exit(unknown_hook(word, args(3))),
        },
        (Some(b"req"), Some(b"statusline")) | (Some(b"status"), Some(b"--line")) if words.next().is_none() => {
            sys::exit_on_panic(0);
            statusline::run(&env, args(1).next() == Some(b"status"));
            sys::exit(0)
        }
        (Some(b"mcp"), _) if !args(2).any(|arg| matches!(arg, b"--help" | b"-h")) => {
            sys::exit_on_panic(1);
            sys::exit(bridge::run(&env, args(2)))
        }
        _ => become_cli(&env, args(1)),
    }
}

fn git_hook(env: &Env<'static>, path: &'static [u8], args: impl Iterator<Item = &'static [u8]> + Clone) -> c_int {
    sys::exit_on_panic(0);
    sys::exit(git::run(env, path, args))
}

/// Runs one hook; the arguments may be gone through more than once.
fn hooks<I: Iterator<Item = &'static [u8]>>(env: &Env<'static>, kind: Kind, args: impl Fn() -> I) -> i32 {
    let started = Instant::now();
    let wanted = options::wanted(args());
    sys::exit_on_panic(if wanted.is_client() { 0 } else { 1 });
    match options::read(kind, args()) {
        Ok(options) if options.help => become_cli(env, [&b"hooks"[..], kind.word()].into_iter().chain(args())),
        Ok(options) => hook::run(env, &options, started),
        Err(error) => hook::refuse(wanted, &error, started),
    }
}

/// An event that this version does not know is a usage error like any other: never exit code 2, which would block.
fn unknown_hook(word: &[u8], args: impl Iterator<Item = &'static [u8]>) -> i32 {
    let text = format!("there is no hook '{}'; see context-graph-cli hooks --help", String::from_utf8_lossy(word));
    hook::refuse(options::wanted(args), &text, Instant::now())
}

fn become_cli(env: &Env<'_>, args: impl Iterator<Item = &'static [u8]>) -> c_int {
    let why = programs::exec_cli(env, args);
    sys::write_all(sys::stderr(), format!("context-graph-cli: {why}\n").as_bytes());
    1
}
