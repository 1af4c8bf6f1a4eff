//! Notes an owner in trouble for the next hook: small files in the data root's `run` folder.
//!
//! `owner.silent`: an owner did not answer in time. For some seconds nobody else waits for it; then one tries again.
//! The owner removes it as soon as it answers. `told-…`: a session's user has been told of a trouble.

use crate::hash::{fnv1a64, hex};
use crate::pathname::below;
use crate::sys::{self, open_below, Errno, Open};

/// How long an owner that was silent once is not asked again.
const REMEMBERED_S: i64 = 10;

/// The memory of an owner that does not answer.
pub struct Silence {
    path: Vec<u8>,
}

/// What is known of the owner's silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// Nothing speaks against asking.
    Nothing,
    /// It was silent some time ago: whoever asks now is the one to try.
    Before,
    /// It was silent a moment ago.
    JustNow,
}

impl Silence {
    /// Of the owner of `root`.
    pub fn new(root: &[u8]) -> Silence {
        Silence { path: below(root, b"run/owner.silent") }
    }

    /// One look at a file that is there only in trouble. A time ahead of the clock says nothing.
    pub fn heard(&self) -> Heard {
        let Ok(found) = sys::lstat(&self.path) else { return Heard::Nothing };
        let age_s = sys::unix_ms() / 1_000 - found.st_mtime;
        if (-1..REMEMBERED_S).contains(&age_s) {
            Heard::JustNow
        } else {
            Heard::Before
        }
    }

    /// It did not answer, or is being tried: the others do not wait for it. One write, of one byte.
    pub fn note(&self) {
        let _ = sys::open(&self.path, Open::Lock).and_then(|file| sys::write(file, b"1"));
    }

    /// It has answered.
    pub fn forget(&self) {
        let _ = sys::unlink(&self.path);
    }
}

/// Whether this caller is the one to tell the user of `what`, once a session. Where no file can be made to remember it
/// by, `anyway`.
pub fn first_to_tell(root: &[u8], what: &[u8], session: &[u8], anyway: bool) -> bool {
    let name = hex::<8, 16>(fnv1a64(session).to_be_bytes());
    let mark = below(root, &[b"run/told-", what, b"-", &name].concat());
    match open_below(&mark, Open::New) {
        Ok(_) => true,
        Err(Errno::EXIST) => false,
        Err(_) => anyway,
    }
}
