//! Reads and writes sockets and the standard streams: every wait is a poll with the rest of a budget.

use super::{own, Deadline};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, SocketAddrUnix};
use std::io::IoSlice;

/// What a pipe takes without blocking once poll(2) says that it can be written: its smallest unit.
const PIPE_UNIT: usize = 4096;
const FIRST_READ: usize = 16 * 1024;

/// Connects to the Unix stream socket at `path`, non-blocking; EAGAIN if its queue of clients is full.
pub fn connect(path: &[u8]) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(path)?;
    let socket = own::stream_socket()?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}

/// Sends one datagram to the Unix socket at `path`; EAGAIN if its queue is full.
pub fn send_to(path: &[u8], data: &[u8]) -> Result<(), Errno> {
    let address = SocketAddrUnix::new(path)?;
    let socket = own::datagram_socket()?;
    rustix::net::sendto(&socket, data, own::NO_SIGNAL | SendFlags::DONTWAIT, &address).map(|_| ())
}

/// Sends as much of the parts, one after another, as the socket takes now. No signal if the peer is gone.
pub fn send(socket: impl AsFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
    rustix::net::sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), own::NO_SIGNAL)
}

/// Writes what a descriptor takes without blocking, after `wait` has said that it takes some. Its mode is left
/// alone: standard output may be shared with processes that expect it to block.
pub fn write_some(fd: impl AsFd, data: &[u8]) -> Result<usize, Errno> {
    match rustix::net::send(&fd, data, own::NO_SIGNAL | SendFlags::DONTWAIT) {
        Err(Errno::NOTSOCK) => rustix::io::write(&fd, data.get(..PIPE_UNIT).unwrap_or(data)),
        other => other,
    }
}

/// Writes everything to a standard stream. A reader that is gone is not our failure: errors end it silently.
pub fn write_all(fd: BorrowedFd<'_>, mut data: &[u8]) {
    while !data.is_empty() {
        match rustix::io::write(fd, data) {
            Ok(count) if count > 0 => data = data.get(count..).unwrap_or(&[]),
            Err(Errno::INTR) => {}
            // A non-blocking stdout (some terminals share it): wait a little for its reader.
            Err(Errno::AGAIN) if poll_writable(fd, 100) => {}
            _ => return,
        }
    }
}

/// Where reading a stream stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    End,
    /// More came than is taken.
    Limit,
    /// The end did not come in time.
    Late,
    Failed(Errno),
}

/// Reads `fd` to its end, but no longer than until `deadline`, and little more than `limit` bytes.
pub fn read_to_end(fd: impl AsFd, limit: usize, deadline: Deadline) -> (Vec<u8>, Stop) {
    let mut bytes = vec![0u8; FIRST_READ];
    let mut len = 0;
    let stop = loop {
        if len > limit {
            break Stop::Limit;
        }
        if len == bytes.len() {
            bytes.resize(bytes.len().saturating_mul(4).min(limit + 1), 0);
        }
        if !poll_readable(&fd, deadline.left_ms()) {
            if deadline.left_ms() == 0 {
                break Stop::Late;
            }
            continue;
        }
        match rustix::io::read(&fd, bytes.get_mut(len..).unwrap_or(&mut [])) {
            Ok(0) => break Stop::End,
            Ok(count) => len += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => break Stop::Failed(errno),
        }
    };
    bytes.truncate(len);
    (bytes, stop)
}

fn timespec(ms: u32) -> Timespec {
    Timespec { tv_sec: i64::from(ms / 1_000), tv_nsec: i64::from(ms % 1_000) * 1_000_000 }
}

/// Whether a read would not block within `timeout_ms` (data, end of file or an error). A signal counts as "no".
pub fn poll_readable(fd: impl AsFd, timeout_ms: u32) -> bool {
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timespec(timeout_ms))).is_ok_and(|found| found > 0)
}

/// Whether a write would not block within `timeout_ms`.
pub fn poll_writable(fd: impl AsFd, timeout_ms: u32) -> bool {
    poll(&mut [PollFd::new(&fd, PollFlags::OUT)], Some(&timespec(timeout_ms))).is_ok_and(|found| found > 0)
}

/// Waits until one of the descriptors is ready for what is wanted of it, or `timeout_ms` have passed (None: for good);
/// what each is ready for. An error or a hang-up counts as all that was wanted: the next read or write will say it. A
/// signal ends the wait early. A descriptor of which nothing is wanted is not watched: its hang-up must not wake us.
pub fn wait<const N: usize>(
    wanted: [(Option<BorrowedFd<'_>>, PollFlags); N],
    timeout_ms: Option<u32>,
) -> [PollFlags; N] {
    let watched =
        wanted.map(|(fd, events)| fd.filter(|_| !events.is_empty()).map(|fd| PollFd::from_borrowed_fd(fd, events)));
    let mut fds: Vec<PollFd<'_>> = watched.iter().flatten().cloned().collect();
    // Where the wait fails nothing has come: they stay as they were made.
    let _ = poll(&mut fds, timeout_ms.map(timespec).as_ref());
    let mut came = fds.iter().map(PollFd::revents);
    let mut ready = wanted.map(|(_, events)| events);
    for (events, watched) in ready.iter_mut().zip(&watched) {
        let came = watched.as_ref().and_then(|_| came.next()).unwrap_or(PollFlags::empty());
        let ended = !(came - PollFlags::IN - PollFlags::OUT).is_empty();
        *events &= if ended { PollFlags::all() } else { came };
    }
    ready
}
