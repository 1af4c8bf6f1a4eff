//! Tells a session's user of a trouble once, which a small file in the data root's `run` folder remembers.

use crate::hash::{fnv1a64, hex};
use crate::pathname::below;
use crate::sys::{open_below, Errno, Open};

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
