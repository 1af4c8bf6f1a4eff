//! Turns a panic into the caller's exit code instead of SIGABRT.
//!
//! Nothing in here is expected to run. But a hook that dies by a signal, or worse exits with 2, is a bug that the
//! user's session pays for, so there is a net under the code that is written not to fall.

use crate::sys;
use std::sync::atomic::{AtomicI32, Ordering};

static CODE: AtomicI32 = AtomicI32::new(1);

/// From here on a panic ends the process silently with `code`.
pub fn exit_on_panic(code: i32) {
    CODE.store(code, Ordering::Relaxed);
    std::panic::set_hook(Box::new(|_| sys::exit(CODE.load(Ordering::Relaxed))));
}
