//! Reads the owner's cache, brief.bin: a session's slot, and for what there may be something to tell. Twin of
//! context_graph.owner.sessions.brief_cache, both held to tests/golden/brief_v2.bin. Offsets are on
//! disk: never renumber.
//!
//! A slot is believed only if its magic, checksum and whole session id fit, so neither a torn nor a foreign
//! line is ever shown (invariant 8).

use crate::hash::{crc32, fnv1a64};
use crate::pathname::below;
use crate::sys::{self, Open, OwnedFd};

/// What a session without a valid slot shows.
pub const COLD_LINE: &[u8] = b"[C:? r=? IC=?]";

/// Header, then the filter of things about which there may be something to tell, then the slots.
const HEADER_BYTES: usize = 4096;
const FILTER_BYTES: usize = 16 * 1024;
const SLOTS_AT: u64 = (HEADER_BYTES + FILTER_BYTES) as u64;
const SLOT_BYTES: usize = 1024;
const HOME_SLOTS: u64 = 128;
const WINDOW: usize = 8;
const SLOTS: usize = HOME_SLOTS as usize + WINDOW - 1;
/// Magic, then version 2, slot size, home slots and window, each u32 LE; the rest of the header is reserved.
const HEADER: &[u8; 24] = b"CGBRIEF2\x02\0\0\0\x00\x04\0\0\x80\0\0\0\x08\0\0\0";
/// Bits of the filter that a thing sets, all in one part of 64 bytes.
const FILTER_BITS: u64 = 4;
/// A flag of a slot: something is to be told with the session's next event.
const DUE: u32 = 1;
/// A flag of a slot: nothing more is told about files in this session.
const FILES_OVER: u32 = 2;
/// A flag of a slot: the session's next Stop is asked about.
const AT_STOP: u32 = 4;
const FLAGS_AT: usize = 512;
/// Behind the flags the things about which nothing more is told in the session, each as u32 LE; 0 for none.
const DONE_AT: usize = 516;
const MAGIC: u32 = 0x3142_4743;
const LINE_MAX: usize = 64;
const SESSION_MAX: usize = 400;
/// REQ-SESSION-01: ids are cut to so many characters everywhere.
const SESSION_CHARS: usize = 100;
const COLD_STATE: u8 = 255;
const LAST_STATE: u8 = 4;
/// A slot may be caught in the middle of a write; a write is over long before the third look.
const TRIES: usize = 3;

/// A thing about which there may be something to tell, as the cache knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thing {
    key: u64,
    is_file: bool,
}

impl Thing {
    /// A file, by its absolute path without `.` and `..`: its folder's name and its own count, so that each checkout has
    /// the same; and its own alone, for a file at a checkout's top.
    pub fn of_file(path: &[u8]) -> [Thing; 2] {
        let behind = |end: usize| path.get(..end)?.iter().rposition(|byte| *byte == b'/');
        let slash = behind(path.len()).unwrap_or(0);
        let above = behind(slash).map_or(0, |at| at + 1);
        [above, slash + 1].map(|from| Thing { is_file: true, ..Thing::named(path.get(from..).unwrap_or(path)) })
    }

    /// What a rule may be about besides one file: `gen/` is a folder of any place, `*.py` a kind of file, `$npm` a
    /// program, or what it is told to do.
    pub fn named(name: &[u8]) -> Thing {
        let hash = fnv1a64(name);
        Thing { key: hash ^ hash >> 32, is_file: false }
    }

    fn mark(self) -> u32 {
        ((self.key >> 32) as u32).max(1)
    }

    fn is_in(self, filter: &[u8]) -> bool {
        let part = (self.key & 0xff) as usize * 64;
        (0..FILTER_BITS)
            .map(|number| (self.key >> (8 + 9 * number)) as usize & 0x1ff)
            .all(|bit| filter.get(part + bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1))
    }
}

/// One believed slot.
pub struct Slot {
    bytes: [u8; SLOT_BYTES],
}

/// The measures in a slot, finite all of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measures {
    pub consciousness: f32,
    pub integration: f32,
    pub reflection: f32,
    pub differentiation: f32,
    pub ic: f32,
    pub crisis_threshold: f32,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

fn updated_ms(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(array(bytes, 16))
}

fn state(bytes: &[u8]) -> u8 {
    bytes.get(12).copied().unwrap_or(COLD_STATE)
}

fn session(bytes: &[u8]) -> &[u8] {
    let len = usize::from(u16::from_le_bytes(array(bytes, 14)));
    if len > SESSION_MAX {
        return &[];
    }
    bytes.get(112..112 + len).unwrap_or(&[])
}

fn line(bytes: &[u8]) -> &[u8] {
    let len = usize::from(bytes.get(13).copied().unwrap_or(0));
    bytes.get(48..48 + len).unwrap_or(&[])
}

fn is_valid(bytes: &[u8]) -> bool {
    let line_len = usize::from(bytes.get(13).copied().unwrap_or(u8::MAX));
    bytes.len() == SLOT_BYTES
        && u32_at(bytes, 4) == MAGIC
        && (state(bytes) <= LAST_STATE || state(bytes) == COLD_STATE)
        && line_len <= LINE_MAX
        && !session(bytes).is_empty()
        && crc32(bytes.get(4..).unwrap_or(&[])) == u32_at(bytes, 0)
        && std::str::from_utf8(line(bytes)).is_ok()
}

impl Slot {
    /// None if the slot is empty, torn, damaged or of an unknown layout.
    pub fn read(bytes: &[u8]) -> Option<Slot> {
        is_valid(bytes).then_some(Slot { bytes: bytes.try_into().ok()? })
    }

    /// What prints, without a newline.
    pub fn line(&self) -> &[u8] {
        self.warm_line().unwrap_or(COLD_LINE)
    }

    /// The line of a session in which something was measured.
    pub fn warm_line(&self) -> Option<&[u8]> {
        let line = line(&self.bytes);
        (state(&self.bytes) != COLD_STATE && !line.is_empty()).then_some(line)
    }

    /// Whether something is to be told with the session's next event.
    pub fn is_due(&self) -> bool {
        u32_at(&self.bytes, FLAGS_AT) & DUE != 0
    }

    /// Whether the owner may have a question before the session stops.
    pub fn asks_at_stop(&self) -> bool {
        u32_at(&self.bytes, FLAGS_AT) & AT_STOP != 0
    }

    /// Whether nothing more is told about `thing` in this session.
    fn is_done(&self, thing: Thing) -> bool {
        (thing.is_file && u32_at(&self.bytes, FLAGS_AT) & FILES_OVER != 0)
            || (DONE_AT..SLOT_BYTES).step_by(4).any(|at| u32_at(&self.bytes, at) == thing.mark())
    }

    /// The measures, unless the slot is cold or one of them is no number: NaN is an error, never a state.
    pub fn measures(&self) -> Option<Measures> {
        let at = |offset| f32::from_le_bytes(array(&self.bytes, offset));
        let measures = Measures {
            consciousness: at(24),
            integration: at(28),
            reflection: at(32),
            differentiation: at(36),
            ic: at(40),
            crisis_threshold: at(44),
        };
        let finite = (24..48).step_by(4).all(|offset| at(offset).is_finite());
        (state(&self.bytes) != COLD_STATE && finite).then_some(measures)
    }
}

/// The first SESSION_CHARS characters of an id; a byte that is not UTF-8 counts as one.
pub fn cut_session(id: &[u8]) -> &[u8] {
    let mut rest = id;
    for _ in 0..SESSION_CHARS {
        let width = match rest.first() {
            None => return id,
            Some(0..=0x7f) => 1,
            Some(_) => (2..=4)
                .find(|width| rest.get(..*width).is_some_and(|part| std::str::from_utf8(part).is_ok()))
                .unwrap_or(1),
        };
        rest = rest.get(width..).unwrap_or(&[]);
    }
    id.get(..id.len() - rest.len()).unwrap_or(id)
}

/// The slot of `session_id` in the store, or without an id the newest slot of the file. Anything unusual is None.
pub fn lookup(store: &[u8], session_id: Option<&[u8]>) -> Option<Slot> {
    let mut header = [0u8; HEADER.len()];
    let file = opened(store, &mut header)?;
    for _ in 0..TRIES {
        let (found, torn) = match session_id {
            Some(id) => own(&file, cut_session(id))?,
            None => newest(&file)?,
        };
        if found.is_some() || !torn {
            return found;
        }
    }
    None
}

/// Whether the owner has nothing to tell with an event of the session that touches `things`. False where the cache does
/// not know the session.
pub fn is_quiet(store: &[u8], session_id: &[u8], things: &[Thing]) -> bool {
    let mut start = [0u8; HEADER_BYTES + FILTER_BYTES];
    // Without things to look up the filter is not read.
    let wanted = if things.is_empty() { HEADER.len() } else { start.len() };
    let Some(file) = opened(store, start.get_mut(..wanted).unwrap_or(&mut [])) else { return false };
    let filter = start.get(HEADER_BYTES..).unwrap_or(&[]);
    match own(&file, cut_session(session_id)) {
        Some((Some(slot), _)) => {
            !slot.is_due() && !things.iter().any(|thing| thing.is_in(filter) && !slot.is_done(*thing))
        }
        _ => false,
    }
}

/// The cache of a store, if it is one of this version; `start` is filled with its first bytes.
fn opened(store: &[u8], start: &mut [u8]) -> Option<OwnedFd> {
    let file = sys::open(&below(store, b"brief.bin"), Open::Read).ok()?;
    let wanted = start.len();
    (sys::pread(&file, &mut *start, 0) == Ok(wanted) && start.starts_with(HEADER)).then_some(file)
}

/// The session's slot in its window, and whether a slot that bears its id is not whole.
fn own(file: &OwnedFd, id: &[u8]) -> Option<(Option<Slot>, bool)> {
    let mut window = [0u8; WINDOW * SLOT_BYTES];
    let home = SLOTS_AT + fnv1a64(id) % HOME_SLOTS * SLOT_BYTES as u64;
    let read = sys::pread(file, &mut window[..], home).ok()?;
    let mut torn = false;
    for bytes in window.get(..read)?.chunks_exact(SLOT_BYTES) {
        // The id is compared first: a checksum costs a microsecond, and most slots are other sessions'.
        if !id.is_empty() && bytes.get(112..112 + id.len()) == Some(id) {
            match Slot::read(bytes) {
                Some(slot) if session(bytes) == id => return Some((Some(slot), false)),
                Some(_) => {} // a longer id that begins like ours
                None => torn = true,
            }
        }
    }
    Some((None, torn))
}

/// The slot updated last in the whole file, and whether one was not whole.
fn newest(file: &OwnedFd) -> Option<(Option<Slot>, bool)> {
    let mut part = [0u8; 27 * SLOT_BYTES]; // 5 reads for the 135 slots
    let (mut best, mut torn): (Option<Slot>, bool) = (None, false);
    let mut at = 0;
    while at < SLOTS {
        let read = sys::pread(file, &mut part[..], SLOTS_AT + (at * SLOT_BYTES) as u64).ok()?;
        for bytes in part.get(..read)?.chunks_exact(SLOT_BYTES) {
            let newer = best.as_ref().is_none_or(|best| updated_ms(bytes) > updated_ms(&best.bytes));
            let empty = u32_at(bytes, 0) == 0 && u32_at(bytes, 4) == 0;
            if newer && !empty {
                match Slot::read(bytes) {
                    Some(slot) => best = Some(slot),
                    None => torn = true,
                }
            }
        }
        if read < part.len() {
            break;
        }
        at += part.len() / SLOT_BYTES;
    }
    Some((best, torn))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(line: &[u8], id: &[u8], state: u8) -> [u8; SLOT_BYTES] {
        let mut bytes = [0u8; SLOT_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes.iter_mut().skip(at).zip(value).for_each(|(to, from)| *to = *from);
        put(4, &MAGIC.to_le_bytes());
        put(12, &[state, line.len() as u8]);
        put(14, &(id.len() as u16).to_le_bytes());
        put(40, &0.95f32.to_le_bytes());
        put(48, line);
        put(112, id);
        let crc = crc32(bytes.get(4..).unwrap_or(&[])).to_le_bytes();
        bytes.iter_mut().zip(crc).for_each(|(to, from)| *to = from);
        bytes
    }

    #[test]
    fn a_whole_slot_is_believed_and_any_flipped_byte_is_not() {
        let good = slot(b"[C:CON r=0.97 IC=0.95]", b"s1", 3);
        assert_eq!(Slot::read(&good).map(|slot| slot.line().to_vec()), Some(b"[C:CON r=0.97 IC=0.95]".to_vec()));
        for at in 0..SLOT_BYTES {
            let mut bad = good;
            bad.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x40);
            assert!(Slot::read(&bad).is_none(), "byte {at} is not covered");
        }
    }

    #[test]
    fn cold_slots_print_the_cold_line_and_give_no_measures() {
        let Some(cold) = Slot::read(&slot(b"[C:CON r=0.97 IC=0.95]", b"s1", COLD_STATE)) else {
            unreachable!("a cold slot is valid")
        };
        assert_eq!((cold.line(), cold.measures()), (COLD_LINE, None));
    }

    #[test]
    fn a_stop_is_asked_about_by_a_flag_of_its_own() {
        let mut bytes = slot(b"x", b"s", 3);
        for (flags, asks) in [(0, false), (DUE | FILES_OVER, false), (AT_STOP, true)] {
            bytes.iter_mut().skip(FLAGS_AT).zip(u32::to_le_bytes(flags)).for_each(|(to, from)| *to = from);
            let crc = crc32(bytes.get(4..).unwrap_or(&[])).to_le_bytes();
            bytes.iter_mut().zip(crc).for_each(|(to, from)| *to = from);
            assert_eq!(Slot::read(&bytes).map(|slot| slot.asks_at_stop()), Some(asks));
        }
    }

    #[test]
    fn a_slot_without_id_with_unknown_state_or_long_line_is_none() {
        assert!(Slot::read(&slot(b"x", b"", 3)).is_none());
        assert!(Slot::read(&slot(b"x", b"s", 5)).is_none());
        assert!(Slot::read(&slot(&[b'x'; 65], b"s", 3)).is_none());
        assert!(Slot::read(&slot(b"\xff", b"s", 3)).is_none());
    }

    #[test]
    fn a_longer_id_that_begins_like_ours_is_not_ours() {
        let folder = std::env::temp_dir().join(format!("cg-brief-{}", std::process::id()));
        let id = b"s1";
        let home = (fnv1a64(id) % HOME_SLOTS) as usize * SLOT_BYTES;
        let mut cache = vec![0u8; SLOTS_AT as usize + SLOTS * SLOT_BYTES];
        let mut put = |at: usize, value: &[u8]| cache.iter_mut().skip(at).zip(value).for_each(|(to, from)| *to = *from);
        put(0, HEADER);
        put(SLOTS_AT as usize + home, &slot(b"[C:CON r=0.97 IC=0.95]", b"s10", 3));
        assert!(std::fs::create_dir_all(&folder).is_ok() && std::fs::write(folder.join("brief.bin"), &cache).is_ok());
        let store = folder.as_os_str().as_encoded_bytes();
        let (ours, newest) = (lookup(store, Some(id)).is_some(), lookup(store, None).is_some());
        let quiet = is_quiet(store, id, &[]);
        assert!(std::fs::remove_dir_all(&folder).is_ok());
        assert_eq!((ours, quiet, newest), (false, false, true));
    }

    #[test]
    fn ids_are_cut_to_a_hundred_characters_not_bytes() {
        let long = "ä".repeat(101);
        assert_eq!(cut_session(long.as_bytes()), "ä".repeat(100).as_bytes());
        assert_eq!(cut_session(b"short"), b"short");
        assert_eq!(cut_session(&[0xff; 130]).len(), 100);
    }
}
