//! The low half of TPR, which KVM loses at the first exit (rule TPR-1; corrections.md 3.0), and Xen keeps.
#![no_std]
#![no_main]

use guest_payloads::{apic, call, cpu, interrupt, payload};
use trapline_defs::apic::offset;

payload! {
    about: "Writes TPR 35h and reads it back: 30h under KVM without AVIC, 35h under Xen; CR8 reads 3.";
    choice registers: Registers { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "The APIC's interface.";
    choice low: Low { Lost = "lost", Kept = "kept" } = "lost", "What becomes of the low half.";
    run: run;
}

const VECTOR: u8 = 0xb0;

fn run(Params { registers, low }: Params) {
    apic::open(if registers == Registers::XApic { apic::Mode::XApic } else { apic::Mode::X2Apic });
    interrupt::on(VECTOR, apic::eoi);
    apic::settle(VECTOR);
    call::begin("tpr");
    apic::write(offset::TPR, 0x35);
    let read = apic::read(offset::TPR);
    call::end();
    match low {
        Low::Lost => call::check("TPR-1: TPR 35h reads back", 0x30, read),
        Low::Kept => call::check("XEN-2: TPR 35h reads back", 0x35, read),
    }
    call::check("CR8 reads TPR's class", 3, cpu::read_cr8());
}
