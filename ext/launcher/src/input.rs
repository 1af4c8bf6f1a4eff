//! Reads standard input within limits of time and size.
//!
//! The client's stdin is a Unix socket: only the inherited descriptor works, opening /dev/stdin fails.

use crate::sys::{self, BorrowedFd, Deadline, Stop};

/// Longest input that is passed on.
pub const INPUT_MAX: usize = 4 * 1024 * 1024;
/// How much of a longer one is looked at for the fields that identify the event (they may stand at its end).
const LOOKED_AT_MAX: usize = 16 * 1024 * 1024;

/// What standard input gave.
#[derive(PartialEq, Eq, Debug)]
pub enum Input {
    /// All of it, up to its end.
    Whole(Vec<u8>),
    /// Longer than INPUT_MAX; up to LOOKED_AT_MAX of it.
    TooLong(Vec<u8>),
    /// Its end did not come in time; what came.
    Unfinished(Vec<u8>),
}

/// Reads descriptor `fd` to its end. `keep_reading`: look for the end of an input that is too long, for its fields.
pub fn read(fd: BorrowedFd<'_>, deadline: Deadline, keep_reading: bool) -> Input {
    let limit = if keep_reading { LOOKED_AT_MAX } else { INPUT_MAX };
    match sys::read_to_end(fd, limit, deadline) {
        (bytes, Stop::Late) => Input::Unfinished(bytes),
        (bytes, _) if bytes.len() > INPUT_MAX => Input::TooLong(bytes),
        // A descriptor that is closed, or a folder, is as good as an empty one.
        (bytes, _) => Input::Whole(bytes),
    }
}
