//! Which repository a folder belongs to: one store for all its checkouts. Twin of context_graph.config.repository, which
//! says the rule; both are held to tests/golden/paths.tsv.

use crate::arena::{Arena, CPath};
use crate::paths::{below, normal};
use crate::sys::{self, FileKind, Open};

/// What a folder's store is named after.
pub struct Repository<'a> {
    /// The repository's top folder, shared by its checkouts; the folder itself outside git.
    pub top: CPath<'a>,
    /// What earlier versions named the store of this checkout after, where that is another folder.
    pub old: Option<CPath<'a>>,
    /// Whether another checkout of this repository may have a store under an old name.
    pub shared: bool,
}

impl<'a> Repository<'a> {
    fn alone(top: CPath<'a>) -> Repository<'a> {
        Repository { top, old: None, shared: false }
    }
}

type Head = [u8; 4096];

/// The repository that `folder`, canonical, belongs to; None where a path gets too long.
pub fn find<'a>(arena: &'a Arena, folder: CPath<'a>) -> Option<Repository<'a>> {
    let whole = folder.bytes();
    let mut end = whole.len();
    loop {
        let place = whole.get(..end).unwrap_or(&[]);
        let mut git = arena.builder();
        git.push(if place == b"/" { b"" } else { place })?;
        git.push(b"/.git")?;
        match sys::lstat(git.peek()?).map(|stat| stat.kind) {
            Ok(FileKind::Directory) => {
                drop(git);
                return Some(Repository::alone(arena.join(&[place])?));
            }
            Ok(FileKind::Regular) => {
                let dot_git = git.finish()?;
                return of_git_file(arena, arena.join(&[place])?, dot_git);
            }
            _ => {}
        }
        match place.iter().rposition(|byte| *byte == b'/') {
            Some(0) if end > 1 => end = 1,
            Some(slash) if slash > 0 => end = slash,
            _ => return Some(Repository::alone(folder)),
        }
    }
}

fn of_git_file<'a>(arena: &'a Arena, place: CPath<'a>, dot_git: CPath<'a>) -> Option<Repository<'a>> {
    let Some(git_dir) = named(arena, place, dot_git)? else { return Some(Repository::alone(place)) };
    match common_of_worktree(git_dir.bytes()) {
        Some(common) => {
            let common = arena.join(&[common])?;
            of_worktree(arena, place, dot_git, git_dir, common)
        }
        None => of_main(arena, place, git_dir),
    }
}

/// A linked worktree; one that the repository does not know is its own project: an unpacked archive could claim
/// another's memories.
fn of_worktree<'a>(
    arena: &'a Arena,
    place: CPath<'a>,
    dot_git: CPath<'a>,
    git_dir: CPath<'a>,
    common: CPath<'a>,
) -> Option<Repository<'a>> {
    let mut buffer = [0; 4096];
    let back = first_line(head(below(arena, git_dir, b"gitdir")?, &mut buffer)).trim_ascii();
    if back.is_empty() || !is_same(absolute(arena, git_dir, back)?, dot_git) {
        return Some(Repository::alone(place));
    }
    match split_last(common.bytes()) {
        Some((b"", b".git")) => return Some(Repository::alone(arena.join(&[b"/"])?)),
        Some((parent, b".git")) => return Some(Repository::alone(arena.join(&[parent])?)),
        _ => {}
    }
    let config = head(below(arena, common, b"config")?, &mut buffer);
    if let Some(main) = core(config, b"worktree") {
        let checkout = absolute(arena, common, main)?;
        let claims = named(arena, checkout, below(arena, checkout, b".git")?)?;
        if claims.is_some_and(|git_dir| git_dir.bytes() == common.bytes()) {
            return Some(Repository { top: checkout, old: Some(common), shared: true });
        }
    }
    Some(Repository { top: common, old: None, shared: true })
}

/// A main checkout whose git dir is elsewhere. A submodule is its own project; a git dir that belongs to another
/// checkout, or to none, proves nothing.
fn of_main<'a>(arena: &'a Arena, place: CPath<'a>, git_dir: CPath<'a>) -> Option<Repository<'a>> {
    let mut buffer = [0; 4096];
    let config = head(below(arena, git_dir, b"config")?, &mut buffer);
    if let Some(worktree) = core(config, b"worktree") {
        let shared = is_same(absolute(arena, git_dir, worktree)?, place);
        return Some(Repository { top: place, old: None, shared });
    }
    let bare = !core(config, b"bare").is_some_and(|value| value.eq_ignore_ascii_case(b"false"));
    let hidden = split_last(git_dir.bytes()).is_some_and(|(_, last)| last == b".git");
    let objects = sys::stat(below(arena, git_dir, b"objects")?).is_ok_and(|stat| stat.kind == FileKind::Directory);
    let linked = sys::lstat(below(arena, git_dir, b"commondir")?).is_ok();
    if bare || hidden || !objects || linked {
        return Some(Repository::alone(place));
    }
    Some(Repository { top: git_dir, old: Some(place), shared: true })
}

/// The git dir that the file `dot_git` of the checkout `place` names. The outer None: a path too long.
fn named<'a>(arena: &'a Arena, place: CPath<'_>, dot_git: CPath<'_>) -> Option<Option<CPath<'a>>> {
    let mut buffer: Head = [0; 4096];
    match first_line(head(dot_git, &mut buffer)).strip_prefix(b"gitdir:") {
        Some(named) => Some(Some(absolute(arena, place, named.trim_ascii())?)),
        None => Some(None),
    }
}

fn is_same(one: CPath<'_>, other: CPath<'_>) -> bool {
    matches!((sys::lstat(one), sys::lstat(other)), (Ok(one), Ok(other)) if one.identity == other.identity)
}

fn absolute<'a>(arena: &'a Arena, folder: CPath<'_>, named: &[u8]) -> Option<CPath<'a>> {
    if named.starts_with(b"/") {
        normal(arena, &[named])
    } else {
        normal(arena, &[folder.bytes(), named])
    }
}

/// The value of a variable of `[core]` in a repository's config.
fn core<'b>(config: &'b [u8], name: &[u8]) -> Option<&'b [u8]> {
    let mut inside = false;
    let mut found = None;
    for line in config.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            inside = line.eq_ignore_ascii_case(b"[core]");
        } else if inside {
            let mut sides = line.splitn(2, |byte| *byte == b'=');
            if sides.next().is_some_and(|key| key.trim_ascii().eq_ignore_ascii_case(name)) {
                found = Some(sides.next().unwrap_or(&[]).trim_ascii());
            }
        }
    }
    found
}

fn first_line(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b'\n').next().unwrap_or(&[])
}

fn head<'b>(path: CPath<'_>, buffer: &'b mut Head) -> &'b [u8] {
    let read = sys::open(path, Open::Read).and_then(|fd| sys::pread(&fd, buffer, 0)).unwrap_or(0);
    buffer.get(..read).unwrap_or(&[])
}

/// `<common>/worktrees/<name>` -> `<common>`.
fn common_of_worktree(git_dir: &[u8]) -> Option<&[u8]> {
    let (rest, _name) = split_last(git_dir)?;
    let (common, folder) = split_last(rest)?;
    (folder == b"worktrees" && !common.is_empty()).then_some(common)
}

fn split_last(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = path.iter().rposition(|byte| *byte == b'/')?;
    Some((path.get(..slash)?, path.get(slash + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_worktrees_lead_to_another_git_dir() {
        assert_eq!(common_of_worktree(b"/r/.git/worktrees/w"), Some(&b"/r/.git"[..]));
        assert_eq!(common_of_worktree(b"/srv/r.git/worktrees/w"), Some(&b"/srv/r.git"[..]));
        assert_eq!(common_of_worktree(b"/r/.git/modules/m"), None);
        assert_eq!(common_of_worktree(b"/worktrees/w"), None);
    }

    #[test]
    fn variables_of_core_are_read_from_a_config() {
        let config = b"[user]\n\tbare = x\n[Core]\n\tBare = false\n\tworktree = ../../m\n[remote \"o\"]\nbare = true\n";
        assert_eq!(core(config, b"bare"), Some(&b"false"[..]));
        assert_eq!(core(config, b"worktree"), Some(&b"../../m"[..]));
        assert_eq!(core(config, b"url"), None);
    }
}
