//! Reads a hook's standard input, which a client may deliver late and a careless sender never ends.

use crate::hook::{budget_ms, CLIENT_BUDGET_MS};
use crate::json;
use crate::options::Options;
use crate::sys::{self, Deadline, Stop};
use std::time::Instant;

/// Longest input that is passed on.
pub const INPUT_MAX: usize = 4 * 1024 * 1024;
/// How much of a longer one is looked at for the fields that identify the event (they may stand at its end).
const LOOKED_AT_MAX: usize = 16 * 1024 * 1024;

/// Standard input as the event's body.
///
/// A client always closes its end, and on a busy machine it begins to write long after it has started us: it is given
/// what its own limit leaves, even where the verb has 100 ms, for an event that comes late is better than none.
pub fn read(options: &Options<'_>, started: Instant) -> Result<Option<Vec<u8>>, String> {
    let client = options.format.is_client();
    let mut waited_ms = if client { CLIENT_BUDGET_MS } else { options.kind.budget_ms() };
    let limit = if client { LOOKED_AT_MAX } else { INPUT_MAX };
    let is_whole = |bytes: &[u8]| json::walk(bytes, &mut ()).is_ok();
    // The client's stdin is a Unix socket: only the inherited descriptor works, opening /dev/stdin fails.
    let (mut bytes, mut stop) = sys::read_to_end(sys::stdin(), limit, Deadline::after(started, waited_ms));
    if client && matches!(stop, Stop::Late) && !is_whole(&bytes) {
        waited_ms = late_input_ms(options);
        let left = limit.saturating_sub(bytes.len());
        let (rest, end) = sys::read_to_end(sys::stdin(), left, Deadline::after(started, waited_ms));
        bytes.extend_from_slice(&rest);
        stop = end;
    }
    match (bytes, stop) {
        // A sender that forgets to close has said all the same what it had to say.
        (bytes, Stop::Late) if is_whole(&bytes) => Ok(Some(bytes)),
        (_, Stop::Late) => Err(format!("stdin: did not end within {waited_ms} ms; close it behind the JSON")),
        (bytes, _) if bytes.len() <= INPUT_MAX => {
            // Nothing came, and nobody insists: the arguments are the event. A descriptor that is closed, or a folder,
            // is as good as an empty one.
            let blank = !options.insists_on_stdin() && bytes.trim_ascii().is_empty();
            Ok((!blank).then_some(bytes))
        }
        (bytes, _) if client => json::reduced(&bytes).map(Some).map_err(|fault| fault.text()),
        _ => Err(format!("stdin: more than {INPUT_MAX} bytes (4 MiB); send less tool output")),
    }
}

/// How long a client's input is waited for: the owner still has its time before the client's own limit.
fn late_input_ms(options: &Options<'_>) -> u32 {
    options.kind.ends_ms().saturating_sub(budget_ms(options)).max(CLIENT_BUDGET_MS)
}
