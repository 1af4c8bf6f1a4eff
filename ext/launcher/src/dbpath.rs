//! Checks a store path that an option or variable gives (REQ-HOOKS-30). Twin of
//! context_graph.config.paths.check_db_path, both held to tests/golden/dbpath.tsv.

use crate::env::Env;
use crate::pathname::{normal, PATH_MAX};
use crate::sys::{self, Errno, FileType};

/// The absolute store folder that `named` means, from the working folder `cwd`, if it stays inside one of `roots` or
/// another allowed root. The error, for whoever named it, has the path, the reason and the cure.
pub fn check(env: &Env<'_>, named: &[u8], cwd: &[u8], roots: &[&[u8]]) -> Result<Vec<u8>, String> {
    checked(env, named, cwd, roots).map_err(|(reason, cure)| format!("db path '{}' {reason}; {cure}", shown(named)))
}

type Refusal = (String, &'static str);

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..400).unwrap_or(bytes)).into_owned()
}

fn checked(env: &Env<'_>, named: &[u8], cwd: &[u8], roots: &[&[u8]]) -> Result<Vec<u8>, Refusal> {
    let refusal = |reason: &str, cure| Err((reason.to_owned(), cure));
    if named.is_empty() || named.contains(&0) {
        return refusal("is empty or holds a NUL", "name a folder");
    }
    let base = if named.starts_with(b"/") { &b""[..] } else { cwd };
    let path = normal(&[base, named]);
    if named.len().max(path.len() + 1) > PATH_MAX + 1 {
        return refusal("is longer than 4096 bytes", "use a shorter path");
    }
    if named.split(|byte| *byte == b'/').any(|component| component == b"..") {
        return refusal("has a '..' component", "write the path without it");
    }
    match longest_root(env, roots, &path) {
        Some(root) => check_components(&path, root, env.allow_links == Some(b"1")).map(|()| path),
        None => refusal("is outside the allowed roots", "add its parent to CONTEXT_GRAPH_ALLOWED_ROOTS to allow it"),
    }
}

/// Length of the longest allowed root strictly above `path`, without a final slash.
fn longest_root(env: &Env<'_>, roots: &[&[u8]], path: &[u8]) -> Option<usize> {
    let homes = [env.home, env.tmpdir].map(Option::unwrap_or_default);
    let implied = roots.iter().copied().chain([&b"/tmp"[..], b"/var/tmp"]).chain(homes);
    let asked = env.allowed_roots.unwrap_or(&[]).split(|byte| *byte == b':');
    // The top of all is allowed only to those who ask for it by name.
    let implied = implied.filter_map(|root| above(root, path).filter(|len| *len > 0));
    implied.chain(asked.filter_map(|root| above(root, path))).max()
}

/// Length of `root`, cleaned, if `path` lies below it; 0 is the top of all.
fn above(root: &[u8], path: &[u8]) -> Option<usize> {
    if !root.starts_with(b"/") {
        return None;
    }
    let root = normal(&[root]);
    let prefix = root.strip_suffix(b"/").unwrap_or(&root);
    let rest = path.strip_prefix(prefix)?;
    (rest.len() > 1 && rest.starts_with(b"/")).then_some(prefix.len())
}

/// Each existing component below the root must be a folder, and no link unless links are allowed.
fn check_components(whole: &[u8], root: usize, allow_links: bool) -> Result<(), Refusal> {
    let ends = (root + 1..whole.len()).filter(|at| whole.get(*at) == Some(&b'/')).chain([whole.len()]);
    for end in ends {
        let place = whole.get(..end).unwrap_or(whole);
        match sys::lstat(place).map(|stat| sys::kind(&stat)) {
            Ok(FileType::Directory) => {}
            Ok(FileType::Symlink) if !allow_links => {
                let reason = format!("goes through the link '{}'", shown(place));
                return Err((reason, "set CONTEXT_GRAPH_ALLOW_LINKS=1 to allow it"));
            }
            // A link that dangles may become a folder; one to a file may not.
            Ok(FileType::Symlink) if sys::is_folder(place) || sys::stat(place).is_err() => {}
            Ok(_) => return Err((format!("runs into '{}', which is no folder", shown(place)), "name a folder")),
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => {
                return Err((format!("can't be checked ({})", sys::words(errno)), "name a folder you can read"))
            }
        }
    }
    Ok(())
}
