//! What must never panic, hang or let something through: the readers of foreign bytes, on random ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use launcher::brief::{cut_session, Slot};
use launcher::json::{reduced, top_text, walk};
use launcher::{copy, wire};
use redaction::{mask, Care};

/// A small generator with a fixed seed: a failure is found again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const PIECES: [&str; 40] = [
    "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u", "d83d", "\\ude00", "null", "-1.5e3", "true", " ", "\n", "ä", "😀",
    "password", "key", "=", "'", "`", "://", "@", "sk-", "ghp_0123456789abcdefABCD", "BEGIN PRIVATE KEY-----",
    "-----END", "Bearer ", "--token ", "<secret>", "</", "a1B2c3D4e5F6g7H8i9J0", "/usr/lib/x86", "eyJ", "curl -u a:b",
    "\t", "(", ";",
];

fn soup(random: &mut Random, most: usize) -> String {
    (0..random.below(most)).map(|_| random.pick(&PIECES)).collect()
}

#[test]
fn readers_of_text_survive_any_text() {
    let mut random = Random(1);
    for _ in 0..20_000 {
        let text = soup(&mut random, 40);
        for care in [Care::Full, Care::IdsKept] {
            let mut out = Vec::new();
            mask(text.as_bytes(), care, &mut out);
            assert!(std::str::from_utf8(&out).is_ok(), "{text}");
        }
        let _ = (walk(text.as_bytes(), &mut ()), reduced(text.as_bytes()), top_text(text.as_bytes(), b"x"));
        assert!(cut_session(text.as_bytes()).len() <= text.len());
    }
}

/// Of any JSON object the copy is again a JSON object, on one line.
#[test]
fn the_redacted_copy_of_an_object_is_an_object_on_one_line() {
    let mut random = Random(2);
    for _ in 0..5_000 {
        let mut json = "{".to_owned();
        for field in 0..random.below(6) {
            let (mut name, mut value) = (Vec::new(), Vec::new());
            launcher::json::text::quote(soup(&mut random, 4).as_bytes(), &mut name);
            launcher::json::text::quote(soup(&mut random, 30).as_bytes(), &mut value);
            let comma = if field > 0 { ",\n" } else { "" };
            let value = String::from_utf8(value).unwrap();
            let value =
                random.pick(&[&value[..], "[1, {\"key\": \"x y\"}]", "-12.5E+3", "null", "98765432109876543210"]);
            json += &format!("{comma}{} : {value}", String::from_utf8(name).unwrap());
        }
        json += " }";
        let mut out = Vec::new();
        copy::redacted(json.as_bytes(), &mut out).expect(&json);
        assert!(walk(&out, &mut ()).is_ok(), "{json} -> {}", String::from_utf8_lossy(&out));
        assert!(!out.contains(&b'\n'), "{json}");
    }
}

#[test]
fn readers_of_bytes_survive_any_bytes() {
    let mut random = Random(3);
    let (response, brief) = (support::golden("response_v1.bin"), support::golden("brief_v2.bin"));
    for _ in 0..20_000 {
        let mut frame = response.clone();
        for _ in 0..random.below(4) {
            let at = random.below(frame.len());
            frame[at] = random.below(256) as u8;
        }
        frame.truncate(random.below(frame.len() + 1));
        let _ = wire::decode(&frame);
        let mut slot = brief[4096 + 16_384 + 1024 * random.below(135)..][..1024].to_vec();
        slot[random.below(1024)] ^= 1 << random.below(8);
        slot.truncate(1024 - random.below(2));
        assert!(Slot::read(&slot).is_none(), "a changed slot is never believed");
    }
}
