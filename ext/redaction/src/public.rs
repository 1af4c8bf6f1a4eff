//! Knows what everybody may read: hashes of lock files, public SSH keys, certificates, pictures.

use crate::bytes::{byte, part, position_back, run, run_back, run_of};

/// Behind a hash's prefix so many bytes may belong to it; SHA-512 has 88 in base64.
const HASH_REACH: usize = 128;
const SSH_REACH: usize = 4096;
const PEM_REACH: usize = 8192;
const HASHES: [&[u8]; 12] = [
    b"sha1-", b"sha1:", b"sha256-", b"sha256:", b"sha384-", b"sha384:", b"sha512-", b"sha512:", b"md5-", b"md5:",
    b"SHA256:", b"h1:",
];
/// How the name of an SSH key's kind begins in base64 (ssh, ecdsa, sk); its length stands before it.
const SSH_KINDS: [&[u8]; 4] = [b"NzaC", b"VjZH", b"NrLW", b"NrLX"];
const MEDIA: [&[u8]; 4] = [b"image/", b"font/", b"audio/", b"video/"];
const DASHES: &[u8] = b"-----BEGIN ";
const PUBLIC_BLOCKS: [&[u8]; 13] = [
    b"CERTIFICATE-----",
    b"CERTIFICATE REQUEST-----",
    b"NEW CERTIFICATE REQUEST-----",
    b"TRUSTED CERTIFICATE-----",
    b"X509 CRL-----",
    b"PUBLIC KEY-----",
    b"RSA PUBLIC KEY-----",
    b"DSA PUBLIC KEY-----",
    b"EC PUBLIC KEY-----",
    b"SSH2 PUBLIC KEY-----",
    b"PGP PUBLIC KEY BLOCK-----",
    b"PGP SIGNATURE-----",
    b"SSH SIGNATURE-----",
];

pub(crate) fn in_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/".contains(&byte)
}

/// Where the public hash, SSH key, picture or PEM block ends that holds the run at `at`; 0 if there is none. Nothing
/// before `floor` is looked at.
///
/// Base64 has slashes, and lines: what tells that it is public may stand far to the left of the run.
pub(crate) fn public_end(text: &[u8], at: usize, floor: usize) -> usize {
    let begin = run_back(text, at, floor.max(at.saturating_sub(SSH_REACH)), in_base64);
    let head = part(text, begin.saturating_sub(8), begin);
    if at - begin < HASH_REACH && HASHES.iter().any(|hash| head.ends_with(hash)) {
        return base64_end(text, at, begin + HASH_REACH);
    }
    if is_media(part(text, begin.saturating_sub(64), begin)) {
        return base64_end(text, at, text.len());
    }
    if is_ssh_key(part(text, begin, begin + 10)) {
        return base64_end(text, at, begin + SSH_REACH);
    }
    block_end(text, at, floor)
}

/// Whether `at` is inside something public: base64 has all short prefixes and names.
pub(crate) fn is_public(text: &[u8], at: usize) -> bool {
    let inside = at.checked_sub(1).map(|at| byte(text, at));
    inside.is_none_or(|byte| byte.is_ascii_alphanumeric() || b"+/\r\n".contains(&byte)) && public_end(text, at, 0) > at
}

fn base64_end(text: &[u8], at: usize, limit: usize) -> usize {
    run_of(text, at, limit.saturating_sub(at), in_base64)
}

/// `data:image/png;base64,` at the end.
fn is_media(before: &[u8]) -> bool {
    let Some(head) = before.strip_suffix(b";base64,") else { return false };
    let kind = run_back(head, head.len(), 0, |byte| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte));
    let left = part(head, 0, kind);
    kind < head.len()
        && MEDIA.iter().any(|media| left.strip_suffix(*media).is_some_and(|left| left.ends_with(b"data:")))
}

fn is_ssh_key(run: &[u8]) -> bool {
    let length = matches!(byte(run, 4), b'A'..=b'K') && byte(run, 5).is_ascii_alphanumeric();
    run.starts_with(b"AAAA") && length && SSH_KINDS.contains(&part(run, 6, 10))
}

fn block_end(text: &[u8], at: usize, floor: usize) -> usize {
    let Some(dashes) = position_back(text, at, floor.max(at.saturating_sub(PEM_REACH)), DASHES) else { return 0 };
    let title = dashes + DASHES.len();
    let Some(kind) = PUBLIC_BLOCKS.iter().find(|kind| part(text, title, text.len()).starts_with(kind)) else {
        return 0;
    };
    body_end(text, title + kind.len()).filter(|end| *end > at).unwrap_or(0)
}

/// Between lines of base64: white space, what quotes and comments put there, escaped line ends.
fn gap_end(text: &[u8], mut at: usize) -> usize {
    loop {
        let end = run(text, at, |byte| byte.is_ascii_whitespace() || byte == 0x0b || b"\"',|>".contains(&byte));
        let slashes = run(text, end, |byte| byte == b'\\');
        let escaped = slashes > end && b"nrt".contains(&byte(text, slashes));
        if !escaped {
            return end;
        }
        at = slashes + 1;
    }
}

/// Lines of base64, the last one short, up to the block's end or the text's; prose is no body.
fn body_end(text: &[u8], at: usize) -> Option<usize> {
    let mut at = gap_end(text, at);
    loop {
        let line = run(text, at, in_base64);
        let next = gap_end(text, line);
        let end = closing(text, line);
        if end.is_some() || line - at < 40 {
            return end;
        }
        at = next;
    }
}

/// Behind the last line at `at`: padding, a checksum, the closing dashes or the text's end.
fn closing(text: &[u8], at: usize) -> Option<usize> {
    let padded = run_of(text, at, 2, |byte| byte == b'=');
    let mut end = gap_end(text, padded);
    if byte(text, end) == b'=' && run_of(text, end + 1, 4, in_base64) == end + 5 {
        end = gap_end(text, end + 5);
    }
    if part(text, end, end + 9) == b"-----END " {
        return Some(end + 9);
    }
    (end >= text.len()).then_some(text.len())
}
