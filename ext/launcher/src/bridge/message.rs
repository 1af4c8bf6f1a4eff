//! Classifies lines of JSON-RPC for the bridge: whose answer a line is, and whether it may be sent again.

use crate::json::{self, text, Token};

/// Digits of a number that every reader takes for the same whole number.
const DIGITS_MAX: usize = 18;

/// A request's id: a text (unescaped) or a whole number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Id {
    Text(Vec<u8>),
    Number(Vec<u8>),
}

impl Id {
    fn from_token(token: Token<'_>) -> Option<Id> {
        match token {
            Token::Text(raw) => Some(Id::Text(text::unescaped(raw, usize::MAX))),
            Token::Scalar(raw) => {
                let digits = raw.strip_prefix(b"-").unwrap_or(raw);
                let whole = !digits.is_empty() && digits.len() <= DIGITS_MAX && digits.iter().all(u8::is_ascii_digit);
                whole.then(|| Id::Number(raw.to_vec()))
            }
            _ => None,
        }
    }

    /// As it stands in JSON.
    pub fn json(&self) -> Vec<u8> {
        match self {
            Id::Number(digits) => digits.clone(),
            Id::Text(value) => text::quoted(value),
        }
    }
}

/// What the client sent.
#[derive(PartialEq, Eq, Debug)]
pub enum Sent {
    /// It waits for an answer that bears this id.
    Request { id: Id, method: Vec<u8> },
    /// Several at once, of which these wait; their answers come together.
    Batch(Vec<Id>),
    /// It no longer waits for this answer.
    Cancelled(Id),
    /// Nothing that is answered, or nothing that we understand: the owner will say what is wrong with it.
    Other,
}

/// What the owner sent.
#[derive(PartialEq, Eq, Debug)]
pub enum Got {
    Answer(Id),
    Batch,
    /// The one error for a batch that is not taken; it bears no id.
    RefusedBatch,
    Other,
}

/// What a message's fields say of it.
#[derive(Default)]
struct Head {
    id: Option<Id>,
    method: Option<Vec<u8>>,
    answers: bool,
    of_batch: bool,
    cancelled: Option<Id>,
}

impl Head {
    fn of(line: &[u8]) -> Option<Head> {
        let mut head = Head::default();
        let on_field = |path: &[&[u8]], token: Token<'_>| match (path, token) {
            ([b"result" | b"error"], _) => head.answers = true,
            ([b"error", b"data", b"batch"], Token::Scalar(b"true")) => head.of_batch = true,
            ([b"id"], Token::Text(_) | Token::Scalar(_)) => head.id = Id::from_token(token),
            ([b"method"], Token::Text(raw)) => head.method = Some(raw.to_vec()),
            ([b"params", b"requestId"], Token::Text(_) | Token::Scalar(_)) => head.cancelled = Id::from_token(token),
            _ => {}
        };
        json::fields(line, on_field).ok().map(|()| head)
    }
}

/// The ids of a batch's messages. It is wrapped as {"b":[…]}, for only an object is read.
fn ids(batch: &[u8]) -> Option<Vec<Id>> {
    let mut found = Vec::new();
    let on_field = |path: &[&[u8]], token: Token<'_>| {
        if let [_, _, b"id"] = path {
            found.extend(Id::from_token(token));
        }
    };
    json::fields(&[b"{\"b\":", batch, b"}"].concat(), on_field).ok().map(|()| found)
}

/// Looks at a line of the client's.
pub fn sent(line: &[u8]) -> Sent {
    if line.starts_with(b"[") {
        return ids(line).map_or(Sent::Other, Sent::Batch);
    }
    let Some(head) = Head::of(line) else { return Sent::Other };
    match (head.method, head.id) {
        (Some(method), Some(id)) => Sent::Request { id, method },
        (Some(method), None) if method == b"notifications/cancelled" => {
            head.cancelled.map_or(Sent::Other, Sent::Cancelled)
        }
        _ => Sent::Other,
    }
}

/// Looks at a line of the owner's. Its answers all begin alike, so that long ones need not be walked through.
pub fn got(line: &[u8]) -> Got {
    if line.starts_with(b"[") {
        return Got::Batch;
    }
    if let Some(rest) = line.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":") {
        let end = rest.iter().position(|byte| matches!(byte, b',' | b'"')).unwrap_or(0);
        if let (Some(b','), Some(raw)) = (rest.get(end), rest.get(..end)) {
            if let Some(id) = Id::from_token(Token::Scalar(raw)) {
                return Got::Answer(id);
            }
        }
    }
    match Head::of(line) {
        Some(Head { id: None, of_batch: true, .. }) => Got::RefusedBatch,
        Some(Head { id: Some(id), answers: true, .. }) => Got::Answer(id),
        _ => Got::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(digits: &[u8]) -> Id {
        Id::Number(digits.to_vec())
    }

    #[test]
    fn a_request_is_told_by_its_id_and_method() {
        let request = |id, method: &[u8]| Sent::Request { id, method: method.to_vec() };
        assert_eq!(sent(br#"{"method":"ping","id":0,"jsonrpc":"2.0"}"#), request(number(b"0"), b"ping"));
        assert_eq!(
            sent(br#"{"id":"a\u0062","method":"m","params":{"id":9,"method":"x"}}"#),
            request(Id::Text(b"ab".to_vec()), b"m")
        );
        assert_eq!(sent(br#"{"id":null,"method":"m"}"#), Sent::Other);
        assert_eq!(sent(br#"{"id":1.5,"method":"m"}"#), Sent::Other);
        assert_eq!(sent(br#"{"id":12345678901234567890,"method":"m"}"#), Sent::Other);
        assert_eq!(sent(b"{\"id\":1,\"method\":\"m\""), Sent::Other);
        assert_eq!(sent(b"hello"), Sent::Other);
    }

    #[test]
    fn notifications_that_matter_are_known() {
        assert_eq!(sent(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), Sent::Other);
        let cancel = br#"{"method":"notifications/cancelled","params":{"reason":{"requestId":1},"requestId":7}}"#;
        assert_eq!(sent(cancel), Sent::Cancelled(number(b"7")));
        assert_eq!(sent(br#"{"method":"notifications/cancelled","params":{}}"#), Sent::Other);
    }

    #[test]
    fn a_batch_waits_only_if_one_of_it_does() {
        assert_eq!(sent(br#"[{"method":"a"},{"method":"b","id":1}]"#), Sent::Batch(vec![number(b"1")]));
        assert_eq!(sent(br#"[{"method":"a","params":{"id":1}}]"#), Sent::Batch(vec![]));
        assert_eq!(sent(b"[1"), Sent::Other);
    }

    #[test]
    fn answers_are_matched_by_id_and_notifications_are_none() {
        assert_eq!(got(br#"{"jsonrpc":"2.0","id":12,"result":{"a":"}"}}"#), Got::Answer(number(b"12")));
        assert_eq!(got(br#"{"jsonrpc":"2.0","id":"a,b","error":{}}"#), Got::Answer(Id::Text(b"a,b".to_vec())));
        assert_eq!(got(br#"{"result":{},"id":3}"#), Got::Answer(number(b"3")));
        assert_eq!(got(br#"{"jsonrpc":"2.0","id":null,"error":{}}"#), Got::Other);
        assert_eq!(got(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1}}"#), Got::Other);
        assert_eq!(got(br#"[{"id":1}]"#), Got::Batch);
        let refused = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":{"batch":true}}}"#;
        assert_eq!(got(refused), Got::RefusedBatch);
    }

    #[test]
    fn ids_come_back_as_json() {
        assert_eq!(Id::Text(b"a\"b".to_vec()).json(), br#""a\"b""#);
        assert_eq!(number(b"-4").json(), b"-4");
    }
}
