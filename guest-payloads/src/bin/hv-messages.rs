//! Messages that a guest sends to its own vCPUs by hypercall (spec hyperv.md 3.4, 7.4).
#![no_std]
#![no_main]

use guest_payloads::hypercall::{self, FAST, POST_MESSAGE};
use guest_payloads::page::Page;
use guest_payloads::recipient::{
    BLOCK, MESSAGES, SINT, connection, empties, eom, fresh, more_wait, open, post, post_raw,
    signal, slot, state, take, word, write,
};
use guest_payloads::rule::Rule;
use guest_payloads::{call, cpu, payload, smp, synic};
use trapline_abi::call::Query;

payload! {
    about: "Sends messages to a vCPU by hypercall; checks slots, order, retries and statuses.";
    choice to: To { Other = "other", Itself = "itself" }
        = "other", "The vCPU that gets them: the last one, or the sender.";
    run: run;
}

const INVALID_CODE: u64 = 2;
const INVALID_INPUT: u64 = 3;
const INVALID_PARAMETER: u64 = 5;
const INVALID_CONNECTION: u64 = 0x12;
const NO_BUFFERS: u64 = 0x13;
const SYNIC_STATE: u64 = 0x18;

static OTHER_MESSAGES: Page = Page::new();

fn run(params: Params) {
    open(if params.to == To::Itself { 0 } else { smp::vcpus() - 1 });
    let [_, ebx, ..] = cpu::cpuid(0x4000_0003);
    Rule::new("HV-228 privileges to post and signal").is(3 << 4, (ebx & 3 << 4).into());
    refused_messages();
    one_message();
    queues();
    by_eoi();
    pages();
}

fn refused_messages() {
    fresh();
    let mut rule = Rule::new("HV-223 messages that are refused");
    rule.is(INVALID_CODE, hypercall::call(FAST | POST_MESSAGE, BLOCK.address(), 0));
    let good = 8 << 32 | 1;
    for (to, header, status) in [
        (connection(SINT), 241 << 32 | 1, INVALID_INPUT),
        (connection(SINT), 8 << 32, INVALID_PARAMETER),
        (connection(SINT), 8 << 32 | 1 << 31, INVALID_PARAMETER),
        (u64::from(smp::vcpus()) * 16, good, INVALID_CONNECTION),
        (0xff_ffff, good, INVALID_CONNECTION),
    ] {
        rule.is(status, post_raw(to, header, 1));
    }
    eom();
    rule.is(0, word(SINT)).is(0, take());
    drop(rule);
    let mut rule = Rule::new("HV-232 a SynIC that is off");
    write(synic::SCONTROL, 0);
    rule.is(SYNIC_STATE, post(SINT, 1));
    rule.is(SYNIC_STATE, signal(connection(SINT)));
    write(synic::SCONTROL, 1);
    eom();
    rule.is(0, word(SINT)).is(0, take());
}

fn one_message() {
    fresh();
    for at in 0..30 {
        BLOCK.write(16 + at * 8, 0x0101_0101_0101_0101 * at as u64);
    }
    // The first word is the one that is passed.
    let status = post_raw(connection(SINT), 240 << 32 | 0x1234, 0);
    let mut rule = Rule::new("HV-056, HV-224 a message of 240 bytes");
    rule.is(0, status).is(240 << 32 | 0x1234, MESSAGES.read(slot(SINT)));
    rule.is(connection(SINT), MESSAGES.read(slot(SINT) + 8));
    for at in 0..30 {
        let expected = 0x0101_0101_0101_0101 * at as u64;
        rule.is(expected, MESSAGES.read(slot(SINT) + 16 + at * 8));
    }
    rule.is(0, MESSAGES.read(slot(SINT) + 256));
    drop(rule);
    Rule::new("HV-073 its interrupt is an edge").is(1, state());
    let mut rule = Rule::new("HV-055 one interrupt for one message");
    rule.is(1, take()).is(0, take());
}

fn queues() {
    fresh();
    let mut rule = Rule::new("HV-057 a full slot says that more wait");
    rule.is(0, post(SINT, 1)).is(0, more_wait()).is(1, take());
    rule.is(0, post(SINT, 2)).is(1, more_wait()).is(0, take());
    rule.is(0, post(SINT, 3)).is(1, MESSAGES.read(slot(SINT) + 16));
    drop(rule);
    let mut rule = Rule::new("HV-060 EOM before the slot is empty");
    eom();
    rule.is(1, more_wait()).is(0, take()).is(1, MESSAGES.read(slot(SINT) + 16));
    drop(rule);
    let mut rule = Rule::new("HV-058, HV-062 EOM after EOM");
    for n in 1..=3 {
        rule.is(u64::from(n < 3), more_wait()).is(n, word(SINT));
        eom();
        rule.is(u64::from(n < 3), take());
    }
    drop(rule);
    let mut rule = Rule::new("HV-059 EOM with nothing queued");
    MESSAGES.write(slot(SINT) + 16, 0x1234);
    eom();
    rule.is(0, MESSAGES.read(slot(SINT)) as u32 as u64).is(0x1234, MESSAGES.read(slot(SINT) + 16));
    rule.is(0, take());
    drop(rule);
    // One in the slot and sixteen behind it.
    let mut rule = Rule::new("HV-225 the seventeenth that waits");
    for n in 1..=17 {
        rule.is(0, post(SINT, n));
    }
    rule.is(NO_BUFFERS, post(SINT, 18));
    for n in 1..=17 {
        rule.is(n, word(SINT));
        eom();
    }
    rule.is(0, word(SINT)).is(1, take());
}

/// The handler empties the slot; its EOI is a retry only if the hypervisor sees it.
fn by_eoi() {
    fresh();
    // A field of reasons is 0 only where AVIC could be on.
    let is_seen = u64::from(call::query(Query::ApicvInhibits) != Some(0));
    post(SINT, 1);
    post(SINT, 2);
    empties(true);
    let mut rule = Rule::new("HV-061 an EOI that is seen is a retry");
    rule.is(1 + is_seen, take());
    eom();
    rule.is(1 - is_seen, take());
    empties(false);
    rule.is(0, word(SINT)).is(2, MESSAGES.read(slot(SINT) + 16));
}

fn pages() {
    fresh();
    let mut rule = Rule::new("HV-065 the page of that time gets it");
    post(SINT, 1);
    post(SINT, 2);
    take();
    write(synic::SIMP, OTHER_MESSAGES.address() | 1);
    eom();
    rule.is(8 << 32 | 1, OTHER_MESSAGES.read(slot(SINT)))
        .is(2, OTHER_MESSAGES.read(slot(SINT) + 16));
    rule.is(1, MESSAGES.read(slot(SINT) + 16)).is(1, take());
    drop(rule);
    fresh();
    let mut rule = Rule::new("HV-064 without a page a message waits");
    write(synic::SIMP, MESSAGES.address());
    rule.is(0, post(SINT, 1)).is(0, take()).is(0, word(SINT));
    write(synic::SIMP, MESSAGES.address() | 1);
    eom();
    rule.is(1, take()).is(1, word(SINT));
}
