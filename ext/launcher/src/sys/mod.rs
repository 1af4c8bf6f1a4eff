//! The operating system, as safe functions. The only `unsafe` outside of here is the arena's and `start`'s.

mod ffi;
mod file;
mod net;
mod piped;
mod process;
mod stream;
mod time;

pub use file::{
    canonical, is_tty, link_to, lstat, make_dir, open, pread, read, read_link, remove, stat, stat_fd, working_dir,
    write, write_all, Fd, FileKind, LockError, Open, STDERR, STDIN, STDOUT,
};
pub use net::{connect, peer_uid, poll_readable, poll_writable, receive, send, Connect};
pub use piped::ask_program;
pub use process::{
    exec, executable, exit, ignore_write_signals, own_path, parent, random, spawn_detached, uid, CStrings, HANDED_FD,
};
pub use stream::{signals_as_input, wait, write_some, Ready, Watch};
pub use time::{monotonic_us, sleep_ms, unix_ms, Deadline};

/// An errno value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

impl Errno {
    pub const NOT_FOUND: Errno = Errno(ffi::ENOENT);
    pub const INTERRUPTED: Errno = Errno(ffi::EINTR);
    pub const AGAIN: Errno = Errno(ffi::EAGAIN);
    pub const DENIED: Errno = Errno(ffi::EACCES);
    pub const EXISTS: Errno = Errno(ffi::EEXIST);
    pub const NOT_A_DIRECTORY: Errno = Errno(ffi::ENOTDIR);

    fn last() -> Errno {
        // SAFETY: the C library gives each thread a valid errno for its whole life.
        Errno(unsafe { *ffi::__errno_location() })
    }

    /// The system's words, such as "No space left on device".
    pub fn text(self) -> String {
        let full = std::io::Error::from_raw_os_error(self.0).to_string();
        full.split(" (os error").next().unwrap_or("").to_owned()
    }
}

/// Turns the C convention (-1 and errno) into a Result.
fn check(value: isize) -> Result<usize, Errno> {
    usize::try_from(value).map_err(|_| Errno::last())
}
