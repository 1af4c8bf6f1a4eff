//! Keeps the requests that wait for answers, and what a new owner must learn of the old one's conversation.

use super::message::{got, sent, Got, Id, Sent};
use crate::json::text::quoted;

/// How often a request is sent: one that two owners in a row did not survive may be why.
const SENDS_MAX: u8 = 2;

/// How an answer will be known.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Key {
    Id(Id),
    Batch(Vec<Id>),
}

/// A request in flight: its line, kept to be sent again.
struct Flight {
    key: Key,
    method: Vec<u8>,
    line: Vec<u8>,
    sends: u8,
}

/// The conversation as far as it has to outlive an owner.
#[derive(Default)]
pub struct Flights {
    flying: Vec<Flight>,
    /// `initialize` as it was sent, once answered.
    initialize: Option<(Id, Vec<u8>)>,
    /// The last logging/setLevel, once answered.
    log_level: Option<(Id, Vec<u8>)>,
    /// Answers that the client has had already, from an owner before or from us.
    swallow: Vec<Id>,
}

impl Flights {
    /// Requests that wait.
    pub fn count(&self) -> usize {
        self.flying.len()
    }

    /// Bytes of their lines.
    pub fn bytes(&self) -> usize {
        self.flying.iter().map(|flight| flight.line.len()).sum()
    }

    /// Notes a line (with its newline) that is about to go to the owner.
    pub fn sent(&mut self, line: &[u8]) {
        let (key, method) = match sent(line.trim_ascii()) {
            Sent::Request { id, method } => (Key::Id(id), method),
            Sent::Batch(ids) if !ids.is_empty() => (Key::Batch(ids), b"batch".to_vec()),
            Sent::Cancelled(id) => return self.cancel(&id),
            Sent::Batch(_) | Sent::Other => return,
        };
        self.flying.push(Flight { key, method, line: line.to_vec(), sends: 1 });
    }

    /// No answer to that request comes any more; a batch of which all are cancelled gets none.
    fn cancel(&mut self, id: &Id) {
        self.flying.retain_mut(|flight| match &mut flight.key {
            Key::Id(own) => own != id,
            Key::Batch(ids) => {
                ids.retain(|own| own != id);
                !ids.is_empty()
            }
        });
    }

    /// Notes a line of the owner's; whether it is for the client.
    pub fn got(&mut self, line: &[u8]) -> bool {
        let found = match got(line) {
            Got::Answer(id) => {
                if let Some(at) = self.swallow.iter().position(|known| *known == id) {
                    self.swallow.swap_remove(at);
                    return false;
                }
                self.flying.iter().position(|flight| flight.key == Key::Id(id.clone()))
            }
            Got::Batch => match self.flying.iter().position(|flight| matches!(flight.key, Key::Batch(_))) {
                None => return false, // late: it has been answered by us
                found => found,
            },
            Got::RefusedBatch => self.flying.iter().position(|flight| matches!(flight.key, Key::Batch(_))),
            Got::Other => None,
        };
        let Some(at) = found else { return true };
        let flight = self.flying.remove(at);
        if let Key::Id(id) = flight.key {
            match flight.method.as_slice() {
                b"initialize" => self.initialize = Some((id, flight.line)),
                b"logging/setLevel" => self.log_level = Some((id, flight.line)),
                _ => {}
            }
        }
        true
    }

    /// An owner has gone: what can't be sent once more, with the answers for it.
    pub fn lost_owner(&mut self) -> Vec<u8> {
        self.swallow.clear();
        let (again, given_up): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.flying).into_iter().partition(|flight| flight.sends < SENDS_MAX);
        self.flying = again;
        let why = "the owner ended twice while it served this; its log says why. What was asked may have been done";
        let text = format!("Internal error: {why}");
        given_up.iter().flat_map(|flight| flight.failure(-32603, &text, why)).collect()
    }

    /// No owner can be reached: answers for all that wait.
    pub fn give_up(&mut self, why: &str) -> Vec<u8> {
        self.answer_all("no owner can be reached", why)
    }

    /// The owner is there and silent: answers for all that wait. Its own, should they come yet, are kept from the client.
    pub fn abandon(&mut self, why: &str) -> Vec<u8> {
        for flight in &self.flying {
            if let Key::Id(id) = &flight.key {
                self.swallow.push(id.clone());
            }
        }
        self.answer_all("the owner process does not answer", why)
    }

    fn answer_all(&mut self, what: &str, why: &str) -> Vec<u8> {
        let of = |flight: Flight| {
            // A client may show the message alone.
            let method = String::from_utf8_lossy(&flight.method);
            flight.failure(-32002, &format!("Storage error: {method} failed - {what}: {why}"), why)
        };
        std::mem::take(&mut self.flying).into_iter().flat_map(of).collect()
    }

    /// What a new owner is sent first: the handshake it has not seen, then what still waits. Not the client's
    /// `initialized`: what an owner says to that, the client has been told.
    pub fn replay(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for (id, line) in self.initialize.iter().chain(&self.log_level) {
            out.extend_from_slice(line);
            self.swallow.push(id.clone());
        }
        for flight in &mut self.flying {
            out.extend_from_slice(&flight.line);
            flight.sends += 1;
        }
        out
    }
}

impl Flight {
    fn failure(&self, code: i32, message: &str, detail: &str) -> Vec<u8> {
        let one = |id: &Id| failure(&id.json(), code, message, detail);
        let mut line = match &self.key {
            Key::Id(id) => one(id),
            Key::Batch(ids) => {
                [b"[", ids.iter().map(one).collect::<Vec<_>>().join(&b","[..]).as_slice(), b"]"].concat()
            }
        };
        line.push(b'\n');
        line
    }
}

/// An error answer; `id` is JSON.
pub fn failure(id: &[u8], code: i32, message: &str, detail: &str) -> Vec<u8> {
    let (message, detail) = (quoted(message.as_bytes()), quoted(detail.as_bytes()));
    [
        b"{\"jsonrpc\":\"2.0\",\"id\":",
        id,
        format!(",\"error\":{{\"code\":{code},\"message\":").as_bytes(),
        &message,
        b",\"data\":{\"error\":\"ERR-CORE-001\",\"detail\":",
        &detail,
        b",\"recovery\":\"Try again; context-graph-cli owner status tells more\"}}}",
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIALIZE: &[u8] = b"{\"id\":0,\"method\":\"initialize\"}\n";
    const CALL: &[u8] = b"{\"id\":7,\"method\":\"tools/call\"}\n";

    fn opened() -> Flights {
        let mut flights = Flights::default();
        flights.sent(INITIALIZE);
        assert!(flights.got(br#"{"jsonrpc":"2.0","id":0,"result":{}}"#));
        flights.sent(b"{\"method\":\"notifications/initialized\"}\n");
        flights
    }

    #[test]
    fn a_new_owner_hears_the_handshake_and_what_waits_and_the_client_hears_each_answer_once() {
        let mut flights = opened();
        flights.sent(CALL);
        assert!(flights.lost_owner().is_empty());
        assert_eq!(flights.replay(), [INITIALIZE, CALL].concat());
        assert!(!flights.got(br#"{"jsonrpc":"2.0","id":0,"result":{}}"#));
        assert!(flights.got(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#));
        assert_eq!(flights.count(), 0);
        assert_eq!(flights.replay(), INITIALIZE);
    }

    #[test]
    fn an_initialize_that_was_never_answered_is_sent_again_and_answered() {
        let mut flights = Flights::default();
        flights.sent(INITIALIZE);
        assert!(flights.lost_owner().is_empty());
        assert_eq!(flights.replay(), INITIALIZE);
        assert!(flights.got(br#"{"jsonrpc":"2.0","id":0,"result":{}}"#));
    }

    #[test]
    fn a_request_that_two_owners_did_not_survive_gets_an_error() {
        let mut flights = opened();
        flights.sent(CALL);
        assert!(flights.lost_owner().is_empty());
        flights.replay();
        let given_up = flights.lost_owner();
        assert_eq!(flights.count(), 0);
        let text = String::from_utf8_lossy(&given_up).into_owned();
        assert!(text.starts_with("{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,"), "{text}");
    }

    #[test]
    fn what_a_silent_owner_says_late_is_kept_from_the_client() {
        let mut flights = opened();
        flights.sent(CALL);
        flights.sent(b"[{\"id\":8,\"method\":\"a\"}]\n");
        let text = String::from_utf8_lossy(&flights.abandon("it is stopped")).into_owned();
        assert!(text.contains("\"id\":7,\"error\":{\"code\":-32002,") && text.contains("\"id\":8,"), "{text}");
        assert_eq!(flights.count(), 0);
        assert!(!flights.got(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#));
        assert!(!flights.got(br#"[{"jsonrpc":"2.0","id":8,"result":{}}]"#));
        flights.sent(b"{\"id\":9,\"method\":\"tools/call\"}\n");
        assert!(flights.got(br#"{"jsonrpc":"2.0","id":9,"result":{}}"#));
    }

    #[test]
    fn a_batch_is_answered_together() {
        let mut flights = opened();
        flights.sent(b"[{\"id\":1,\"method\":\"a\"},{\"id\":\"x\",\"method\":\"b\"}]\n");
        let line = flights.give_up("why");
        let text = String::from_utf8_lossy(&line);
        assert!(text.starts_with("[{") && text.ends_with("}]\n") && text.contains("\"id\":\"x\""), "{text}");
    }

    #[test]
    fn a_refused_batch_is_not_waited_for() {
        let refused = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":{"batch":true}}}"#;
        let mut flights = opened();
        flights.sent(b"[{\"id\":1,\"method\":\"a\"}]\n");
        flights.sent(CALL);
        assert!(flights.got(refused));
        assert_eq!(flights.count(), 1);
        assert!(flights.got(refused), "one too many is the client's all the same");
        assert_eq!(flights.count(), 1);
    }

    #[test]
    fn a_batch_is_not_waited_for_when_all_of_it_is_cancelled() {
        let cancel =
            |id: &str| format!("{{\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n");
        let mut flights = opened();
        flights.sent(b"[{\"id\":1,\"method\":\"a\"},{\"id\":2,\"method\":\"b\"}]\n");
        flights.sent(cancel("1").as_bytes());
        assert_eq!(flights.count(), 1);
        flights.sent(cancel("2").as_bytes());
        assert_eq!(flights.count(), 0);
    }

    #[test]
    fn a_cancelled_request_is_not_waited_for() {
        let mut flights = opened();
        flights.sent(CALL);
        flights.sent(b"{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}\n");
        assert_eq!(flights.count(), 0);
    }

    #[test]
    fn the_log_level_outlives_its_owner() {
        let level = b"{\"id\":3,\"method\":\"logging/setLevel\"}\n";
        let mut flights = opened();
        flights.sent(level);
        assert!(flights.got(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#));
        assert_eq!(flights.replay(), [INITIALIZE, level].concat());
        assert!(!flights.got(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#));
    }
}
