//! Golden snapshots: what a scenario gave when it was last blessed, and how a new run is held
//! against it.
//!
//! One file per environment class, suite and scenario: `golden/tcg-icount/SUITE/SCENARIO.snap`, in
//! insta's file format (a YAML header, then canonical JSON), so that `cargo insta review` shows
//! what changed. The command and the test target use this crate for reading, comparing and
//! replacing those files, so the two cannot disagree.
//!
//! - [`figures`]: count and durations of one kind of exit.
//! - [`snapshot`]: what is blessed, and its canonical text.
//! - [`mod@file`]: where a snapshot lies and what stands around its text.
//! - [`compare`]: what must be equal, and what may drift when other code was measured.
//! - [`replace`]: writing many files so that each is old or new, never torn.
#![forbid(unsafe_code)]

pub mod compare;
pub mod figures;
pub mod file;
pub mod replace;
pub mod snapshot;

/// The environment class of QEMU TCG under `-icount shift=0,sleep=off`: counts and timings are
/// exact.
pub const TCG_ICOUNT: &str = "tcg-icount";
