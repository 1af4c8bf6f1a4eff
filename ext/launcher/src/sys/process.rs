//! Handles processes: replaces this one, starts detached ones. Here are the calls that neither the standard library nor
//! `rustix` has as safe functions: signals and fork.

use super::file::open_null;
use super::{own, read_to_end, words, Deadline, Stop};
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use std::ffi::{c_int, OsString};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

/// What a client starts a hook by, each of which may be gone before the owner looks. As the kernel names them.
const SHELLS: [&[u8]; 13] = [
    b"sh", b"bash", b"dash", b"zsh", b"ksh", b"mksh", b"ash", b"fish", b"busybox", b"pwsh", b"env", b"timeout", b"nice",
];
/// How many of them are looked through.
const LEVELS: usize = 5;
/// Ancestors that are looked at.
const ANCESTORS: usize = 32;
/// Longest output that is taken of a program.
const OUTPUT_MAX: usize = 1024 * 1024;

/// Ends the process at once: nothing buffered, no exit handlers to run.
pub fn exit(code: i32) -> ! {
    // SAFETY: _exit has no precondition.
    unsafe { libc::_exit(code) }
}

/// The first process upwards from our parent that is no shell: a hook's parent may be one that is gone with it. Where that
/// can't be told, our parent.
pub fn caller() -> u32 {
    let parent = super::parent();
    std::iter::successors(Some(parent), |pid| above_shell(*pid)).take(LEVELS).last().unwrap_or(parent)
}

/// Our parent and what is above it, the nearest first; where the system does not tell, our parent alone.
pub fn ancestors() -> Vec<u32> {
    let above = |pid: &u32| look(*pid).map(|(_, parent)| parent).filter(|parent| *parent > 1);
    std::iter::successors(Some(super::parent()), above).take(ANCESTORS).collect()
}

/// The parent of process `pid`, if that is a shell.
fn above_shell(pid: u32) -> Option<u32> {
    look(pid).filter(|(name, _)| SHELLS.contains(&&name[..])).map(|(_, parent)| parent)
}

/// Name and parent of process `pid`.
fn look(pid: u32) -> Option<(Vec<u8>, u32)> {
    let stat = super::first_bytes(format!("/proc/{pid}/stat").as_bytes()).ok()?;
    let (open, close) = (stat.iter().position(|byte| *byte == b'(')?, stat.iter().rposition(|byte| *byte == b')')?);
    let parent = std::str::from_utf8(stat.get(close + 2..)?).ok()?.split(' ').nth(1)?.parse().ok()?;
    Some((stat.get(open + 1..close)?.to_vec(), parent))
}

/// The command line of our parent; empty where the system does not tell it, or it is long.
pub fn words_of_parent() -> Vec<Vec<u8>> {
    let line = super::first_bytes(format!("/proc/{}/cmdline", super::parent()).as_bytes()).unwrap_or_default();
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// From here on a panic ends the process silently with `code`. None is expected; but a hook that dies by a signal, or
/// worse exits with 2, is a bug that the user's session pays for.
pub fn exit_on_panic(code: i32) {
    std::panic::set_hook(Box::new(move |_| exit(code)));
}

/// Lets writes fail with an error instead of a signal, which would make the exit code.
pub fn ignore_write_signals() {
    set_write_signals(libc::SIG_IGN);
}

fn set_write_signals(disposition: libc::sighandler_t) {
    for number in [libc::SIGPIPE, libc::SIGXFSZ] {
        // SAFETY: both dispositions, SIG_IGN and SIG_DFL, are valid for both signals.
        unsafe { libc::signal(number, disposition) };
    }
}

/// Starts `command` with the signals of writes as they are by default: an exec hands ignored ones on.
fn spawn(mut command: Command) -> io::Result<Child> {
    set_write_signals(libc::SIG_DFL);
    let child = command.spawn();
    ignore_write_signals();
    child
}

/// Holds Ctrl-C back in this process and in the program that it becomes, until that lets it through: while Python starts
/// nothing of ours could catch it.
pub fn hold_interrupt() {
    // SAFETY: the set is initialised before it is used, and no signal number is unknown.
    unsafe {
        let mut interrupt = std::mem::zeroed();
        libc::sigemptyset(&mut interrupt);
        libc::sigaddset(&mut interrupt, libc::SIGINT);
        libc::sigprocmask(libc::SIG_BLOCK, &interrupt, std::ptr::null_mut());
    }
}

/// Becomes the program, keeping environment and descriptors; returns only if that fails.
pub fn become_program(mut command: Command) -> io::Error {
    set_write_signals(libc::SIG_DFL);
    command.exec()
}

/// Runs `command` with `input` on its standard input and gives what it wrote to its standard output, if it ended with
/// 0 before `deadline`. Environment, working folder and standard error are ours. The error is for the user.
pub fn ask_program(command: Command, input: &[u8], deadline: Deadline) -> Result<Vec<u8>, String> {
    let (mut child, output) = start(command, input).map_err(|error| format!("it can't be run ({})", words(error)))?;
    let (output, stop) = read_to_end(&output, OUTPUT_MAX, deadline);
    if stop != Stop::End {
        let _ = child.kill();
    }
    // What can't be waited for was reaped by a caller who ignores SIGCHLD: its output's end is all there is to know.
    let status = child.wait().unwrap_or_default();
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    match stop {
        Stop::End if code == 0 => Ok(output),
        Stop::End => Err(format!("it ended with code {code}")),
        Stop::Limit => Err("it said more than 1 MiB".to_owned()),
        Stop::Late => Err("it did not end in time".to_owned()),
        Stop::Failed(errno) => Err(format!("it can't be run ({})", words(errno))),
    }
}

fn start(mut command: Command, input: &[u8]) -> io::Result<(Child, OwnedFd)> {
    let (reading, writing) = own::pipe()?;
    command.stdin(Stdio::from(own::in_memory(input)?)).stdout(Stdio::from(writing));
    // Our end for writing goes with the command: it would keep the output from ever ending.
    Ok((spawn(command)?, reading))
}

/// Starts `command` for good: in a session of its own, child of init, on /dev/null, in `/`, with no descriptor but
/// `handed`, under its own number. Returns when the program has been loaded, without waiting for it.
///
/// Of our variables it gets those whose names `keeps` says yes to.
pub fn spawn_detached(mut command: Command, keeps: impl Fn(&[u8]) -> bool, handed: &OwnedFd) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let kept = |(name, _): &(OsString, OsString)| keeps(name.as_bytes());
    command.current_dir("/").env_clear().envs(std::env::vars_os().filter(kept));
    command.stdin(open_null()?).stdout(open_null()?).stderr(open_null()?);
    let handed = handed.as_raw_fd();
    // SAFETY: between fork and exec `leave` makes system calls, and nothing else.
    unsafe { command.pre_exec(move || leave(handed)) };
    spawn(command)?.wait().map(drop)
}

/// In the child: out of the hook's session, then on as a process whose parent, the child, is gone, for init to adopt.
fn leave(handed: RawFd) -> io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: neither has a precondition in a process with one thread.
    unsafe {
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => {}
            _ => libc::_exit(0),
        }
        libc::fcntl(handed, libc::F_SETFD, 0);
    }
    own::close_at_exec(3, handed - 1);
    own::close_at_exec(handed + 1, c_int::MAX);
    Ok(())
}
