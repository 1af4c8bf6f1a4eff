//! Finds what the user marked as private: `<private>…</private>`, in whatever case, over any number of lines.

use crate::bytes::{byte, is_space, lower_starts, position, run};
use crate::Spans;

const NAME: &[u8] = b"private";

/// A mark that nothing closes holds to the end of the text: whoever opened it meant to hide something.
pub(crate) fn find(text: &[u8], spans: &mut Spans) {
    let (mut at, mut open, mut depth) = (0, 0, 0_usize);
    while let Some(sign) = position(text, at, b"<") {
        at = sign + 1;
        let closing = byte(text, at) == b'/';
        let name = at + usize::from(closing);
        let end = run(text, name + NAME.len(), is_space);
        if !lower_starts(text, name, NAME) || byte(text, end) != b'>' {
            continue;
        }
        at = end + 1;
        if !closing {
            open = if depth == 0 { sign } else { open };
            depth += 1;
        } else if depth > 0 {
            depth -= 1;
            if depth == 0 {
                spans.add(open, at, "private");
            }
        }
    }
    if depth > 0 {
        spans.add(open, text.len(), "private");
    }
}
