//! Finds data root, project, store and socket. Twin of context_graph.config.paths, both held to tests/golden/paths.tsv:
//! a hook and the CLI must always mean the same store.

use crate::dbpath;
use crate::env::Env;
use crate::hash::{fnv1a64, hex};
use crate::pathname::{below, normal, split_last, PATH_MAX};
use crate::repository;
use crate::sys;

/// Bytes of a socket's path that the system accepts, without its NUL.
const SOCKET_PATH_MAX: usize = if cfg!(target_os = "linux") { 107 } else { 103 };
const SLUG_BYTES: usize = 40;

/// Where one call works; every path is absolute and without `.`, `..` or doubled slashes.
pub struct Places {
    pub root: Vec<u8>,
    /// The working folder of the process as it was started.
    pub cwd: Vec<u8>,
    pub project: Vec<u8>,
    /// Top folder of the project's repository, shared by its worktrees.
    pub top: Vec<u8>,
    pub store: Vec<u8>,
}

/// Works out all places. Changes the working folder of the process (that is how paths are made canonical).
/// The error says what happened, with which value, and the cure.
pub fn locate(env: &Env<'_>, db_path: Option<&[u8]>) -> Result<Places, String> {
    let root = data_root(env)?;
    // A working folder that has been removed leaves nothing better than the top of all.
    let cwd = sys::working_dir().unwrap_or_else(|| b"/".to_vec());
    // $CLAUDE_PROJECT_DIR if that is a folder: the client's working folder follows `cd`, this does not.
    let project = env.project_dir.and_then(sys::canonical).unwrap_or_else(|| cwd.clone());
    let top = repository::find(&project);
    let store = match db_path.or(env.db_path) {
        Some(named) => {
            let parent = split_last(&root).map_or(&[][..], |(parent, _)| parent);
            dbpath::check(env, named, &cwd, &[&root, parent, &cwd, &project, &top])?
        }
        None => store_dir(&root, &top),
    };
    if root.len().max(store.len()) > PATH_MAX {
        return Err("a path is longer than 4095 bytes; use shorter folder names".to_owned());
    }
    Ok(Places { root, cwd, project, top, store })
}

/// $CONTEXT_GRAPH_HOME, else $XDG_DATA_HOME/context-graph if absolute, else ~/.local/share/context-graph.
fn data_root(env: &Env<'_>) -> Result<Vec<u8>, String> {
    match (env.root, env.xdg_data_home, env.home) {
        (Some(named), _, _) if !named.starts_with(b"/") => {
            Err(format!("CONTEXT_GRAPH_HOME is '{}'; it must be an absolute path", String::from_utf8_lossy(named)))
        }
        (Some(named), _, _) => Ok(normal(&[named])),
        (None, Some(shared), _) if shared.starts_with(b"/") => Ok(normal(&[shared, b"context-graph"])),
        (None, _, Some(home)) if home.starts_with(b"/") => Ok(normal(&[home, b".local/share/context-graph"])),
        _ => Err("neither CONTEXT_GRAPH_HOME nor HOME is an absolute path; set CONTEXT_GRAPH_HOME".to_owned()),
    }
}

fn last(path: &[u8]) -> &[u8] {
    split_last(path).map_or(&[], |(_, last)| last)
}

/// `<root>/stores/<slug>-<hash>`: readable last component, then the hash of the whole path.
pub fn store_dir(root: &[u8], top: &[u8]) -> Vec<u8> {
    let kept = |byte: &u8| if byte.is_ascii_alphanumeric() || b"._-".contains(byte) { *byte } else { b'_' };
    let mut name: Vec<u8> = last(top).iter().take(SLUG_BYTES).map(kept).collect();
    if name.is_empty() {
        name.extend_from_slice(b"root");
    }
    name.push(b'-');
    name.extend_from_slice(&hex::<8, 16>(fnv1a64(top).to_be_bytes()));
    below(&below(root, b"stores"), &name)
}

/// The owner's socket; its second form lies in a folder others could have made, which `client` checks.
pub struct Socket {
    pub path: Vec<u8>,
    /// Beside it, for datagrams.
    pub wake: Vec<u8>,
    /// Set when the socket is not in the data root.
    pub shared_folder: Option<Vec<u8>>,
}

/// The owner's socket: in the data root or, where that path is too long to bind, under /tmp.
pub fn socket(root: &[u8], uid: u32) -> Socket {
    let path = below(root, b"run/owner.sock");
    if path.len() <= SOCKET_PATH_MAX {
        return Socket { path, wake: below(root, b"run/owner.wake"), shared_folder: None };
    }
    let folder = format!("/tmp/context-graph-{uid}").into_bytes();
    let name = hex::<8, 16>(fnv1a64(root).to_be_bytes());
    let named = |end: &[u8]| [&folder[..], b"/", &name, end].concat();
    Socket { path: named(b".sock"), wake: named(b".wake"), shared_folder: Some(folder) }
}
