//! Appends a hook's event to the store's event log. Twin of context_graph.wire.store_folder, both held to
//! tests/golden/event_log_v1.log; the format is on disk: never change a byte of it.
//!
//! The log is a folder of segments. A record is one write to the end of the newest, without a lock and without a wait:
//! the system keeps the writes of several programs apart. The owner takes a segment's write permission away before it
//! reads its end and removes it; whoever sees that after a write can't know who read it, and writes once more.

use crate::hash::{crc32, hex};
use crate::pathname::below;
use crate::sys::{self, Errno, Mode, Open, OwnedFd};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Size from which on a segment takes no more.
const SEGMENT_MAX: i64 = 4 * 1024 * 1024;
/// At so many segments the log takes no more: with an owner that never starts it must not fill the disk.
const SEGMENTS_MAX: usize = 16;
/// How often a segment may be closed while it is written to.
const TRIES: usize = 8;
/// A file that the owner makes where each event has to survive a power failure.
const POWER: &[u8] = b"power";

fn failed(what: &str) -> impl Fn(Errno) -> String + '_ {
    move |errno| {
        let cure = match errno {
            Errno::NOSPC | Errno::DQUOT => "; free some space on the disk of the data root",
            Errno::ROFS | Errno::ACCESS | Errno::PERM => "; make the data root writable",
            _ => "",
        };
        format!("{what}: {}{cure}", sys::words(errno))
    }
}

/// The bytes of one record: newline, `E1`, checksum, length, event id, JSON, newline. The newline in front ends a record
/// that was cut short, so that only the torn one is lost.
pub fn frame(id: &[u8; 32], json: &[u8]) -> Vec<u8> {
    let text = [id, &b" "[..], json].concat();
    let number = |value: u32| hex::<4, 8>(value.to_be_bytes());
    let (checksum, length) = (number(crc32(&text)), number(u32::try_from(text.len()).unwrap_or(u32::MAX)));
    [b"\nE1 ", &checksum[..], b" ", &length, b" ", &text, b"\n"].concat()
}

/// What the log's folder holds.
#[derive(Default)]
struct Listing {
    segments: usize,
    newest: Vec<u8>,
    power: bool,
}

fn list(folder: &[u8]) -> Listing {
    let mut listing = Listing::default();
    let Ok(entries) = std::fs::read_dir(OsStr::from_bytes(folder)) else { return listing };
    for name in entries.flatten().map(|entry| entry.file_name().into_vec()) {
        listing.power |= name == POWER;
        if name.ends_with(b".log") && name.first().is_some_and(u8::is_ascii_digit) {
            listing.segments += 1;
            listing.newest = listing.newest.max(name);
        }
    }
    listing
}

/// Whether no event waits.
pub fn is_empty(store: &[u8]) -> bool {
    list(&below(store, b"events")).segments == 0
}

/// Appends `record` to the store's log. The error, for the user, says what happened and the cure.
pub fn append(store: &[u8], record: &[u8]) -> Result<(), String> {
    let folder = below(store, b"events");
    for tries_left in (0..TRIES).rev() {
        let listing = list(&folder);
        let file = match newest(&folder, &listing.newest) {
            Some(file) => file,
            None if listing.segments >= SEGMENTS_MAX => {
                let full = "the event log has reached 64 MiB; see why the owner does not start (context-graph-cli owner start)";
                return Err(full.to_owned());
            }
            None => {
                let name = fresh_name(&listing.newest);
                let file = sys::open_below(&below(&folder, &name), Open::Append);
                let file = file.map_err(failed("the event log can't be opened"))?;
                // Where somebody made a newer one meanwhile, that may be read before this one.
                if tries_left > 0 && list(&folder).newest != name {
                    continue;
                }
                file
            }
        };
        write_whole(&file, record)?;
        if listing.power {
            sys::fdatasync(&file).map_err(failed("the event log can't be made durable"))?;
        }
        if is_open(&file) {
            return Ok(());
        }
    }
    Err("the event log was closed each time it was written to".to_owned())
}

/// The newest segment, if it takes more. One that can't be opened, such as another user's, is no reason to lose an event.
fn newest(folder: &[u8], name: &[u8]) -> Option<OwnedFd> {
    let file = (!name.is_empty()).then(|| sys::open(&below(folder, name), Open::Extend).ok())??;
    let has_room = sys::fstat(&file).is_ok_and(|stat| stat.st_size < SEGMENT_MAX);
    (has_room && is_open(&file)).then_some(file)
}

/// A name that no segment has or had: milliseconds, later than those of `newest`, and a part of a random id.
fn fresh_name(newest: &[u8]) -> Vec<u8> {
    let digits = newest.split(|&byte| byte == b'-').next().unwrap_or_default();
    let last = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<u64>().ok());
    let at = u64::try_from(sys::unix_ms()).unwrap_or(0).max(last.map_or(0, |last| last.saturating_add(1)));
    let own = crate::event::fresh_id();
    [format!("{at:013}-").as_bytes(), own.get(..8).unwrap_or(&own), b".log"].concat()
}

/// Whether the owner has not closed the segment.
fn is_open(file: &OwnedFd) -> bool {
    sys::fstat(file).is_ok_and(|stat| Mode::from_raw_mode(stat.st_mode).contains(Mode::WUSR))
}

/// One write. A part of it (a full disk) stays, for behind it others may have written; the reader passes over it.
fn write_whole(file: &OwnedFd, record: &[u8]) -> Result<(), String> {
    match sys::write(file, record) {
        Ok(written) if written == record.len() => Ok(()),
        Ok(_) => Err(failed("the event log can't be written")(Errno::NOSPC)),
        Err(errno) => Err(failed("the event log can't be written")(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_between_newlines_with_checksum_length_and_id() {
        let record = frame(b"00112233445566778899aabbccddeeff", b"{}");
        assert_eq!(record, b"\nE1 f86d728a 00000023 00112233445566778899aabbccddeeff {}\n");
    }
}
