//! Whom an interrupt command names under AVIC (APM vol. 2 §15.29.5, §15.29.6.1; AVIC-114 to AVIC-149).
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, Field};
use guest_payloads::rule::{
    self, NO_CORE, NOTHING, Rule, fresh, incomplete, posted, send, take, without_index,
};
use guest_payloads::{apic, payload};
use trapline_defs::apic::{DFR_CLUSTER, offset};
use trapline_defs::avic::PhysicalEntry;

payload! {
    about: "Sends IPIs to all kinds of destinations under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

/// Failure ids (Table 15-27).
const NOT_RUNNING: u64 = 1;
const NO_TARGET: u64 = 2;
const NO_PAGE: u64 = 3;

const V: u8 = 0x50;
/// Assert, that vector.
const IPI: u32 = 1 << 14 | V as u32;
const LOGICAL: u32 = 1 << 11;
const ALL: u32 = 2 << 18;
const OTHERS: u32 = 3 << 18;

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    rule::open(x2apic);
    physical();
    broadcast(if x2apic { u32::MAX } else { 0xff });
    entries();
    delivered();
    if x2apic {
        x2apic_only();
    } else {
        flat();
        cluster();
    }
}

/// The IPI is complete: posted to these guests, who got a doorbell unless it is the sender.
fn reaches(label: &'static str, to: u32, low: u32, guests: u64) {
    let came = send(to, low);
    Rule::new(label).is(NOTHING, came.word).is(guests, posted(V)).rang(guests & !1);
}

/// It fails because of a table index, with nothing posted.
fn fails(label: &'static str, to: u32, low: u32, id: u64, index: u16) {
    let came = send(to, low);
    Rule::new(label).is(incomplete(id, index), came.word).is(0, rule::requested()).rang(0);
}

/// It fails with that id, with nothing posted; the manual gives no index.
fn fails_somewhere(label: &'static str, to: u32, low: u32, id: u64) {
    let came = send(to, low);
    Rule::new(label)
        .is(incomplete(id, 0), without_index(came.word))
        .is(0, rule::requested())
        .rang(0);
}

fn running(id: u16, page: u8) {
    lab::set_entry(id, page, Some(NO_CORE + u16::from(page)));
}

fn physical() {
    fresh();
    running(7, 7);
    reaches("AVIC-114 the last index is inclusive", 7, IPI, 1 << 7);
    fresh();
    running(8, 7);
    fails("AVIC-115 beyond it there is nobody", 8, IPI, NO_TARGET, 8);
    fresh();
    let entry = lab::peek(Field::Entry(3));
    lab::poke(Field::Entry(3), entry & !(1 << 63));
    fails("AVIC-116 V=0 posts nothing", 3, IPI, NO_TARGET, 3);

    fresh();
    lab::set_entry(2, 2, None);
    let came = send(2, IPI);
    Rule::new("AVIC-117 IR=0 is posted and reported")
        .is(incomplete(NOT_RUNNING, 2), came.word)
        .is(1 << 2, posted(V))
        .rang(0);

    fresh();
    reaches("AVIC-118 the own id", 0, IPI, 1);
    lab::set_entry(0, 0, None);
    let came = send(0, IPI + 1);
    Rule::new("AVIC-118 the own id with IR=0")
        .is(incomplete(NOT_RUNNING, 0), came.word)
        .is(1, posted(V + 1));
}

fn broadcast(everyone: u32) {
    fresh();
    let [physical, logical] = if apic::is_x2apic() {
        ["AVIC-140 FFFF_FFFFh is everyone", "AVIC-140 in logical mode too"]
    } else {
        ["AVIC-119 FFh is everyone", "AVIC-119 in logical mode too"]
    };
    reaches(physical, everyone, IPI, 0b1111);
    fresh();
    reaches(logical, everyone, LOGICAL | IPI, 0b1111);
    fresh();
    lab::clear_entry(1);
    reaches("AVIC-120 broadcasts skip V=0", everyone, IPI, 0b1101);
    fresh();
    reaches("AVIC-121 all but self", 0, OTHERS | IPI, 0b1110);
    fresh();
    reaches("AVIC-122 all with self", 2, ALL | IPI, 0b1111);
    fresh();
    rule::set_last(2);
    reaches("AVIC-123 broadcasts end at the last index", 0, ALL | IPI, 0b0111);

    fresh();
    lab::set_entry(1, 1, None);
    lab::set_entry(3, 3, None);
    let came = send(0, OTHERS | IPI);
    let index = came.word & 0xfff;
    Rule::new("AVIC-124 IR=0 in a broadcast")
        .is(incomplete(NOT_RUNNING, 0), without_index(came.word))
        .is(1, (index == 1 || index == 3).into())
        .is(0b1110, posted(V))
        .rang(1 << 2);

    fresh();
    (1..4).for_each(lab::clear_entry);
    reaches("AVIC-125 a broadcast to nobody", 0, OTHERS | IPI, 0);
}

fn entries() {
    fresh();
    let bits = lab::peek(Field::PhysicalBits);
    // There is no such page on a processor that uses all bits of an entry.
    if bits < 52 {
        lab::poke(Field::Entry(2), PhysicalEntry::running(1 << bits, NO_CORE).into_bits());
        fails("AVIC-142 a page beyond memory", 2, IPI, NO_PAGE, 2);
    }

    fresh();
    lab::set_entry(2, 2, Some(0x1ff));
    let came = send(2, IPI);
    Rule::new("AVIC-143 host ids have more than 8 bits")
        .is(NOTHING, came.word)
        .is(1 << 2, posted(V))
        .rang(1 << (0x1ff - NO_CORE).min(63));
    if lab::is_modeled() {
        let ring = lab::rings() << 32 | lab::peek(Field::Ring(0));
        Rule::new("AVIC-143 the host id rung").is(1 << 32 | 0x1ff, ring);
    }

    // The own core is where another vCPU is said to run.
    fresh();
    lab::set_entry(2, 2, Some(lab::peek(Field::HostId) as u16));
    apic::command(2, IPI.into());
    let taken = take();
    Rule::new("AVIC-145 a doorbell for another vCPU").is(0, taken).is(1 << 2, posted(V));
}

fn delivered() {
    fresh();
    lab::set_vector(0, offset::ISR, V, true);
    apic::command(0, IPI.into());
    let before = take();
    let waits = posted(V);
    apic::eoi();
    let after = take();
    Rule::new("AVIC-148 a second instance waits").is(0, before).is(1, waits).is(V.into(), after);

    fresh();
    lab::set_vector(2, offset::TMR, V, true);
    lab::set_vector(0, offset::TMR, V, true);
    send(2, IPI);
    let other = lab::has(2, offset::TMR, V);
    Rule::new("AVIC-149 the target's TMR stays").is(1, other.into());
    send(0, 1 << 18 | IPI);
    let own = lab::has(0, offset::TMR, V);
    Rule::new("AVIC-149 self clears the own TMR").is(0, own.into());
}

/// A logical table of these entries: index and guest's id.
fn logical(entries: &[(u16, u8)]) {
    fresh();
    entries.iter().for_each(|&(index, id)| lab::set_logical(index, Some(id)));
}

fn flat() {
    // Each entry names another id than its own index.
    logical(&[(4, 2)]);
    reaches("AVIC-126 one bit is one entry", 1 << 4, LOGICAL | IPI, 1 << 2);
    logical(&[(0, 1), (1, 2), (2, 3), (3, 7)]);
    running(7, 7);
    reaches("AVIC-127 four bits are four", 0xf, LOGICAL | IPI, 0b1000_1110);
    logical(&[(2, 1)]);
    fails("AVIC-128 all or nothing", 0b1100, LOGICAL | IPI, NO_TARGET, 3);
    logical(&[(0, 1), (1, 5)]);
    fails_somewhere("AVIC-129 a valid entry of an invalid id", 3, LOGICAL | IPI, NO_TARGET);
    logical(&[(0, 1), (1, 9)]);
    running(9, 7);
    fails_somewhere("AVIC-130 an entry beyond the last index", 3, LOGICAL | IPI, NO_TARGET);

    logical(&[(4, 1), (6, 2)]);
    lab::set_entry(2, 2, None);
    let came = send(0b101_0000, LOGICAL | IPI);
    Rule::new("AVIC-131 IR=0 reports the logical index")
        .is(incomplete(NOT_RUNNING, 6), came.word)
        .is(0b110, posted(V))
        .rang(1 << 1);

    logical(&[(0, 1)]);
    reaches("AVIC-132 no bit is nobody", 0, LOGICAL | IPI, 0);
}

fn cluster() {
    let logical = |entries| {
        logical(entries);
        lab::set_page(0, offset::DFR, DFR_CLUSTER);
    };
    logical(&[(14, 3)]);
    reaches("AVIC-133 cluster 3, bit 2", 0x34, LOGICAL | IPI, 1 << 3);
    logical(&[(59, 3)]);
    reaches("AVIC-134 the last of them", 0xe8, LOGICAL | IPI, 1 << 3);
    logical(&[(60, 3), (61, 3), (62, 3), (63, 3)]);
    fails_somewhere("AVIC-135 there is no cluster 15", 0xf1, LOGICAL | IPI, NO_TARGET);
    // As flat, these are entries 0 and 4.
    logical(&[(0, 1), (4, 3)]);
    reaches("AVIC-136 the sender's DFR decides", 0x11, LOGICAL | IPI, 1 << 3);
}

fn x2apic_only() {
    // Whoever looks at the logical table finds guest 3 everywhere.
    fresh();
    (0..64).for_each(|index| lab::set_logical(index, Some(3)));
    rule::set_last(0x1f);
    running(0x12, 4);
    running(0x1f, 5);
    let to = 1 << 16 | 1 << 2 | 1 << 15;
    reaches("AVIC-137 clusters of 16, no table", to, LOGICAL | IPI, 0b11_0000);
    lab::clear_entry(0x12);
    lab::clear_entry(0x1f);

    fresh();
    running(9, 7);
    fails_somewhere("AVIC-138 all or nothing", 1 << 1 | 1 << 9, LOGICAL | IPI, NO_TARGET);

    fresh();
    rule::set_last(511);
    running(255, 5);
    reaches("AVIC-139 FFh is an id", 0xff, IPI, 1 << 5);
    lab::clear_entry(255);
}
