//! Reads what the start of a session is told from the file that the owner left in the store when it ended.
//!
//! Twin of context_graph.wire.store_folder: tests/integration/owner/test_prepared_start.py has one read the other.
//! A heading with the checksum of all behind it; what the text rests on, a line each; an empty line; the text. What
//! is not as it was makes all of it untrue.

use crate::env::Env;
use crate::hash::{crc32, hex};
use crate::pathname::below;
use crate::repository;
use crate::sys::{self, Open};

const NAME: &[u8] = b"start.txt";
const HEADING: &[u8] = b"CGSTART1 ";
const MAX: usize = 64 * 1024;

/// The text, if there is one and it holds for a session that starts in the folder `cwd`.
pub fn text(store: &[u8], cwd: &[u8], env: &Env<'_>) -> Option<Vec<u8>> {
    let file = sys::open(&below(store, NAME), Open::Read).ok()?;
    let mut whole = vec![0; MAX];
    let length = sys::pread(&file, &mut whole[..], 0).ok()?;
    let (heading, rest) = split(whole.get(..length)?, b'\n')?;
    if heading.strip_prefix(HEADING)? != hex::<4, 8>(crc32(rest).to_be_bytes()) {
        return None;
    }
    let end = rest.windows(2).position(|two| two == b"\n\n")?;
    let (facts, text) = (rest.get(..end)?, rest.get(end + 2..)?);
    let branch = repository::branch(cwd).unwrap_or_default();
    let holds = |fact| split(fact, b' ').is_some_and(|(name, value)| is_so(name, value, &branch, env));
    facts.split(|byte| *byte == b'\n').all(holds).then(|| text.to_vec())
}

/// Whether what the line `name value` says is still so. What a later version may say is not known to be.
fn is_so(name: &[u8], value: &[u8], branch: &[u8], env: &Env<'_>) -> bool {
    match name {
        b"branch" => value == branch,
        b"account" => value == env.config_dir.unwrap_or_default(),
        b"file" => is_as_it_was(value),
        b"memory" => true, // for the owner
        _ => false,
    }
}

/// Whether a file is as it was: `SECONDS.NANOSECONDS SIZE PATH`, or `- - PATH` if there was none.
fn is_as_it_was(value: &[u8]) -> bool {
    let mut parts = value.splitn(3, |byte| *byte == b' ');
    let (Some(time), Some(size), Some(path)) = (parts.next(), parts.next(), parts.next()) else { return false };
    let now = sys::stat(path).map_or_else(
        |_| "- -".to_owned(),
        |stat| format!("{}.{:09} {}", stat.st_mtime, stat.st_mtime_nsec, stat.st_size),
    );
    [time, b" ", size].concat() == now.as_bytes()
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == at)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_of_another_kind_is_not_known_to_hold() {
        let env = Env { config_dir: Some(b"/home/ada/.claude"), ..Env::default() };
        assert!(is_so(b"branch", b"main", b"main", &env) && !is_so(b"branch", b"main", b"", &env));
        assert!(is_so(b"account", b"/home/ada/.claude", b"", &env) && !is_so(b"account", b"", b"", &env));
        assert!(is_so(b"file", b"- - /no/such/file", b"", &env) && !is_so(b"file", b"1.000000000 2 /", b"", &env));
        assert!(!is_so(b"weather", b"fine", b"", &env));
    }
}
