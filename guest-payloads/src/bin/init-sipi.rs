//! INIT and SIPI, over and over: a vCPU that was started before starts again, and its APIC knows
//! nothing of the time before (APM vol. 2 §14.1.3, §16.3).
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::{apic, call, cpu, payload, smp};
use trapline_defs::apic::offset;

payload! {
    about: "Starts all other vCPUs again and again; each must come up, with its APIC reset.";
    number n = 20, "How often.";
    choice state: State { Halted = "halted", Spinning = "spinning", Waiting = "waiting" }
        = "halted", "What an INIT finds: CLI;HLT, a loop, or STI;HLT.";
    run: run;
}

const VECTOR: u8 = 0x40;

static STATE: AtomicU64 = AtomicU64::new(0);
static STARTS: AtomicU64 = AtomicU64::new(0);
static TPR: AtomicU64 = AtomicU64::new(0);
static IRR: AtomicU64 = AtomicU64::new(0);

fn other(_number: u32) {
    TPR.fetch_add(u64::from(apic::read(offset::TPR) != 0), SeqCst);
    IRR.fetch_add(u64::from(apic::requested(VECTOR)), SeqCst);
    // Something that INIT has to clear.
    apic::write(offset::TPR, 0x50);
    apic::self_ipi(VECTOR);
    STARTS.fetch_add(1, SeqCst);
    let state = STATE.load(SeqCst);
    if state == State::Halted as u64 {
        return;
    }
    loop {
        if state == State::Spinning as u64 {
            cpu::pause();
        } else {
            cpu::sti_hlt();
        }
    }
}

fn run(params: Params) {
    apic::open(apic::Mode::X2Apic);
    STATE.store(params.state as u64, SeqCst);
    let others = u64::from(smp::vcpus() - 1);
    for round in 1..=params.n {
        smp::start(other);
        cpu::wait_until(|| STARTS.load(SeqCst) >= round * others);
        smp::rest(20_000);
    }
    call::check("starts", params.n * others, STARTS.load(SeqCst));
    call::check("starts with a TPR", 0, TPR.load(SeqCst));
    call::check("starts with a vector in IRR", 0, IRR.load(SeqCst));
}
