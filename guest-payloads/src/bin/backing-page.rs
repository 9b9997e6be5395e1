//! Accesses to the xAPIC's page. Without AVIC each is a nested page fault; with it none is, unless the
//! page is not mapped: the storm of seeds/004.
#![no_std]
#![no_main]

use guest_payloads::{apic, call, cpu, payload};
use trapline_defs::apic::offset;
use trapline_defs::msr::EFER;

payload! {
    about: "Reads or writes one register of the APIC's page.";
    number n = 1000, "How often.";
    number every = 0, "After how many of them it reads an MSR that exits; 0: after none.";
    choice access: Access { ReadId = "read-id", ReadTpr = "read-tpr", WriteTpr = "write-tpr" }
        = "read-id", "What it does.";
    run: run;
}

const TPR: u64 = 0x50;

fn run(Params { n, access, every }: Params) {
    apic::open(apic::Mode::XApic);
    apic::write(offset::TPR, TPR);
    let mut wrong = 0;
    call::begin("page");
    let mut left = every;
    for count in 0..n {
        match access {
            Access::ReadId => wrong += u64::from(apic::read(offset::ID) != 0),
            Access::ReadTpr => wrong += u64::from(apic::read(offset::TPR) != TPR),
            Access::WriteTpr => apic::write(offset::TPR, (count & 15) << 4),
        }
        // The guest's work beside the page: the same with AVIC and without.
        left = left.wrapping_sub(1);
        if left == 0 {
            cpu::read_msr(EFER);
            left = every;
        }
    }
    call::end();
    if access == Access::WriteTpr {
        wrong += u64::from(apic::read(offset::TPR) != ((n - 1) & 15) << 4);
    }
    call::check("values that were wrong", 0, wrong);
}
