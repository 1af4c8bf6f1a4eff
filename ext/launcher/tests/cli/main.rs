//! The built launcher, run as a process, against fake owners that a thread serves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../support/mod.rs"]
mod support;

mod brief;
mod fallback;
mod gate;
mod input;
mod log;
mod owner;
mod programs;
mod trouble;
mod world;
