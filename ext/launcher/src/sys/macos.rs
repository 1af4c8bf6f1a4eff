//! Does what macOS does in its own way. Twin of `linux`; it compiles, and nobody has run it yet.

use super::file::above_standard;
use super::Errno;
use rustix::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SendFlags, SocketType};
use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicI32, Ordering};

/// There is no such flag here: the signal is ignored, which `ignore_write_signals` does for all that send.
pub const NO_SIGNAL: SendFlags = SendFlags::empty();
const DESCRIPTORS_MAX: c_int = 10_240;

/// Fills `buffer` with random bytes; false if the kernel has none to give.
pub fn random(buffer: &mut [u8; 16]) -> bool {
    // SAFETY: the buffer has the 16 bytes that are asked for.
    unsafe { libc::getentropy(buffer.as_mut_ptr().cast(), buffer.len()) == 0 }
}

/// Between its making and this call another thread could fork; none does.
fn kept_to_us(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    let fd = above_standard(fd)?;
    rustix::io::fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    Ok(fd)
}

/// A Unix stream socket, non-blocking, that no program inherits.
pub fn stream_socket() -> Result<OwnedFd, Errno> {
    socket(SocketType::STREAM)
}

/// The same for datagrams.
pub fn datagram_socket() -> Result<OwnedFd, Errno> {
    socket(SocketType::DGRAM)
}

fn socket(kind: SocketType) -> Result<OwnedFd, Errno> {
    let socket = kept_to_us(rustix::net::socket(AddressFamily::UNIX, kind, None)?)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// A pipe that no program inherits: its ends for reading and writing.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reading, writing) = rustix::pipe::pipe()?;
    Ok((kept_to_us(reading)?, kept_to_us(writing)?))
}

/// A pipe from which `bytes` are read to their end: there are no unnamed files in memory here, and a file on a disk must
/// not hold what may be a secret. A thread fills it, for a pipe takes little at once.
pub fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let (reading, writing) = pipe()?;
    let bytes = bytes.to_vec();
    let fill = move || drop(File::from(writing).write_all(&bytes));
    std::thread::Builder::new().spawn(fill)?;
    Ok(File::from(reading))
}

/// Where `told` writes; -1 before there is such a pipe.
static TOLD: AtomicI32 = AtomicI32::new(-1);

extern "C" fn told(_signal: c_int) {
    // SAFETY: write(2) may be called in a signal handler; one byte lies behind the pointer.
    unsafe { libc::write(TOLD.load(Ordering::Relaxed), c"!".as_ptr().cast(), 1) };
}

/// From now on SIGINT and SIGTERM end nothing; they make the returned descriptor readable.
pub fn signals_as_input() -> Result<OwnedFd, Errno> {
    let (reading, writing) = pipe()?;
    rustix::io::ioctl_fionbio(writing.as_fd(), true)?;
    TOLD.store(writing.into_raw_fd(), Ordering::Relaxed);
    for number in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: `told` is a handler of the form that signal(3) takes, and does what a handler may do.
        unsafe { libc::signal(number, told as *const () as libc::sighandler_t) };
    }
    Ok(reading)
}

/// User id of the process that listens behind `socket`.
pub fn peer_uid(socket: &OwnedFd) -> Option<u32> {
    let (mut uid, mut gid) = (0, 0);
    // SAFETY: both pointers are to numbers of the types that getpeereid(3) fills.
    let done = unsafe { libc::getpeereid(socket.as_raw_fd(), &mut uid, &mut gid) };
    (done == 0).then_some(uid)
}

/// Whatever the client left open must not live as long as an owner.
pub fn close_at_exec(first: RawFd, last: RawFd) {
    // SAFETY: neither has a precondition; descriptors are marked, none is closed before the exec that follows.
    unsafe {
        for fd in first..=last.min(libc::getdtablesize().min(DESCRIPTORS_MAX)) {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}
