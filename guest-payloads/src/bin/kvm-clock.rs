//! kvmclock: nanoseconds from the TSC, without an exit (PVC-1, PVC-2).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::kvm::Clock;
use guest_payloads::page::Page;
use guest_payloads::{apic, barrier, call, cpu, payload, reference, smp};
use trapline_defs::msr::{
    KVM_SYSTEM_TIME, KVM_SYSTEM_TIME_OLD, KVM_WALL_CLOCK, KVM_WALL_CLOCK_OLD,
};

payload! {
    about: "Two vCPUs read their clocks in turn: no read is behind the one before, none exits.";
    number n = 1000, "How many reads.";
    choice msrs: Msrs { New = "new", Old = "old" } = "new", "The numbers of the MSRs.";
    choice beside: Beside { Nothing = "nothing", HyperV = "hyperv" }
        = "nothing", "Another clock of the same VM that it is held against.";
    run: run;
}

/// 2026-01-01 00:00:00 UTC, where every scenario starts.
const START: u64 = 1_767_225_600;

static WALL: Page = Page::new();
static N: Count = Count::new();
static OLD: Count = Count::new();
/// Whose turn it is, and the last reading.
static TURN: Count = Count::new();
static LAST: Count = Count::new();
static BACKWARDS: Count = Count::new();
static BESIDE_TSC: Count = Count::new();

fn open() -> &'static Clock {
    Clock::open(if OLD.get() != 0 { KVM_SYSTEM_TIME_OLD } else { KVM_SYSTEM_TIME })
}

/// Reads by turns: even ones are the first vCPU's.
fn read(clock: &Clock, me: u64) {
    call::begin("reads");
    for turn in (0..N.get()).filter(|turn| turn % 2 == me) {
        cpu::wait_until(|| TURN.get() == turn);
        let (before, time, after) = (clock.at(cpu::tsc()), clock.now(), clock.at(cpu::tsc()));
        BESIDE_TSC.add_if(time < before || time > after);
        BACKWARDS.add_if(time < LAST.get());
        LAST.set(time);
        TURN.set(turn + 1);
    }
    call::end();
}

/// Whether a read is between two of Hyper-V's reference time, whose unit is 100 ns. The multiplier's last bit may be off.
fn is_beside_reference(clock: &Clock) -> bool {
    let before = reference::by_msr() * 100;
    let time = clock.now();
    let after = (reference::by_msr() + 1) * 100;
    (before - 1..=after).contains(&time)
}

fn other(_number: u32) {
    let clock = open();
    barrier::meet();
    read(clock, 1);
    barrier::meet();
}

fn run(Params { n, msrs, beside }: Params) {
    assert!(smp::vcpus() == 2, "this payload needs `vcpus = 2`");
    apic::open(apic::Mode::X2Apic);
    N.set(n);
    OLD.set(u64::from(msrs == Msrs::Old));
    smp::start(other);
    let clock = open();
    barrier::meet();
    read(clock, 0);
    barrier::meet();
    call::check("PVC-1 reads that were behind the one before", 0, BACKWARDS.get());
    call::check("PVC-1 reads that were not between two of the TSC", 0, BESIDE_TSC.get());
    call::check(
        "PVC-1 the version is even and not 0",
        0,
        u64::from(clock.version() % 2 + u32::from(clock.version() == 0)),
    );
    call::check("PVC-1 the clock is stable", 1, clock.flags());
    call::check("PVC-1 the multiplier has 32 bits", 1, clock.multiplier() >> 31);
    let far = clock.at(1 << 40);
    call::check("PVC-1 it runs", 1, u64::from(far > clock.at(1 << 39)));
    if beside == Beside::HyperV {
        let apart = (0..n).filter(|_| !is_beside_reference(clock)).count();
        call::check("PVC-1 reads that Hyper-V's reference time contradicts", 0, apart as u64);
    }
    let msr = if msrs == Msrs::Old { KVM_WALL_CLOCK_OLD } else { KVM_WALL_CLOCK };
    cpu::write_msr(msr, WALL.address());
    call::check("PVC-2 when the clock was 0: version, seconds", START << 32 | 2, WALL.read(0));
    call::check("PVC-2 when the clock was 0: nanoseconds", 0, WALL.read(8));
    call::check("PVC-2 the MSR of the wall clock", WALL.address(), cpu::read_msr(KVM_WALL_CLOCK));
}
