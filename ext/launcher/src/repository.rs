//! Finds the repository that a folder belongs to: one store for all its checkouts.
//! Twin of context_graph.config.paths, which
//! says the rule; both are held to tests/golden/paths.tsv.

use crate::pathname::{below, normal, split_last, upwards};
use crate::sys::{self, FileType};

/// The top folder of the repository that `folder`, canonical, belongs to, shared by its checkouts; the folder itself
/// outside git.
pub fn find(folder: &[u8]) -> Vec<u8> {
    for above in upwards(folder.strip_suffix(b"/").unwrap_or(folder)) {
        let place = if above.is_empty() { b"/" } else { above };
        let git = below(above, b".git");
        match sys::lstat(&git).map(|stat| sys::kind(&stat)) {
            Ok(FileType::Directory) => return place.to_vec(),
            Ok(FileType::RegularFile) => return of_git_file(place, &git),
            _ => {}
        }
    }
    folder.to_vec()
}

fn of_git_file(place: &[u8], dot_git: &[u8]) -> Vec<u8> {
    let Some(git_dir) = named(place, dot_git) else { return place.to_vec() };
    match common_of_worktree(&git_dir) {
        Some(common) => of_worktree(place, dot_git, &git_dir, common),
        None => of_main(place, git_dir),
    }
}

/// A linked worktree; one that the repository does not know is its own project: an unpacked archive could claim
/// another's memories.
fn of_worktree(place: &[u8], dot_git: &[u8], git_dir: &[u8], common: &[u8]) -> Vec<u8> {
    let head = head(&below(git_dir, b"gitdir"));
    let back = first_line(&head).trim_ascii();
    if back.is_empty() || !is_same(&absolute(git_dir, back), dot_git) {
        return place.to_vec();
    }
    if let Some((parent, b".git")) = split_last(common) {
        return if parent.is_empty() { b"/".to_vec() } else { parent.to_vec() };
    }
    let config = self::head(&below(common, b"config"));
    if let Some(main) = core(&config, b"worktree") {
        let checkout = absolute(common, main);
        if named(&checkout, &below(&checkout, b".git")).is_some_and(|git_dir| git_dir == common) {
            return checkout;
        }
    }
    common.to_vec()
}

/// A main checkout whose git dir is elsewhere. A submodule is its own project; a git dir that belongs to another
/// checkout, or to none, proves nothing.
fn of_main(place: &[u8], git_dir: Vec<u8>) -> Vec<u8> {
    let config = head(&below(&git_dir, b"config"));
    let bare = !core(&config, b"bare").is_some_and(|value| value.eq_ignore_ascii_case(b"false"));
    let hidden = split_last(&git_dir).is_some_and(|(_, last)| last == b".git");
    let objects = sys::is_folder(&below(&git_dir, b"objects"));
    let linked = sys::lstat(below(&git_dir, b"commondir")).is_ok();
    if core(&config, b"worktree").is_some() || bare || hidden || !objects || linked {
        return place.to_vec();
    }
    git_dir
}

/// The git dir that the file `dot_git` of the checkout `place` names.
fn named(place: &[u8], dot_git: &[u8]) -> Option<Vec<u8>> {
    let head = head(dot_git);
    let named = first_line(&head).strip_prefix(b"gitdir:")?;
    Some(absolute(place, named.trim_ascii()))
}

/// The branch that is checked out in `folder`, or above it: empty off any branch, None outside repositories.
pub fn branch(folder: &[u8]) -> Option<Vec<u8>> {
    let named = head(&below(&git_dir(folder)?, b"HEAD"));
    Some(first_line(&named).strip_prefix(b"ref: refs/heads/").unwrap_or_default().to_vec())
}

/// git's folder for the checkout that `folder` lies in; None outside repositories.
pub fn git_dir(folder: &[u8]) -> Option<Vec<u8>> {
    let git = upwards(folder).map(|above| below(above, b".git")).find(|path| sys::lstat(&path[..]).is_ok())?;
    let linked = head(&git);
    match first_line(&linked).strip_prefix(b"gitdir:") {
        Some(named) => Some(absolute(split_last(&git)?.0, named.trim_ascii())),
        None => Some(git),
    }
}

/// The folder that all checkouts of a repository share; `git_dir` is one's own.
pub fn common_dir(git_dir: &[u8]) -> Vec<u8> {
    let named = head(&below(git_dir, b"commondir"));
    match first_line(&named).trim_ascii() {
        b"" => git_dir.to_vec(),
        named => absolute(git_dir, named),
    }
}

fn is_same(one: &[u8], other: &[u8]) -> bool {
    sys::is_same(sys::lstat(one), sys::lstat(other))
}

fn absolute(folder: &[u8], named: &[u8]) -> Vec<u8> {
    let base = if named.starts_with(b"/") { &[] } else { folder };
    normal(&[base, named])
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

fn head(path: &[u8]) -> Vec<u8> {
    sys::first_bytes(path).unwrap_or_default()
}

/// `<common>/worktrees/<name>` -> `<common>`.
fn common_of_worktree(git_dir: &[u8]) -> Option<&[u8]> {
    let (rest, _name) = split_last(git_dir)?;
    let (common, folder) = split_last(rest)?;
    (folder == b"worktrees" && !common.is_empty()).then_some(common)
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
