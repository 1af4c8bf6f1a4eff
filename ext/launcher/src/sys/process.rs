//! Processes: what this one is, what it becomes, what it leaves behind.

use super::{check, ffi, Errno, Fd};
use std::ffi::{c_char, c_int, c_void, CString};
use std::sync::atomic::{AtomicI32, Ordering};

/// Ends the process at once: nothing buffered, no exit handlers to run.
pub fn exit(code: i32) -> ! {
    // SAFETY: _exit has no precondition.
    unsafe { ffi::_exit(code) }
}

/// Signals that a write may raise: a reader that is gone, a file-size limit. As errors they can be handled; as signals
/// they would make the exit code.
const OF_WRITES: [c_int; 2] = [ffi::SIGPIPE, ffi::SIGXFSZ];

/// Lets writes fail with an error instead of a signal.
pub fn ignore_write_signals() {
    for number in OF_WRITES {
        // SAFETY: SIG_IGN is a valid disposition.
        unsafe { ffi::signal(number, ffi::SIG_IGN) };
    }
}

/// Undoes it before an exec, which hands ignored signals on.
pub(super) fn default_write_signals() {
    for number in OF_WRITES {
        // SAFETY: SIG_DFL is a valid disposition.
        unsafe { ffi::signal(number, ffi::SIG_DFL) };
    }
}

/// Real user id.
pub fn uid() -> u32 {
    // SAFETY: getuid has no precondition and can't fail.
    unsafe { ffi::getuid() }
}

/// Process id of the parent; 0 if that is in another pid namespace.
pub fn parent() -> u32 {
    // SAFETY: getppid has no precondition and can't fail.
    u32::try_from(unsafe { ffi::getppid() }).unwrap_or(0)
}

/// Fills `buffer` with random bytes; false if the kernel has none to give.
pub fn random(buffer: &mut [u8; 16]) -> bool {
    // SAFETY: the buffer is valid for its length.
    unsafe { ffi::getrandom(buffer.as_mut_ptr().cast(), buffer.len(), 0) == 16 }
}

/// This program's file with all links resolved.
pub fn own_path() -> Option<Vec<u8>> {
    let mut buffer = vec![0u8; 4096];
    // SAFETY: the buffer is valid for the size given.
    let len =
        check(unsafe { ffi::readlink(c"/proc/self/exe".as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) }).ok()?;
    buffer.truncate(len);
    Some(buffer)
}

/// Whether `path` may be executed.
pub fn executable(path: &[u8]) -> bool {
    // SAFETY: a CString is NUL-terminated.
    CString::new(path).is_ok_and(|path| unsafe { ffi::access(path.as_ptr(), ffi::X_OK) == 0 })
}

/// An argument vector as the kernel wants it.
pub struct CStrings {
    _owned: Vec<CString>,
    pub(super) pointers: Vec<*const c_char>,
}

impl CStrings {
    /// None if a part holds a NUL (none can: all come from C strings).
    pub fn new<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Option<CStrings> {
        let owned: Vec<CString> = parts.into_iter().map(CString::new).collect::<Result<_, _>>().ok()?;
        let pointers = owned.iter().map(|part| part.as_ptr()).chain([std::ptr::null()]).collect();
        Some(CStrings { _owned: owned, pointers })
    }

    pub(super) fn program(&self) -> *const c_char {
        // The chain above ends in NULL, so there always is a first; execve(NULL) fails with EFAULT.
        self.pointers.first().copied().unwrap_or(std::ptr::null())
    }
}

/// Becomes the program `argv[0]` (a path), keeping environment and descriptors; returns only if that fails.
pub fn exec(argv: &CStrings) -> Errno {
    default_write_signals();
    // SAFETY: both arrays are NULL-terminated and outlive the call.
    unsafe { ffi::execve(argv.program(), argv.pointers.as_ptr(), ffi::environ) };
    Errno::last()
}

/// Number under which a detached program finds the descriptor that is handed to it.
pub const HANDED_FD: c_int = 3;
const STACK_WORDS: usize = 1024; // 16 KiB of u128: the two functions below call nothing that goes deep

struct Plan<'a> {
    argv: &'a CStrings,
    envp: &'a [*const c_char],
    handed: c_int,
    null: c_int,
    inner_stack: *mut c_void,
    errno: AtomicI32,
}

/// Starts `argv` for good: in a session of its own, child of init, on /dev/null, in `/`, with no descriptor but
/// `handed` (as HANDED_FD). Returns when the program has been loaded, without waiting for it.
///
/// Two clones that share our memory until the exec, as posix_spawn does: a fork would copy page tables twice.
///
/// Of our variables it gets those that `keeps` says yes to, each as `NAME=value`.
pub fn spawn_detached(argv: &CStrings, keeps: impl Fn(&[u8]) -> bool, handed: &Fd) -> Result<(), Errno> {
    let envp = environment(keeps);
    let null = super::file::open_null()?;
    let mut outer: Vec<u128> = Vec::with_capacity(STACK_WORDS);
    let mut inner: Vec<u128> = Vec::with_capacity(STACK_WORDS);
    // SAFETY: one past the end of an allocation of STACK_WORDS, where a downward stack begins; u128 aligns it to 16.
    let (outer_top, inner_top) = unsafe { (outer.as_mut_ptr().add(STACK_WORDS), inner.as_mut_ptr().add(STACK_WORDS)) };
    let plan = Plan {
        argv,
        envp: &envp,
        handed: handed.raw(),
        null: null.raw(),
        inner_stack: inner_top.cast(),
        errno: AtomicI32::new(0),
    };
    let flags = ffi::CLONE_VM | ffi::CLONE_VFORK | ffi::SIGCHLD;
    let arg = std::ptr::from_ref(&plan).cast_mut().cast();
    // SAFETY: with VFORK this thread sleeps until the child is gone, so plan and stacks outlive it and nothing races.
    let child = check(unsafe { ffi::clone(outer_child, outer_top.cast(), flags, arg) } as isize)?;
    // SAFETY: plain system call; the status is not asked for. No zombie may be left to a client that never reaps.
    unsafe { ffi::waitpid(child as c_int, std::ptr::null_mut(), 0) };
    match plan.errno.load(Ordering::Relaxed) {
        0 => Ok(()),
        errno => Err(Errno(errno)),
    }
}

/// The variables of this process that `keeps` says yes to, as execve wants them.
fn environment(keeps: impl Fn(&[u8]) -> bool) -> Vec<*const c_char> {
    // SAFETY: the C runtime's array, which nobody in this process changes.
    let mut at = unsafe { ffi::environ };
    let mut kept = Vec::new();
    while !at.is_null() {
        // SAFETY: the array ends in NULL, at which this stops.
        let entry = unsafe { *at };
        if entry.is_null() {
            break;
        }
        // SAFETY: each entry is NUL-terminated and lives as long as the process.
        if keeps(unsafe { std::ffi::CStr::from_ptr(entry) }.to_bytes()) {
            kept.push(entry);
        }
        // SAFETY: this entry was not the NULL, so there is a next one.
        at = unsafe { at.add(1) };
    }
    kept.push(std::ptr::null());
    kept
}

/// Leaves the hook's session and its streams, then makes the process that lasts, which init will adopt.
extern "C" fn outer_child(arg: *mut c_void) -> c_int {
    // SAFETY: spawn_detached passes a Plan that lives until this process is gone; only raw system calls follow.
    unsafe {
        let plan = &*arg.cast::<Plan<'_>>();
        ffi::setsid();
        for stream in 0..HANDED_FD {
            ffi::dup2(plan.null, stream);
        }
        if plan.handed == HANDED_FD {
            ffi::fcntl(HANDED_FD, ffi::F_SETFD, 0);
        } else {
            ffi::dup2(plan.handed, HANDED_FD);
        }
        close_from(HANDED_FD + 1);
        ffi::chdir(c"/".as_ptr());
        default_write_signals();
        let flags = ffi::CLONE_VM | ffi::CLONE_VFORK | ffi::SIGCHLD;
        if ffi::clone(inner_child, plan.inner_stack, flags, arg) < 0 {
            plan.errno.store(*ffi::__errno_location(), Ordering::Relaxed);
        }
    }
    0
}

extern "C" fn inner_child(arg: *mut c_void) -> c_int {
    // SAFETY: as in outer_child, which sleeps meanwhile; the arrays are NULL-terminated.
    unsafe {
        let plan = &*arg.cast::<Plan<'_>>();
        ffi::execve(plan.argv.program(), plan.argv.pointers.as_ptr(), plan.envp.as_ptr());
        plan.errno.store(*ffi::__errno_location(), Ordering::Relaxed);
    }
    127
}

/// Closes every descriptor from `first` on: whatever the client left open must not live as long as an owner.
///
/// # Safety
/// Only for a child that is about to exec: it closes descriptors that others believe they own.
unsafe fn close_from(first: c_int) {
    // SAFETY: plain system calls; the caller vouches for the descriptors.
    unsafe {
        if ffi::syscall(ffi::SYS_CLOSE_RANGE, std::ffi::c_long::from(first), std::ffi::c_long::from(c_int::MAX), 0) == 0
        {
            return;
        }
        for fd in first..1024 {
            ffi::close(fd); // kernels before 5.9 have no close_range
        }
    }
}
