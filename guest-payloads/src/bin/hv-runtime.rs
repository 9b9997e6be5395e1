//! VP_RUNTIME where vCPUs share a core: each counts its own turns, and no halt.
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::{apic, call, cpu, payload, reference, smp};

payload! {
    about: "All vCPUs but the last spin for a while, the last one is halted; each adds up its run time.";
    number ms = 40, "How long, in milliseconds.";
    number cores = 1, "The cores that they share.";
    run: run;
}

const VP_RUNTIME: u32 = 0x4000_0010;
/// Units of 100 ns in a millisecond.
const UNITS: u64 = 10_000;

/// Reference time at which all are done.
static END: Count = Count::new();
static RAN: Counts = Counts::new();
static DONE: Count = Count::new();

/// Spins until the end, and says how long it ran meanwhile.
fn spin(number: u32) {
    let before = cpu::read_msr(VP_RUNTIME);
    cpu::wait_until(|| reference::by_page() >= END.get());
    RAN.of(number).set(cpu::read_msr(VP_RUNTIME) - before);
    DONE.add();
}

fn other(number: u32) {
    cpu::wait_until(|| END.get() != 0);
    if number + 1 == smp::vcpus() {
        // Nothing wakes it before the payload is over.
        DONE.add();
        return;
    }
    spin(number);
}

fn run(Params { ms, cores }: Params) {
    apic::open(apic::Mode::X2Apic);
    reference::open();
    smp::start(other);
    let start = reference::by_page();
    END.set(start + ms * UNITS);
    spin(0);
    let vcpus = u64::from(smp::vcpus());
    cpu::wait_until(|| DONE.get() == vcpus);
    let took = reference::by_page() - start;
    let spinners = vcpus - 1;
    let ran = |vcpu| RAN.of(vcpu as u32).get();
    let all: u64 = (0..spinners).map(ran).sum();
    call::check("run times that exceed what the cores had", 0, u64::from(all > cores * took));
    // Turns are of equal length, and a hundred at least: none of them misses a tenth of its share.
    let share = cores * ms * UNITS / spinners;
    let short = (0..spinners).filter(|&vcpu| 10 * ran(vcpu) < 9 * share).count();
    call::check("vCPUs that missed a tenth of their share", 0, short as u64);
}
