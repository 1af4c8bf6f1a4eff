//! What one hook leaves for the next about an owner in trouble: small files in the data root's `run` folder.
//!
//! `owner.silent`: an owner did not answer in time. For some seconds nobody else waits for it; then one tries again.
//! The owner removes it as soon as it answers. `told-…`: a session's user has been told of a trouble.

use crate::arena::{Arena, CPath};
use crate::hash::{fnv1a64, hex};
use crate::paths::below;
use crate::spool::make_dirs;
use crate::sys::{self, Errno, Open};

/// How long an owner that was silent once is not asked again.
const REMEMBERED_S: i64 = 10;

/// The memory of an owner that does not answer.
pub struct Silence<'a> {
    path: CPath<'a>,
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

impl<'a> Silence<'a> {
    /// None if the path is too long.
    pub fn new(arena: &'a Arena, root: CPath<'_>) -> Option<Silence<'a>> {
        Some(Silence { path: arena.join(&[root.bytes(), b"/run/owner.silent"])? })
    }

    /// One look at a file that is there only in trouble. A time ahead of the clock says nothing.
    pub fn heard(&self) -> Heard {
        let Ok(found) = sys::lstat(self.path) else { return Heard::Nothing };
        let age_s = sys::unix_ms() / 1_000 - found.modified_s;
        if (-1..REMEMBERED_S).contains(&age_s) {
            Heard::JustNow
        } else {
            Heard::Before
        }
    }

    /// It did not answer, or is being tried: the others do not wait for it. One write, of one byte.
    pub fn note(&self) {
        if let Ok(file) = sys::open(self.path, Open::Lock) {
            let _ = sys::write(file.raw(), b"1");
        }
    }

    /// It has answered.
    pub fn forget(&self) {
        sys::remove(self.path);
    }
}

/// Whether this caller is the one to tell the user of `what`, once a session. Where no file can be made to remember it
/// by, `anyway`.
pub fn first_to_tell(arena: &Arena, root: CPath<'_>, what: &[u8], session: &[u8], anyway: bool) -> bool {
    let name = hex::<8, 16>(fnv1a64(session).to_be_bytes());
    let paths = || {
        let run = below(arena, root, b"run")?;
        Some((run, arena.join(&[run.bytes(), b"/told-", what, b"-", &name])?))
    };
    let Some((run, mark)) = paths() else { return anyway };
    let made = match sys::open(mark, Open::New) {
        Err(Errno::NOT_FOUND) => make_dirs(run).and_then(|()| sys::open(mark, Open::New)),
        other => other,
    };
    match made {
        Ok(_) => true,
        Err(Errno::EXISTS) => false,
        Err(_) => anyway,
    }
}
