//! Writes of the APIC under AVIC but for ICR, EOI and TPR, row by row (APM vol. 2 §15.29.3.1, Table
//! 15-22; AVIC-044 to AVIC-075).
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, Field, code};
use guest_payloads::rule::{self, GP, NOTHING, Rule, incomplete, intercepted, traps, write};
use guest_payloads::{call, payload};
use trapline_defs::apic::offset;

payload! {
    about: "Writes every APIC register under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    rule::open(x2apic);
    rule::fresh();
    both();
    if x2apic { x2apic_only() } else { xapic_only() }
}

/// Writes of that value exit behind the instruction and leave it in the page.
fn trap(label: &'static str, registers: impl IntoIterator<Item = u16>, value: u32) {
    let mut rule = Rule::new(label);
    for register in registers {
        let before = lab::page(0, register);
        rule.is(traps(register), write(register, value.into()).word);
        rule.is(value.into(), lab::page(0, register).into());
        lab::set_page(0, register, before);
    }
}

/// Writes of these registers come to that and leave the page as it was.
fn refuse(
    label: &'static str,
    registers: impl IntoIterator<Item = u16>,
    value: u64,
    word: impl Fn(u16) -> u64,
) {
    const BEFORE: u32 = 0x0ff0_3300;
    let mut rule = Rule::new(label);
    for register in registers {
        let before = lab::page(0, register);
        lab::set_page(0, register, BEFORE);
        rule.is(word(register), write(register, value).word);
        rule.is(BEFORE.into(), lab::page(0, register).into());
        lab::set_page(0, register, before);
    }
}

fn fault(label: &'static str, registers: impl IntoIterator<Item = u16>) {
    refuse(label, registers, 0x55, rule::write_faults);
}

fn gp(label: &'static str, register: u16, value: u64) {
    refuse(label, [register], value, |_| GP);
}

/// Writes of these registers are stores to memory.
fn store(label: &'static str, registers: impl IntoIterator<Item = u16>) {
    let mut rule = Rule::new(label);
    for register in registers {
        rule.is(NOTHING, write(register, 0x0300_1234).word);
        rule.is(0x0300_1234, lab::page(0, register).into());
    }
    rule.is(0, rule::requested()).is(0, lab::rings());
}

fn steps(first: u16, last: u16) -> impl Iterator<Item = u16> {
    (first..=last).step_by(16)
}

fn both() {
    fault("AVIC-046 version faults", [offset::VERSION]);
    fault("AVIC-047 APR, PPR fault", [offset::APR, offset::PPR]);
    trap("AVIC-052 SVR traps", [offset::SVR], 0x13f);
    fault("AVIC-053 ISR, TMR, IRR fault", steps(offset::ISR, 0x270));
    trap("AVIC-054 ESR traps", [offset::ESR], 0);
    trap("AVIC-056 timer LVT traps", [offset::LVT_TIMER], 0x2_00ec);
    trap("AVIC-058 LVTs trap", steps(offset::LVT_THERMAL, offset::LVT_ERROR), 0x1_00fd);
    trap("AVIC-059 initial count traps", [offset::TIMER_INITIAL], u32::MAX);
    fault("AVIC-060 current count faults", [offset::TIMER_CURRENT]);
    trap("AVIC-061 divide traps", [offset::TIMER_DIVIDE], 0xb);
    fault("AVIC-062 400h to 420h, IER fault", steps(0x400, 0x420).chain(steps(0x480, 0x4f0)));
    if lab::peek(Field::Features) >> 27 & 1 != 0 {
        trap("AVIC-063 500h to 530h trap", steps(0x500, 0x530), 0x1_0077);
    } else {
        fault("AVIC-063 500h to 530h fault", steps(0x500, 0x530));
    }

    write(offset::SVR, 0x1ff);
    call::check("AVIC-066 EXITINFO1 3:0 of a trap", 0, lab::exit(0).info_1 & 0xf);
    let came = write(offset::PPR, 0x55);
    call::check("AVIC-066 EXITINFO1 3:0 of a fault", 0, lab::exit(0).info_1 & 0xf);
    call::check("AVIC-066 RIP at the fault", 0, came.word >> 40 & 0xff);
    let behind = write(offset::SVR, 0x1ff).word >> 40 & 0xff;
    call::check("AVIC-067 RIP behind a trap", rule::LENGTH, behind);
    let came = rule::send(1, 0x4400);
    Rule::new("AVIC-067 RIP behind a failed IPI")
        .is(incomplete(0, 0), rule::without_index(came.word))
        .is(rule::LENGTH, came.word >> 40 & 0xff);
}

fn xapic_only() {
    trap("AVIC-044 ID traps", [offset::ID], 0x0500_0000);
    trap("AVIC-048 remote read traps", [offset::REMOTE_READ], 0x1234);
    trap("AVIC-049 LDR traps", [offset::LDR], 0x4000_0000);
    let valid = (0..64).filter(|&index| lab::peek(Field::Logical(index)) != 0).count();
    call::check("AVIC-049 leaves the logical table", 0, valid as u64);
    trap("AVIC-051 DFR traps", [offset::DFR], 0x0fff_ffff);
    store("AVIC-055 ICR high is stored", [offset::ICR_HIGH]);
    store("AVIC-064 holes are memory", [0x2f0, 0, 0x040, 0x290, 0x3a0, 0x3f0, 0x430]);
    fault("AVIC-065 beyond the registers faults", steps(0x580, 0xff0));

    lab::set_page(0, offset::SVR, 0x1ff);
    let came = rule::exchange(offset::SVR, 0x13f);
    Rule::new("AVIC-068 XCHG of SVR traps once")
        .is(traps(offset::SVR), came.word)
        .is(0x13f, lab::page(0, offset::SVR).into())
        .is(0x1ff, came.value);
    lab::set_page(0, offset::PPR, 0x20);
    // The direction of the exit is recorded, not demanded.
    let came = rule::exchange(offset::PPR, 0x50);
    Rule::new("AVIC-069 XCHG of PPR stores nothing")
        .is(rule::read_faults(offset::PPR), came.word & !(1 << 32))
        .is(0x20, lab::page(0, offset::PPR).into())
        .is(0x50, came.value);
}

fn x2apic_only() {
    gp("AVIC-045 WRMSR 802h is #GP", offset::ID, 5);
    gp("AVIC-050 WRMSR 80Dh is #GP", offset::LDR, 1);
    gp("AVIC-057 timer LVT bit 18 is #GP", offset::LVT_TIMER, 1 << 18 | 0xec);

    lab::set_page(0, offset::ICR, 0x1234);
    lab::poke(Field::WriteIntercept(0x30), 1);
    let came = rule::send(2, 0x4050);
    Rule::new("AVIC-073 intercepted ICR sends nothing")
        .is(intercepted(true), came.word)
        .is(0x1234, lab::page(0, offset::ICR).into())
        .is(0, rule::requested())
        .is(0, lab::rings());
    lab::poke(Field::WriteIntercept(0x30), 0);

    lab::set_vector(0, offset::ISR, 0x55, true);
    rule::write_page(offset::EOI, 0);
    let exit = lab::exit(0);
    Rule::new("AVIC-075 the page is not the APIC")
        .is(code::NPF, exit.code)
        // Write and user, no leaf, the access itself.
        .is(0x1_0000_0006, exit.info_1 & 0xf_0000_001f)
        .is(0xfee0_00b0, exit.info_2)
        .is(1, lab::has(0, offset::ISR, 0x55).into());
    lab::set_vector(0, offset::ISR, 0x55, false);
}
