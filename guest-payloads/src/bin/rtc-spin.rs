//! RTC ticks that reach a vCPU which spins and never exits by itself (rules RTC-024, RTC-025, RTC-031).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{acpi, apic, call, cpu, interrupt, ioapic, payload, rtc, smp};

payload! {
    about: "Takes RTC ticks of 2048 Hz while it spins: on the only vCPU, or on the second of two.";
    number n = 16, "How many ticks.";
    choice reads: Reads { UntilClear = "until-clear", Never = "never" }
        = "until-clear", "Whether a tick's handler reads C, or trusts that the RTC goes on without.";
    choice registers: Registers { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "How the APIC is reached.";
    run: run;
}

const VECTOR: u8 = 0xd1;
const WAKE: u8 = 0x40;
const PIN: u8 = 8;
const RATE_2048_HZ: u8 = 0x25;
const HZ: u64 = 2048;
/// What a guest at boot waits for its first tick, at most.
const PATIENCE_MS: u64 = 10;

static N: Count = Count::new();
static TICKS: Count = Count::new();
static LATE: Count = Count::new();
static LAST: Count = Count::new();
static READS: Count = Count::new();
static DONE: Count = Count::new();
/// What the window on the spinning vCPU lasted.
static ELAPSED: Count = Count::new();

fn on_tick() {
    if READS.get() != 0 {
        while rtc::read(rtc::C) & rtc::IRQF != 0 {}
    }
    let now = cpu::tsc();
    LATE.add_if(now - LAST.get() > PATIENCE_MS * cpu::tsc_khz());
    LAST.set(now);
    TICKS.add();
    apic::eoi();
}

fn on_wake() {
    apic::eoi();
}

fn spin(number: u32) {
    LAST.set(cpu::tsc());
    cpu::sti();
    cpu::wait_until(|| TICKS.get() >= 1);
    let start = cpu::tsc();
    call::begin("spin");
    cpu::wait_until(|| TICKS.get() > N.get());
    call::end();
    ELAPSED.set(cpu::tsc() - start);
    cpu::cli();
    DONE.add();
    if number != 0 {
        smp::send(0, WAKE);
    }
}

fn run(Params { n, reads, registers }: Params) {
    apic::open(apic::Mode::xapic_if(registers == Registers::XApic));
    interrupt::on(VECTOR, on_tick);
    interrupt::on(WAKE, on_wake);
    N.set(n);
    READS.set((reads == Reads::UntilClear).into());
    let target = smp::vcpus() - 1;
    rtc::write(rtc::A, RATE_2048_HZ);
    rtc::read(rtc::C);
    ioapic::route_to(PIN, VECTOR, target);
    rtc::write(rtc::B, rtc::HOURS_24 | rtc::PIE);
    if target == 0 {
        spin(0);
    } else {
        smp::start(spin);
        while DONE.get() == 0 {
            cpu::sti_hlt();
            cpu::cli();
        }
    }
    rtc::write(rtc::B, rtc::HOURS_24);
    ioapic::mask(PIN);
    let period = cpu::tsc_khz() * 1000 / HZ;
    call::check("RTC-024: ticks, one a period", n, (ELAPSED.get() + period / 2) / period);
    call::check("RTC-025: ticks more than 10 ms after the one before", 0, LATE.get());
    if reads == Reads::Never {
        call::check("RTC-031: WAET says so", 1, u64::from(acpi::rtc_is_good()));
        call::check("RTC-031: ticks though C is not read", 1, u64::from(TICKS.get() > n));
    }
}
