//! What AVIC makes of an interrupt command before it looks for targets (APM vol. 2 §15.29.6.1;
//! AVIC-097 to AVIC-113).
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, Field, Knob};
use guest_payloads::rule::{
    self, BUSY, NOTHING, Rule, fresh, incomplete, send, take, without_index,
};
use guest_payloads::{apic, payload};
use trapline_defs::apic::offset;

payload! {
    about: "Writes the ICR in all ways under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

const LEVEL: u32 = 1 << 15;
const ASSERT: u32 = 1 << 14;
const SELF: u32 = 1 << 18;
const INIT: u32 = 5 << 8;
const NMI: u32 = 4 << 8;
/// An id with no valid entry.
const NOBODY: u32 = 5;

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    rule::open(x2apic);
    sent();
    not_sent();
    information();
    to_self();
    if x2apic { x2apic_only() } else { high_half() }
}

/// What the backing page holds of the command, without BUSY.
fn command() -> u64 {
    u64::from(lab::page(0, offset::ICR_HIGH)) << 32 | u64::from(lab::page(0, offset::ICR) & !BUSY)
}

/// The command as both halves hold it.
fn halves(to: u32, low: u32) -> u64 {
    let high = if apic::is_x2apic() { to } else { to << 24 };
    u64::from(high) << 32 | u64::from(low)
}

/// A command that fails with that id and posts nothing anywhere.
fn fails(rule: &mut Rule, id: u64, to: u32, low: u32) {
    let came = send(to, low);
    rule.is(incomplete(id, 0), without_index(came.word)).rang(0).is(0, rule::requested());
}

fn sent() {
    fresh();
    let came = send(2, ASSERT | 0x50);
    Rule::new("AVIC-097 a fixed edge IPI is posted")
        .is(NOTHING, came.word)
        .rang(1 << 2)
        .is(1 << 2, rule::posted(0x50))
        .is(1 << 2, rule::requested());
    Rule::new("AVIC-097 the ICR is stored").is(halves(2, ASSERT | 0x50), command());

    fresh();
    let came = send(2, 16);
    Rule::new("AVIC-101 vector 16 is sent").is(NOTHING, came.word).is(1 << 2, rule::posted(16));
}

fn not_sent() {
    fresh();
    let mut rule = Rule::new("AVIC-098 other types fail with id 0");
    for kind in 1..8 {
        fails(&mut rule, 0, 2, ASSERT | kind << 8 | 0x50);
    }
    drop(rule);
    fails(&mut Rule::new("AVIC-099 level fails with id 0"), 0, 2, LEVEL | ASSERT | 0x50);
    let mut rule = Rule::new("AVIC-100 vectors 0 to 15 fail with id 4");
    for vector in 0..16 {
        fails(&mut rule, 4, 2, vector);
    }
    drop(rule);
    fails(&mut Rule::new("AVIC-102 type before vector and target"), 0, NOBODY, ASSERT | INIT);
    fails(&mut Rule::new("AVIC-103 vector before target"), 4, NOBODY, 5);
    fails(&mut Rule::new("AVIC-109 an NMI to self fails with id 0"), 0, 0, SELF | NMI);
}

fn information() {
    fresh();
    let mut rule = Rule::new("AVIC-104 EXITINFO1 is the ICR");
    for (to, low) in [(0x93, ASSERT | NMI | 0x50), (NOBODY, 0x5a), (2, 7), (0, SELF | NMI)] {
        send(to, low);
        rule.is(halves(to, low), lab::exit(0).info_1 & !u64::from(BUSY));
    }
    drop(rule);

    let mut rule = Rule::new("AVIC-105 the page holds a failed ICR");
    for left in [0, u64::from(lab::is_modeled())] {
        lab::try_poke(Field::Knob(Knob::BusyLeft), left);
        send(NOBODY, ASSERT | 0x5a);
        rule.is(halves(NOBODY, ASSERT | 0x5a), command());
        if lab::is_modeled() {
            rule.is(left, u64::from(lab::page(0, offset::ICR) & BUSY != 0));
        }
    }
    drop(rule);
    // The knob is on and BUSY is set.
    send(2, ASSERT | 0x50);
    let read = rule::read(offset::ICR);
    lab::try_poke(Field::Knob(Knob::BusyLeft), 0);
    Rule::new("AVIC-106 a sent ICR is not busy")
        .is(NOTHING, read.word)
        .is((ASSERT | 0x50).into(), read.value & 0xffff_ffff);
}

fn to_self() {
    // The own entry would fail any IPI that reads it.
    fresh();
    lab::clear_entry(0);
    let came = send(0, SELF | 0x50);
    Rule::new("AVIC-107 self needs no entry")
        .is(NOTHING, came.word)
        .is(1, rule::posted(0x50))
        .rang(0)
        .is(0x50, take());

    // No VMRUN between the command and the boundary.
    fresh();
    lab::clear_entry(0);
    apic::self_ipi(0x51);
    let taken = take();
    Rule::new("AVIC-107 self is taken at once").is(0x51, taken);

    fresh();
    let came = send(NOBODY, SELF | 0x50);
    Rule::new("AVIC-108 self needs no destination")
        .is(NOTHING, came.word)
        .is(1, rule::posted(0x50))
        .is(1, rule::requested());
}

fn high_half() {
    fresh();
    lab::set_page(0, offset::ICR_HIGH, 1 << 24);
    let came = rule::write(offset::ICR, (ASSERT | 0x50).into());
    Rule::new("AVIC-113 the high half is the page's")
        .is(NOTHING, came.word)
        .is(1 << 1, rule::posted(0x50))
        .rang(1 << 1);
}

fn x2apic_only() {
    fresh();
    lab::clear_entry(0);
    lab::set_page(0, offset::ICR, 0x1234);
    lab::clear();
    apic::write(offset::SELF_IPI, 0x50);
    let taken = take();
    Rule::new("AVIC-110 SELF_IPI is taken at once").is(0x50, taken).is(0, lab::exits());
    Rule::new("AVIC-110 SELF_IPI leaves the ICR").is(0x1234, lab::page(0, offset::ICR).into());

    let came = rule::write(offset::SELF_IPI, 15);
    Rule::new("AVIC-111 SELF_IPI 15 fails with id 4")
        .is(incomplete(4, 0), without_index(came.word))
        .is(0, rule::requested());

    send(3, ASSERT | 0x51);
    Rule::new("AVIC-112 one WRMSR fills both halves")
        .is(3, lab::page(0, offset::ICR_HIGH).into())
        .is((ASSERT | 0x51).into(), lab::page(0, offset::ICR).into());
}
