//! Two senders of IPIs at the same time under AVIC (APM vol. 2 §15.29.6.1; AVIC-146, AVIC-147).
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::laboratory as lab;
use guest_payloads::rule::{self, Rule, fresh, take};
use guest_payloads::{apic, cpu, payload, smp};
use trapline_defs::apic::offset;

payload! {
    about: "Sends IPIs to one target from two vCPUs at once, each the hypervisor of itself.";
    number n = 64, "How often.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

/// Vectors of one IRR word: the first sender's are the even ones.
const FIRST: u8 = 0x40;
/// A target that takes nothing.
const TARGET: u32 = 2;
/// What both send at once.
const SAME: u8 = 0x60;

/// Rounds that have begun, and that the other vCPU has done.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);

fn run(Params { n, registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    // Before the laboratory answers INIT and SIPI with silence.
    apic::open(if x2apic { apic::Mode::X2Apic } else { apic::Mode::XApic });
    smp::start(other);
    rule::open(x2apic);
    BEGUN.store(1, SeqCst);
    cpu::wait_until(|| DONE.load(SeqCst) == 1);
    // The page of the other sender is its own from here on.
    fresh();

    let (mut lost, mut extra) = (0, 0);
    for _ in 0..n {
        lab::set_page(TARGET as u8, offset::IRR + 0x20, 0);
        let (word, taken) = round();
        lost |= !word;
        extra |= taken ^ u64::from(SAME);
        lab::set_vector(0, offset::ISR, SAME, false);
    }
    Rule::new("AVIC-146 the same vector is taken once").is(0, extra);
    Rule::new("AVIC-147 no vector of a word is lost").is(0, lost.into());
}

/// Both send once. The target's IRR word, and what this vCPU took.
fn round() -> (u32, u64) {
    let number = BEGUN.fetch_add(1, SeqCst) + 1;
    send(FIRST);
    cpu::wait_until(|| DONE.load(SeqCst) == number);
    let taken = take();
    (lab::page(TARGET as u8, offset::IRR + 0x20), taken)
}

/// Every second vector of the word to the target, and in between the one that both send to vCPU 0.
fn send(first: u8) {
    for vector in (first..FIRST + 32).step_by(2) {
        apic::command(TARGET, (1 << 14 | u32::from(vector)).into());
        if vector == first + 16 {
            apic::command(0, (1 << 14 | u32::from(SAME)).into());
        }
    }
}

fn other(number: u32) {
    cpu::wait_until(|| BEGUN.load(SeqCst) == 1);
    rule::join(number as u8);
    DONE.store(1, SeqCst);
    loop {
        let done = DONE.load(SeqCst);
        cpu::wait_until(|| BEGUN.load(SeqCst) > done);
        send(FIRST + 1);
        DONE.store(done + 1, SeqCst);
    }
}
