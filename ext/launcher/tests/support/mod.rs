//! What the integration tests share: golden files, temporary folders.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the golden files are: both ends of each format are held to them.
pub fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

pub fn golden(name: &str) -> Vec<u8> {
    std::fs::read(golden_path(name)).unwrap_or_else(|error| panic!("golden file {name}: {error}"))
}

/// Cells of a golden table, `{T}` replaced, %XX undone, `-` empty.
pub fn rows(name: &str, folder: &Path) -> Vec<Vec<Vec<u8>>> {
    let text = String::from_utf8(golden(name)).expect("tables are ASCII");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(|cell| unquoted(cell, folder)).collect()).collect()
}

fn unquoted(cell: &str, folder: &Path) -> Vec<u8> {
    if cell == "-" {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut bytes = cell.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next().expect("two digits"), bytes.next().expect("two digits")];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).expect("ASCII"), 16).expect("hex"));
        } else {
            out.push(byte);
        }
    }
    replaced(&out, b"{T}", folder.as_os_str().as_bytes())
}

fn replaced(text: &[u8], what: &[u8], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(what.len()).position(|part| part == what) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(by);
        rest = &rest[at + what.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// A fresh folder below /tmp, removed in the end.
pub struct TempDir(pub PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let top = Path::new("/tmp").canonicalize().expect("a folder"); // a link on macOS
        let path = top.join(format!("cg-launcher-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a fresh folder");
        TempDir(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes `path` a program with what the shell command `made_by` prints.
///
/// Another process writes it: what this one has open for writing, a process that another test's thread starts just then
/// has open too until it has become its program, and so long nobody can execute the file (ETXTBSY).
fn program(path: &Path, made_by: &str, given: &OsStr) {
    let line = format!("{made_by} > \"$0\" && chmod 755 \"$0\"");
    let done = Command::new("/bin/sh").args(["-c", &line]).arg(path).arg(given).status().expect("a shell");
    assert!(done.success(), "{}", path.display());
}

/// An executable shell script that runs `body`.
pub fn script(path: &Path, body: &str) {
    program(path, "printf '#!/bin/sh\\n%s\\n' \"$1\"", body.as_ref());
}

/// A copy of a program.
pub fn copied(from: &Path, to: &Path) {
    program(to, "cat \"$1\"", from.as_os_str());
}

/// Makes what a table's `setup` cell lists: `d:PATH`, `f:PATH=CONTENT`, `l:PATH=TARGET`.
///
/// The cell is given as in the file, for its %20 must not be taken for separators.
pub fn set_up(cell: &str, folder: &Path) {
    for item in cell.split(' ').filter(|item| !item.is_empty() && *item != "-") {
        let (kind, rest) = item.split_once(':').expect("kind:path");
        let (path, content) = rest.split_once('=').unwrap_or((rest, ""));
        let path = folder.join(path);
        let content = unquoted(content, folder);
        match kind {
            "d" => std::fs::create_dir_all(&path).expect("a folder"),
            "f" => {
                std::fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
                std::fs::write(&path, content).expect("a file");
            }
            "l" => std::os::unix::fs::symlink(OsStr::from_bytes(&content), &path).expect("a link"),
            other => panic!("unknown setup {other}"),
        }
    }
}

/// The raw cells of a golden table, for `set_up`.
pub fn raw_rows(name: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(golden(name)).expect("tables are ASCII");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}
