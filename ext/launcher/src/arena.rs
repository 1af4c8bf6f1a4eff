//! Paths without a heap: a bump allocator in a buffer of fixed size.
//!
//! The brief must start as fast as a C no-op; touching the allocator would cost it two system calls.
//! One buffer in .bss costs a page fault for each page that is really used.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;

/// Longest path that is worked with, without its NUL: Linux refuses longer ones.
pub const PATH_MAX: usize = 4095;
const SIZE: usize = 64 * 1024;

/// A byte string that a NUL follows, so that it can be handed to the kernel as it is.
#[derive(Clone, Copy)]
pub struct CPath<'a> {
    with_nul: &'a [u8],
}

impl<'a> CPath<'a> {
    /// A path that exists as a C string.
    pub const fn from_c_str(text: &'a CStr) -> Self {
        CPath { with_nul: text.to_bytes_with_nul() }
    }

    /// The path without its NUL.
    pub fn bytes(&self) -> &'a [u8] {
        self.with_nul.split_last().map_or(&[], |(_, path)| path)
    }

    /// For the kernel: NUL-terminated, valid as long as `'a`.
    pub fn as_ptr(&self) -> *const c_char {
        self.with_nul.as_ptr().cast()
    }
}

/// The buffer. Everything taken from it lives as long as it does; nothing is given back.
pub struct Arena {
    buffer: UnsafeCell<MaybeUninit<[u8; SIZE]>>,
    used: Cell<usize>,
}

impl Arena {
    /// An empty arena; const, so that it can be a static in .bss.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Arena { buffer: UnsafeCell::new(MaybeUninit::uninit()), used: Cell::new(0) }
    }

    /// Starts a path. Until it is finished or dropped, the arena hands out nothing else.
    pub fn builder(&self) -> Builder<'_> {
        // Taking all of the rest keeps a second builder from writing into the same bytes.
        let start = self.used.replace(SIZE);
        Builder { arena: self, start, len: 0 }
    }

    /// `parts` joined as they are; None if that is longer than a path may be or the arena is full.
    pub fn join(&self, parts: &[&[u8]]) -> Option<CPath<'_>> {
        let mut builder = self.builder();
        for part in parts {
            builder.push(part)?;
        }
        builder.finish()
    }
}

/// A path under construction at the end of its arena; dropping it gives its bytes back.
pub struct Builder<'a> {
    arena: &'a Arena,
    start: usize,
    len: usize,
}

impl<'a> Builder<'a> {
    fn base(&self) -> *mut u8 {
        self.arena.buffer.get().cast::<u8>()
    }

    /// Bytes that still fit, one kept back for the NUL.
    fn room(&self) -> usize {
        let in_arena = SIZE.saturating_sub(self.start).saturating_sub(self.len).saturating_sub(1);
        in_arena.min(PATH_MAX.saturating_sub(self.len))
    }

    /// Appends `part`; None if it does not fit.
    pub fn push(&mut self, part: &[u8]) -> Option<()> {
        if part.len() > self.room() {
            return None;
        }
        // SAFETY: room() keeps start + len + part.len() below SIZE; the bytes from `start` on belong to this builder alone.
        unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), self.base().add(self.start + self.len), part.len()) };
        self.len += part.len();
        Some(())
    }

    /// Cuts back to the first `len` bytes; longer than now changes nothing.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Lets `fill` write up to `room` bytes at the end and say how many it wrote.
    pub fn fill(&mut self, fill: impl FnOnce(*mut u8, usize) -> Option<usize>) -> Option<()> {
        let room = self.room();
        // SAFETY: start + len <= SIZE, so the pointer stays in the buffer; `fill` is told the room behind it.
        let written = fill(unsafe { self.base().add(self.start + self.len) }, room)?;
        if written > room {
            return None;
        }
        self.len += written;
        Some(())
    }

    /// What has been written so far.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: push and fill have initialised these `len` bytes, and nobody else may write them while self lives.
        unsafe { std::slice::from_raw_parts(self.base().add(self.start), self.len) }
    }

    fn terminate(&self) {
        // SAFETY: both callers have checked that the byte behind the path lies inside the buffer.
        unsafe { *self.base().add(self.start + self.len) = 0 };
    }

    /// The path so far, for a look at the disk; gone with the next change.
    pub fn peek(&mut self) -> Option<CPath<'_>> {
        if self.start + self.len >= SIZE {
            return None;
        }
        self.terminate();
        // SAFETY: terminate() has initialised the byte behind the path.
        Some(CPath { with_nul: unsafe { std::slice::from_raw_parts(self.base().add(self.start), self.len + 1) } })
    }

    /// Keeps the path for the arena's life.
    pub fn finish(mut self) -> Option<CPath<'a>> {
        if self.start + self.len >= SIZE {
            return None;
        }
        self.terminate();
        // SAFETY: initialised up to the NUL; `used` moves behind it below, so nothing writes these bytes again.
        let with_nul = unsafe { std::slice::from_raw_parts(self.base().add(self.start), self.len + 1) };
        self.start += self.len + 1;
        self.len = 0;
        Some(CPath { with_nul })
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // After finish() `start` already stands behind the kept path.
        self.arena.used.set(self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_paths_stay_apart_and_end_in_nul() {
        let arena = Box::new(Arena::new());
        let (Some(one), Some(two)) = (arena.join(&[b"/a", b"/b"]), arena.join(&[b"/c"])) else {
            unreachable!("two short paths fit")
        };
        assert_eq!((one.bytes(), two.bytes()), (&b"/a/b"[..], &b"/c"[..]));
        assert_eq!(one.with_nul.last(), Some(&0));
    }

    #[test]
    fn a_path_that_is_too_long_is_refused_and_costs_nothing() {
        let arena = Box::new(Arena::new());
        assert!(arena.join(&[&[b'x'; PATH_MAX], b"y"]).is_none());
        assert_eq!(arena.used.get(), 0);
    }

    #[test]
    fn a_full_arena_refuses_instead_of_overwriting() {
        let arena = Box::new(Arena::new());
        let kept: Vec<_> = (0..100).filter_map(|_| arena.join(&[&[b'x'; 4000]])).collect();
        assert_eq!(kept.len(), SIZE / 4001);
        assert!(kept.iter().all(|path| path.bytes().iter().all(|byte| *byte == b'x')));
    }

    #[test]
    fn a_second_builder_gets_no_room_while_the_first_is_open() {
        let arena = Box::new(Arena::new());
        let first = arena.builder();
        assert!(arena.join(&[b"x"]).is_none());
        drop(first);
        assert!(arena.join(&[b"x"]).is_some());
    }
}
