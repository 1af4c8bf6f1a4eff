//! The check that a store path given by option or variable must pass (REQ-HOOKS-30). Twin of
//! context_graph.config.db_path, both held to tests/golden/dbpath.tsv.

use crate::arena::{Arena, CPath};
use crate::env::Env;
use crate::paths::normal;
use crate::sys::{self, Errno, FileKind};

const NAMED_MAX: usize = 4096;

/// A named store path and the folders that make it allowed.
pub struct Request<'a> {
    pub named: &'a [u8],
    pub root: CPath<'a>,
    pub cwd: CPath<'a>,
    pub project: CPath<'a>,
    pub top: CPath<'a>,
}

/// A refusal; `text` names the path, the reason and the cure.
pub struct NotAllowed<'a> {
    named: &'a [u8],
    why: Why<'a>,
}

#[derive(Clone, Copy)]
enum Why<'a> {
    Empty,
    TooLong,
    DotDot,
    Outside,
    Link(&'a [u8]),
    NoFolder(&'a [u8]),
    Unreadable(Errno),
}

impl NotAllowed<'_> {
    /// One sentence for whoever named the path.
    pub fn text(&self) -> String {
        let show =
            |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..bytes.len().min(400)).unwrap_or(&[])).into_owned();
        let (reason, cure) = match self.why {
            Why::Empty => ("is empty or holds a NUL".to_owned(), "name a folder"),
            Why::TooLong => ("is longer than 4096 bytes".to_owned(), "use a shorter path"),
            Why::DotDot => ("has a '..' component".to_owned(), "write the path without it"),
            Why::Outside => {
                ("is outside the allowed roots".to_owned(), "add its parent to CONTEXT_GRAPH_ALLOWED_ROOTS to allow it")
            }
            Why::Link(place) => {
                (format!("goes through the link '{}'", show(place)), "set CONTEXT_GRAPH_ALLOW_LINKS=1 to allow it")
            }
            Why::NoFolder(place) => (format!("runs into '{}', which is no folder", show(place)), "name a folder"),
            Why::Unreadable(errno) => (format!("can't be checked ({})", errno.text()), "name a folder you can read"),
        };
        format!("db path '{}' {reason}; {cure}", show(self.named))
    }
}

/// The absolute store folder that `request.named` means, if it stays inside an allowed root.
pub fn check<'a>(arena: &'a Arena, env: &Env<'a>, request: &Request<'a>) -> Result<CPath<'a>, NotAllowed<'a>> {
    checked(arena, env, request).map_err(|why| NotAllowed { named: request.named, why })
}

fn checked<'a>(arena: &'a Arena, env: &Env<'a>, request: &Request<'a>) -> Result<CPath<'a>, Why<'a>> {
    let named = request.named;
    if named.is_empty() || named.contains(&0) {
        return Err(Why::Empty);
    }
    if named.len() > NAMED_MAX {
        return Err(Why::TooLong);
    }
    if named.split(|byte| *byte == b'/').any(|component| component == b"..") {
        return Err(Why::DotDot);
    }
    let base = if named.starts_with(b"/") { &b""[..] } else { request.cwd.bytes() };
    let path = normal(arena, &[base, named]).ok_or(Why::TooLong)?;
    let root = longest_root(arena, env, request, path.bytes()).ok_or(Why::Outside)?;
    check_components(arena, path, root, env.allow_links)?;
    Ok(path)
}

/// Length of the longest allowed root strictly above `path`, without a final slash.
fn longest_root(arena: &Arena, env: &Env<'_>, request: &Request<'_>, path: &[u8]) -> Option<usize> {
    let root_parent = request.root.bytes().iter().rposition(|byte| *byte == b'/');
    let implied = [
        request.root.bytes(),
        root_parent.and_then(|slash| request.root.bytes().get(..slash)).unwrap_or(&[]),
        request.cwd.bytes(),
        request.project.bytes(),
        request.top.bytes(),
        b"/tmp",
        b"/var/tmp",
        env.home.unwrap_or(&[]),
        env.tmpdir.unwrap_or(&[]),
    ];
    let asked = env.allowed_roots.unwrap_or(&[]).split(|byte| *byte == b':');
    // The top of all is allowed only to those who ask for it by name.
    let implied = implied.into_iter().filter_map(|root| above(arena, root, path).filter(|len| *len > 0));
    implied.chain(asked.filter_map(|root| above(arena, root, path))).max()
}

/// Length of `root`, cleaned, if `path` lies below it; 0 is the top of all.
fn above(arena: &Arena, root: &[u8], path: &[u8]) -> Option<usize> {
    if !root.starts_with(b"/") {
        return None;
    }
    let root = normal(arena, &[root])?;
    let prefix = if root.bytes() == b"/" { &b""[..] } else { root.bytes() };
    let rest = path.strip_prefix(prefix)?;
    (rest.len() > 1 && rest.starts_with(b"/")).then_some(prefix.len())
}

/// Each existing component below the root must be a folder, and no link unless links are allowed.
fn check_components<'a>(arena: &'a Arena, path: CPath<'a>, root: usize, allow_links: bool) -> Result<(), Why<'a>> {
    let whole = path.bytes();
    let ends = (root + 1..whole.len()).filter(|at| whole.get(*at) == Some(&b'/')).chain([whole.len()]);
    for end in ends {
        let place = whole.get(..end).unwrap_or(whole);
        let mut builder = arena.builder();
        builder.push(place).ok_or(Why::TooLong)?;
        let looked_at = builder.peek().ok_or(Why::TooLong)?;
        match sys::lstat(looked_at).map(|stat| stat.kind) {
            Ok(FileKind::Directory) => {}
            Ok(FileKind::Link) if !allow_links => return Err(Why::Link(place)),
            Ok(FileKind::Link) if leads_to_folder(looked_at) => {}
            Ok(_) => return Err(Why::NoFolder(place)),
            Err(Errno::NOT_FOUND) => return Ok(()),
            Err(errno) => return Err(Why::Unreadable(errno)),
        }
    }
    Ok(())
}

/// A link that dangles may become a folder; one to a file may not.
fn leads_to_folder(link: CPath<'_>) -> bool {
    match sys::stat(link) {
        Ok(stat) => stat.kind == FileKind::Directory,
        Err(_) => true,
    }
}
