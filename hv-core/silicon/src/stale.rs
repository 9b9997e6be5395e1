//! What a core remembers too long: TLB entries of another vCPU's APIC page, and IsRunning bits.

use crate::knobs::Chance;
use crate::processor::{AvicMode, Processor};
use trapline_defs::vmcb::TlbControl;

/// The backing page that this core's TLB has for the APIC page.
///
/// The entry is tagged with neither vCPU nor, in effect, ASID (APM vol. 2 §15.29.4.3), so it
/// survives until something flushes it. The VM is told by its physical table, which all its
/// vCPUs share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    table: u64,
    /// The page that accesses reach.
    pub(crate) page: u64,
}

impl Tag {
    pub(crate) const NONE: Self = Self { table: !0, page: !0 };
}

/// Entries that this core saw running, by guest APIC id. Erratum 1235 is a matter of parts
/// without x2AVIC, so eight bits of id are enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenRunning {
    table: u64,
    ids: [u64; 4],
}

impl SeenRunning {
    pub(crate) const NONE: Self = Self { table: !0, ids: [0; 4] };
}

impl Processor {
    /// VMRUN: which page APIC accesses will reach.
    #[inline]
    pub(crate) fn retag(&mut self, flush: TlbControl) {
        let (table, page) = (self.loaded.physical, self.loaded.backing);
        let flushed = flush == TlbControl::FLUSH_ALL || flush == TlbControl::FLUSH_GUEST;
        let stale = self.loaded.mode == AvicMode::XAvic
            && !flushed
            && self.tag.table == table
            && self.tag.page != page
            && self.dice.happens(self.knobs.stale_tlb_tag);
        if !stale {
            self.tag = Tag { table, page };
        }
    }

    /// The sender saw an entry running.
    #[inline]
    pub(crate) fn note_running(&mut self, id: u16) {
        if self.knobs.stale_is_running != Chance::Never && id < 256 {
            if self.seen.table != self.loaded.physical {
                self.seen = SeenRunning { table: self.loaded.physical, ids: [0; 4] };
            }
            self.seen.ids[usize::from(id >> 6)] |= 1 << (id & 63);
        }
    }

    /// Whether the sender takes an entry for running that is not. Once per sighting: on silicon
    /// the window lasts only until the other core's store arrives. An entry that never ran never
    /// looks running, so that the work-around (never set IsRunning) works here too.
    #[inline]
    pub(crate) fn sees_stale_running(&mut self, id: u16) -> bool {
        if self.knobs.stale_is_running == Chance::Never
            || id >= 256
            || self.seen.table != self.loaded.physical
        {
            return false;
        }
        let (word, bit) = (usize::from(id >> 6), 1 << (id & 63));
        if self.seen.ids[word] & bit == 0 {
            return false;
        }
        self.seen.ids[word] &= !bit;
        self.dice.happens(self.knobs.stale_is_running)
    }
}
