//! One request to the owner: one connect, one send, one read, within the budget.

use crate::arena::{Arena, CPath};
use crate::json::top_text;
use crate::paths::{self, Socket};
use crate::sys::{self, Connect, Deadline, Errno, Fd, FileKind};
use crate::wire::{self, Around, Progress, SPOOL_IT, YIELDING};

/// Connects only where it is safe to send what a hook says.
pub struct Client<'a> {
    socket: Socket<'a>,
    uid: u32,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// Nobody listens.
    Absent(String),
    /// An owner that would not apply the event, or is leaving for a newer one; its flags.
    Declined(u8),
    /// No owner listens, and none can be started.
    Unstartable(String),
    /// An owner that could not apply it: its store fails, and will at once again. What it says of it, for the user.
    Failing(String),
    /// An owner is there and said nothing in time.
    Timeout,
    /// It said nothing in time a moment ago, and was not asked.
    Silent,
    /// It broke off, or what it said is no response.
    Broken(String),
}

impl NoAnswer {
    /// For the debug line.
    pub fn text(&self) -> String {
        match self {
            NoAnswer::Absent(why) => format!("no owner: {why}"),
            NoAnswer::Declined(flags) => format!("the owner declined (flags {flags})"),
            NoAnswer::Unstartable(why) => format!("no owner can be started: {why}"),
            NoAnswer::Failing(_) => "the owner can't use the store; its log says why".to_owned(),
            NoAnswer::Timeout => "the owner did not answer in time".to_owned(),
            NoAnswer::Silent => "the owner did not answer a moment ago, so it was not asked".to_owned(),
            NoAnswer::Broken(why) => format!("the owner's answer is unusable: {why}"),
        }
    }
}

/// The bytes of a whole, well-formed response; `wire::decode` reads them.
pub struct Answer(pub Vec<u8>);

impl<'a> Client<'a> {
    /// A client of the owner of `root`; None if the socket's path can't be made.
    pub fn new(arena: &'a Arena, root: CPath<'_>) -> Option<Client<'a>> {
        let uid = sys::uid();
        Some(Client { socket: paths::socket(arena, root, uid)?, uid })
    }

    /// Connects, waiting for a place in the owner's queue until `deadline`.
    pub fn connect(&self, deadline: Deadline) -> Result<Fd, NoAnswer> {
        self.check_folder()?;
        loop {
            match sys::connect(self.socket.path) {
                Connect::Connected(socket) => return self.check_peer(socket),
                // poll(2) can't wait for room in a listener's queue.
                Connect::Busy if deadline.left_ms() > 0 => sys::sleep_ms(1),
                Connect::Busy => return Err(NoAnswer::Timeout),
                Connect::Failed(errno) => return Err(NoAnswer::Absent(errno.text())),
            }
        }
    }

    /// A socket under /tmp counts only in a folder that nobody else can have made (invariant 4).
    fn check_folder(&self) -> Result<(), NoAnswer> {
        let Some(folder) = self.socket.shared_folder else { return Ok(()) };
        let stat = sys::lstat(folder).map_err(|errno| NoAnswer::Absent(errno.text()))?;
        let ours = stat.kind == FileKind::Directory && stat.uid == self.uid && stat.permissions & 0o077 == 0;
        let shown = || format!("{} is not a private folder of ours", String::from_utf8_lossy(folder.bytes()));
        ours.then_some(()).ok_or_else(|| NoAnswer::Absent(shown()))
    }

    fn check_peer(&self, socket: Fd) -> Result<Fd, NoAnswer> {
        match sys::peer_uid(&socket) {
            Some(uid) if uid == self.uid => Ok(socket),
            _ => Err(NoAnswer::Absent("another user's process listens on the socket".to_owned())),
        }
    }
}

impl Answer {
    /// What the owner said, unless it declined.
    fn checked(self) -> Result<Answer, NoAnswer> {
        match wire::decode(&self.0) {
            Progress::Whole(said) if said.flags & (SPOOL_IT | YIELDING) != 0 => {
                // Only what a store says of itself is meant for the hook's caller.
                let failing = said.flags & YIELDING == 0 && !said.stdout.is_empty();
                let text = || {
                    String::from_utf8_lossy(&top_text(said.stdout, b"systemMessage").unwrap_or_default()).into_owned()
                };
                Err(if failing { NoAnswer::Failing(text()) } else { NoAnswer::Declined(said.flags) })
            }
            Progress::Whole(_) => Ok(self),
            _ => Err(NoAnswer::Broken("no response frame".to_owned())),
        }
    }
}

/// Sends the request on `socket` and waits for the response until `deadline`.
pub fn ask(socket: &Fd, around: &Around, body: &[u8], deadline: Deadline) -> Result<Answer, NoAnswer> {
    send(socket, around, body, deadline)?;
    receive(socket, deadline)?.checked()
}

fn send(socket: &Fd, around: &Around, body: &[u8], deadline: Deadline) -> Result<(), NoAnswer> {
    let mut parts: [&[u8]; 3] = [&around.before, body, &around.behind];
    loop {
        match sys::send(socket, &parts) {
            Ok(sent) => {
                advance(&mut parts, sent);
                if parts.iter().all(|part| part.is_empty()) {
                    return Ok(());
                }
            }
            Err(Errno::INTERRUPTED) => {}
            Err(Errno::AGAIN) => wait(|left| sys::poll_writable(socket.raw(), left), deadline)?,
            // It may have answered before it hung up (a frame it refuses): what there is to read decides.
            Err(errno) if sys::poll_readable(socket.raw(), 0) => {
                let _ = errno;
                return Ok(());
            }
            Err(errno) => return Err(NoAnswer::Broken(errno.text())),
        }
    }
}

/// Drops the first `sent` bytes of the parts.
fn advance(parts: &mut [&[u8]; 3], mut sent: usize) {
    for part in parts {
        let taken = sent.min(part.len());
        *part = part.get(taken..).unwrap_or(&[]);
        sent -= taken;
    }
}

fn wait(ready: impl Fn(u32) -> bool, deadline: Deadline) -> Result<(), NoAnswer> {
    while !ready(deadline.left_ms()) {
        if deadline.left_ms() == 0 {
            return Err(NoAnswer::Timeout);
        }
    }
    Ok(())
}

fn receive(socket: &Fd, deadline: Deadline) -> Result<Answer, NoAnswer> {
    let mut bytes = vec![0u8; 8 * 1024];
    let mut len = 0;
    loop {
        wait(|left| sys::poll_readable(socket.raw(), left), deadline)?;
        match sys::receive(socket, bytes.get_mut(len..).unwrap_or(&mut [])) {
            Ok(0) => return Err(NoAnswer::Broken("it hung up".to_owned())),
            Ok(count) => len += count,
            Err(Errno::INTERRUPTED | Errno::AGAIN) => continue,
            Err(errno) => return Err(NoAnswer::Broken(errno.text())),
        }
        match wire::decode(bytes.get(..len).unwrap_or(&[])) {
            Progress::Whole(_) => {
                bytes.truncate(len);
                return Ok(Answer(bytes));
            }
            Progress::Malformed(what) => return Err(NoAnswer::Broken(what.to_owned())),
            Progress::More if len == bytes.len() => {
                bytes.resize(len.saturating_mul(4).min(wire::HEADER + wire::PAYLOAD_MAX + 1), 0)
            }
            Progress::More => {}
        }
    }
}
