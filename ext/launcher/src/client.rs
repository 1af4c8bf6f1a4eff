//! Sends one request to the owner: one connect, one send, one read, within the time budget.

use crate::paths::{self, Socket};
use crate::sys::{self, Deadline, Errno, FileType, OwnedFd};
use crate::wire::{self, Progress, Request, Response, KEEP_IT, YIELDING};
use std::io::IoSlice;

/// Connects only where it is safe to send what a hook says.
pub struct Client {
    socket: Socket,
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
    /// An owner that could not apply it: its store fails, and will at once again.
    Failing { document: Vec<u8>, text: String },
    /// An owner is there and said nothing in time.
    Timeout,
    /// It would not, and another attempt would be told the same: its own words.
    Refused(String),
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
            NoAnswer::Failing { .. } => "the owner can't use the store; its log says why".to_owned(),
            NoAnswer::Timeout => "the owner did not answer in time".to_owned(),
            NoAnswer::Refused(why) => why.clone(),
            NoAnswer::Broken(why) => format!("the owner's answer is unusable: {why}"),
        }
    }
}

/// What the owner said.
pub struct Answer {
    pub exit_code: u8,
    pub flags: u8,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Client {
    /// A client of the owner of `root`.
    pub fn new(root: &[u8]) -> Client {
        let uid = sys::uid();
        Client { socket: paths::socket(root, uid), uid }
    }

    /// Connects, waiting for a place in the owner's queue until `deadline`.
    pub fn connect(&self, deadline: Deadline) -> Result<OwnedFd, NoAnswer> {
        self.check_folder()?;
        loop {
            match sys::connect(&self.socket.path) {
                Ok(socket) if sys::peer_uid(&socket) == Some(self.uid) => return Ok(socket),
                Ok(_) => return Err(NoAnswer::Absent("another user's process listens on the socket".to_owned())),
                // The owner's queue of clients is full: poll(2) can't wait for room in it.
                Err(Errno::AGAIN) if deadline.left_ms() > 0 => sys::sleep_ms(1),
                Err(Errno::AGAIN) => return Err(NoAnswer::Timeout),
                Err(errno) => return Err(NoAnswer::Absent(sys::words(errno))),
            }
        }
    }

    /// Tells the owner that events wait, in which store of which project; waits for nothing.
    pub fn wake(&self, place: &[u8]) -> Result<(), NoAnswer> {
        self.check_folder()?;
        match sys::send_to(&self.socket.wake, place) {
            // It has so many to read that it looks everywhere.
            Ok(()) | Err(Errno::AGAIN) => Ok(()),
            Err(errno) => Err(NoAnswer::Absent(sys::words(errno))),
        }
    }

    /// A socket under /tmp counts only in a folder that nobody else can have made (invariant 4).
    fn check_folder(&self) -> Result<(), NoAnswer> {
        let Some(folder) = &self.socket.shared_folder else { return Ok(()) };
        let stat = sys::lstat(folder).map_err(|errno| NoAnswer::Absent(sys::words(errno)))?;
        let ours = sys::kind(&stat) == FileType::Directory && stat.st_uid == self.uid && stat.st_mode & 0o077 == 0;
        let shown = || format!("{} is not a private folder of ours", String::from_utf8_lossy(folder));
        ours.then_some(()).ok_or_else(|| NoAnswer::Absent(shown()))
    }
}

/// What the owner said, unless it declined.
fn answer(said: &Response<'_>) -> Result<Answer, NoAnswer> {
    let Response { exit_code, flags, stdout, stderr } = *said;
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if flags & (KEEP_IT | YIELDING) == 0 {
        return Ok(Answer { exit_code, flags, stdout: stdout.to_vec(), stderr: words(stderr) });
    }
    if flags & YIELDING != 0 || stdout.is_empty() {
        return Err(NoAnswer::Declined(flags));
    }
    // What the gates decided all the same, and behind a NUL what the store says of itself, for the user.
    let mut parts = stdout.splitn(2, |byte| *byte == 0).map(<[u8]>::to_vec);
    let (document, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    Err(NoAnswer::Failing { document, text: words(&text) })
}

/// Sends the request on `socket` and waits for the response until `deadline`.
pub fn ask(socket: &OwnedFd, request: &Request<'_>, deadline: Deadline) -> Result<Answer, NoAnswer> {
    let [before, behind] =
        wire::encode(request).ok_or_else(|| NoAnswer::Broken("the request is above 16 MiB".to_owned()))?;
    send(socket, [&before, request.body, &behind], deadline)?;
    receive(socket, deadline)
}

fn send(socket: &OwnedFd, parts: [&[u8]; 3], deadline: Deadline) -> Result<(), NoAnswer> {
    let mut vectors = parts.map(IoSlice::new);
    let mut rest = &mut vectors[..];
    while !rest.is_empty() {
        match sys::send(socket, rest) {
            Ok(sent) => IoSlice::advance_slices(&mut rest, sent),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait(|left| sys::poll_writable(socket, left), deadline)?,
            // It may have answered before it hung up (a frame it refuses): what there is to read decides.
            Err(_) if sys::poll_readable(socket, 0) => return Ok(()),
            Err(errno) => return Err(NoAnswer::Broken(sys::words(errno))),
        }
    }
    Ok(())
}

fn wait(ready: impl Fn(u32) -> bool, deadline: Deadline) -> Result<(), NoAnswer> {
    while !ready(deadline.left_ms()) {
        if deadline.left_ms() == 0 {
            return Err(NoAnswer::Timeout);
        }
    }
    Ok(())
}

fn receive(socket: &OwnedFd, deadline: Deadline) -> Result<Answer, NoAnswer> {
    let mut bytes = vec![0u8; 8 * 1024];
    let mut len = 0;
    loop {
        wait(|left| sys::poll_readable(socket, left), deadline)?;
        match sys::read(socket, bytes.get_mut(len..).unwrap_or(&mut [])) {
            Ok(0) => return Err(NoAnswer::Broken("it hung up".to_owned())),
            Ok(count) => len += count,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(errno) => return Err(NoAnswer::Broken(sys::words(errno))),
        }
        match wire::decode(bytes.get(..len).unwrap_or(&[])) {
            Progress::Whole(said) => return answer(&said),
            Progress::Malformed(what) => return Err(NoAnswer::Broken(what.to_owned())),
            Progress::More if len == bytes.len() => {
                bytes.resize(len.saturating_mul(4).min(wire::HEADER + wire::PAYLOAD_MAX + 1), 0)
            }
            Progress::More => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};

    fn folder(name: &str, mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("cg-client-{name}-{}", std::process::id()));
        let made = std::fs::create_dir_all(&path)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)));
        assert!(made.is_ok(), "{made:?}");
        path
    }

    fn client(folder: &Path, uid: u32) -> Client {
        let path = folder.join("owner.sock").as_os_str().as_bytes().to_vec();
        let shared_folder = Some(folder.as_os_str().as_bytes().to_vec());
        Client { socket: Socket { path, wake: Vec::new(), shared_folder }, uid }
    }

    fn refusal(of: Result<OwnedFd, NoAnswer>) -> String {
        of.err().map_or_else(String::new, |why| why.text())
    }

    #[test]
    fn a_folder_under_tmp_that_others_may_enter_is_not_trusted() {
        for (mode, trusted) in [(0o700, true), (0o701, false), (0o750, false), (0o777, false)] {
            let folder = folder(&format!("{mode:o}"), mode);
            let ours = client(&folder, sys::uid());
            assert_eq!(ours.check_folder().is_ok(), trusted, "{mode:o}");
            assert_eq!(refusal(ours.connect(Deadline::from_now(50))).contains("private folder"), !trusted, "{mode:o}");
            assert!(std::fs::remove_dir_all(&folder).is_ok());
        }
    }

    #[test]
    fn another_user_s_process_is_told_nothing() {
        let folder = folder("peer", 0o700);
        let listener = UnixListener::bind(folder.join("owner.sock"));
        let mut ours = client(&folder, sys::uid());
        let trusted = ours.connect(Deadline::from_now(50)).is_ok();
        // Who listens is somebody else, as seen by a user with the next number; the folder is looked at before.
        ours.uid += 1;
        ours.socket.shared_folder = None;
        let refused = refusal(ours.connect(Deadline::from_now(50)));
        assert!(listener.is_ok() && std::fs::remove_dir_all(&folder).is_ok());
        assert_eq!((trusted, refused.as_str()), (true, "no owner: another user's process listens on the socket"));
    }
}
