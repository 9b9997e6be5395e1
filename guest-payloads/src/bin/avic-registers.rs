//! The register access matrix of AVIC (APM vol. 2 §15.29.3.1, Table 15-22), row by row.
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, code};
use guest_payloads::{apic, call, interrupt, payload};
use trapline_defs::apic::offset;
use trapline_defs::avic::NoAccel;

payload! {
    about: "Reads and writes every APIC register under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

/// Some value that no register has by itself.
const VALUE: u32 = 0x00a5_00b0;

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    apic::open(if x2apic { apic::Mode::X2Apic } else { apic::Mode::XApic });
    lab::avic(x2apic);
    reads(x2apic);
}

/// Whether reading a register gives the backing page's value and nothing else.
fn reads_page(register: u16) -> bool {
    let before = lab::page(0, register);
    lab::set_page(0, register, VALUE);
    lab::clear();
    let value = apic::read(register);
    let good = value as u32 == VALUE && lab::exits() == 0;
    lab::set_page(0, register, before);
    good
}

/// Whether reading a register exits before anything happens.
fn read_faults(register: u16) -> bool {
    lab::clear();
    apic::read(register);
    let exit = lab::exit(0);
    let info = NoAccel::from_bits(exit.info_1);
    lab::exits() == 1 && exit.code == code::NO_ACCEL && info.offset() == register && !info.write()
}

fn holds(rule: &str, what: bool) {
    call::check(rule, 1, u64::from(what));
}

fn reads(x2apic: bool) {
    holds("AVIC-021 ID", reads_page(offset::ID));
    holds("AVIC-022 version", reads_page(offset::VERSION));
    holds("AVIC-024 APR faults", read_faults(offset::APR));
    holds("AVIC-025 PPR", reads_page(offset::PPR));
    if !x2apic {
        holds("AVIC-026 EOI", reads_page(offset::EOI));
    } else {
        lab::clear();
        let faulted = interrupt::may_fault(2, || {
            guest_payloads::cpu::read_msr(0x80b);
        });
        holds("AVIC-027 RDMSR 80Bh is #GP", faulted && lab::exits() == 0);
    }
}
