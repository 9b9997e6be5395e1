//! The RTC as Windows' HAL runs it: 2048 interrupts a second, of which a guest tick is every so many.

use crate::count::Count;
use crate::{apic, interrupt, ioapic, rtc};

const VECTOR: u8 = 0xd1;
const PIN: u8 = 8;
/// A: the 32.768 kHz base, rate 5, which is 2048 Hz.
const BASE_2048_HZ: u8 = 0x25;
/// B: what arming keeps.
const DAYLIGHT_SAVING: u8 = 1;

/// How an interrupt is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Register C is read until bit 7 is clear: twice, unless another tick comes meanwhile.
    WindowsHal,
    /// Register C is read once.
    Minimal,
}

/// Guest ticks so far.
pub static TICKS: Count = Count::new();
/// Interrupts whose handler found bit 7 of register C clear.
pub static SPURIOUS: Count = Count::new();
/// Port accesses of handlers: two for each read of C.
pub static ACCESSES: Count = Count::new();
/// Interrupts in one guest tick.
static EVERY: Count = Count::new();
/// Interrupts until the next one.
static LEFT: Count = Count::new();

/// Starts it with `every` interrupts in a guest tick.
pub fn start(every: u64, profile: Profile) {
    EVERY.set(every);
    LEFT.set(every);
    interrupt::on(VECTOR, if profile == Profile::Minimal { read_once } else { read_until_clear });
    rtc::write(rtc::A, BASE_2048_HZ);
    let kept = rtc::read(rtc::B) & DAYLIGHT_SAVING;
    ioapic::route(PIN, VECTOR);
    rtc::write(rtc::B, kept | rtc::HOURS_24 | rtc::PIE);
    rtc::read(rtc::C);
    rtc::read(rtc::D);
}

/// Stops it: the register B that is left.
pub fn stop() -> u8 {
    rtc::write(rtc::B, rtc::read(rtc::B) & !rtc::PIE);
    ioapic::mask(PIN);
    rtc::read(rtc::B)
}

fn read_until_clear() {
    count();
    let mut is_first = true;
    while is_due() {
        is_first = false;
    }
    SPURIOUS.add_if(is_first);
    apic::eoi();
}

fn read_once() {
    count();
    SPURIOUS.add_if(!is_due());
    apic::eoi();
}

/// Reads C.
fn is_due() -> bool {
    ACCESSES.add();
    ACCESSES.add();
    rtc::read(rtc::C) & rtc::IRQF != 0
}

/// The HAL's down-counter, reloaded at the last one.
fn count() {
    let left = LEFT.get() - 1;
    TICKS.add_if(left == 0);
    LEFT.set(if left == 0 { EVERY.get() } else { left });
}
