//! Accesses to the xAPIC's page. Without AVIC each is a nested page fault; with it none is, unless the
//! page is not mapped: the storm of seeds/004.
#![no_std]
#![no_main]

use guest_payloads::{apic, call, payload};
use trapline_defs::apic::offset;

payload! {
    about: "Reads or writes one register of the APIC's page.";
    number n = 1000, "How often.";
    choice access: Access { ReadId = "read-id", ReadTpr = "read-tpr", WriteTpr = "write-tpr" }
        = "read-id", "What it does.";
    run: run;
}

const TPR: u64 = 0x50;

fn run(Params { n, access }: Params) {
    apic::open(apic::Mode::XApic);
    apic::write(offset::TPR, TPR);
    let mut wrong = 0;
    call::begin("page");
    for count in 0..n {
        match access {
            Access::ReadId => wrong += u64::from(apic::read(offset::ID) != 0),
            Access::ReadTpr => wrong += u64::from(apic::read(offset::TPR) != TPR),
            Access::WriteTpr => apic::write(offset::TPR, (count & 15) << 4),
        }
    }
    call::end();
    if access == Access::WriteTpr {
        wrong += u64::from(apic::read(offset::TPR) != ((n - 1) & 15) << 4);
    }
    call::check("values that were wrong", 0, wrong);
}
