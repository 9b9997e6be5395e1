//! The clock of a Windows guest: the RTC, or a synthetic timer where one is offered (seeds/000).
//!
//! A guest tick lasts as long and brings the same work with either. What differs is how often the clock
//! interrupts for it: the RTC at 2048 Hz always, the timer once.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::windows::{self, Clock, apic_timer, rtc, stimer};
use guest_payloads::{apic, call, cpu, interrupt, payload};
use trapline_abi::call::Query;

payload! {
    about: "Keeps time as Windows does: by synthetic timers, the RTC or the APIC's timer, by CPUID and FADT.";
    number n = 8, "How many guest ticks.";
    number every = 5, "How long one lasts, in periods of 2048 Hz: the RTC interrupts as often for it.";
    number work = 4, "IPIs to itself after each guest tick.";
    choice profile: Profile { WindowsHal = "windows-hal", Minimal = "minimal" }
        = "windows-hal", "How the RTC is acknowledged: C read until clear, or once.";
    choice sources: Sources { Unused = "unused", Claimed = "claimed", Released = "released" }
        = "unused", "SINT0, 1 and 4: left alone, set with AutoEOI as by older kernels, or then without.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "How the APIC is reached.";
    run: run;
}

const WORK: u8 = 0x2f;
const HZ: u64 = 2048;

static DONE: Count = Count::new();

fn on_work() {
    DONE.add();
    apic::eoi();
}

fn run(Params { n, every, work, profile, sources, registers }: Params) {
    apic::open(apic::Mode::xapic_if(registers == Registers::XApic));
    interrupt::on(WORK, on_work);
    if sources != Sources::Unused {
        windows::claim_sources();
    }
    if sources == Sources::Released {
        windows::release_auto_eoi();
    }
    let clock = windows::clock();
    let ticks = start(clock, every, profile);
    // From a guest tick on, so that the window holds whole ones.
    wait_for(ticks, 1);
    let (begun, accesses) = (cpu::tsc(), rtc::ACCESSES.get());
    call::begin("clock");
    for tick in 2..n + 2 {
        wait_for(ticks, tick);
        cpu::sti();
        for _ in 0..work {
            apic::self_ipi(WORK);
        }
        cpu::cli();
    }
    call::end();
    let elapsed = cpu::tsc() - begun;
    // What a clock of 2048 Hz makes in that time, rounded.
    let second = cpu::tsc_khz() * 1000;
    let periods = (elapsed * HZ + second / 2) / second;
    call::value("stimer", u64::from(clock == Clock::Stimer));
    call::value("inhibits", call::query(Query::ApicvInhibits).unwrap_or(u64::MAX));
    call::value("auto-eoi-users", call::query(Query::AutoEoiCount).unwrap_or(u64::MAX));
    match clock {
        Clock::Stimer => {
            stimer::stop();
            call::check("HV-243: guest ticks, SCONTROL unwritten", 1 + n, stimer::TICKS.get());
            call::check("HV-137: guest ticks before their time", 0, stimer::EARLY.get());
            call::check("HV-137: interrupts without a message", 0, stimer::STRANGE.get());
            call::check("HV-244: EOM writes", 0, stimer::EOMS.get());
            // A COUNT for each guest tick: 2048 a second if it is one period long.
            call::check("RTC-029: periods of 2048 Hz, by COUNT writes", n * every, periods);
        }
        Clock::Rtc => {
            let is_as_often = rtc::ACCESSES.get() - accesses >= 2 * periods;
            call::check("RTC-008: guest ticks", 1 + n, rtc::TICKS.get());
            call::check("RTC-011: handlers that found IRQF clear", 0, rtc::SPURIOUS.get());
            call::check("RTC-029: 4096 port accesses a second", 1, u64::from(is_as_often));
            call::check("RTC-027: register B after the HAL's stop", 0x02, u64::from(rtc::stop()));
        }
        Clock::ApicTimer => {
            apic_timer::stop();
            let ticks = apic_timer::TICKS.get();
            call::check("RTC-030: guest ticks without an RTC, as the FADT says", 1 + n, ticks);
        }
    }
    call::check("work done", n * work, DONE.get());
}

/// Starts the clock: where its guest ticks are counted.
fn start(clock: Clock, every: u64, profile: Profile) -> &'static Count {
    match clock {
        Clock::Stimer => {
            stimer::start(every);
            &stimer::TICKS
        }
        Clock::Rtc => {
            rtc::start(
                every,
                match profile {
                    Profile::WindowsHal => rtc::Profile::WindowsHal,
                    Profile::Minimal => rtc::Profile::Minimal,
                },
            );
            &rtc::TICKS
        }
        Clock::ApicTimer => {
            apic_timer::start(every);
            &apic_timer::TICKS
        }
    }
}

fn wait_for(ticks: &Count, tick: u64) {
    while ticks.get() < tick {
        cpu::sti_hlt();
        cpu::cli();
    }
}
