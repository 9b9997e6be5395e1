//! IPIs to other vCPUs by Hyper-V's ICR.
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::{apic, call, cpu, interrupt, payload, smp, vapic};

payload! {
    about: "Sends fixed IPIs, NMIs, INIT and SIPI to other vCPUs by Hyper-V's ICR.";
    number n = 10, "How many of each.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const VECTOR: u8 = 0x61;
const NMI: u8 = 2;
const ASSERT: u64 = 1 << 14;
const LOGICAL: u64 = 1 << 11;
const START_PAGE: u64 = 8;
/// What an IPI that must not come has to come.
const PATIENCE: u64 = 5000;

static CAME: Counts = Counts::new();
static NMIS: Counts = Counts::new();
static STARTED: Counts = Counts::new();
static STRANGE: Count = Count::new();

fn handler() {
    CAME.of(smp::number()).add();
    cpu::write_msr(vapic::EOI, 0);
}

fn on_nmi() {
    NMIS.of(smp::number()).add();
}

fn other(number: u32) {
    smp::take_logical_id();
    STRANGE.add_if(number != smp::number());
    STARTED.of(number).add();
    loop {
        cpu::sti_hlt();
    }
}

fn came() -> [u64; 3] {
    [0, 1, 2].map(|vcpu| CAME.of(vcpu).get())
}

/// Three counts in one word, to be shown.
fn word(counts: [u64; 3]) -> u64 {
    counts[0] << 32 | counts[1] << 16 | counts[2]
}

/// Sends, and waits until the sum of what came is so much.
fn send(to: u32, low: u64, all: u64) {
    vapic::command(to, ASSERT | low);
    cpu::wait_until(|| came().iter().sum::<u64>() >= all);
}

fn run(Params { n, mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    interrupt::on(NMI, on_nmi);
    smp::take_logical_id();
    smp::start(other);
    cpu::wait_until(|| STARTED.of(1).get() + STARTED.of(2).get() == 2);
    call::begin("sender");
    for round in 0..n {
        send(2, u64::from(VECTOR), 2 * round + 1);
        send(1 << 1, LOGICAL | u64::from(VECTOR), 2 * round + 2);
    }
    call::end();
    smp::rest(PATIENCE);
    let expected = word([0, n, n]);
    call::check("HV-193: physical to vCPU 2, logical to vCPU 1", expected, word(came()));
    for round in 1..=n {
        vapic::command(1, ASSERT | 4 << 8);
        cpu::wait_until(|| NMIS.of(1).get() >= round);
    }
    smp::rest(PATIENCE);
    let nmis = [0, 1, 2].map(|vcpu| NMIS.of(vcpu).get());
    call::check("HV-194: NMIs to vCPU 1", word([0, n, 0]), word(nmis));
    for round in 1..=n {
        vapic::command(2, ASSERT | 5 << 8);
        vapic::command(2, ASSERT | 6 << 8 | START_PAGE);
        cpu::wait_until(|| STARTED.of(2).get() > round);
    }
    let started = [0, 1, 2].map(|vcpu| STARTED.of(vcpu).get());
    call::check("HV-194: starts by INIT and SIPI", word([0, 1, n + 1]), word(started));
    call::check("vCPUs that came up as another one", 0, STRANGE.get());
}
