//! Reads of the APIC under AVIC, row by row (APM vol. 2 §15.29.3.1, Table 15-22; AVIC-021 to AVIC-043).
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, Field};
use guest_payloads::rule::{self, GP, NOTHING, Rule, intercepted, read, read_faults};
use guest_payloads::{cpu, payload};
use trapline_defs::apic::offset;

payload! {
    about: "Reads every APIC register under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    rule::open(x2apic);
    both();
    if x2apic { x2apic_only() } else { xapic_only() }
}

/// What no register holds by itself, another value for each.
fn mark(register: u16) -> u32 {
    0xa500_0000 | u32::from(register)
}

/// Reads of these registers give the backing page's value, leave it there and do not exit.
fn page(label: &'static str, registers: impl IntoIterator<Item = u16>) {
    let mut rule = Rule::new(label);
    for register in registers {
        let before = lab::page(0, register);
        lab::set_page(0, register, mark(register));
        let came = read(register);
        rule.is(NOTHING, came.word).is(mark(register).into(), came.value);
        rule.is(mark(register).into(), lab::page(0, register).into());
        lab::set_page(0, register, before);
    }
}

/// Reads of these registers exit with nothing done: what a load would have gone to is not known.
fn faults(label: &'static str, registers: impl IntoIterator<Item = u16>) {
    let mut rule = Rule::new(label);
    for register in registers {
        rule.is(read_faults(register), read(register).word);
    }
}

fn steps(first: u16, last: u16) -> impl Iterator<Item = u16> {
    (first..=last).step_by(16)
}

fn both() {
    page("AVIC-021 ID", [offset::ID]);
    page("AVIC-022 version", [offset::VERSION]);

    lab::set_v_tpr(3);
    lab::set_page(0, offset::TPR, 0x90);
    let came = read(offset::TPR);
    Rule::new("AVIC-023 TPR, not V_TPR").is(NOTHING, came.word).is(0x90, came.value);
    lab::set_v_tpr(0);
    lab::set_page(0, offset::TPR, 0);

    faults("AVIC-024 APR faults", [offset::APR]);
    page("AVIC-025 PPR", [offset::PPR]);
    page("AVIC-029 LDR, SVR", [offset::LDR, offset::SVR]);
    page("AVIC-030 ISR, TMR, IRR", steps(offset::ISR, 0x270));
    page("AVIC-031 ESR, which stays", [offset::ESR]);
    icr();
    page("AVIC-035 LVTs", steps(offset::LVT_TIMER, offset::LVT_ERROR));
    page("AVIC-035 initial count, divide", [offset::TIMER_INITIAL, offset::TIMER_DIVIDE]);
    faults("AVIC-036 current count faults", [offset::TIMER_CURRENT]);
    faults("AVIC-038 400h to 420h fault", steps(0x400, 0x420));
    faults("AVIC-038 IER faults", steps(0x480, 0x4f0));
    if lab::peek(Field::Features) >> 27 & 1 != 0 {
        page("AVIC-039 500h to 530h", steps(0x500, 0x530));
        page("AVIC-040 540h to 570h", steps(0x540, 0x570));
    } else {
        faults("AVIC-039 500h to 530h fault", steps(0x500, 0x530));
    }
}

fn icr() {
    lab::set_page(0, offset::ICR, 0x4050);
    lab::set_page(0, offset::ICR_HIGH, 0x0300_0000);
    let came = read(offset::ICR);
    let both = if guest_payloads::apic::is_x2apic() { 0x0300_0000 << 32 } else { 0 } | 0x4050;
    Rule::new("AVIC-032 ICR").is(NOTHING, came.word).is(both, came.value);
}

fn xapic_only() {
    page("AVIC-026 EOI", [offset::EOI]);
    page("AVIC-028 remote read", [offset::REMOTE_READ]);
    page("AVIC-029 DFR", [offset::DFR]);
    page("AVIC-033 ICR high", [offset::ICR_HIGH]);
    faults("AVIC-041 beyond the registers", [0x580, 0x800, 0xff0]);
    page("AVIC-042 holes are memory", [0x2f0, 0, 0x040, 0x3a0, 0x3f0, 0x430]);

    lab::set_page(0, offset::TPR, mark(offset::TPR));
    lab::clear();
    let low = cpu::read_wide(0xfee0_0080) as u32;
    Rule::new("AVIC-043 eight bytes at 080h").is(0, lab::exits()).is(0xa500_0080, low.into());
    lab::set_page(0, offset::TPR, 0);

    // A stray EOI at the host's APIC, should it come to that, ends nothing: nothing is in service there.
    lab::set_vector(0, offset::ISR, 0x55, true);
    lab::poke(Field::WriteIntercept(0x0b), 0);
    let came = rule::write_msr(0x80b, 0);
    let has = lab::has(0, offset::ISR, 0x55);
    lab::poke(Field::WriteIntercept(0x0b), 1);
    lab::set_vector(0, offset::ISR, 0x55, false);
    let word = if came.word == GP { NOTHING } else { came.word };
    Rule::new("AVIC-076 no exit, nor virtualized").is(NOTHING, word).is(1, has.into());
}

fn x2apic_only() {
    Rule::new("AVIC-027 RDMSR 80Bh is #GP").is(GP, read(offset::EOI).word);
    Rule::new("AVIC-034 RDMSR 831h is #GP").is(GP, read(offset::ICR_HIGH).word);
    Rule::new("AVIC-037 RDMSR 83Fh is #GP").is(GP, read(offset::SELF_IPI).word);

    lab::poke(Field::ReadIntercept(0x02), 1);
    Rule::new("AVIC-074 intercepted RDMSR exits").is(intercepted(false), read(offset::ID).word);
    lab::poke(Field::ReadIntercept(0x02), 0);
}
