//! Starts the launcher under its long name; see `launcher::start`.
#![no_main]

use std::ffi::{c_char, c_int};

/// Called by the C runtime: Rust's own start-up (signal stacks, thread names, fd checks) costs more than the brief.
///
/// # Safety
/// The C runtime passes NULL-terminated arrays of NUL-terminated strings that live as long as the process.
#[no_mangle]
pub unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char, envp: *const *const c_char) -> c_int {
    // SAFETY: the arrays come unchanged from the C runtime.
    unsafe { launcher::start(argc, argv, envp) }
}
