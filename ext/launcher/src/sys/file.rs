//! Opens, locks and writes files and folders. Paths are bytes: the system's, not text.

use crate::pathname::split_last;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;

const STDERR: i32 = 2;

/// How a file is opened. Links are never followed at the last component, nothing blocks, nothing is inherited.
#[derive(Clone, Copy)]
pub enum Open {
    Read,
    /// Read and write, created if missing.
    Lock,
    /// Append, created if missing.
    Append,
    /// Append to what is there.
    Extend,
    /// Write; it must not be there yet.
    New,
}

/// Opens `path`; new files are readable by their owner alone.
pub fn open(path: &[u8], how: Open) -> Result<OwnedFd, Errno> {
    let flags = match how {
        Open::Read => OFlags::RDONLY,
        Open::Lock => OFlags::RDWR | OFlags::CREATE,
        Open::Append => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
        Open::Extend => OFlags::WRONLY | OFlags::APPEND,
        Open::New => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
    };
    // NONBLOCK: a FIFO in the place of a file must not hang a hook.
    let safe = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    above_standard(rustix::fs::open(path, flags | safe, Mode::RUSR | Mode::WUSR)?)
}

/// /dev/null for reading and writing, for the streams of a detached program.
pub(super) fn open_null() -> Result<OwnedFd, Errno> {
    above_standard(rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// Moves `fd` above the standard streams: a hook may be started with those closed, and what goes to "stdout" must not
/// end up in the event log.
pub(super) fn above_standard(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    if fd.as_raw_fd() > STDERR {
        Ok(fd)
    } else {
        rustix::io::fcntl_dupfd_cloexec(&fd, STDERR + 1)
    }
}

/// Takes the exclusive lock of the open file; false if somebody has it.
pub fn try_lock(file: impl AsFd) -> Result<bool, Errno> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Up to 4 KiB from the start of a file; links are followed only up to its last component.
pub fn first_bytes(path: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; 4096];
    let read = rustix::io::pread(open(path, Open::Read)?, &mut buffer[..], 0)?;
    buffer.truncate(read);
    Ok(buffer)
}

/// What kind of file it is.
pub fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Whether `path` leads to a folder.
pub fn is_folder(path: &[u8]) -> bool {
    rustix::fs::stat(path).is_ok_and(|stat| kind(&stat) == FileType::Directory)
}

/// Whether two looks met the same file.
pub fn is_same(one: Result<Stat, Errno>, other: Result<Stat, Errno>) -> bool {
    matches!((one, other), (Ok(one), Ok(other)) if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// Whether `path` may be executed.
pub fn executable(path: impl Arg) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The working folder, canonical; None if it has been removed.
pub fn working_dir() -> Option<Vec<u8>> {
    std::env::current_dir().ok().map(|path| path.into_os_string().into_vec())
}

/// The canonical path of the folder `path`, by going there: two system calls and no file opened, where
/// realpath(3) would look at each component. None if it is no folder that can be entered.
pub fn canonical(path: &[u8]) -> Option<Vec<u8>> {
    std::env::set_current_dir(OsStr::from_bytes(path)).ok()?;
    working_dir()
}

/// Opens `path` for writing, in a folder that may have to be made first, for its owner alone.
pub fn open_below(path: &[u8], how: Open) -> Result<OwnedFd, Errno> {
    match (open(path, how), split_last(path)) {
        (Err(Errno::NOENT), Some((folder, _))) => {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(OsStr::from_bytes(folder));
            made.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NOENT))?;
            open(path, how)
        }
        (opened, _) => opened,
    }
}
