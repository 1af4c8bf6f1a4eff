//! Joins and splits paths as bytes, without looking at the disk.

/// Longest path that is worked with, without its NUL: Linux refuses longer ones.
pub const PATH_MAX: usize = 4095;

/// `parts` one below the other, lexically cleaned: no empty component, no `.`, and `..` takes one away.
/// Relative parts hang below the top.
pub fn normal(parts: &[&[u8]]) -> Vec<u8> {
    let mut path = Vec::with_capacity(256);
    for component in parts.iter().flat_map(|part| part.split(|byte| *byte == b'/')) {
        match component {
            b"" | b"." => {}
            b".." => path.truncate(path.iter().rposition(|byte| *byte == b'/').unwrap_or(0)),
            name => {
                path.push(b'/');
                path.extend_from_slice(name);
            }
        }
    }
    if path.is_empty() {
        path.push(b'/');
    }
    path
}

/// `name` below `folder`.
pub fn below(folder: &[u8], name: &[u8]) -> Vec<u8> {
    [folder.strip_suffix(b"/").unwrap_or(folder), b"/", name].concat()
}

/// What stands before and behind the last slash.
pub fn split_last(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = path.iter().rposition(|byte| *byte == b'/')?;
    Some((path.get(..slash)?, path.get(slash + 1..)?))
}

/// `path` and what is above it, from the deepest on; the top of all as `""`.
pub fn upwards(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| split_last(path).map(|(above, _)| above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_without_looking_at_the_disk() {
        assert_eq!(normal(&[b"/a//b/./c/"]), b"/a/b/c");
        assert_eq!(normal(&[b"/a/b", b"../../../c"]), b"/c");
        assert_eq!(normal(&[b"/"]), b"/");
        assert_eq!(normal(&[b"/a", b""]), b"/a");
    }
}
