//! Standard input, read within a time and a size.
//!
//! The client's stdin is a Unix socket: only the inherited descriptor works, opening /dev/stdin fails.

use crate::sys::{self, Deadline, Errno};

/// Longest input that is passed on.
pub const INPUT_MAX: usize = 4 * 1024 * 1024;
/// How much of a longer one is looked at for the fields that identify the event (they may stand at its end).
const LOOKED_AT_MAX: usize = 16 * 1024 * 1024;
const FIRST_READ: usize = 16 * 1024;

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
pub fn read(fd: i32, deadline: Deadline, keep_reading: bool) -> Input {
    let limit = if keep_reading { LOOKED_AT_MAX } else { INPUT_MAX };
    let mut bytes = vec![0u8; FIRST_READ];
    let mut len = 0;
    loop {
        if len > limit {
            break;
        }
        if len == bytes.len() {
            bytes.resize(bytes.len().saturating_mul(4).min(limit + 1), 0);
        }
        if !sys::poll_readable(fd, deadline.left_ms()) && deadline.left_ms() == 0 {
            bytes.truncate(len);
            return Input::Unfinished(bytes);
        }
        match sys::read(fd, bytes.get_mut(len..).unwrap_or(&mut [])) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(Errno::INTERRUPTED | Errno::AGAIN) => {}
            Err(_) => break, // closed, a folder: as good as empty
        }
    }
    bytes.truncate(len);
    if len > INPUT_MAX {
        Input::TooLong(bytes)
    } else {
        Input::Whole(bytes)
    }
}
