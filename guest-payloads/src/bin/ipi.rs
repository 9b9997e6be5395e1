//! IPIs from the first vCPU to others: the two-vCPU rows of docs/corrections.md section 3.0.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::{apic, call, cpu, interrupt, payload, smp};

payload! {
    about: "Sends IPIs to other vCPUs; each target must get each of them once.";
    number n = 200, "How many IPIs.";
    number gap = 20000, "TSC ticks between the last answer and the next IPI: time to halt.";
    choice send: Send { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "The APIC's mode.";
    choice to: To { Last = "last", Others = "others", Logical = "logical" }
        = "last", "The last vCPU by its APIC id, all others by shorthand, or all but the first two by \
            a logical destination.";
    choice wait: Wait { Hlt = "hlt", Spin = "spin", Masked = "masked" }
        = "hlt", "Targets halt; or spin with interrupts on; or off, and let each in by STI.";
    run: run;
}

const VECTOR: u8 = 0xb0;

static N: AtomicU64 = AtomicU64::new(0);
static WAIT: AtomicU64 = AtomicU64::new(0);
static FIRST_TARGET: AtomicU64 = AtomicU64::new(0);
/// IPIs that were sent.
static SENT: AtomicU64 = AtomicU64::new(0);
/// Targets in their window, and behind it.
static READY: AtomicU64 = AtomicU64::new(0);
static FINISHED: AtomicU64 = AtomicU64::new(0);
/// IPIs that came, by vCPU.
static CAME: [AtomicU64; smp::MAX_VCPUS] = [const { AtomicU64::new(0) }; smp::MAX_VCPUS];

fn came() -> &'static AtomicU64 {
    &CAME[smp::number() as usize]
}

fn handler() {
    came().fetch_add(1, SeqCst);
    apic::eoi();
}

fn run(params: Params) {
    let last = smp::vcpus() - 1;
    assert!(last > 0, "this payload needs `vcpus = 2` or more");
    apic::open(if params.send == Send::XApic { apic::Mode::XApic } else { apic::Mode::X2Apic });
    interrupt::on(VECTOR, handler);
    let first = match params.to {
        To::Last => last,
        To::Others => 1,
        To::Logical => 2,
    };
    assert!(first <= last, "a logical destination needs `vcpus = 3` or more");
    // Bits first to last.
    let mask = (2 << last) - (1 << first);
    N.store(params.n, SeqCst);
    WAIT.store(params.wait as u64, SeqCst);
    FIRST_TARGET.store(u64::from(first), SeqCst);
    let targets = u64::from(last - first + 1);
    smp::start(target);
    cpu::wait_until(|| READY.load(SeqCst) == targets);
    smp::rest(params.gap);
    let arrived =
        |count| CAME[first as usize..=last as usize].iter().all(|came| came.load(SeqCst) >= count);
    call::begin("sender");
    for count in 1..=params.n {
        match params.to {
            To::Last => smp::send(last, VECTOR),
            To::Others => smp::send_to_others(VECTOR),
            To::Logical => smp::send_to_mask(mask, VECTOR),
        }
        SENT.store(count, SeqCst);
        cpu::wait_until(|| arrived(count));
        smp::rest(params.gap);
    }
    call::end();
    cpu::wait_until(|| FINISHED.load(SeqCst) == targets);
    for (number, came) in CAME.iter().enumerate() {
        let is_target = (first as usize..=last as usize).contains(&number);
        if number < smp::vcpus() as usize {
            let expected = if is_target { params.n } else { 0 };
            let label = if is_target { "IPIs that a target got" } else { "IPIs that others got" };
            call::check(label, expected, came.load(SeqCst));
        }
    }
}

fn target(number: u32) {
    if u64::from(number) < FIRST_TARGET.load(SeqCst) {
        // Awake to whatever is not meant for it.
        loop {
            cpu::sti_hlt();
        }
    }
    smp::take_logical_id();
    let (n, wait) = (N.load(SeqCst), WAIT.load(SeqCst));
    let came = came();
    call::begin("target");
    READY.fetch_add(1, SeqCst);
    if wait == Wait::Spin as u64 {
        cpu::sti();
        cpu::wait_until(|| came.load(SeqCst) >= n);
        cpu::cli();
    } else if wait == Wait::Masked as u64 {
        for count in 1..=n {
            cpu::wait_until(|| SENT.load(SeqCst) >= count);
            while came.load(SeqCst) < count {
                cpu::sti_nop();
                cpu::cli();
            }
        }
    } else {
        while came.load(SeqCst) < n {
            cpu::sti_hlt();
            cpu::cli();
        }
    }
    call::end();
    FINISHED.fetch_add(1, SeqCst);
}
