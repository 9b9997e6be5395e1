//! The local APIC timer.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering};
use guest_payloads::{apic, call, cpu, interrupt, payload};
use trapline_defs::apic::offset;
use trapline_defs::msr::TSC_DEADLINE;

payload! {
    about: "Arms the local APIC timer and waits for it, halted or spinning.";
    number n = 10, "How many expiries.";
    number period = 100000, "Ticks of the timer's clock, or of the TSC in deadline mode.";
    choice mode: TimerMode { OneShot = "one-shot", Periodic = "periodic", Deadline = "deadline" }
        = "one-shot", "The timer's mode.";
    choice wait: Wait { Hlt = "hlt", Spin = "spin" } = "hlt", "How it waits.";
    choice cold: Cold { None = "none", Idt = "idt" }
        = "none", "A page that is evicted right before the window.";
    choice registers: Registers { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "The APIC's interface.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const DIVIDE_BY_1: u64 = 0xb;
const PERIODIC: u64 = 1 << 17;
const DEADLINE: u64 = 2 << 17;

static FIRED: AtomicU64 = AtomicU64::new(0);

fn handler() {
    FIRED.fetch_add(1, Ordering::Relaxed);
    apic::eoi();
}

fn run(Params { n, period, mode, wait, cold, registers }: Params) {
    apic::open(if registers == Registers::XApic { apic::Mode::XApic } else { apic::Mode::X2Apic });
    interrupt::on(VECTOR, handler);
    let entry = match mode {
        TimerMode::OneShot => 0,
        TimerMode::Periodic => PERIODIC,
        TimerMode::Deadline => DEADLINE,
    };
    cpu::cli();
    if cold == Cold::Idt {
        call::evict(interrupt::idt_page());
    }
    call::begin("timer");
    apic::write(offset::TIMER_DIVIDE, DIVIDE_BY_1);
    apic::write(offset::LVT_TIMER, entry | u64::from(VECTOR));
    let start = cpu::tsc();
    if mode == TimerMode::Periodic {
        apic::write(offset::TIMER_INITIAL, period);
    }
    for expiry in 1..=n {
        match mode {
            TimerMode::OneShot => apic::write(offset::TIMER_INITIAL, period),
            TimerMode::Periodic => {}
            TimerMode::Deadline => cpu::write_msr(TSC_DEADLINE, cpu::tsc() + period),
        }
        while FIRED.load(Ordering::Relaxed) < expiry {
            match wait {
                Wait::Hlt => {
                    cpu::sti_hlt();
                    cpu::cli();
                }
                Wait::Spin => {
                    cpu::sti_nop();
                    cpu::cli();
                }
            }
        }
    }
    let elapsed = cpu::tsc() - start;
    call::end();
    apic::write(offset::TIMER_INITIAL, 0);
    call::check("expiries", n, FIRED.load(Ordering::Relaxed));
    call::check("no expiry was early", 1, u64::from(elapsed >= n * period));
    call::value("elapsed", elapsed);
}
