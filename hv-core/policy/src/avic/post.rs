//! How an interrupt reaches a vCPU under AVIC (spec avic.md 5.6; AVH-011, AVH-014).

use super::tables::{BackingPage, Tables};
use crate::vcpu::Vcpu;
use trapline_defs::apic::offset;

/// Sets a vector in a page: TMR before IRR, because the processor reads TMR when the guest ends it.
fn set(page: &BackingPage, vector: u8, level: bool) {
    if level {
        page.set(offset::TMR, vector);
    } else {
        page.clear(offset::TMR, vector);
    }
    page.set(offset::IRR, vector);
}

/// Posts to a vCPU for which AVIC is on; `false` if it is not (any more), and then nothing was
/// posted.
///
/// AVIC may be turned off meanwhile. Whether it is on is therefore looked at again after the store:
/// if it is off, the vector is taken back unless its owner took it over, so that it is delivered once.
#[must_use]
pub fn post(tables: &Tables, target: u32, vector: u8, level: bool) -> bool {
    if !tables.is_active(target) {
        return false;
    }
    let page = tables.page(target);
    set(page, vector, level);
    tables.is_active(target) || !page.clear(offset::IRR, vector)
}

/// Whether the backing page has something that priorities would let through. While AVIC is off for the
/// vCPU, other processors may already use it again and post there: it has to wake up for that, too.
pub fn is_pending(tables: &Tables, vcpu: &Vcpu) -> bool {
    let page = tables.page(vcpu.index);
    if vcpu.avic.active {
        return page.deliverable().is_some();
    }
    let highest = page.vectors(offset::IRR).highest();
    highest.is_some_and(|vector| vector & 0xf0 > vcpu.lapic.ppr())
}

/// Accepts in software what came to the backing page although AVIC is off.
pub fn take_back(tables: &Tables, vcpu: &mut Vcpu) {
    let page = tables.page(vcpu.index);
    let tmr = page.vectors(offset::TMR);
    let mut posted = page.take(offset::IRR);
    while let Some(vector) = posted.highest() {
        posted.remove(vector);
        vcpu.lapic.accept(vector, tmr.has(vector));
    }
}

/// Posts to its own page what the software APIC accepted. The next VMRUN evaluates it.
#[cold]
#[inline(never)]
pub fn flush(tables: &Tables, vcpu: &mut Vcpu) {
    let page = tables.page(vcpu.index);
    let (posted, level) = vcpu.lapic.take_posted();
    let mut rest = posted;
    while let Some(vector) = rest.highest() {
        rest.remove(vector);
        set(page, vector, level.has(vector));
    }
}
