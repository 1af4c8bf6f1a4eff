//! Encodes frames of the owner's socket. Twin of context_graph.wire.frames, both held to tests/golden/request_v1.bin and
//! response_v1.bin. Numbers are on the wire: never renumber.

/// Longest payload of a frame.
pub const PAYLOAD_MAX: usize = 16 * 1024 * 1024;
/// Magic and payload length.
pub const HEADER: usize = 8;
const RESPONSE_MAGIC: &[u8; 4] = b"CGR1";

/// The event is durable.
pub const APPLIED: u8 = 1;
/// The event was not applied: keep it.
pub const KEEP_IT: u8 = 2;
/// The owner is older than this client and leaving: keep the event, start a new owner.
pub const YIELDING: u8 = 4;

/// One request. An empty field, and a number that is 0, is not sent.
#[derive(Default)]
pub struct Request<'a> {
    pub verb: &'a [u8],
    pub event_id: &'a [u8],
    pub params: &'a [u8],
    pub body: &'a [u8],
    pub store: &'a [u8],
    pub project: &'a [u8],
    pub session_env: &'a [u8],
    pub cwd: &'a [u8],
    pub env: &'a [u8],
    pub deadline_ms: u32,
    pub at_ms: i64,
    pub version: &'a [u8],
    /// Process that started this one: the client, or a shell below it.
    pub parent: u32,
}

fn field(tag: u8, value: &[u8], out: &mut Vec<u8>) {
    if !value.is_empty() {
        field_head(tag, value.len(), out);
        out.extend_from_slice(value);
    }
}

fn field_head(tag: u8, len: usize, out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(len as u32).to_le_bytes());
}

/// What stands before and behind the body in the frame of `request`, fields in the order of their tags; None above
/// PAYLOAD_MAX. The body itself is sent from where it lies.
pub fn encode(request: &Request<'_>) -> Option<[Vec<u8>; 2]> {
    let mut before = Vec::with_capacity(256 + request.params.len());
    before.extend_from_slice(b"CGQ1\0\0\0\0");
    field(1, request.verb, &mut before);
    field(2, request.event_id, &mut before);
    field(3, request.params, &mut before);
    if !request.body.is_empty() {
        field_head(4, request.body.len(), &mut before);
    }
    let mut behind = Vec::with_capacity(512);
    field(5, request.store, &mut behind);
    field(6, request.project, &mut behind);
    field(7, request.session_env, &mut behind);
    field(8, request.cwd, &mut behind);
    field(9, request.env, &mut behind);
    if request.deadline_ms != 0 {
        field(10, &request.deadline_ms.to_le_bytes(), &mut behind);
    }
    if request.at_ms != 0 {
        field(11, &request.at_ms.to_le_bytes(), &mut behind);
    }
    field(12, request.version, &mut behind);
    if request.parent != 0 {
        field(13, &request.parent.to_le_bytes(), &mut behind);
    }
    let payload = before.len() - HEADER + request.body.len() + behind.len();
    if payload > PAYLOAD_MAX {
        return None;
    }
    before.iter_mut().skip(4).zip((payload as u32).to_le_bytes()).for_each(|(to, from)| *to = from);
    Some([before, behind])
}

/// A whole response, still in the buffer it was read into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response<'a> {
    pub exit_code: u8,
    pub flags: u8,
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
}

/// What the bytes read so far amount to.
#[derive(PartialEq, Eq, Debug)]
pub enum Progress<'a> {
    Whole(Response<'a>),
    More,
    Malformed(&'static str),
}

/// Looks at the bytes read so far.
pub fn decode(bytes: &[u8]) -> Progress<'_> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else {
        let known = bytes.len().min(4);
        let fits = bytes.get(..known) == RESPONSE_MAGIC.get(..known);
        return if fits { Progress::More } else { Progress::Malformed("no response frame") };
    };
    if !header.starts_with(RESPONSE_MAGIC) {
        return Progress::Malformed("no response frame");
    }
    let Some((_, len)) = u32_before(header, 4) else { return Progress::More };
    if len > PAYLOAD_MAX {
        return Progress::Malformed("a response above 16 MiB");
    }
    match rest.len() {
        have if have < len => Progress::More,
        have if have > len => Progress::Malformed("bytes behind the response"),
        _ => payload(rest).map_or(Progress::Malformed("a response that ends too early or too late"), Progress::Whole),
    }
}

fn payload(bytes: &[u8]) -> Option<Response<'_>> {
    let (head, rest) = bytes.split_at_checked(4)?;
    let (stdout, rest) = counted(rest)?;
    let (stderr, rest) = counted(rest)?;
    let (exit_code, flags) = (*head.first()?, *head.get(1)?);
    rest.is_empty().then_some(Response { exit_code, flags, stdout, stderr })
}

fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, len) = u32_before(bytes, 0)?;
    rest.split_at_checked(len)
}

/// The number at `at`, and what follows it.
fn u32_before(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let raw: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some((bytes.get(at + 4..)?, u32::from_le_bytes(raw) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(payload: &[u8]) -> Vec<u8> {
        [RESPONSE_MAGIC, &(payload.len() as u32).to_le_bytes()[..], payload].concat()
    }

    #[test]
    fn a_response_is_whole_only_with_its_last_byte() {
        let bytes = response(b"\x06\x01\0\0\x02\0\0\0ab\x01\0\0\0c");
        for end in 0..bytes.len() {
            assert_eq!(decode(bytes.get(..end).unwrap_or(&[])), Progress::More, "{end}");
        }
        let whole = Response { exit_code: 6, flags: 1, stdout: b"ab", stderr: b"c" };
        assert_eq!(decode(&bytes), Progress::Whole(whole));
    }

    #[test]
    fn malformed_responses_are_told_at_once() {
        for bytes in [
            b"{".to_vec(),
            b"CGX".to_vec(),
            b"CGQ1\0\0\0\0".to_vec(),
            b"CGR1\xff\xff\xff\xff".to_vec(),
            response(b""),
            response(b"\0\0\0\0\x05\0\0\0ab\0\0\0\0"),
            response(b"\0\0\0\0\xff\xff\xff\xffab"),
            response(b"\0\0\0\0\0\0\0\0\0\0\0\0x"),
            [response(b"\0\0\0\0\0\0\0\0\0\0\0\0"), b"x".to_vec()].concat(),
        ] {
            assert!(matches!(decode(&bytes), Progress::Malformed(_)), "{bytes:?}");
        }
    }

    #[test]
    fn unset_fields_are_not_sent_and_too_much_is_refused() {
        let empty = Request { verb: b"owner.ping", ..Request::default() };
        let bytes = encode(&empty).map(|around| around.concat());
        assert_eq!(bytes.as_deref(), Some(&b"CGQ1\x0f\0\0\0\x01\x0a\0\0\0owner.ping"[..]));
        let big = vec![0; PAYLOAD_MAX];
        assert!(encode(&Request { body: &big, ..empty }).is_none());
    }
}
