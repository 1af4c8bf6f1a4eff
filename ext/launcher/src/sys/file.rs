//! Files, folders, locks and the standard streams.

use super::{check, ffi, Errno};
use crate::arena::{Arena, Builder, CPath};
use std::ffi::c_int;

pub const STDIN: c_int = 0;
pub const STDOUT: c_int = 1;
pub const STDERR: c_int = 2;

/// An open descriptor above the standard three; closed when dropped.
pub struct Fd(c_int);

impl Fd {
    /// Takes over `raw`, moving it above the standard streams: a hook may be started with those closed, and
    /// what goes to "stdout" must not end up in the spool.
    pub(super) fn adopt(raw: c_int) -> Result<Fd, Errno> {
        if raw > STDERR {
            return Ok(Fd(raw));
        }
        // SAFETY: plain system call on a descriptor that this function owns.
        let moved = check(unsafe { ffi::fcntl(raw, ffi::F_DUPFD_CLOEXEC, STDERR + 1) } as isize);
        // SAFETY: as above; nobody else knows `raw`.
        unsafe { ffi::close(raw) };
        moved.map(|fd| Fd(fd as c_int))
    }

    /// The number, for the kernel.
    pub fn raw(&self) -> c_int {
        self.0
    }

    /// Cuts or extends the file to `size` bytes.
    pub fn truncate(&self, size: u64) -> Result<(), Errno> {
        // SAFETY: plain system call on an open descriptor.
        check(unsafe { ffi::ftruncate(self.0, i64::try_from(size).unwrap_or(i64::MAX)) } as isize).map(drop)
    }

    /// Takes the exclusive lock of the open file if nobody has it.
    pub fn try_lock(&self) -> Result<(), LockError> {
        // SAFETY: plain system call on an open descriptor.
        match check(unsafe { ffi::flock(self.0, ffi::LOCK_EX | ffi::LOCK_NB) } as isize) {
            Ok(_) => Ok(()),
            Err(Errno::AGAIN | Errno::INTERRUPTED) => Err(LockError::Busy),
            Err(errno) => Err(LockError::Failed(errno)),
        }
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        // SAFETY: self owns the descriptor and is gone after this.
        unsafe { ffi::close(self.0) };
    }
}

/// Why a lock was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum LockError {
    Busy,
    Failed(Errno),
}

/// How a file is opened. Links are never followed at the last component, nothing blocks, nothing is inherited.
#[derive(Clone, Copy)]
pub enum Open {
    Read,
    /// Read and write, created if missing.
    Lock,
    /// Append, created if missing.
    Append,
    /// Write; it must not be there yet.
    New,
}

/// Opens `path`; new files are readable by their owner alone.
pub fn open(path: CPath<'_>, how: Open) -> Result<Fd, Errno> {
    let flags = match how {
        Open::Read => ffi::O_RDONLY,
        Open::Lock => ffi::O_RDWR | ffi::O_CREAT,
        Open::Append => ffi::O_WRONLY | ffi::O_APPEND | ffi::O_CREAT,
        Open::New => ffi::O_WRONLY | ffi::O_CREAT | ffi::O_EXCL,
    };
    // NONBLOCK: a FIFO in the place of a file must not hang a hook.
    let safe = ffi::O_CLOEXEC | ffi::O_NOFOLLOW | ffi::O_NONBLOCK | ffi::O_NOCTTY;
    // SAFETY: a CPath is NUL-terminated.
    let fd = check(unsafe { ffi::open(path.as_ptr(), flags | safe, 0o600) } as isize)?;
    Fd::adopt(fd as c_int)
}

/// /dev/null for reading and writing, for the streams of a detached program.
pub(super) fn open_null() -> Result<Fd, Errno> {
    // SAFETY: a C literal is NUL-terminated.
    let fd = check(unsafe { ffi::open(c"/dev/null".as_ptr(), ffi::O_RDWR | ffi::O_CLOEXEC) } as isize)?;
    Fd::adopt(fd as c_int)
}

/// Reads at `offset` into `buffer`; fewer bytes than asked only at the end of the file.
pub fn pread(fd: &Fd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    // SAFETY: the buffer is valid for its length and borrowed mutably.
    check(unsafe { ffi::pread(fd.0, buffer.as_mut_ptr().cast(), buffer.len(), offset) })
}

/// One read(2) on a raw descriptor (standard input is not ours to own).
pub fn read(fd: c_int, buffer: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the buffer is valid for its length and borrowed mutably.
    check(unsafe { ffi::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// One write(2).
pub fn write(fd: c_int, data: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the data is valid for its length.
    check(unsafe { ffi::write(fd, data.as_ptr().cast(), data.len()) })
}

/// Writes everything to a standard stream. A reader that is gone is not our failure: errors end it silently.
pub fn write_all(fd: c_int, mut data: &[u8]) {
    while !data.is_empty() {
        match write(fd, data) {
            Ok(0) => return,
            Ok(count) => data = data.get(count..).unwrap_or(&[]),
            Err(Errno::INTERRUPTED) => {}
            Err(Errno::AGAIN) => {
                // A non-blocking stdout (some terminals share it): wait a little for its reader.
                if !super::poll_writable(fd, 100) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// Whether `fd` is a terminal.
pub fn is_tty(fd: c_int) -> bool {
    let mut termios = [0u64; 32];
    // SAFETY: TCGETS writes one `struct termios`, which is far smaller than the 256 bytes given.
    unsafe { ffi::ioctl(fd, ffi::TCGETS, termios.as_mut_ptr()) == 0 }
}

/// What a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    Directory,
    Regular,
    Link,
    Other,
}

/// The few facts of a file that are needed.
#[derive(Clone, Copy)]
pub struct Stat {
    pub kind: FileKind,
    pub uid: u32,
    pub permissions: u16,
    pub size: u64,
    /// Unix seconds of the last change of its content.
    pub modified_s: i64,
    /// Device and inode: equal exactly for the same file.
    pub identity: (u32, u32, u64),
}

fn statx(dir: c_int, path: CPath<'_>, flags: c_int) -> Result<Stat, Errno> {
    let mut raw = std::mem::MaybeUninit::<ffi::Statx>::uninit();
    // SAFETY: the path is NUL-terminated and `raw` has the room of one struct statx.
    check(unsafe { ffi::statx(dir, path.as_ptr(), flags, ffi::STATX_BASIC_STATS, raw.as_mut_ptr()) } as isize)?;
    // SAFETY: the call succeeded, so the kernel has filled the struct.
    let raw = unsafe { raw.assume_init() };
    let kind = match raw.mode & 0o170000 {
        0o040000 => FileKind::Directory,
        0o100000 => FileKind::Regular,
        0o120000 => FileKind::Link,
        _ => FileKind::Other,
    };
    let identity = (raw.dev_major, raw.dev_minor, raw.ino);
    let modified_s = raw.times[6];
    Ok(Stat { kind, uid: raw.uid, permissions: raw.mode & 0o7777, size: raw.size, modified_s, identity })
}

/// The file at `path` itself, links not followed.
pub fn lstat(path: CPath<'_>) -> Result<Stat, Errno> {
    statx(ffi::AT_FDCWD, path, ffi::AT_SYMLINK_NOFOLLOW)
}

/// The file that `path` leads to.
pub fn stat(path: CPath<'_>) -> Result<Stat, Errno> {
    statx(ffi::AT_FDCWD, path, 0)
}

/// The open file.
pub fn stat_fd(fd: &Fd) -> Result<Stat, Errno> {
    statx(fd.0, CPath::from_c_str(c""), ffi::AT_EMPTY_PATH)
}

/// Removes a file; one that is not there, or can't be removed, is left as it is.
pub fn remove(path: CPath<'_>) {
    // SAFETY: a CPath is NUL-terminated.
    unsafe { ffi::unlink(path.as_ptr()) };
}

/// Makes one folder for its owner alone.
pub fn make_dir(path: CPath<'_>) -> Result<(), Errno> {
    // SAFETY: a CPath is NUL-terminated.
    check(unsafe { ffi::mkdir(path.as_ptr(), 0o700) } as isize).map(drop)
}

/// Makes a link at `path` whose text is `text`.
pub fn link_to(text: CPath<'_>, path: CPath<'_>) -> Result<(), Errno> {
    // SAFETY: both are NUL-terminated.
    check(unsafe { ffi::symlink(text.as_ptr(), path.as_ptr()) } as isize).map(drop)
}

/// The text of the link at `path`, as far as the buffer holds it.
pub fn read_link<'b>(path: CPath<'_>, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    // SAFETY: the path is NUL-terminated, and the buffer is writable to its length.
    let read = check(unsafe { ffi::readlink(path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) })?;
    Ok(buffer.get(..read).unwrap_or(&[]))
}

/// Moves the process; relative paths mean something else afterwards.
fn change_dir(path: CPath<'_>) -> Result<(), Errno> {
    // SAFETY: a CPath is NUL-terminated.
    check(unsafe { ffi::chdir(path.as_ptr()) } as isize).map(drop)
}

fn push_working_dir(builder: &mut Builder<'_>) -> Option<()> {
    builder.fill(|buffer, room| {
        // SAFETY: `room` bytes, and one more for the NUL, are writable behind `buffer` (Builder::room).
        let given = unsafe { ffi::getcwd(buffer.cast(), room + 1) };
        if given.is_null() {
            return None;
        }
        // SAFETY: getcwd has written a NUL-terminated string into the buffer.
        Some(unsafe { std::ffi::CStr::from_ptr(given) }.to_bytes().len())
    })
}

/// The working folder, canonical; None if it has been removed.
pub fn working_dir(arena: &Arena) -> Option<CPath<'_>> {
    let mut builder = arena.builder();
    push_working_dir(&mut builder)?;
    builder.finish()
}

/// The canonical path of the folder `path`, by going there: two system calls and no file opened, where
/// realpath(3) would look at each component. None if it is no folder that can be entered.
pub fn canonical<'a>(arena: &'a Arena, path: CPath<'_>) -> Option<CPath<'a>> {
    change_dir(path).ok()?;
    working_dir(arena)
}
