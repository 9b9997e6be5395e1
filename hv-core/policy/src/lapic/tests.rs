//! What a guest and a run loop see of the local APIC.

mod delivery;
mod destination;
mod interface;
mod invariants;
mod local;
mod timer;

use trapline_defs::apic::offset;

use super::{Effect, Lapic};
use crate::time::Ns;

const T0: Ns = Ns(1000);
const ENABLED: u32 = 0x1ff;

/// A bootstrap APIC in xAPIC mode, enabled by software.
fn xapic() -> Lapic {
    let mut apic = Lapic::new(0, true);
    apic.write_mmio(offset::SVR, ENABLED, T0);
    apic.event_request = false;
    apic.map_changed = false;
    apic
}

/// The same in x2APIC mode, with an id.
fn x2apic(id: u32) -> Lapic {
    let mut apic = Lapic::new(id, id == 0);
    apic.set_base(apic.base() | 0x400, true).unwrap();
    apic.write_msr(0x80f, ENABLED.into(), T0).unwrap();
    apic.event_request = false;
    apic.map_changed = false;
    apic
}

/// Injects what is deliverable.
fn inject(apic: &mut Lapic) -> Option<u8> {
    let vector = apic.deliverable()?;
    apic.acknowledge(vector, false);
    Some(vector)
}

/// Whether events were requested since the last call.
fn requested(apic: &mut Lapic) -> bool {
    core::mem::take(&mut apic.event_request)
}

/// Writes a self IPI and lets it arrive.
fn self_ipi(apic: &mut Lapic, vector: u8) {
    let Ok(Effect::Ipi(icr)) = apic.write_wide(offset::ICR, 0x40000 | u64::from(vector), T0) else {
        panic!("no IPI");
    };
    apic.receive_own(icr);
}
