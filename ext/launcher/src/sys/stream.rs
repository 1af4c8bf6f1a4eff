//! Standing between two streams: waiting for several descriptors at once, writes that never block, a signal as a
//! readable descriptor.

use super::{check, ffi, Errno, Fd};
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

/// What a pipe takes without blocking once poll(2) says that it can be written: its smallest unit.
const PIPE_UNIT: usize = 4096;

/// One descriptor to wait for.
pub struct Watch {
    pub fd: c_int,
    pub readable: bool,
    pub writable: bool,
}

/// What came of it; an error or a hang-up counts as both, for the next read or write will say it.
#[derive(Clone, Copy, Default)]
pub struct Ready {
    pub readable: bool,
    pub writable: bool,
}

/// Waits until one of the descriptors is ready or `timeout_ms` have passed (None: for good). A signal ends it early.
pub fn wait<const N: usize>(watches: [Watch; N], timeout_ms: Option<u32>) -> [Ready; N] {
    let mut fds = watches.map(|watch| {
        let reads = if watch.readable { ffi::POLLIN } else { 0 };
        let writes = if watch.writable { ffi::POLLOUT } else { 0 };
        // A negative descriptor is passed over: one that nothing is wanted of must not wake us by its hang-up.
        let fd = if reads | writes == 0 { -1 } else { watch.fd };
        ffi::PollFd { fd, events: reads | writes, revents: 0 }
    });
    let timeout = timeout_ms.map_or(-1, |ms| c_int::try_from(ms).unwrap_or(c_int::MAX));
    // SAFETY: an array of N pollfds, as the count says.
    let found = unsafe { ffi::poll(fds.as_mut_ptr(), N as u64, timeout) };
    fds.map(|fd| {
        let ended = fd.revents & !(ffi::POLLIN | ffi::POLLOUT) != 0;
        Ready {
            readable: found > 0 && fd.events & ffi::POLLIN != 0 && (ended || fd.revents & ffi::POLLIN != 0),
            writable: found > 0 && fd.events & ffi::POLLOUT != 0 && (ended || fd.revents & ffi::POLLOUT != 0),
        }
    })
}

/// Writes what a descriptor takes without blocking, after `wait` has said that it takes some. Its mode is left
/// alone: standard output may be shared with processes that expect it to block.
pub fn write_some(fd: c_int, data: &[u8]) -> Result<usize, Errno> {
    let vector = ffi::IoVec { base: data.as_ptr(), len: data.len() };
    let message = ffi::MsgHdr {
        name: std::ptr::null(),
        namelen: 0,
        iov: &vector,
        iovlen: 1,
        control: std::ptr::null(),
        controllen: 0,
        flags: 0,
    };
    // SAFETY: the message points to one vector that points to a live slice.
    match check(unsafe { ffi::sendmsg(fd, &message, ffi::MSG_NOSIGNAL | ffi::MSG_DONTWAIT) }) {
        Err(Errno(ffi::ENOTSOCK)) => super::write(fd, data.get(..PIPE_UNIT).unwrap_or(data)),
        other => other,
    }
}

static SIGNALLED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(_number: c_int) {
    let fd = SIGNALLED.load(Ordering::Relaxed);
    // SAFETY: write(2) may be called in a signal's handler; the descriptor stays open for the process's life.
    unsafe { ffi::write(fd, c"!".as_ptr().cast(), 1) };
}

/// From now on SIGINT and SIGTERM end nothing; they make the returned descriptor readable.
pub fn signals_as_input() -> Result<Fd, Errno> {
    let mut ends: [c_int; 2] = [-1; 2];
    // SAFETY: the array has room for two descriptors.
    check(unsafe { ffi::pipe2(ends.as_mut_ptr(), ffi::O_CLOEXEC | ffi::O_NONBLOCK) } as isize)?;
    let [reads, writes] = ends;
    let (reads, writes) = (Fd::adopt(reads)?, Fd::adopt(writes)?);
    SIGNALLED.store(writes.raw(), Ordering::Relaxed);
    std::mem::forget(writes); // the handler's, for good
    let handler: extern "C" fn(c_int) = on_signal;
    for number in [ffi::SIGINT, ffi::SIGTERM] {
        // SAFETY: the handler does nothing but write to a descriptor; an exec puts the default back.
        unsafe { ffi::signal(number, handler as usize) };
    }
    Ok(reads)
}
