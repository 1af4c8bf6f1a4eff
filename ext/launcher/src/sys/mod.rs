//! Wraps the operating system: `rustix` and the standard library, with what all callers need of them; `own` is what
//! Linux and macOS do each in its own way. The only `unsafe` outside of here is that of `env::Strings` and `start`.

mod file;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod own;
#[cfg(not(target_os = "linux"))]
#[path = "macos.rs"]
mod own;
mod process;
mod stream;

pub use file::{
    canonical, executable, first_bytes, is_folder, is_same, kind, open, open_below, try_lock, working_dir, Open,
};
pub use own::{peer_uid, random, signals_as_input};
pub use process::{
    ancestors, ask_program, become_program, caller, exit, exit_on_panic, hold_interrupt, ignore_write_signals,
    spawn_detached, words_of_parent,
};
pub use rustix::event::PollFlags;
pub use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
pub use rustix::fs::{fdatasync, fstat, lstat, stat, FileType, Mode};
pub use rustix::io::{pread, read, write, Errno};
pub use rustix::stdio::{stderr, stdin, stdout};
pub use rustix::termios::isatty;
pub use stream::{
    connect, poll_readable, poll_writable, read_to_end, send, send_to, wait, write_all, write_some, Stop,
};

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The system's words, such as "No space left on device".
pub fn words(error: impl Into<std::io::Error>) -> String {
    let full = error.into().to_string();
    full.split(" (os error").next().unwrap_or("").to_owned()
}

/// Real user id.
pub fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Process id of the parent; 0 if that is in another pid namespace.
pub fn parent() -> u32 {
    rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs())
}

/// Unix milliseconds.
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Sleeps `ms` milliseconds.
pub fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// A moment on the monotonic clock.
#[derive(Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// `ms` milliseconds after `start`.
    pub fn after(start: Instant, ms: u32) -> Deadline {
        Deadline(start + Duration::from_millis(ms.into()))
    }

    /// `ms` milliseconds from now.
    pub fn from_now(ms: u32) -> Deadline {
        Deadline::after(Instant::now(), ms)
    }

    /// Milliseconds left, rounded up, so that a wait of the last part does not spin; 0 when it has passed.
    pub fn left_ms(self) -> u32 {
        let left = self.0.saturating_duration_since(Instant::now());
        u32::try_from(left.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX)
    }
}
