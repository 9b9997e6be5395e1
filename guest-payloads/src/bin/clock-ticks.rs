//! Ticks of PIT and HPET: as many as periods go by, none early, none a whole period late.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, call, cpu, hpet, interrupt, ioapic, payload, pic, pit};
use trapline_abi::call::Query;

payload! {
    about: "Takes ticks of PIT or HPET, halted in between; or lets some pass with interrupts off.";
    number n = 10, "How many ticks.";
    number period = 1000, "Microseconds.";
    number blocked = 0, "Periods that pass with interrupts off, before anything else.";
    choice clock: Clock { Pit = "pit", PitOnce = "pit-once", PitPic = "pit-pic", Hpet = "hpet",
        HpetLevel = "hpet-level" } = "pit", "Which clock, and how it interrupts.";
    choice registers: Registers { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "How the APIC is reached.";
    run: run;
}

const VECTOR: u8 = 0x90;
const FS_PER_S: u64 = 1_000_000_000_000_000;
/// The PIC's vectors.
const BASE: u8 = 0x60;

static TICKS: Count = Count::new();
static EARLY: Count = Count::new();
static LATE: Count = Count::new();
/// The TSC before and after the clock was started.
static BEFORE: Count = Count::new();
static AFTER: Count = Count::new();
/// TSC ticks of a period, and of the clock's resolution.
static PERIOD: Count = Count::new();
static RESOLUTION: Count = Count::new();

fn tick() {
    TICKS.add();
    let (now, periods) = (cpu::tsc(), TICKS.get());
    EARLY.add_if(now + RESOLUTION.get() < BEFORE.get() + periods * PERIOD.get());
    LATE.add_if(now > AFTER.get() + (periods + 1) * PERIOD.get());
}

fn on_edge() {
    tick();
    apic::eoi();
}

fn on_level() {
    tick();
    hpet::acknowledge();
    apic::eoi();
}

fn on_pic() {
    tick();
    pic::eoi();
}

/// Clocks of a frequency in so many microseconds.
fn clocks(hz: u64, microseconds: u64) -> u64 {
    hz * microseconds / 1_000_000
}

/// TSC ticks of so many clocks of a frequency.
fn tsc_ticks(clocks: u64, hz: u64) -> u64 {
    clocks * cpu::tsc_khz() * 1000 / hz
}

fn start(clock: Clock, microseconds: u64) {
    let hz = match clock {
        Clock::Hpet | Clock::HpetLevel => FS_PER_S / hpet::period(),
        _ => pit::HZ,
    };
    let clocks = clocks(hz, microseconds);
    PERIOD.set(tsc_ticks(clocks, hz));
    RESOLUTION.set(tsc_ticks(1, hz));
    BEFORE.set(cpu::tsc());
    match clock {
        Clock::Pit | Clock::PitPic => pit::tick_every(clocks),
        Clock::PitOnce => pit::tick_after(clocks),
        Clock::Hpet => hpet::tick_every(clocks, false),
        Clock::HpetLevel => hpet::tick_every(clocks, true),
    }
    AFTER.set(cpu::tsc());
}

fn run(Params { n, period, blocked, clock, registers }: Params) {
    apic::open(apic::Mode::xapic_if(registers == Registers::XApic));
    hpet::start();
    interrupt::on(VECTOR, if clock == Clock::HpetLevel { on_level } else { on_edge });
    match clock {
        Clock::Pit | Clock::PitOnce => ioapic::route(pit::PIN, VECTOR),
        Clock::PitPic => {
            interrupt::on(BASE, on_pic);
            pic::open(0, BASE);
        }
        Clock::Hpet => ioapic::route(hpet::PIN, VECTOR),
        Clock::HpetLevel => {
            ioapic::route(hpet::PIN, VECTOR);
            ioapic::write_low_half(hpet::PIN, ioapic::LEVEL | u64::from(VECTOR));
        }
    }
    if blocked > 0 {
        return block(clock, period, blocked);
    }
    start(clock, period);
    if clock == Clock::PitOnce {
        return once(n, period);
    }
    wait_for(1);
    call::begin("ticks");
    wait_for(1 + n);
    call::end();
    report(1 + n);
    call::check("ticks before their time", 0, EARLY.get());
    call::check("ticks a period late", 0, LATE.get());
}

/// Each is started by hand, and nothing comes by itself.
fn once(n: u64, period: u64) {
    call::begin("ticks");
    for tick in 1..=n {
        wait_for(tick);
        if tick < n {
            pit::tick_after(clocks(pit::HZ, period));
        }
    }
    call::end();
    wait_open(2 * PERIOD.get());
    report(n);
}

/// Ticks that pass while interrupts are off, and what comes of them at once when they are on.
fn block(clock: Clock, period: u64, blocked: u64) {
    start(clock, period);
    let until = BEFORE.get() + blocked * PERIOD.get() + PERIOD.get() / 2;
    while cpu::tsc() < until {}
    wait_open(PERIOD.get() / 4);
    call::value("made-up", TICKS.get());
    report(TICKS.get());
}

fn report(expected: u64) {
    pit::stop();
    hpet::stop();
    wait_open(2 * PERIOD.get());
    call::check("ticks, and none after the stop", expected, TICKS.get());
    call::value("inhibits", call::query(Query::ApicvInhibits).unwrap_or(u64::MAX));
}

fn wait_for(ticks: u64) {
    while TICKS.get() < ticks {
        cpu::sti_hlt();
        cpu::cli();
    }
}

/// Waits with interrupts on.
fn wait_open(tsc: u64) {
    let until = cpu::tsc() + tsc;
    cpu::sti();
    while cpu::tsc() < until {}
    cpu::cli();
}
