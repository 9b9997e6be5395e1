//! The APIC page and its nested page table entry, in xAPIC mode (APM vol. 2 §15.29.3).
//!
//! The nested walk of V_APIC_BAR's page comes first, permissions included; then the backing page
//! takes the place of what the leaf maps. So a hypervisor must keep some leaf there, and what it
//! points to does not matter.

use crate::exit::{Exit, Rip};
use crate::processor::{AvicMode, Processor};
use trapline_defs::exit_code::ExitCode;

/// Permissions of a present leaf of the nested page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Writable.
    pub writable: bool,
    /// User. Every guest access is a user access to the nested walk, ring 0 included.
    pub user: bool,
    /// Executable.
    pub executable: bool,
}

/// What touches a guest-physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An instruction fetch.
    Fetch,
    /// The walk of the guest's own page tables, which counts as a store.
    Walk,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Goes {
    /// To the APIC's registers, at this offset.
    Registers(u16),
    /// To what the leaf maps.
    Memory,
    /// Nowhere: nested page fault. No register is touched.
    Fault(Exit),
    /// A fetch or a walk in the APIC page: the manual does not say.
    Undefined,
}

impl Processor {
    /// Where an access to `gpa` goes, given the leaf that maps it. The size of the leaf does not
    /// matter: only the 4 KiB of V_APIC_BAR are replaced.
    pub fn apic_page(&self, gpa: u64, leaf: Option<Leaf>, cause: Cause) -> Goes {
        let permitted = leaf.is_some_and(|leaf| {
            leaf.user
                && match cause {
                    Cause::Read => true,
                    Cause::Write | Cause::Walk => leaf.writable,
                    Cause::Fetch => leaf.executable,
                }
        });
        if !permitted {
            return Goes::Fault(fault(gpa, leaf.is_some(), cause));
        }
        if self.loaded.mode != AvicMode::XAvic || gpa & !0xfff != self.loaded.bar {
            return Goes::Memory;
        }
        match cause {
            Cause::Read | Cause::Write => Goes::Registers((gpa & 0xfff) as u16),
            Cause::Fetch | Cause::Walk => Goes::Undefined,
        }
    }
}

/// Exit 400h (APM vol. 2 §15.25.6): EXITINFO1 is a page fault's error code, with bit 32 for the
/// final address and bit 33 for the guest's own walk; EXITINFO2 the guest-physical address.
fn fault(gpa: u64, present: bool, cause: Cause) -> Exit {
    let write = matches!(cause, Cause::Write | Cause::Walk);
    let fetch = matches!(cause, Cause::Fetch);
    let stage = if matches!(cause, Cause::Walk) { 1 << 33 } else { 1 << 32 };
    let user = 1 << 2;
    Exit {
        code: ExitCode::NPF,
        info_1: stage | user | u64::from(present) | u64::from(write) << 1 | u64::from(fetch) << 4,
        info_2: gpa,
        rip: Rip::At,
    }
}
