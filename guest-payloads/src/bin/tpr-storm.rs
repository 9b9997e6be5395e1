//! Task priorities: a vector comes if its class is strictly greater than TPR's, and not else
//! (APM vol. 2 §16.6.4), whichever way TPR is written.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, call, cpu, interrupt, payload, smp};
use trapline_defs::apic::offset;

payload! {
    about: "Raises and lowers TPR, with a vector that waits behind it or does not.";
    number n = 60, "How often it is raised and lowered.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    choice by: By { Cr8 = "cr8", Register = "register" } = "cr8", "What is written: CR8, or the APIC's TPR.";
    choice pending: Pending { None = "none", Below = "below", Equal = "equal", Above = "above" }
        = "none", "The class of the IPI that comes while TPR is raised, against TPR's.";
    run: run;
}

/// Classes of the vectors: every one that has one above and, but for exceptions, one below.
const CLASSES: core::ops::RangeInclusive<u8> = 3..=14;
/// What an IPI that is held back has to come early: plenty for a processor, little for a window.
const PATIENCE: u64 = 500;

static CAME: Count = Count::new();

fn handler(_vector: u8) {
    CAME.add();
    apic::eoi();
}

/// TPR's low half must not matter, so it says the opposite of what its class does.
#[inline(always)]
fn set(by: By, class: u8, low: u8) {
    match by {
        By::Cr8 => cpu::write_cr8(class.into()),
        By::Register => apic::write(offset::TPR, u64::from(class << 4 | low)),
    }
}

fn run(Params { n, mode, by, pending }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on_each(0x30..=0xef, handler);
    apic::settle(0x30);
    CAME.set(0);
    let (mut early, mut sent) = (0, 0);
    cpu::sti();
    call::begin("tpr");
    for (_, class) in (0..n).zip(CLASSES.cycle()) {
        match pending {
            Pending::None => set(by, class, 0),
            Pending::Below => set(by, class + 1, 0),
            Pending::Equal => set(by, class, 0),
            Pending::Above => set(by, class - 1, 0xf),
        }
        if pending != Pending::None {
            let low = if pending == Pending::Above { 0 } else { 0xf };
            apic::self_ipi(class << 4 | low);
            if pending != Pending::Above {
                smp::rest(PATIENCE);
                early += u64::from(CAME.get() != sent);
            }
            sent += 1;
        }
        if pending == Pending::Above {
            cpu::wait_until(|| CAME.get() >= sent);
        }
        set(by, class - 1, 0xf);
        cpu::wait_until(|| CAME.get() >= sent);
    }
    call::end();
    cpu::cli();
    call::check("IPIs that came in spite of TPR", 0, early);
    call::check("IPIs that came", sent, CAME.get());
}
