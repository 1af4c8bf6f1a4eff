//! Spools a hook's event when no owner answers. Twin of context_graph.owner.sessions.spool, both
//! held to tests/golden/spool_v1.log; the format is on disk: never change a byte of it.
//!
//! A record is a newline, the CRC-32 of its JSON as 8 hex digits, a space, the JSON on one line and a newline. The
//! newline in front ends a record that a crash or a full disk has cut short, so that only the torn one is lost.

use crate::hash::{crc32, hex};
use crate::pathname::below;
use crate::sys::{self, Deadline, Errno, Open, OwnedFd};
use std::fs::File;
use std::io::Write;

/// At which size the spool takes no more: with an owner that never starts it must not fill the disk.
const SPOOL_MAX: u64 = 64 * 1024 * 1024;
/// How long to wait for other writers and for the owner's rename.
const LOCK_MS: u32 = 50;
/// How often the path may turn out to be another file than the one opened (the owner renames it to drain it).
const REOPENINGS: usize = 8;

fn failed(what: &str) -> impl Fn(Errno) -> String + '_ {
    move |errno| format!("{what}: {}", sys::words(errno))
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

/// Appends `record` to the store's spool; whole or not at all. The error, for the user, says what happened and the cure.
///
/// If the common file stays locked for 50 ms, the record gets a file of its own.
pub fn append(store: &[u8], event_id: &[u8], record: &[u8]) -> Result<(), String> {
    let folder = below(store, b"spool");
    let common = below(&folder, b"events.log");
    let deadline = Deadline::from_now(LOCK_MS);
    for _ in 0..REOPENINGS {
        let file = match sys::open_below(&common, Open::Append) {
            // Another user's, such as one that root's hook has left: it is no reason to lose this event.
            Err(Errno::ACCESS) => break,
            opened => opened.map_err(failed("the spool can't be opened"))?,
        };
        if !lock(&file, deadline)? {
            break;
        }
        // Else drained away between open and lock: what we hold would never be read.
        if sys::is_same(sys::fstat(&file), sys::lstat(&common)) {
            return write_whole(file, record);
        }
    }
    let own = below(&folder, &[b"events.", event_id, b".log"].concat());
    let file = sys::open_below(&own, Open::Append).map_err(failed("the spool can't be opened"))?;
    // The owner takes these files too, so the lock is needed here as well; nobody else waits for it.
    if lock(&file, Deadline::from_now(LOCK_MS))? {
        write_whole(file, record)
    } else {
        Err(failed("the spool is locked by another process")(Errno::AGAIN))
    }
}

/// Waits for the lock until `deadline`; false if others keep it.
fn lock(file: &OwnedFd, deadline: Deadline) -> Result<bool, String> {
    loop {
        match sys::try_lock(file) {
            Ok(false) if deadline.left_ms() > 0 => sys::sleep_ms(1),
            other => return other.map_err(failed("the spool can't be locked")),
        }
    }
}

/// One write under the lock; a part of it (a full disk) is taken back.
fn write_whole(file: OwnedFd, record: &[u8]) -> Result<(), String> {
    let stat = sys::fstat(&file).map_err(failed("the spool can't be read"))?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size.saturating_add(record.len() as u64) > SPOOL_MAX {
        let full = "the spool has reached 64 MiB; see why the owner does not start (context-graph-cli owner start)";
        return Err(full.to_owned());
    }
    let mut file = File::from(file);
    file.write_all(record).map_err(|error| {
        // Should this fail too, the next record's leading newline isolates the torn one.
        let _ = file.set_len(size);
        failed("the spool can't be written")(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_between_newlines_with_its_checksum() {
        assert_eq!(frame(b"123456789"), b"\ncbf43926 123456789\n");
    }
}
