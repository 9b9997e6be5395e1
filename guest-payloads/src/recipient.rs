//! A vCPU that gets messages and events by hypercall: its pages, its sources, and what came to it. Interrupts
//! are off there, and are taken when it is asked to.

use crate::count::Count;
use crate::hypercall::{self, FAST, POST_MESSAGE, SIGNAL_EVENT};
use crate::page::Page;
use crate::{apic, cpu, errand, interrupt, smp, synic};
use trapline_defs::apic::offset;

/// The vector of its sources.
pub const VECTOR: u64 = 0xb0;
/// The source that messages are for, if nothing else is said.
pub const SINT: u32 = 2;
/// Another one, which is masked.
pub const SECOND: u32 = 5;

/// Its messages.
pub static MESSAGES: Page = Page::new();
/// Its event flags.
pub static EVENTS: Page = Page::new();
/// A block for calls.
pub static BLOCK: Page = Page::new();

static CAME: Count = Count::new();
static EMPTIES: Count = Count::new();
static WHO: Count = Count::new();

/// Where a source's slot and flags lie in their pages.
pub const fn slot(sint: u32) -> usize {
    sint as usize * 256
}

/// Starts the others, and says which of all vCPUs it is.
pub fn open(vcpu: u32) {
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR as u8, handler);
    hypercall::open();
    WHO.set(vcpu.into());
    smp::start(errand::serve);
}

fn handler() {
    CAME.add();
    if EMPTIES.get() != 0 {
        empty(SINT);
    }
    apic::eoi();
}

/// Whether its handler empties the slot before it ends the interrupt.
pub fn empties(does: bool) {
    EMPTIES.set(does.into());
}

fn ask(what: errand::Errand, first: u64, second: u64) -> u64 {
    errand::on(WHO.get() as u32, what, first, second)
}

/// It makes an exit, at which its hypervisor takes over what others left.
pub fn look() {
    ask(|_, _| cpu::cpuid(0)[0].into(), 0, 0);
}

/// It takes its interrupts: how many.
pub fn take() -> u64 {
    let take = |_, _| {
        let before = CAME.get();
        // More than one may follow each other.
        for _ in 0..4 {
            cpu::cpuid(0);
            cpu::sti_nop();
            cpu::cli();
        }
        CAME.get() - before
    };
    ask(take, 0, 0)
}

/// It writes an MSR.
pub fn write(msr: u32, value: u64) {
    let write = |msr, value| {
        cpu::write_msr(msr as u32, value);
        0
    };
    ask(write, msr.into(), value);
}

/// It writes a register of its APIC.
pub fn write_apic(register: u16, value: u64) {
    let write = |register, value| {
        apic::write(register as u16, value);
        0
    };
    ask(write, register.into(), value);
}

/// What its APIC has for the vector: requested 1, in service 2, level-triggered 4.
pub fn state() -> u64 {
    let state = |_, _| {
        let vector = VECTOR as u8;
        let level = apic::read(offset::TMR + u16::from(vector / 32) * 16) >> (vector % 32) & 1;
        u64::from(apic::requested(vector)) | u64::from(apic::in_service(vector)) << 1 | level << 2
    };
    look();
    ask(state, 0, 0)
}

/// It writes a source.
pub fn set_source(sint: u32, value: u64) {
    write(synic::SINT0 + sint, value);
}

/// It says that a slot is empty.
pub fn eom() {
    write(synic::EOM, 0);
}

/// Its SynIC with nothing in it, and [`SINT`] open.
pub fn fresh() {
    write(synic::SCONTROL, 1);
    set_source(SINT, synic::MASKED | VECTOR);
    set_source(SECOND, synic::MASKED | VECTOR);
    write(synic::SIMP, MESSAGES.address() | 1);
    // Whatever waits is taken out.
    while {
        eom();
        empty(SINT).is_some() | empty(SECOND).is_some()
    } {}
    write(synic::SIEFP, EVENTS.address() | 1);
    set_source(SINT, VECTOR);
    take();
}

/// The connection to a source of its.
pub fn connection(sint: u32) -> u64 {
    WHO.get() * 16 + u64::from(sint)
}

/// Posts a message of type 1 and one word to it; the status.
pub fn post(sint: u32, word: u64) -> u64 {
    post_raw(connection(sint), 8 << 32 | 1, word)
}

/// Posts a message with that connection, size and type, and first word; the status.
pub fn post_raw(connection: u64, header: u64, word: u64) -> u64 {
    for (at, word) in [connection, header, word].into_iter().enumerate() {
        BLOCK.write(at * 8, word);
    }
    let status = hypercall::call(POST_MESSAGE, BLOCK.address(), 0);
    look();
    status
}

/// Signals an event; the status.
pub fn signal(event: u64) -> u64 {
    let status = hypercall::call(FAST | SIGNAL_EVENT, event, 0);
    look();
    status
}

/// The word of a source's message, whose slot is emptied.
pub fn empty(sint: u32) -> Option<u64> {
    let header = MESSAGES.read(slot(sint));
    MESSAGES.write(slot(sint), header >> 32 << 32);
    (header as u32 != 0).then(|| MESSAGES.read(slot(sint) + 16))
}

/// As [`empty`], 0 where there is no message.
pub fn word(sint: u32) -> u64 {
    empty(sint).unwrap_or(0)
}

/// 1 if the slot of [`SINT`] says that more wait.
pub fn more_wait() -> u64 {
    MESSAGES.read(slot(SINT)) >> 40 & 1
}
