//! Clocks and deadlines.

use super::ffi;

fn now(clock: std::ffi::c_int) -> i64 {
    let mut time = ffi::Timespec { sec: 0, nsec: 0 };
    // SAFETY: the struct is valid for writing; both clocks exist on every Linux.
    unsafe { ffi::clock_gettime(clock, &mut time) };
    time.sec.saturating_mul(1_000_000).saturating_add(time.nsec / 1_000)
}

/// Microseconds of a clock that never jumps.
pub fn monotonic_us() -> i64 {
    now(ffi::CLOCK_MONOTONIC)
}

/// Unix milliseconds.
pub fn unix_ms() -> i64 {
    now(ffi::CLOCK_REALTIME) / 1_000
}

/// Sleeps `ms` milliseconds, less if a signal comes.
pub fn sleep_ms(ms: u32) {
    let time = ffi::Timespec { sec: i64::from(ms / 1_000), nsec: i64::from(ms % 1_000) * 1_000_000 };
    // SAFETY: the struct is valid; the rest of an interrupted sleep is not asked for.
    unsafe { ffi::nanosleep(&time, std::ptr::null_mut()) };
}

/// A moment on the monotonic clock.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Deadline(i64);

impl Deadline {
    /// `ms` milliseconds after `start_us`.
    pub fn after(start_us: i64, ms: u32) -> Deadline {
        Deadline(start_us.saturating_add(i64::from(ms) * 1_000))
    }

    /// `ms` milliseconds from now.
    pub fn from_now(ms: u32) -> Deadline {
        Deadline::after(monotonic_us(), ms)
    }

    /// Milliseconds left, rounded up, so that a wait of the last part does not spin; 0 when it has passed.
    pub fn left_ms(self) -> u32 {
        let left = self.0.saturating_sub(monotonic_us());
        u32::try_from(left.max(0).saturating_add(999) / 1_000).unwrap_or(u32::MAX)
    }
}
