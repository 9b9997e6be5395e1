//! The software APIC's registers against the backing page.
//!
//! Under AVIC the page is where vectors live. Software that works on registers (an emulated access, a
//! trap's side effect) takes them over first and hands everything back after.

use super::tables::BackingPage;
use crate::lapic::{Lapic, Vectors};
use crate::time::Ns;
use trapline_defs::apic::offset;

/// Registers of the page that the software APIC keeps, in its order; IRR is not among them, because
/// other processors write it.
fn owned() -> impl Iterator<Item = u16> {
    let banks = [offset::ISR, offset::TMR];
    let plain = [
        offset::ID,
        offset::VERSION,
        offset::TPR,
        offset::PPR,
        offset::LDR,
        offset::DFR,
        offset::SVR,
        offset::ESR,
        offset::LVT_TIMER,
        offset::LVT_THERMAL,
        offset::LVT_PERFORMANCE,
        offset::LVT_LINT0,
        offset::LVT_LINT1,
        offset::LVT_ERROR,
        offset::TIMER_INITIAL,
        offset::TIMER_DIVIDE,
    ];
    let words = banks.into_iter().flat_map(|bank| (0..8).map(move |n| bank + n * 16));
    plain.into_iter().chain(words)
}

/// What the processor keeps becomes the software APIC's: vectors and ICR. Its TPR it takes from V_TPR
/// after each exit.
#[cold]
#[inline(never)]
pub fn take_over(lapic: &mut Lapic, page: &BackingPage) {
    lapic.adopt_command(page.load(offset::ICR), page.load(offset::ICR_HIGH));
    lapic.load_vectors(
        page.vectors(offset::IRR),
        page.vectors(offset::ISR),
        page.vectors(offset::TMR),
    );
}

/// The page's registers become the software APIC's, but for IRR, which is left alone; what arrived
/// meanwhile is posted by [`super::post::flush`].
#[cold]
#[inline(never)]
pub fn hand_back(lapic: &mut Lapic, page: &BackingPage) {
    for register in owned() {
        if let Some(value) = lapic.peek(register, Ns(0)) {
            page.store(register, value);
        }
    }
    let (low, high) = lapic.command();
    page.store(offset::ICR, low);
    page.store(offset::ICR_HIGH, high);
    let (isr, tmr) = (page.vectors(offset::ISR), page.vectors(offset::TMR));
    lapic.load_vectors(Vectors::EMPTY, isr, tmr);
}

/// Works on the software APIC with the page's vectors in it.
pub fn with<T>(lapic: &mut Lapic, page: &BackingPage, work: impl FnOnce(&mut Lapic) -> T) -> T {
    take_over(lapic, page);
    let result = work(lapic);
    hand_back(lapic, page);
    result
}
