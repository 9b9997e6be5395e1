//! TPR, CR8, PPR and EOI under AVIC (APM vol. 2 §15.29.3.1; AVIC-077 to AVIC-096).
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, code, control, v_intr};
use guest_payloads::rule::{self, GP, NOTHING, Rule, fresh, take, traps, write};
use guest_payloads::{apic, cpu, payload};
use trapline_defs::apic::offset;

payload! {
    about: "Moves priorities and ends interrupts under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    rule::open(x2apic);
    fresh();
    priority();
    gates();
    ends();
    level();
    if x2apic {
        serve(&[0x55], &[]);
        let came = write(offset::EOI, 1);
        Rule::new("AVIC-095 WRMSR 80Bh, 1 is #GP").is(GP, came.word).is(0x55, in_service());
    } else {
        serve(&[0x55], &[]);
        let came = write(offset::EOI, u32::MAX.into());
        Rule::new("AVIC-094 an EOI's value is no matter")
            .is(NOTHING, came.word)
            .is(0, in_service());
    }
}

/// TPR of the page, PPR of the page, V_TPR: a byte each.
fn levels() -> u64 {
    let page = |register| u64::from(lab::page(0, register));
    page(offset::TPR) << 16 | page(offset::PPR) << 8 | lab::v_tpr()
}

/// TPR of the page and V_TPR as a hypervisor sets them, each by itself.
fn set_levels(tpr: u32, v_tpr: u8) {
    lab::set_page(0, offset::TPR, tpr);
    lab::set_v_tpr(v_tpr);
}

fn request(vector: u8) {
    lab::set_vector(0, offset::IRR, vector, true);
}

fn requested(vector: u8) -> u64 {
    lab::has(0, offset::IRR, vector).into()
}

/// Vectors in service, of those that level-triggered ones are.
fn serve(vectors: &[u8], level: &[u8]) {
    fresh();
    vectors.iter().for_each(|&vector| lab::set_vector(0, offset::ISR, vector, true));
    level.iter().for_each(|&vector| lab::set_vector(0, offset::TMR, vector, true));
}

/// The vectors in service, the lowest in the low byte.
fn in_service() -> u64 {
    let serving = (0..=255).rev().filter(|&vector| lab::has(0, offset::ISR, vector));
    serving.fold(0, |all, vector| all << 8 | u64::from(vector))
}

fn priority() {
    let came = write(offset::TPR, 0x35);
    Rule::new("AVIC-077 TPR, V_TPR and PPR follow").is(NOTHING, came.word).is(0x35_3503, levels());
    let came = rule::write_cr8(5);
    Rule::new("AVIC-078 CR8 sets TPR and V_TPR").is(NOTHING, came.word).is(0x50_5005, levels());

    set_levels(0x90, 2);
    lab::clear();
    let cr8 = cpu::read_cr8();
    Rule::new("AVIC-079 CR8 reads V_TPR").is(2, cr8).is(0, lab::exits());
    lab::change(control::V_INTR, v_intr::MASKING, 0);
    let cr8 = cpu::read_cr8();
    lab::change(control::V_INTR, 0, v_intr::MASKING);
    Rule::new("AVIC-080 V_INTR_MASKING is no matter").is(2, cr8);

    set_levels(0x40, 4);
    let before = levels();
    lab::change(control::INTERCEPT_CR, 0, 1 << 24);
    let came = rule::write_cr8(7);
    Rule::new("AVIC-081 an intercepted CR8 write exits")
        .is(1 << 60 | code::WRITE_CR8 << 48, came.word)
        .is(before, levels());
    lab::change(control::INTERCEPT_CR, 1 << 24, 0);
}

fn gates() {
    fresh();
    set_levels(0xf0, 0);
    request(0x40);
    Rule::new("AVIC-082 the page's TPR gates nothing").is(0x40, take());

    fresh();
    set_levels(0, 0xf);
    request(0x40);
    Rule::new("AVIC-083 V_TPR gates").is(0, take()).is(1, requested(0x40));

    // No VMRUN between the write and the boundary.
    fresh();
    set_levels(0x50, 5);
    request(0x45);
    let before = take();
    apic::write(offset::TPR, 0x30);
    let after = take();
    Rule::new("AVIC-084 a lower TPR lets it in").is(0, before).is(0x45, after);

    fresh();
    request(0x45);
    apic::write(offset::TPR, 0x50);
    let taken = take();
    Rule::new("AVIC-085 a higher TPR keeps it out").is(0, taken).is(1, requested(0x45));

    fresh();
    set_levels(0x40, 4);
    request(0x4f);
    Rule::new("AVIC-086 the same class waits").is(0, take()).is(1, requested(0x4f));

    serve(&[0x45], &[]);
    request(0x4a);
    let same = take();
    request(0x51);
    let higher = take();
    Rule::new("AVIC-087 the class in service gates").is(0, same).is(0x51, higher);
}

fn ends() {
    serve(&[0x55], &[]);
    set_levels(0x20, 2);
    request(0x51);
    let came = write(offset::EOI, 0);
    Rule::new("AVIC-088 an edge EOI lowers PPR")
        .is(NOTHING, came.word)
        .is(0, in_service())
        .is(0x20, lab::page(0, offset::PPR).into());
    serve(&[0x55], &[]);
    request(0x51);
    let before = take();
    apic::eoi();
    let after = take();
    Rule::new("AVIC-088 an EOI lets the next one in").is(0, before).is(0x51, after);

    serve(&[0x31, 0x55, 0x81], &[]);
    let came = write(offset::EOI, 0);
    Rule::new("AVIC-089 only the highest ends").is(NOTHING, came.word).is(0x5531, in_service());
}

fn level() {
    serve(&[0x31, 0x55], &[0x55]);
    let came = write(offset::EOI, 0);
    let vector = lab::exit(0).info_2 & 0xff;
    Rule::new("AVIC-090 a level EOI traps").is(traps(offset::EOI), came.word).is(0x55, vector);
    Rule::new("AVIC-090 it is still in service").is(0x5531, in_service());

    serve(&[0x31, 0x55], &[0x31]);
    let came = write(offset::EOI, 0);
    Rule::new("AVIC-091 a lower level vector is none")
        .is(NOTHING, came.word)
        .is(0x31, in_service());

    serve(&[0x55], &[0x54, 0x56, 0x91]);
    let came = write(offset::EOI, 0);
    Rule::new("AVIC-092 nor one out of service").is(NOTHING, came.word).is(0, in_service());

    fresh();
    request(0x45);
    let came = write(offset::EOI, 0);
    Rule::new("AVIC-093 an EOI of nothing")
        .is(NOTHING, came.word)
        .is(0, in_service())
        .is(1, requested(0x45));

    serve(&[0x55], &[0x55]);
    request(0x41);
    apic::eoi();
    let before = take();
    lab::set_vector(0, offset::ISR, 0x55, false);
    Rule::new("AVIC-096 VMRUN takes the next one").is(0, before).is(0x41, take());
}
