//! The target: hv-core in a QEMU process of its own.
//!
//! One [`Boot`] is one QEMU process in one folder with one constant command line: what is to be
//! run is in the plan, because the length of a command line moves the boot's time stamps. A
//! [`Batch`] runs a list of scenarios in as few boots as it takes: when the target dies or falls
//! silent, the culprit is named and the rest goes on in a new boot behind it.
//!
//! Only the code that isa-debug-exit gives counts as a good end. A triple fault under
//! `-no-reboot` ends QEMU with code 0, which therefore means that the target died.

mod batch;
mod boot;
mod ending;
mod error;
mod machine;
mod probe;
mod process;
mod qemu;
mod stderr;

pub(crate) use batch::fate;
pub use batch::{Batch, Entry, Fate, Planner, Progress, Ran, Report};
pub use boot::{Boot, BootRun, Limits};
pub use ending::Ending;
pub use error::TargetError;
pub use machine::{Accel, Start, file};
pub use probe::{kvm as probe_kvm, tcg as probe_tcg};
pub use process::Process;
pub use qemu::{MINIMUM, Qemu, Version};

#[cfg(test)]
mod fake;
