//! The oracle: what QEMU itself says about VM exits.
//!
//! `-d in_asm` makes QEMU log every #VMEXIT with its code and guest RIP,
//! independently of anything hv-core counts and without changing guest timings. [`compare`] sets
//! that log against a boot's transcript: per scenario by the trap totals, per window by the rows
//! of its table.
//!
//! The log knows neither scenarios nor windows. Scenarios are cut by hv-core's own totals, which
//! is sound because the codes of every piece must then agree; windows are cut at the VMMCALLs
//! whose RIP carries the begin or end symbol of the payload. The log names no core: of a scenario
//! with several vCPUs the totals and the number of windows are compared, not the windows' rows.

mod compare;
mod log;
mod marks;

pub use compare::{Difference, compare};
pub use log::{LoggedExit, parse, read};
pub use marks::Marks;

use std::path::PathBuf;

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of the log starts as an exit and is none.
    #[error("QEMU's log is damaged at line {line}: {text}")]
    Damaged {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A payload's ELF file cannot be understood.
    #[error("`{}` is no usable ELF file: {reason}", path.display())]
    Elf {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}
