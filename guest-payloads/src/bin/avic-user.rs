//! Accesses to the APIC above ring 0 under AVIC (APM vol. 2 §15.11, §15.29.3; AVIC-071, AVIC-072).
#![no_std]
#![no_main]

use core::arch::naked_asm;
use guest_payloads::laboratory::{self as lab, Field};
use guest_payloads::rule::{self, GP, NOTHING, Rule, traps};
use guest_payloads::{payload, user};
use trapline_defs::apic::{DEFAULT_BASE, offset};

payload! {
    about: "Accesses the APIC from ring 3 under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    rule::open(x2apic);
    rule::fresh();
    user::open();
    if x2apic { msrs() } else { stores() }
}

fn stores() {
    let mut rule = Rule::new("AVIC-071 a user's store is a store");
    for (register, value, word) in
        [(offset::TPR, 0x30, NOTHING), (offset::SVR, 0x13f, traps(offset::SVR))]
    {
        let came = in_ring_3(store, DEFAULT_BASE + u64::from(register), 0, value);
        rule.is(word, came).is(value, lab::page(0, register).into());
    }
    rule.is(3, lab::v_tpr());
}

fn msrs() {
    let mut rule = Rule::new("AVIC-072 a user's WRMSR is #GP");
    lab::set_vector(0, offset::ISR, 0x55, true);
    for intercepted in [0, 1] {
        for index in [0x0b, 0x30] {
            lab::poke(Field::WriteIntercept(index), intercepted);
            // EOI, or vector 0 to the sender itself.
            rule.is(GP, in_ring_3(wrmsr, 0, 0x800 + u64::from(index), 0));
            lab::poke(Field::WriteIntercept(index), 0);
        }
    }
    rule.is(1, lab::has(0, offset::ISR, 0x55).into()).is(0, rule::requested());
}

/// What the first instruction of `code` comes to in ring 3. The second one ends the trip: CLI is `#GP`.
fn in_ring_3(code: extern "C" fn(), rdi: u64, rcx: u64, rax: u64) -> u64 {
    lab::clear();
    let came = user::run(code, rdi, rcx, rax);
    rule::word(code as *const () as u64, came.behind == 0)
}

#[unsafe(naked)]
extern "C" fn store() {
    naked_asm!("mov [rdi], eax", "cli")
}

#[unsafe(naked)]
extern "C" fn wrmsr() {
    naked_asm!("wrmsr", "cli")
}
