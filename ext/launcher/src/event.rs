//! Describes one hook call: its facts, and the two forms in which they leave the process.

use crate::copy::{self, redacted};
use crate::env::Env;
use crate::hash::hex;
use crate::json::{text, Fault};
use crate::kind::Kind;
use crate::log;
use crate::options::{Options, Takes};
use crate::paths::Places;
use crate::repository;
use crate::sys;
use crate::wire::Request;
use redaction::Care;
use std::time::{SystemTime, UNIX_EPOCH};

/// Everything that is known of one call.
pub struct Event<'a> {
    pub options: Options<'a>,
    pub env: Env<'a>,
    pub places: Places,
    /// The same in a retry and in the log: the owner applies an id once.
    pub id: [u8; 32],
    /// Unix milliseconds at which the hook started.
    pub at_ms: i64,
    /// The process that started the hook's.
    pub parent: u32,
    /// Standard input as read; None if it was not.
    pub body: Option<Vec<u8>>,
}

/// 32 lower-case hexadecimal digits nobody else has.
pub fn fresh_id() -> [u8; 32] {
    let mut bytes = [0u8; 16];
    if !sys::random(&mut bytes) {
        // Before the kernel has entropy: time and process still tell two hooks apart.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mixed = now.as_nanos() << 32 | u128::from(std::process::id());
        bytes = mixed.to_be_bytes();
    }
    hex(bytes)
}

impl Event<'_> {
    /// The command's options as a JSON object, for the owner; `ungoverned`: no requirements concern the event.
    pub fn params(&self, ungoverned: bool) -> Vec<u8> {
        let mut out = self.options_json(false);
        if ungoverned {
            out.pop();
            push_name("ungoverned", &mut out);
            out.extend_from_slice(b"true}");
        }
        out
    }

    /// The options; secrets masked for the log.
    fn options_json(&self, masked: bool) -> Vec<u8> {
        let mut out = vec![b'{'];
        for (name, takes, value) in self.options.given() {
            push_name(name, &mut out);
            match takes {
                Takes::Switch => out.extend_from_slice(value),
                _ if masked => {
                    let care = if takes == Takes::Text { Care::Full } else { Care::IdsKept };
                    copy::push_text(String::from_utf8_lossy(value).as_bytes(), care, &mut out);
                }
                _ => text::quote(value, &mut out),
            }
        }
        // No option: settings and a plugin may bring the owner one event each, and it takes it once.
        if self.env.plugin_root.is_some() {
            push_name("plugin", &mut out);
            out.extend_from_slice(b"true");
        }
        out.push(b'}');
        out
    }

    /// The request for the owner; `params` from `params`, `env` from `Env::travelling`, `build` from `programs::build`.
    pub fn request<'r>(&'r self, params: &'r [u8], env: &'r [u8], build: &'r str, deadline_ms: u32) -> Request<'r> {
        Request {
            verb: self.options.kind.verb(),
            event_id: &self.id,
            params,
            body: self.body.as_deref().unwrap_or(&[]),
            store: &self.places.store,
            project: &self.places.top,
            session_env: self.env.session_id.unwrap_or(&[]),
            cwd: &self.places.cwd,
            env,
            deadline_ms,
            at_ms: self.at_ms,
            parent: self.parent,
            version: build.as_bytes(),
        }
    }

    /// The log's record, redacted; a fault if the body is no JSON object.
    pub fn record(&self) -> Result<Vec<u8>, Fault> {
        self.framed(&self.id, self.options.kind.verb(), &self.options_json(true), self.body.as_deref())
    }

    /// The log's record of what a gate decided about this event; `record` must be a JSON object.
    pub fn decision_record(&self, record: &[u8]) -> Result<Vec<u8>, Fault> {
        // An id of its own: the event's may be in the log as well.
        self.framed(&fresh_id(), b"req.record", b"{}", Some(record))
    }

    /// The log's record that the start of this session was told what the owner left for it.
    pub fn told_record(&self, session: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut body = b"{\"session_id\":".to_vec();
        text::quote(session, &mut body);
        body.push(b'}');
        self.framed(&fresh_id(), b"start.told", b"{}", Some(&body))
    }

    fn framed(&self, id: &[u8; 32], verb: &[u8], params: &[u8], body: Option<&[u8]>) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::with_capacity(1024 + body.map_or(0, <[u8]>::len));
        out.extend_from_slice(b"{\"verb\":");
        text::quote(verb, &mut out);
        out.extend_from_slice(b",\"session\":");
        let session = String::from_utf8_lossy(self.env.session_id.unwrap_or(&[]));
        copy::push_text(session.as_bytes(), Care::IdsKept, &mut out);
        out.extend_from_slice(format!(",\"at_ms\":{},\"project\":", self.at_ms).as_bytes());
        text::quote_path(&self.places.top, &mut out);
        out.extend_from_slice(b",\"cwd\":");
        text::quote_path(&self.places.cwd, &mut out);
        // A session is summarised from these; when the owner reads them, another branch may be checked out.
        if matches!(self.options.kind, Kind::Stop | Kind::PreCompact | Kind::SessionEnd) {
            if let Some(branch) = repository::branch(&self.places.cwd) {
                out.extend_from_slice(b",\"branch\":");
                copy::push_text(String::from_utf8_lossy(&branch).as_bytes(), Care::IdsKept, &mut out);
            }
        }
        // What the user says of all his work is kept for the account that he says it in.
        if let (Kind::PromptSubmit, Some(folder)) = (self.options.kind, self.env.config_dir) {
            out.extend_from_slice(b",\"account\":");
            text::quote_path(folder, &mut out);
        }
        // A fork continues its parent's session, which only the client that made it knows.
        out.extend_from_slice(format!(",\"parent\":{}", self.parent).as_bytes());
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params);
        out.extend_from_slice(b",\"body\":");
        match body {
            Some(body) => redacted(body, &mut out)?,
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
        Ok(log::frame(id, &out))
    }
}

fn push_name(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(format!("\"{name}\":").as_bytes());
}
