//! The APIC's timer, for a machine whose tables say that it has no RTC.

use crate::count::Count;
use crate::{apic, interrupt, timer};

const VECTOR: u8 = 0xd1;
/// Ticks of the timer in a second: KVM's, whatever the processor's is.
const HZ: u64 = 1_000_000_000;

/// Guest ticks so far.
pub static TICKS: Count = Count::new();
/// Timer ticks in a guest tick.
static PERIOD: Count = Count::new();

/// Starts it with `every` periods of 2048 Hz in a guest tick.
pub fn start(every: u64) {
    PERIOD.set(every * HZ / 2048);
    interrupt::on(VECTOR, on_tick);
    timer::set_up(VECTOR);
    timer::arm(PERIOD.get());
}

/// Stops it.
pub fn stop() {
    timer::arm(0);
}

fn on_tick() {
    TICKS.add();
    timer::arm(PERIOD.get());
    apic::eoi();
}
