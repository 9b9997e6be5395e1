//! The physical and the logical APIC id table, as the sender of an IPI reads them
//! (APM vol. 2 §15.29.5).

use crate::memory::Memory;
use crate::page::Page;
use crate::processor::Processor;
use trapline_defs::avic::{FailureId, LogicalEntry, PhysicalEntry};

/// Why an IPI was incomplete, and at which table index.
pub(crate) type Failure = (FailureId, u16);

/// A target that exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The guest's APIC id, which is the index of the physical table.
    pub(crate) id: u16,
    /// The index that a failure reports: a logical one for xAPIC logical destinations.
    pub(crate) index: u16,
    pub(crate) page: Page,
}

impl Processor {
    /// Loads an entry of the physical table.
    #[inline]
    pub(crate) fn entry(&self, id: u16, memory: &impl Memory) -> PhysicalEntry {
        let address = self.loaded.physical + u64::from(id) * PhysicalEntry::SIZE;
        PhysicalEntry::from_bits(memory.load64(address))
    }

    /// The target with a guest APIC id. A failure reports `index`.
    #[inline]
    pub(crate) fn target(
        &self,
        id: u32,
        index: u16,
        memory: &impl Memory,
    ) -> Result<Target, Failure> {
        if id > self.last_id() {
            return Err((FailureId::INVALID_TARGET, index));
        }
        let id = id as u16;
        let entry = self.entry(id, memory);
        if !entry.valid() {
            return Err((FailureId::INVALID_TARGET, index));
        }
        if self.beyond(entry.page()) {
            return Err((FailureId::INVALID_BACKING_PAGE, index));
        }
        Ok(Target { id, index, page: Page(entry.page()) })
    }

    /// The target of an entry of the logical table.
    #[inline]
    pub(crate) fn logical_target(
        &self,
        index: u16,
        memory: &impl Memory,
    ) -> Result<Target, Failure> {
        if index >= LogicalEntry::CLUSTERED {
            return Err((FailureId::INVALID_TARGET, index));
        }
        let address = self.loaded.logical + u64::from(index) * LogicalEntry::SIZE;
        let entry = LogicalEntry::from_bits(memory.load32(address));
        if !entry.valid() {
            return Err((FailureId::INVALID_TARGET, index));
        }
        self.target(u32::from(entry.guest_id()), index, memory)
    }
}
