//! Why a target could not be used at all.

use super::{Ending, Version};
use std::path::PathBuf;

/// Each message says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No QEMU on PATH.
    #[error(
        "qemu-system-x86_64 is not installed: run ci/setup, or set TRAPLINE_QEMU to where it is"
    )]
    NoQemu,
    /// TRAPLINE_QEMU names nothing that runs.
    #[error("TRAPLINE_QEMU names `{}`, which cannot be run ({source}): correct or unset it", path.display())]
    NotRunnable {
        /// What it names.
        path: PathBuf,
        /// Why it does not run.
        source: std::io::Error,
    },
    /// It runs, but does not say a version.
    #[error("`{} --version` does not look like QEMU, it says: {said}", path.display())]
    NotQemu {
        /// Which program.
        path: PathBuf,
        /// Its first line.
        said: String,
    },
    /// Too old.
    #[error(
        "`{}` is QEMU {found}, but {} or newer is needed (x2APIC under TCG): run ci/setup, or set \
         TRAPLINE_QEMU to a newer one", path.display(), super::MINIMUM
    )]
    TooOld {
        /// Which program.
        path: PathBuf,
        /// Its version.
        found: Version,
    },
    /// A file operation failed.
    #[error("cannot {what} `{}`: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// QEMU could not be started or waited for.
    #[error("cannot run `{}`: {source}", path.display())]
    Process {
        /// Which program.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The machine that is asked for has not what a scenario wants.
    #[error("{scenario}: {why}")]
    Silicon {
        /// The scenario.
        scenario: String,
        /// What is missing, and what to do.
        why: String,
    },
    /// The plan for a boot cannot be made.
    #[error(transparent)]
    Plan(Box<dyn std::error::Error + Send + Sync>),
    /// No scenario began.
    #[error("hv-core did not come up: {ending}{evidence}\nkept in `{}`", dir.display())]
    NoBoot {
        /// How QEMU ended.
        ending: Ending,
        /// What hv-core and QEMU said, each on lines of its own; may be empty.
        evidence: String,
        /// Where the boot's files are.
        dir: PathBuf,
    },
    /// It ended well, but its records are not there.
    #[error(
        "the target ended well, but its record file `{}` is cut short after {bytes} bytes: the \
         disk may be full ({free} MiB are free there)", path.display()
    )]
    RecordsLost {
        /// The file.
        path: PathBuf,
        /// What arrived.
        bytes: u64,
        /// Free space of its file system in MiB.
        free: u64,
    },
    /// The processor that hv-core found has no SVM.
    #[error("the machine offers no SVM to hv-core ({0}): {1}")]
    NoSvm(String, &'static str),
    /// KVM cannot be used.
    #[error("--accel kvm cannot be used here: {0}")]
    NoKvm(String),
}
