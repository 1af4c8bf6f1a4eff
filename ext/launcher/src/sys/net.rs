//! The owner's socket: non-blocking throughout, every wait is a poll with what is left of the budget.

use super::{check, ffi, Errno, Fd};
use crate::arena::CPath;
use std::ffi::c_int;

/// How a connection attempt ended.
pub enum Connect {
    Connected(Fd),
    /// The owner's queue of clients is full: it is alive but busy.
    Busy,
    Failed(Errno),
}

fn address(path: CPath<'_>) -> Option<ffi::SockAddrUn> {
    let mut address = ffi::SockAddrUn { family: ffi::AF_UNIX as u16, path: [0; 108] };
    let bytes = path.bytes();
    // One byte stays 0: the kernel takes the path up to its NUL.
    if bytes.len() >= address.path.len() {
        return None;
    }
    address.path.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Some(address)
}

/// Connects to the Unix stream socket at `path`.
pub fn connect(path: CPath<'_>) -> Connect {
    let Some(address) = address(path) else {
        return Connect::Failed(Errno::NOT_FOUND);
    };
    let kind = ffi::SOCK_STREAM | ffi::O_NONBLOCK | ffi::O_CLOEXEC;
    // SAFETY: plain system call.
    let socket =
        match check(unsafe { ffi::socket(ffi::AF_UNIX, kind, 0) } as isize).and_then(|fd| Fd::adopt(fd as c_int)) {
            Ok(socket) => socket,
            Err(errno) => return Connect::Failed(errno),
        };
    let size = std::mem::size_of::<ffi::SockAddrUn>() as u32;
    // SAFETY: the address is a full sockaddr_un of the size given.
    match check(unsafe { ffi::connect(socket.raw(), &address, size) } as isize) {
        Ok(_) => Connect::Connected(socket),
        Err(Errno::AGAIN) => Connect::Busy,
        Err(errno) => Connect::Failed(errno),
    }
}

/// User id of the process that listens behind `socket`.
pub fn peer_uid(socket: &Fd) -> Option<u32> {
    let mut peer = ffi::Ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let mut len = std::mem::size_of::<ffi::Ucred>() as u32;
    let value = std::ptr::from_mut(&mut peer).cast();
    // SAFETY: `value` has room for one struct ucred, which is what `len` says.
    let done = unsafe { ffi::getsockopt(socket.raw(), ffi::SOL_SOCKET, ffi::SO_PEERCRED, value, &mut len) };
    (done == 0).then_some(peer.uid)
}

/// Sends as much of the parts, one after another, as the socket takes now. No signal if the peer is gone.
pub fn send(socket: &Fd, parts: &[&[u8]; 3]) -> Result<usize, Errno> {
    let vectors = parts.map(|part| ffi::IoVec { base: part.as_ptr(), len: part.len() });
    let message = ffi::MsgHdr {
        name: std::ptr::null(),
        namelen: 0,
        iov: vectors.as_ptr(),
        iovlen: vectors.len(),
        control: std::ptr::null(),
        controllen: 0,
        flags: 0,
    };
    // SAFETY: the message points to three vectors that point to three live slices.
    check(unsafe { ffi::sendmsg(socket.raw(), &message, ffi::MSG_NOSIGNAL) })
}

/// One read from the socket.
pub fn receive(socket: &Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    super::read(socket.raw(), buffer)
}

fn poll(fd: c_int, events: i16, timeout_ms: u32) -> bool {
    let mut one = ffi::PollFd { fd, events, revents: 0 };
    let timeout = c_int::try_from(timeout_ms).unwrap_or(c_int::MAX);
    // SAFETY: one pollfd, as the count says.
    unsafe { ffi::poll(&mut one, 1, timeout) > 0 }
}

/// Whether a read would not block within `timeout_ms` (data, end of file or an error). A signal counts as "no".
pub fn poll_readable(fd: c_int, timeout_ms: u32) -> bool {
    poll(fd, ffi::POLLIN, timeout_ms)
}

/// Whether a write would not block within `timeout_ms`.
pub fn poll_writable(fd: c_int, timeout_ms: u32) -> bool {
    poll(fd, ffi::POLLOUT, timeout_ms)
}
