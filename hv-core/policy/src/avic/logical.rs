//! Upkeep of the logical APIC id table (spec avic.md 5.9; AVH-017).

use super::tables::Tables;
use trapline_defs::apic::DFR_FLAT;
use trapline_defs::avic::LogicalEntry;

/// What a vCPU's logical entry was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    ldr: u32,
    dfr: u32,
}

impl Default for Made {
    fn default() -> Self {
        Self { ldr: 0, dfr: DFR_FLAT }
    }
}

/// The table's index of a logical id: only ids with exactly one bit, and a cluster that exists, have
/// one.
fn index(ldr: u32, dfr: u32) -> Option<u16> {
    let id = ldr >> 24;
    if dfr == DFR_FLAT {
        return id.is_power_of_two().then(|| id.trailing_zeros() as u16);
    }
    let (cluster, bits) = (id >> 4, id & 0xf);
    (cluster < 15 && bits.is_power_of_two()).then(|| (cluster * 4 + bits.trailing_zeros()) as u16)
}

/// LDR or DFR changed: the old entry goes before the new one comes. A new DFR takes the entry away
/// until the guest writes its LDR again.
pub fn changed(tables: &Tables, made: &mut Made, vcpu: u32, ldr: u32, dfr: u32) {
    let now = Made { ldr, dfr };
    if *made == now {
        return;
    }
    if let Some(index) = index(made.ldr, made.dfr) {
        let old = tables.logical_entry(index);
        // Another vCPU may have taken the place; its entry stays.
        if old.valid() && u32::from(old.guest_id()) == vcpu {
            tables.set_logical_entry(index, LogicalEntry::new());
        }
    }
    let new_format = made.dfr != dfr;
    *made = Made { ldr: if new_format { 0 } else { ldr }, dfr };
    if let Some(index) = index(made.ldr, made.dfr) {
        let entry = LogicalEntry::new().with_guest_id(vcpu as u8).with_valid(true);
        tables.set_logical_entry(index, entry);
    }
}
