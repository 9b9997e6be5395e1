//! Every vCPU has a timer of its own: it must fire in time even where another vCPU has the core.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::{apic, call, cpu, interrupt, payload, smp};
use trapline_defs::apic::offset;
use trapline_defs::msr::TSC_DEADLINE;

payload! {
    about: "Each vCPU waits, halted, for deadlines of its own; no deadline may be early, or late by more than \
        the others can account for.";
    number n = 10, "How many deadlines each waits for.";
    number period = 250000, "TSC ticks to a deadline; the second vCPU's is twice as long, and so on.";
    number late = 20000, "TSC ticks by which a deadline may be late.";
    choice first: First { Hlt = "hlt", Spin = "spin" }
        = "hlt", "The first vCPU waits like the others, or spins until they are done.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const DEADLINE: u64 = 2 << 17;

static N: AtomicU64 = AtomicU64::new(0);
static PERIOD: AtomicU64 = AtomicU64::new(0);
static FINISHED: AtomicU64 = AtomicU64::new(0);
static EARLY: AtomicU64 = AtomicU64::new(0);
static LATEST: AtomicU64 = AtomicU64::new(0);
/// When the timer fired last, by vCPU; 0 until then.
static FIRED: [AtomicU64; smp::MAX_VCPUS] = [const { AtomicU64::new(0) }; smp::MAX_VCPUS];

fn handler() {
    FIRED[smp::number() as usize].store(cpu::tsc(), SeqCst);
    apic::eoi();
}

fn wait_for_deadlines(number: u32) {
    let fired = &FIRED[number as usize];
    let period = PERIOD.load(SeqCst) * (u64::from(number) + 1);
    apic::write(offset::LVT_TIMER, DEADLINE | u64::from(VECTOR));
    call::begin("timer");
    for _ in 0..N.load(SeqCst) {
        fired.store(0, SeqCst);
        let deadline = cpu::tsc() + period;
        cpu::write_msr(TSC_DEADLINE, deadline);
        while fired.load(SeqCst) == 0 {
            cpu::sti_hlt();
            cpu::cli();
        }
        match fired.load(SeqCst).checked_sub(deadline) {
            Some(late) => LATEST.fetch_max(late, SeqCst),
            None => EARLY.fetch_add(1, SeqCst),
        };
    }
    call::end();
    FINISHED.fetch_add(1, SeqCst);
}

fn run(params: Params) {
    let others = u64::from(smp::vcpus() - 1);
    assert!(others > 0, "this payload needs `vcpus = 2` or more");
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR, handler);
    N.store(params.n, SeqCst);
    PERIOD.store(params.period, SeqCst);
    smp::start(wait_for_deadlines);
    if params.first == First::Spin {
        call::begin("spinner");
        cpu::wait_until(|| FINISHED.load(SeqCst) == others);
        call::end();
    } else {
        wait_for_deadlines(0);
        // Halted, too: who spins has the core for a slice.
        while FINISHED.load(SeqCst) <= others {
            cpu::write_msr(TSC_DEADLINE, cpu::tsc() + params.period);
            cpu::sti_hlt();
            cpu::cli();
        }
    }
    call::check("deadlines that were early", 0, EARLY.load(SeqCst));
    let is_in_time = LATEST.load(SeqCst) <= params.late;
    call::check("no deadline was too late", 1, u64::from(is_in_time));
}
