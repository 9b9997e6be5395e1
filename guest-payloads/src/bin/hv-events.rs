//! Events that a guest signals to its own vCPUs by hypercall, and what interrupts of sources depend on (spec
//! hyperv.md 3.2, 3.5, 7.4).
#![no_std]
#![no_main]

use guest_payloads::hypercall::{self, SIGNAL_EVENT};
use guest_payloads::recipient::{
    BLOCK, EVENTS, SECOND, SINT, VECTOR, connection, eom, fresh, open, post, set_source, signal,
    slot, state, take, word, write_apic,
};
use guest_payloads::rule::Rule;
use guest_payloads::{payload, smp, synic};
use trapline_defs::apic::offset;

payload! {
    about: "Signals events to a vCPU by hypercall; checks flags, masks, priorities and statuses.";
    choice to: To { Other = "other", Itself = "itself" }
        = "other", "The vCPU that gets them: the last one, or the sender.";
    run: run;
}

const INVALID_INPUT: u64 = 3;
const INVALID_PORT: u64 = 0x11;
const INVALID_CONNECTION: u64 = 0x12;
const SYNIC_STATE: u64 = 0x18;

fn run(params: Params) {
    open(if params.to == To::Itself { 0 } else { smp::vcpus() - 1 });
    masks_and_priorities();
    events();
}

fn masks_and_priorities() {
    fresh();
    let mut rule = Rule::new("HV-053, HV-063 a masked source");
    post(SINT, 1);
    post(SINT, 2);
    take();
    set_source(SINT, synic::MASKED | VECTOR);
    rule.is(1, word(SINT));
    eom();
    rule.is(0, take()).is(2, word(SINT)).is(0, post(SINT, 3)).is(0, take()).is(3, word(SINT));
    drop(rule);
    fresh();
    let mut rule = Rule::new("HV-070 an APIC that is off");
    write_apic(offset::SVR, 0xff);
    rule.is(0, post(SINT, 1));
    write_apic(offset::SVR, 0x1ff);
    eom();
    rule.is(0, take()).is(1, word(SINT));
    drop(rule);
    fresh();
    let mut rule = Rule::new("HV-071 TPR keeps the interrupt back");
    write_apic(offset::TPR, VECTOR);
    post(SINT, 1);
    rule.is(0, take()).is(1, state());
    write_apic(offset::TPR, 0);
    rule.is(1, take());
    drop(rule);
    fresh();
    let mut rule = Rule::new("HV-072 two sources with one vector");
    set_source(SECOND, VECTOR);
    post(SINT, 1);
    post(SECOND, 2);
    rule.is(1, take()).is(1, word(SINT)).is(2, word(SECOND));
}

fn events() {
    fresh();
    let to = connection(SINT);
    let mut rule = Rule::new("HV-068 a flag interrupts once");
    EVENTS.write(slot(SINT), 1 << 63 | 2);
    rule.is(0, signal(to)).is(1 << 63 | 3, EVENTS.read(slot(SINT))).is(1, take());
    rule.is(0, signal(to)).is(1 << 63 | 3, EVENTS.read(slot(SINT))).is(0, take());
    EVENTS.write(slot(SINT), 0);
    BLOCK.write(0, to);
    rule.is(0, hypercall::call(SIGNAL_EVENT, BLOCK.address(), 0));
    rule.is(1, take()).is(1, EVENTS.read(slot(SINT)));
    drop(rule);
    EVENTS.write(slot(SINT), 0);
    let mut rule = Rule::new("HV-226 events that are refused");
    for (event, status) in [
        (1 << 32 | to, INVALID_PORT),
        (2048 << 32 | to, INVALID_PORT),
        (1 << 48 | to, INVALID_INPUT),
        (1 << 24 | to, INVALID_INPUT),
        (0xff_ffff, INVALID_CONNECTION),
    ] {
        rule.is(status, signal(event));
    }
    rule.is(0, EVENTS.read(slot(SINT))).is(0, take());
    drop(rule);
    let mut rule = Rule::new("HV-069 a masked source takes no events");
    set_source(SINT, synic::MASKED | VECTOR);
    rule.is(SYNIC_STATE, signal(to)).is(0, EVENTS.read(slot(SINT))).is(0, take());
}
