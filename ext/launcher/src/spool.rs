//! What a hook leaves when no owner answers. Twin of context_graph.wire.spool, both held to
//! tests/golden/spool_v1.log; the format is on disk: never change a byte of it.
//!
//! A record is a newline, the CRC-32 of its JSON as 8 hex digits, a space, the JSON on one line and a newline. The
//! newline in front ends a record that a crash or a full disk has cut short, so that only the torn one is lost.

use crate::arena::{Arena, CPath};
use crate::hash::{crc32, hex};
use crate::paths::below;
use crate::sys::{self, Errno, Fd, LockError, Open};
use std::ffi::CString;

/// At which size the spool takes no more: with an owner that never starts it must not fill the disk.
const SPOOL_MAX: u64 = 64 * 1024 * 1024;
/// How long to wait for other writers and for the owner's rename.
const LOCK_MS: u32 = 50;
/// How often the path may turn out to be another file than the one opened (the owner renames it to drain it).
const REOPENINGS: usize = 8;

/// Why a record is not in the spool.
#[derive(Debug)]
pub enum SpoolError {
    /// What was tried, and what the system said.
    Failed(&'static str, Errno),
    Full,
    PathTooLong,
}

impl SpoolError {
    /// For the user: what happened and the cure.
    pub fn text(&self) -> String {
        match self {
            SpoolError::Failed(what, errno) => format!("{what}: {}", errno.text()),
            SpoolError::Full => {
                "the spool has reached 64 MiB; see why the owner does not start (context-graph-cli owner start)"
                    .to_owned()
            }
            SpoolError::PathTooLong => "the spool's path is longer than 4095 bytes".to_owned(),
        }
    }
}

/// The bytes of one record.
pub fn frame(json: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(json.len() + 11);
    record.push(b'\n');
    record.extend_from_slice(&hex::<4, 8>(crc32(json).to_be_bytes()));
    record.push(b' ');
    record.extend_from_slice(json);
    record.push(b'\n');
    record
}

/// Appends `record` to the store's spool; whole or not at all.
///
/// If the common file stays locked for 50 ms, the record gets a file of its own.
pub fn append(arena: &Arena, store: CPath<'_>, event_id: &[u8], record: &[u8]) -> Result<(), SpoolError> {
    let folder = below(arena, store, b"spool").ok_or(SpoolError::PathTooLong)?;
    let common = below(arena, folder, b"events.log").ok_or(SpoolError::PathTooLong)?;
    let deadline = sys::Deadline::from_now(LOCK_MS);
    for _ in 0..REOPENINGS {
        let file = match open(folder, common) {
            // Another user's, such as one that root's hook has left: it is no reason to lose this event.
            Err(SpoolError::Failed(_, Errno::DENIED)) => break,
            other => other?,
        };
        match lock(&file, deadline) {
            Ok(()) if is_still(&file, common) => return write_whole(&file, record),
            Ok(()) => {} // drained away between open and lock: what we hold would never be read
            Err(LockError::Busy) => break,
            Err(LockError::Failed(errno)) => return Err(SpoolError::Failed("the spool can't be locked", errno)),
        }
    }
    let own = arena.join(&[folder.bytes(), b"/events.", event_id, b".log"]).ok_or(SpoolError::PathTooLong)?;
    let file = open(folder, own)?;
    // The owner takes these files too, so the lock is needed here as well; nobody else waits for it.
    match lock(&file, sys::Deadline::from_now(LOCK_MS)) {
        Ok(()) => write_whole(&file, record),
        Err(LockError::Busy) => Err(SpoolError::Failed("the spool is locked by another process", Errno::AGAIN)),
        Err(LockError::Failed(errno)) => Err(SpoolError::Failed("the spool can't be locked", errno)),
    }
}

fn open(folder: CPath<'_>, path: CPath<'_>) -> Result<Fd, SpoolError> {
    let opened = match sys::open(path, Open::Append) {
        Err(Errno::NOT_FOUND) => {
            make_dirs(folder).map_err(|errno| SpoolError::Failed("the spool's folder can't be made", errno))?;
            sys::open(path, Open::Append)
        }
        other => other,
    };
    opened.map_err(|errno| SpoolError::Failed("the spool can't be opened", errno))
}

/// Makes `path` and what is missing above it, for the owner alone.
pub fn make_dirs(path: CPath<'_>) -> Result<(), Errno> {
    let whole = path.bytes();
    let ends = (1..whole.len()).filter(|at| whole.get(*at) == Some(&b'/')).chain([whole.len()]);
    let (mut last, mut cause) = (Ok(()), None);
    for end in ends {
        let folder = CString::new(whole.get(..end).unwrap_or(whole)).map_err(|_| Errno::NOT_FOUND)?;
        last = sys::make_dir(CPath::from_c_str(&folder));
        if let Err(errno) = last {
            // The first folder that could not be made says why; those below it are only "not found".
            cause = if errno == Errno::EXISTS { None } else { cause.or(Some(errno)) };
        }
    }
    // Components above may exist unwritable (EACCES, EROFS); only the last one's fate counts.
    match last {
        Err(Errno::EXISTS) => Ok(()),
        Err(Errno::NOT_FOUND) => Err(cause.unwrap_or(Errno::NOT_FOUND)),
        other => other,
    }
}

fn lock(file: &Fd, deadline: sys::Deadline) -> Result<(), LockError> {
    loop {
        match file.try_lock() {
            Err(LockError::Busy) if deadline.left_ms() > 0 => sys::sleep_ms(1),
            other => return other,
        }
    }
}

/// Whether `path` still leads to the open file.
fn is_still(file: &Fd, path: CPath<'_>) -> bool {
    match (sys::stat_fd(file), sys::lstat(path)) {
        (Ok(open), Ok(named)) => open.identity == named.identity,
        _ => false,
    }
}

/// One write under the lock; a part of it (a full disk) is taken back.
fn write_whole(file: &Fd, record: &[u8]) -> Result<(), SpoolError> {
    let size = sys::stat_fd(file).map_err(|errno| SpoolError::Failed("the spool can't be read", errno))?.size;
    if size.saturating_add(record.len() as u64) > SPOOL_MAX {
        return Err(SpoolError::Full);
    }
    let mut rest = record;
    loop {
        match sys::write(file.raw(), rest) {
            Ok(count) if count == rest.len() => return Ok(()),
            // Cut short by a signal, or by the disk, which says so at the next attempt.
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or(&[]),
            Err(Errno::INTERRUPTED) => {}
            other => {
                // Should this fail too, the next record's leading newline isolates the torn one.
                let _ = file.truncate(size);
                return Err(SpoolError::Failed("the spool can't be written", other.err().unwrap_or(Errno::AGAIN)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_between_newlines_with_its_checksum() {
        assert_eq!(frame(b"123456789"), b"\ncbf43926 123456789\n");
    }
}
