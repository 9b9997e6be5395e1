//! The CMOS clock as Windows uses it without a better timer (seeds/000).
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering};
use guest_payloads::{apic, call, cpu, interrupt, ioapic, payload, rtc};

payload! {
    about: "Hammers ports 70h and 71h: reads or writes in a row, or the service of periodic ticks.";
    number n = 64, "How many accesses or ticks.";
    number rate = 3, "Register A's rate select: 3 is 8192 Hz, 5 is 2048 Hz, 6 is 1024 Hz.";
    choice mode: Mode { Read = "read", Write = "write", Service = "service", Wide = "wide" }
        = "read", "Reads of D, writes of RAM, ticks on IRQ 8 with register C read until clear, or reads of \
        two and four bytes.";
    choice reads: Reads { UntilClear = "until-clear", Once = "once" }
        = "until-clear", "How a tick's handler reads C: as the Windows HAL, or once.";
    run: run;
}

const VECTOR: u8 = 0xd1;
const PIN: u8 = 8;
/// Divider 010: the 32.768 kHz base.
const BASE: u8 = 0x20;
/// A register of RAM.
const RAM: u8 = 0x40;
const NS_PER_S: u64 = 1_000_000_000;

static TICKS: AtomicU64 = AtomicU64::new(0);
static SPURIOUS: AtomicU64 = AtomicU64::new(0);

fn until_clear() {
    let mut first = true;
    while rtc::read(rtc::C) & rtc::IRQF != 0 {
        first = false;
    }
    tick(first);
}

fn once() {
    tick(rtc::read(rtc::C) & rtc::IRQF == 0);
}

fn tick(spurious: bool) {
    TICKS.fetch_add(1, Ordering::Relaxed);
    SPURIOUS.fetch_add(u64::from(spurious), Ordering::Relaxed);
    apic::eoi();
}

fn run(Params { n, rate, mode, reads }: Params) {
    match mode {
        Mode::Read => {
            let mut bad = 0;
            call::begin("rtc");
            for _ in 0..n {
                bad += u64::from(rtc::read(rtc::D) != 0x80);
            }
            call::end();
            call::check("RTC-007: reads of D that were not 80h", 0, bad);
        }
        Mode::Write => {
            call::begin("rtc");
            for i in 0..n {
                rtc::write(RAM, i as u8);
            }
            call::end();
            call::check("RAM keeps the last byte", (n - 1) & 0xff, u64::from(rtc::read(RAM)));
        }
        Mode::Wide => wide(n),
        Mode::Service => service(n, rate as u8 & 15, reads),
    }
}

/// An access of several bytes is one exit, and each byte is its port's: the index reads all ones, then
/// comes the register, then nothing.
fn wide(n: u64) {
    rtc::select(rtc::D);
    let mut wrong = 0;
    call::begin("rtc");
    for _ in 0..n {
        wrong += u64::from(cpu::read_port_16(0x70) != 0x80ff);
        wrong += u64::from(cpu::read_port_32(0x70) != 0xffff_80ff);
    }
    call::end();
    call::check("RTC-032: reads of several bytes that were not those of each", 0, wrong);
}

fn service(n: u64, rate: u8, reads: Reads) {
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR, if reads == Reads::Once { once } else { until_clear });
    cpu::cli();
    rtc::write(rtc::A, BASE | rate);
    rtc::read(rtc::C);
    ioapic::route(PIN, VECTOR);
    rtc::write(rtc::B, rtc::HOURS_24 | rtc::PIE);
    // From the first tick on, so that the window holds whole periods.
    wait_for(1);
    let start = cpu::tsc();
    call::begin("rtc");
    wait_for(1 + n);
    call::end();
    let elapsed = cpu::tsc() - start;
    rtc::write(rtc::B, rtc::HOURS_24);
    ioapic::mask(PIN);
    // The oscillator's 32 768 Hz, shifted: rates 1 and 2 are those of 8 and 9.
    let shift = if rate < 3 { rate + 7 } else { rate };
    let expected = n * (NS_PER_S << (shift - 1)) / 32_768;
    call::check("RTC-008: ticks", 1 + n, TICKS.load(Ordering::Relaxed));
    call::check("RTC-011: handlers that found IRQF clear", 0, SPURIOUS.load(Ordering::Relaxed));
    // One per cent, as the rule says; the TSC runs at 1 GHz where this is exact.
    call::value("elapsed", elapsed);
    call::value("expected", expected);
}

fn wait_for(ticks: u64) {
    while TICKS.load(Ordering::Relaxed) < ticks {
        cpu::sti_hlt();
        cpu::cli();
    }
}
