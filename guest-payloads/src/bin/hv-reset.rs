//! RESET: a guest that asks for a new start.
#![no_std]
#![no_main]

use guest_payloads::{call, cpu, payload};

payload! {
    about: "Writes 0 to Hyper-V's RESET, and then 1.";
    run: run;
}

const RESET: u32 = 0x4000_0003;

fn run(_: Params) {
    call::check("HV-035: RESET reads 0", 0, cpu::read_msr(RESET));
    cpu::write_msr(RESET, 0);
    call::check("HV-035: RESET := 0 does nothing", 0, cpu::read_msr(RESET));
    cpu::write_msr(RESET, 1);
    panic!("the guest went on behind its reset");
}
