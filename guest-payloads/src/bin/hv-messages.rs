//! Messages and events that a guest sends to its own vCPUs by hypercall (spec hyperv.md 3.4, 3.5, 7.4).
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::count::Count;
use guest_payloads::hypercall::{self, FAST, POST_MESSAGE, SIGNAL_EVENT};
use guest_payloads::page::Page;
use guest_payloads::rule::Rule;
use guest_payloads::{apic, call, cpu, interrupt, payload, smp, synic};
use trapline_abi::call::Query;
use trapline_defs::apic::offset;

payload! {
    about: "Sends messages and events to a vCPU by hypercall; checks slots, flags, interrupts, statuses.";
    choice to: To { Other = "other", Itself = "itself" }
        = "other", "The vCPU that gets them: the last one, or the sender.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const V: u64 = VECTOR as u64;
const SINT: u32 = 2;
/// Another source with the same vector.
const SECOND: u32 = 5;

const INVALID_CODE: u64 = 2;
const INVALID_INPUT: u64 = 3;
const INVALID_PARAMETER: u64 = 5;
const INVALID_PORT: u64 = 0x11;
const INVALID_CONNECTION: u64 = 0x12;
const NO_BUFFERS: u64 = 0x13;
const SYNIC_STATE: u64 = 0x18;

static BLOCK: Page = Page::new();
static MESSAGES: Page = Page::new();
static OTHER_MESSAGES: Page = Page::new();
static EVENTS: Page = Page::new();
static CAME: Count = Count::new();
/// The handler empties the slot before it ends the interrupt.
static EMPTIES: Count = Count::new();
/// The vCPU that gets them.
static TARGET: Count = Count::new();

fn handler() {
    CAME.add();
    if EMPTIES.get() != 0 {
        MESSAGES.write(slot(SINT), MESSAGES.read(slot(SINT)) >> 32 << 32);
    }
    apic::eoi();
}

const fn slot(sint: u32) -> usize {
    sint as usize * 256
}

fn run(params: Params) {
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR, handler);
    hypercall::open();
    TARGET.set(if params.to == To::Itself { 0 } else { (smp::vcpus() - 1).into() });
    smp::start(serve);
    let [_, ebx, ..] = cpu::cpuid(0x4000_0003);
    Rule::new("HV-228 the privileges to post and to signal").is(3 << 4, (ebx & 3 << 4).into());
    refused_messages();
    one_message();
    queues();
    pages();
    masks_and_priorities();
    events();
}

/// What the target can be asked to do.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Ask {
    /// Nothing but an exit.
    Look = 1,
    /// Take its interrupts.
    Take,
    /// Write an MSR.
    Write,
    /// Say what the APIC has for the vector: requested 1, in service 2, level-triggered 4.
    State,
    /// Write TPR, or SVR.
    Tpr,
    Svr,
}

static ASKED: AtomicU64 = AtomicU64::new(0);
static WITH: [Count; 2] = [const { Count::new() }; 2];
static ANSWER: Count = Count::new();

fn act(ask: u64, with: [u64; 2]) -> u64 {
    if ask == Ask::Take as u64 {
        let before = CAME.get();
        // Whatever another vCPU left is taken over at an exit; more than one interrupt may follow.
        for _ in 0..4 {
            cpu::cpuid(0);
            cpu::sti_nop();
            cpu::cli();
        }
        return CAME.get() - before;
    }
    cpu::cpuid(0);
    if ask == Ask::Write as u64 {
        cpu::write_msr(with[0] as u32, with[1]);
    } else if ask == Ask::State as u64 {
        let bank = offset::TMR + u16::from(VECTOR / 32) * 16;
        let level = apic::read(bank) >> (VECTOR % 32) & 1;
        let state = [apic::requested(VECTOR), apic::in_service(VECTOR)].map(u64::from);
        return state[0] | state[1] << 1 | level << 2;
    } else if ask == Ask::Tpr as u64 {
        apic::write(offset::TPR, with[0]);
    } else if ask == Ask::Svr as u64 {
        apic::write(offset::SVR, with[0]);
    }
    0
}

/// Another vCPU's whole life.
fn serve(number: u32) {
    if u64::from(number) != TARGET.get() {
        return;
    }
    loop {
        cpu::wait_until(|| ASKED.load(SeqCst) != 0);
        ANSWER.set(act(ASKED.load(SeqCst), [WITH[0].get(), WITH[1].get()]));
        ASKED.store(0, SeqCst);
    }
}

fn ask(ask: Ask, first: u64, second: u64) -> u64 {
    if TARGET.get() == 0 {
        return act(ask as u64, [first, second]);
    }
    WITH[0].set(first);
    WITH[1].set(second);
    ASKED.store(ask as u64, SeqCst);
    cpu::wait_until(|| ASKED.load(SeqCst) == 0);
    ANSWER.get()
}

fn take() -> u64 {
    ask(Ask::Take, 0, 0)
}

fn write(msr: u32, value: u64) {
    ask(Ask::Write, msr.into(), value);
}

fn set_source(sint: u32, value: u64) {
    write(synic::SINT0 + sint, value);
}

fn eom() {
    write(synic::EOM, 0);
}

/// The target's SynIC with nothing in it.
fn fresh() {
    write(synic::SCONTROL, 1);
    // Whatever waits is taken out.
    set_source(SINT, synic::MASKED | V);
    set_source(SECOND, synic::MASKED | V);
    write(synic::SIMP, MESSAGES.address() | 1);
    while {
        eom();
        empty(SINT).is_some() | empty(SECOND).is_some()
    } {}
    write(synic::SIEFP, EVENTS.address() | 1);
    set_source(SINT, V);
    take();
}

fn connection(sint: u32) -> u64 {
    TARGET.get() * 16 + u64::from(sint)
}

/// Posts a message of type 1 and one word.
fn post(sint: u32, word: u64) -> u64 {
    post_raw(connection(sint), 8 << 32 | 1, word)
}

fn post_raw(connection: u64, header: u64, word: u64) -> u64 {
    for (at, word) in [connection, header, word].into_iter().enumerate() {
        BLOCK.write(at * 8, word);
    }
    let status = hypercall::call(POST_MESSAGE, BLOCK.address(), 0);
    ask(Ask::Look, 0, 0);
    status
}

/// The word of a message, whose slot is emptied.
fn empty(sint: u32) -> Option<u64> {
    let header = MESSAGES.read(slot(sint));
    MESSAGES.write(slot(sint), header >> 32 << 32);
    (header as u32 != 0).then(|| MESSAGES.read(slot(sint) + 16))
}

/// As [`empty`], where no message is 0.
fn word(sint: u32) -> u64 {
    empty(sint).unwrap_or(0)
}

fn more_wait() -> u64 {
    MESSAGES.read(slot(SINT)) >> 40 & 1
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
    rule.is(SYNIC_STATE, hypercall::call(FAST | SIGNAL_EVENT, connection(SINT), 0));
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
    Rule::new("HV-073 its interrupt is an edge").is(1, ask(Ask::State, 0, 0));
    let mut rule = Rule::new("HV-055 one interrupt for one message");
    rule.is(1, take()).is(0, take());
}

fn queues() {
    fresh();
    let mut rule = Rule::new("HV-057 a full slot keeps its message and says that more wait");
    rule.is(0, post(SINT, 1)).is(0, more_wait()).is(1, take());
    rule.is(0, post(SINT, 2)).is(1, more_wait()).is(0, take());
    rule.is(0, post(SINT, 3)).is(1, MESSAGES.read(slot(SINT) + 16));
    drop(rule);
    let mut rule = Rule::new("HV-060 EOM before the slot is empty");
    eom();
    rule.is(1, more_wait()).is(0, take()).is(1, MESSAGES.read(slot(SINT) + 16));
    drop(rule);
    let mut rule = Rule::new("HV-058, HV-062 EOM brings one after the other");
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
    drop(rule);
    by_eoi();
}

/// The handler empties the slot; its EOI is a retry only if the hypervisor sees it.
fn by_eoi() {
    fresh();
    // A field of reasons is 0 only where AVIC could be on.
    let is_seen = u64::from(call::query(Query::ApicvInhibits) != Some(0));
    post(SINT, 1);
    post(SINT, 2);
    EMPTIES.set(1);
    let mut rule = Rule::new("HV-061 an EOI that the hypervisor sees brings the next message");
    rule.is(1 + is_seen, take());
    eom();
    rule.is(1 - is_seen, take());
    EMPTIES.set(0);
    rule.is(0, word(SINT)).is(2, MESSAGES.read(slot(SINT) + 16));
}

fn pages() {
    fresh();
    let mut rule = Rule::new("HV-065 the next message goes to the page of that time");
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

fn masks_and_priorities() {
    fresh();
    let mut rule = Rule::new("HV-053, HV-063 a masked source gets messages without interrupts");
    post(SINT, 1);
    post(SINT, 2);
    take();
    set_source(SINT, synic::MASKED | V);
    rule.is(1, word(SINT));
    eom();
    rule.is(0, take()).is(2, word(SINT)).is(0, post(SINT, 3)).is(0, take()).is(3, word(SINT));
    drop(rule);
    fresh();
    let mut rule = Rule::new("HV-070 an APIC that is off loses the interrupt");
    ask(Ask::Svr, 0xff, 0);
    rule.is(0, post(SINT, 1));
    ask(Ask::Svr, 0x1ff, 0);
    eom();
    rule.is(0, take()).is(1, word(SINT));
    drop(rule);
    fresh();
    let mut rule = Rule::new("HV-071 TPR keeps the interrupt back");
    ask(Ask::Tpr, V, 0);
    post(SINT, 1);
    rule.is(0, take()).is(1, ask(Ask::State, 0, 0));
    ask(Ask::Tpr, 0, 0);
    rule.is(1, take());
    drop(rule);
    fresh();
    let mut rule = Rule::new("HV-072 two sources with one vector");
    set_source(SECOND, V);
    post(SINT, 1);
    post(SECOND, 2);
    rule.is(1, take()).is(1, word(SINT)).is(2, word(SECOND));
}

fn events() {
    fresh();
    let signal = |event| {
        let status = hypercall::call(FAST | SIGNAL_EVENT, event, 0);
        ask(Ask::Look, 0, 0);
        status
    };
    let to = connection(SINT);
    let mut rule = Rule::new("HV-068 a flag interrupts when it is set, not again");
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
    set_source(SINT, synic::MASKED | V);
    rule.is(SYNIC_STATE, signal(to)).is(0, EVENTS.read(slot(SINT))).is(0, take());
}
