//! A level-triggered line of the IOAPIC, and its remote IRR (82093AA data sheet, 3.2.4). The line is the
//! RTC's: its periodic flag stays set until register C is read, so PIE in register B raises and lowers
//! the line at will.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::ioapic::{LEVEL, MASKED, REMOTE_IRR};
use guest_payloads::{apic, call, cpu, interrupt, ioapic, payload, rtc, smp};

payload! {
    about: "Raises a level-triggered line and ends its interrupts, with the line high or low.";
    number n = 20, "How often the line is raised.";
    number again = 3, "Handlers that leave the line high, in case again.";
    choice case: Case {
        Lowered = "lowered", Again = "again", Masked = "masked", MaskedInService = "masked-in-service",
        Twice = "twice", Rewritten = "rewritten", Withdrawn = "withdrawn", Ticks = "ticks",
    } = "lowered", "The handler lowers the line; or leaves it high; or the line rises masked; or is \
        masked in service; or gets two EOIs; or has its entry written in service; or falls before it \
        is served; or the RTC ticks and C is read.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const VECTOR: u8 = 0x61;
const PIN: u8 = 8;
const ENTRY: u64 = LEVEL | VECTOR as u64;
/// 32.768 kHz base, 1024 Hz: far apart for a handler.
const RATE: u8 = 0x26;
/// What an interrupt that must not come has to come.
const PATIENCE: u64 = 5000;

static CASE: Count = Count::new();
static AGAIN: Count = Count::new();
/// Handlers since the line rose.
static SERVED: Count = Count::new();
static CAME: Count = Count::new();
/// Entries whose remote IRR was not what it has to be.
static WRONG: Count = Count::new();

fn line(high: bool) {
    rtc::write(rtc::B, rtc::HOURS_24 | if high { rtc::PIE } else { 0 });
}

fn expect_remote_irr(set: bool) {
    WRONG.add_if((ioapic::low_half(PIN) & REMOTE_IRR != 0) != set);
}

fn handler() {
    CAME.add();
    SERVED.add();
    expect_remote_irr(true);
    let is = |case: Case| CASE.get() == case as u64;
    let masks = is(Case::MaskedInService) && SERVED.get() == 1;
    let stays_high = (is(Case::Again) || is(Case::Twice)) && SERVED.get() <= AGAIN.get();
    if is(Case::Rewritten) {
        // It has sent, and awaits its EOI: this is no reason to send again.
        ioapic::write_low_half(PIN, ENTRY);
        expect_remote_irr(true);
    }
    if masks {
        ioapic::write_low_half(PIN, ENTRY | MASKED);
    } else if is(Case::Ticks) {
        rtc::read(rtc::C);
    } else if !stays_high {
        line(false);
    }
    apic::eoi();
    // A line that is still high, and not masked, has already sent again.
    expect_remote_irr(stays_high);
    if is(Case::Twice) {
        // Nothing is in service: what was sent again must not be ended by it.
        apic::eoi();
        expect_remote_irr(stays_high);
    }
}

/// Ticks of the RTC, on a halted vCPU.
fn ticks(n: u64) {
    rtc::read(rtc::C);
    line(true);
    call::begin("line");
    while CAME.get() < n {
        cpu::sti_hlt();
        cpu::cli();
    }
    call::end();
    line(false);
}

/// Lets interrupts in until so many came, and no more.
fn take(count: u64) {
    cpu::sti();
    cpu::wait_until(|| CAME.get() >= count);
    cpu::sti_nop();
    smp::rest(PATIENCE);
    cpu::cli();
}

fn run(Params { n, again, case, mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    rtc::write(rtc::A, RATE);
    ioapic::write_low_half(PIN, ENTRY);
    // The first tick is served as in case lowered: its flag is the one that stays.
    line(true);
    cpu::wait_until(|| ioapic::low_half(PIN) & REMOTE_IRR != 0);
    take(1);
    CAME.set(0);
    CASE.set(case as u64);
    AGAIN.set(again);
    let each = match case {
        Case::Lowered | Case::Masked | Case::Rewritten | Case::Withdrawn | Case::Ticks => 1,
        Case::MaskedInService => 2,
        Case::Again | Case::Twice => again + 1,
    };
    if case == Case::Ticks {
        ticks(n)
    } else {
        rounds(n, case, each)
    }
    call::check("interrupts", n * each, CAME.get());
    call::check("entries with a wrong remote IRR", 0, WRONG.get());
}

/// The line rises again and again; `each` interrupts come of it.
fn rounds(n: u64, case: Case, each: u64) {
    call::begin("line");
    for round in 1..=n {
        SERVED.set(0);
        if case == Case::Masked {
            ioapic::write_low_half(PIN, ENTRY | MASKED);
        }
        line(true);
        match case {
            Case::Masked => {
                take((round - 1) * each);
                expect_remote_irr(false);
                ioapic::write_low_half(PIN, ENTRY);
            }
            Case::MaskedInService => {
                take((round - 1) * each + 1);
                ioapic::write_low_half(PIN, ENTRY);
            }
            // The message is on its way; nobody takes it back.
            Case::Withdrawn => line(false),
            Case::Lowered | Case::Again | Case::Twice | Case::Rewritten | Case::Ticks => {}
        }
        expect_remote_irr(true);
        take(round * each);
        expect_remote_irr(false);
    }
    call::end();
}
