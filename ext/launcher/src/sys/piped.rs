//! Running a program for its answer: bytes on its standard input, its standard output read within a time.

use super::process::{default_write_signals, CStrings};
use super::{check, ffi, poll_readable, Deadline, Errno, Fd};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// Longest output that is taken.
const OUTPUT_MAX: usize = 1024 * 1024;
const FIRST_READ: usize = 16 * 1024;
const STACK_WORDS: usize = 1024; // 16 KiB of u128: the child only calls dup2 and execve

/// Why a program gave no usable output.
#[derive(Debug, PartialEq, Eq)]
pub enum NoOutput {
    /// It could not be started, or its streams could not be made.
    Failed(Errno),
    /// It was not done in time, and was killed.
    Timeout,
    TooLong,
    /// It ended by this code, or by a signal as 128 and its number.
    Exit(i32),
}

impl NoOutput {
    /// For the user.
    pub fn text(&self) -> String {
        match self {
            NoOutput::Failed(errno) => format!("it can't be run ({})", errno.text()),
            NoOutput::Timeout => "it did not end in time".to_owned(),
            NoOutput::TooLong => "it said more than 1 MiB".to_owned(),
            NoOutput::Exit(code) => format!("it ended with code {code}"),
        }
    }
}

struct Plan<'a> {
    argv: &'a CStrings,
    stdin: c_int,
    stdout: c_int,
    errno: AtomicI32,
}

/// Runs `argv` with `input` on its standard input and gives what it wrote to its standard output, if it ended with 0
/// before `deadline`. Environment, working folder and standard error are ours.
pub fn ask_program(argv: &CStrings, input: &[u8], deadline: Deadline) -> Result<Vec<u8>, NoOutput> {
    let stdin = in_memory(input).map_err(NoOutput::Failed)?;
    let (reading, writing) = pipe().map_err(NoOutput::Failed)?;
    let child = start(argv, &stdin, &writing).map_err(NoOutput::Failed)?;
    drop(writing); // ours would keep the output from ever ending
    let output = read_to_end(&reading, deadline);
    if output.is_err() {
        // SAFETY: a plain system call on a child that has not been waited for, so the pid is still its.
        unsafe { ffi::kill(child, ffi::SIGKILL) };
    }
    let code = wait(child);
    match (output, code) {
        (Ok(output), 0) => Ok(output),
        (Ok(_), code) => Err(NoOutput::Exit(code)),
        (Err(why), _) => Err(why),
    }
}

/// An unnamed file that holds `bytes`, to be read from its start: unlike a pipe it takes any amount at once.
fn in_memory(bytes: &[u8]) -> Result<Fd, Errno> {
    // SAFETY: the name is a C literal.
    let raw = check(unsafe { ffi::memfd_create(c"event".as_ptr(), ffi::MFD_CLOEXEC) } as isize)?;
    let file = Fd::adopt(raw as c_int)?;
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        // SAFETY: the rest is valid for its length. pwrite leaves the file's position at its start.
        match check(unsafe { ffi::pwrite(file.raw(), rest.as_ptr().cast(), rest.len(), done as i64) }) {
            Ok(count) => done += count,
            Err(Errno::INTERRUPTED) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(file)
}

fn pipe() -> Result<(Fd, Fd), Errno> {
    let mut ends: [c_int; 2] = [-1; 2];
    // SAFETY: the kernel writes two descriptors into an array of two.
    check(unsafe { ffi::pipe2(ends.as_mut_ptr(), ffi::O_CLOEXEC) } as isize)?;
    let [reading, writing] = ends;
    let reading = Fd::adopt(reading);
    let writing = Fd::adopt(writing); // adopted before the first error returns, so that neither end leaks
    Ok((reading?, writing?))
}

/// The child's process id, once it runs the program. It shares our memory until then, as posix_spawn does.
fn start(argv: &CStrings, stdin: &Fd, stdout: &Fd) -> Result<c_int, Errno> {
    let mut stack: Vec<u128> = Vec::with_capacity(STACK_WORDS);
    // SAFETY: one past the end of an allocation of STACK_WORDS, where a downward stack begins; u128 aligns it to 16.
    let top = unsafe { stack.as_mut_ptr().add(STACK_WORDS) };
    let plan = Plan { argv, stdin: stdin.raw(), stdout: stdout.raw(), errno: AtomicI32::new(0) };
    let flags = ffi::CLONE_VM | ffi::CLONE_VFORK | ffi::SIGCHLD;
    let arg = std::ptr::from_ref(&plan).cast_mut().cast();
    // SAFETY: with VFORK this thread sleeps until the child has left our memory, so plan and stack outlive it.
    let child = check(unsafe { ffi::clone(become_program, top.cast(), flags, arg) } as isize)? as c_int;
    match plan.errno.load(Ordering::Relaxed) {
        0 => Ok(child),
        errno => {
            wait(child);
            Err(Errno(errno))
        }
    }
}

extern "C" fn become_program(arg: *mut c_void) -> c_int {
    // SAFETY: start passes a Plan that lives until the exec; only raw system calls follow. dup2 clears CLOEXEC, and both
    // descriptors lie above the standard ones.
    unsafe {
        let plan = &*arg.cast::<Plan<'_>>();
        ffi::dup2(plan.stdin, super::STDIN);
        ffi::dup2(plan.stdout, super::STDOUT);
        default_write_signals();
        ffi::execve(plan.argv.program(), plan.argv.pointers.as_ptr(), ffi::environ);
        plan.errno.store(*ffi::__errno_location(), Ordering::Relaxed);
    }
    127
}

fn read_to_end(from: &Fd, deadline: Deadline) -> Result<Vec<u8>, NoOutput> {
    let mut bytes = vec![0u8; FIRST_READ];
    let mut len = 0;
    loop {
        if len == bytes.len() {
            if len >= OUTPUT_MAX {
                return Err(NoOutput::TooLong);
            }
            bytes.resize(bytes.len().saturating_mul(4).min(OUTPUT_MAX), 0);
        }
        if !poll_readable(from.raw(), deadline.left_ms()) {
            if deadline.left_ms() == 0 {
                return Err(NoOutput::Timeout);
            }
            continue;
        }
        match super::read(from.raw(), bytes.get_mut(len..).unwrap_or(&mut [])) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(Errno::INTERRUPTED | Errno::AGAIN) => {}
            Err(errno) => return Err(NoOutput::Failed(errno)),
        }
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// Exit code of the child, 128 and the number for a signal.
fn wait(child: c_int) -> i32 {
    let mut status: c_int = 0;
    loop {
        // SAFETY: the status is valid for writing.
        match check(unsafe { ffi::waitpid(child, &raw mut status, 0) } as isize) {
            Err(Errno::INTERRUPTED) => {}
            Err(_) => return 0, // reaped by a caller who ignores SIGCHLD: its output's end is all there is to know
            Ok(_) => break,
        }
    }
    let signal = status & 0x7f;
    if signal == 0 {
        status >> 8 & 0xff
    } else {
        128 + signal
    }
}
