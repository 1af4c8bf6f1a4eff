//! Does what Linux does in its own way: one system call each, where other systems take several. Twin of `macos`.

use super::file::above_standard;
use super::Errno;
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use std::ffi::{c_int, c_uint};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;

/// Sending raises no signal if the peer is gone.
pub const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;

/// Fills `buffer` with random bytes; false if the kernel has none to give.
pub fn random(buffer: &mut [u8; 16]) -> bool {
    rustix::rand::getrandom(&mut buffer[..], rustix::rand::GetRandomFlags::empty()) == Ok(16)
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
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    above_standard(rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?)
}

/// A pipe that no program inherits: its ends for reading and writing.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reading, writing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((above_standard(reading)?, above_standard(writing)?))
}

/// An unnamed file that holds `bytes`, to be read from its start: unlike a pipe it takes any amount at once.
pub fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let file = File::from(above_standard(rustix::fs::memfd_create(c"event", MemfdFlags::CLOEXEC)?)?);
    file.write_all_at(bytes, 0)?;
    Ok(file)
}

/// From now on SIGINT and SIGTERM end nothing; they make the returned descriptor readable.
pub fn signals_as_input() -> Result<OwnedFd, Errno> {
    use rustix::fd::FromRawFd;
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset makes the set whole before it is used; the descriptor, if there is one, is nobody else's.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::MFILE));
        }
        above_standard(OwnedFd::from_raw_fd(fd))
    }
}

/// User id of the process that listens behind `socket`. Not by `rustix`, which takes the process id 0, which a peer in
/// another pid namespace has, for impossible.
pub fn peer_uid(socket: &OwnedFd) -> Option<u32> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let mut len = std::mem::size_of::<libc::ucred>() as libc::socklen_t;
    let value = (&raw mut peer).cast();
    // SAFETY: `value` has room for one struct ucred, which is what `len` says.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, value, &mut len) };
    (done == 0).then_some(peer.uid)
}

/// Whatever the client left open must not live as long as an owner.
pub fn close_at_exec(first: RawFd, last: RawFd) {
    let (from, to) = (first as c_uint, last as c_uint);
    // SAFETY: descriptors are marked, none is closed before the exec that follows.
    unsafe {
        if first <= last && libc::syscall(libc::SYS_close_range, from, to, libc::CLOSE_RANGE_CLOEXEC) != 0 {
            for fd in first..=last.min(1023) {
                libc::fcntl(fd as c_int, libc::F_SETFD, libc::FD_CLOEXEC); // kernels before 5.11 can't mark a range
            }
        }
    }
}
