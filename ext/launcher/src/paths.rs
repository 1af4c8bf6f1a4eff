//! Data root, project, store and socket. Twin of context_graph.config.paths, both held to tests/golden/paths.tsv:
//! a hook and the CLI must always mean the same store.

use crate::arena::{Arena, CPath};
use crate::dbpath::{self, NotAllowed};
use crate::env::Env;
use crate::hash::{fnv1a64, hex};
use crate::repository::{self, Repository};
use crate::sys::{self, FileKind};

/// Bytes of a socket's path that Linux accepts, without its NUL.
pub const SOCKET_PATH_MAX: usize = 107;
const SLUG_BYTES: usize = 40;

/// Where one call works; every path is absolute and without `.`, `..` or doubled slashes.
pub struct Places<'a> {
    pub root: CPath<'a>,
    /// The working folder of the process as it was started.
    pub cwd: CPath<'a>,
    pub project: CPath<'a>,
    /// Top folder of the project's repository, shared by its worktrees.
    pub top: CPath<'a>,
    pub store: CPath<'a>,
}

/// Why there are no places.
pub enum PathError<'a> {
    /// CONTEXT_GRAPH_HOME is not absolute.
    RelativeRoot(&'a [u8]),
    /// Neither CONTEXT_GRAPH_HOME nor HOME.
    NoRoot,
    TooLong,
    NotAllowed(NotAllowed<'a>),
}

impl PathError<'_> {
    /// What happened, with which value, and the cure.
    pub fn text(&self) -> String {
        match self {
            PathError::RelativeRoot(given) => {
                format!("CONTEXT_GRAPH_HOME is '{}'; it must be an absolute path", String::from_utf8_lossy(given))
            }
            PathError::NoRoot => {
                "neither CONTEXT_GRAPH_HOME nor HOME is an absolute path; set CONTEXT_GRAPH_HOME".to_owned()
            }
            PathError::TooLong => "a path is longer than 4095 bytes; use shorter folder names".to_owned(),
            PathError::NotAllowed(why) => why.text(),
        }
    }
}

/// Works out all places. Changes the working folder of the process (that is how paths are made canonical).
pub fn locate<'a>(arena: &'a Arena, env: &Env<'a>, db_path: Option<&'a [u8]>) -> Result<Places<'a>, PathError<'a>> {
    let root = data_root(arena, env)?;
    // A working folder that has been removed leaves nothing better than the top of all.
    let cwd = sys::working_dir(arena).unwrap_or(CPath::from_c_str(c"/"));
    let project = project_dir(arena, env).unwrap_or(cwd);
    let repository = repository::find(arena, project).ok_or(PathError::TooLong)?;
    let top = repository.top;
    let store = match db_path.or(env.db_path) {
        Some(named) => {
            let request = dbpath::Request { named, root, cwd, project, top };
            dbpath::check(arena, env, &request).map_err(PathError::NotAllowed)?
        }
        None => project_store(arena, root, &repository).ok_or(PathError::TooLong)?,
    };
    Ok(Places { root, cwd, project, top, store })
}

/// $CONTEXT_GRAPH_HOME, else $XDG_DATA_HOME/context-graph if absolute, else ~/.local/share/context-graph.
pub fn data_root<'a>(arena: &'a Arena, env: &Env<'a>) -> Result<CPath<'a>, PathError<'a>> {
    let (base, below): (&[u8], &[u8]) = match (env.root, env.xdg_data_home, env.home) {
        (Some(named), _, _) if !named.starts_with(b"/") => return Err(PathError::RelativeRoot(named)),
        (Some(named), _, _) => (named, b""),
        (None, Some(shared), _) if shared.starts_with(b"/") => (shared, b"context-graph"),
        (None, _, Some(home)) if home.starts_with(b"/") => (home, b".local/share/context-graph"),
        _ => return Err(PathError::NoRoot),
    };
    normal(arena, &[base, below]).ok_or(PathError::TooLong)
}

/// `parts` one below the other, lexically cleaned: no empty component, no `.`, and `..` takes one away.
/// Relative parts hang below the top.
pub fn normal<'a>(arena: &'a Arena, parts: &[&[u8]]) -> Option<CPath<'a>> {
    let mut path = arena.builder();
    for component in parts.iter().flat_map(|part| part.split(|byte| *byte == b'/')) {
        match component {
            b"" | b"." => {}
            b".." => {
                let len = path.bytes().iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                path.truncate(len);
            }
            name => {
                path.push(b"/")?;
                path.push(name)?;
            }
        }
    }
    if path.bytes().is_empty() {
        path.push(b"/")?;
    }
    path.finish()
}

/// $CLAUDE_PROJECT_DIR if that is a folder (the client's working folder follows `cd`, this does not); canonical.
fn project_dir<'a>(arena: &'a Arena, env: &Env<'a>) -> Option<CPath<'a>> {
    let named = arena.join(&[env.project_dir?])?;
    sys::canonical(arena, named)
}

/// The store of `repository`, found again where it was made under an old name; the twin tells how.
fn project_store<'a>(arena: &'a Arena, root: CPath<'a>, repository: &Repository<'a>) -> Option<CPath<'a>> {
    let store = store_dir(arena, root, repository.top)?;
    if !repository.shared && repository.old.is_none() {
        return Some(store);
    }
    let name = last(store);
    let aliases = below(arena, root, b"aliases")?;
    let alias = below(arena, aliases, name)?;
    let made = sys::lstat(store).is_ok();
    if let Some(old) = repository.old {
        let old = store_dir(arena, root, old)?;
        if is_folder(old) {
            if !made {
                let _ = sys::make_dir(aliases);
                let _ = sys::link_to(arena.join(&[last(old)])?, alias);
            }
            return Some(old);
        }
    }
    let mut buffer = [0; 256];
    let named = if made { &[][..] } else { sys::read_link(alias, &mut buffer).unwrap_or(&[]) };
    if !named.is_empty() && !named.contains(&b'/') {
        let old = below(arena, below(arena, root, b"stores")?, named)?;
        if is_folder(old) {
            return Some(old);
        }
    }
    Some(store)
}

fn last(path: CPath<'_>) -> &[u8] {
    split_last(path.bytes()).map_or(&[], |(_, last)| last)
}

fn is_folder(path: CPath<'_>) -> bool {
    sys::stat(path).is_ok_and(|stat| stat.kind == FileKind::Directory)
}

fn split_last(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = path.iter().rposition(|byte| *byte == b'/')?;
    Some((path.get(..slash)?, path.get(slash + 1..)?))
}

/// `<root>/stores/<slug>-<hash>`: readable last component, then the hash of the whole path.
pub fn store_dir<'a>(arena: &'a Arena, root: CPath<'_>, top: CPath<'_>) -> Option<CPath<'a>> {
    let mut path = arena.builder();
    path.push(if root.bytes() == b"/" { b"" } else { root.bytes() })?;
    path.push(b"/stores/")?;
    let last = split_last(top.bytes()).map_or(&b""[..], |(_, last)| last);
    if last.is_empty() {
        path.push(b"root")?;
    }
    for byte in last.iter().take(SLUG_BYTES) {
        let kept = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        path.push(&[if kept { *byte } else { b'_' }])?;
    }
    path.push(b"-")?;
    path.push(&hex::<8, 16>(fnv1a64(top.bytes()).to_be_bytes()))?;
    path.finish()
}

/// `name` below `folder`.
pub fn below<'a>(arena: &'a Arena, folder: CPath<'_>, name: &[u8]) -> Option<CPath<'a>> {
    arena.join(&[if folder.bytes() == b"/" { b"" } else { folder.bytes() }, b"/", name])
}

/// The owner's socket; its second form lies in a folder others could have made, which `client` checks.
pub struct Socket<'a> {
    pub path: CPath<'a>,
    /// Set when the socket is not in the data root.
    pub shared_folder: Option<CPath<'a>>,
}

/// The owner's socket: in the data root or, where that path is too long to bind, under /tmp.
pub fn socket<'a>(arena: &'a Arena, root: CPath<'_>, uid: u32) -> Option<Socket<'a>> {
    let path = below(arena, root, b"run/owner.sock")?;
    if path.bytes().len() <= SOCKET_PATH_MAX {
        return Some(Socket { path, shared_folder: None });
    }
    let mut digits = [0u8; 10];
    let folder = arena.join(&[b"/tmp/context-graph-", decimal(uid, &mut digits)])?;
    let name = hex::<8, 16>(fnv1a64(root.bytes()).to_be_bytes());
    Some(Socket { path: arena.join(&[folder.bytes(), b"/", &name, b".sock"])?, shared_folder: Some(folder) })
}

fn decimal(mut value: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        used += 1;
        if value == 0 {
            break;
        }
    }
    digits.get(digits.len() - used..).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(parts: &[&[u8]]) -> Vec<u8> {
        normal(&Box::new(Arena::new()), parts).map(|path| path.bytes().to_vec()).unwrap_or_default()
    }

    #[test]
    fn paths_are_cleaned_without_looking_at_the_disk() {
        assert_eq!(cleaned(&[b"/a//b/./c/"]), b"/a/b/c");
        assert_eq!(cleaned(&[b"/a/b", b"../../../c"]), b"/c");
        assert_eq!(cleaned(&[b"/"]), b"/");
        assert_eq!(cleaned(&[b"/a", b""]), b"/a");
    }

    #[test]
    fn user_ids_are_written_in_decimal() {
        for (value, text) in [(0, &b"0"[..]), (1000, b"1000"), (u32::MAX, b"4294967295")] {
            assert_eq!(decimal(value, &mut [0; 10]), text);
        }
    }
}
