//! The HPET at FED0_0000h: a counter of 10 ns, and three timers that compare with it (IA-PC HPET 1.0a).
//!
//! What the specification leaves to the chip is as in QEMU: three timers, all periodic and 64 bits wide, a
//! period of 10 ns; a comparator that is set to what the counter has passed is due with the next tick. One
//! that was never set is due never (QEMU's narrow timers interrupt when they are enabled so).
//! Other than QEMU's it has no legacy replacement and no FSB delivery, its interrupts go to pins 16 to 23
//! only, where nothing else is, and a 32-bit timer does not interrupt when the counter wraps.

mod timer;

#[cfg(test)]
mod tests;

use crate::time::Ns;
use timer::Timer;

/// Where it is.
pub const PAGE: u64 = 0xfed0_0000;

/// Nanoseconds of one tick.
pub const TICK_NS: u64 = 10;
/// The first pin that its interrupts can go to.
pub const FIRST_PIN: u8 = 16;
/// Behind the last one.
pub const END_PIN: u8 = 24;

const TIMERS: usize = 3;
/// Revision 1, Intel's; three timers; 64 bits; a tick in femtoseconds.
const WHAT_IT_IS: u64 =
    (TICK_NS * 1_000_000) << 32 | 0x8086 << 16 | 1 << 13 | (TIMERS as u64 - 1) << 8 | 1;
const ENABLE: u64 = 1;

/// Offsets of the registers, each of 64 bits.
pub mod register {
    /// What it can do.
    pub const CAPABILITIES: u16 = 0;
    /// Whether the counter runs.
    pub const CONFIGURATION: u16 = 0x10;
    /// Level-triggered interrupts that are on; a one clears.
    pub const STATUS: u16 = 0x20;
    /// The counter.
    pub const COUNTER: u16 = 0xf0;
    /// The first timer's configuration; each timer has 20h bytes.
    pub const TIMER: u16 = 0x100;
    /// Behind that, its comparator.
    pub const COMPARATOR: u16 = 8;
}

/// The counter and its timers.
#[derive(Clone, Debug)]
pub struct Hpet {
    runs: bool,
    /// The counter when it stopped or started.
    base: u64,
    /// When that was.
    since: Ns,
    status: u8,
    timers: [Timer; TIMERS],
    /// Pins that are to be pulsed.
    pulses: u32,
}

impl Default for Hpet {
    fn default() -> Self {
        Self::new()
    }
}

impl Hpet {
    /// After power-on: the counter stands at 0.
    pub const fn new() -> Self {
        Self {
            runs: false,
            base: 0,
            since: Ns(0),
            status: 0,
            timers: [const { Timer::new() }; TIMERS],
            pulses: 0,
        }
    }

    /// A read of 4 or 8 bytes at an offset of the page.
    pub fn read(&mut self, offset: u16, size: u8, now: Ns) -> u64 {
        self.advance(now);
        let value = self.register(offset & !7, now) >> ((offset & 4) * 8);
        if size == 8 { value } else { value & 0xffff_ffff }
    }

    /// A write of 4 or 8 bytes at an offset of the page. Others change nothing.
    pub fn write(&mut self, offset: u16, size: u8, value: u64, now: Ns) {
        self.advance(now);
        let mask = match (size, offset & 7) {
            (4, 0) => 0xffff_ffff,
            (4, 4) => 0xffff_ffff << 32,
            (8, 0) => u64::MAX,
            _ => return,
        };
        let value = value << ((offset & 4) * 8);
        self.write_register(offset & !7, value, mask, now);
    }

    /// When it interrupts next if nobody does anything.
    pub fn next_deadline(&self) -> Ns {
        let due = self.timers.iter().filter_map(Timer::interrupts_at).min();
        match due {
            // The counter shows a value from its first nanosecond on.
            Some(due) if self.runs => {
                self.since.after(due.saturating_sub(self.base).saturating_mul(TICK_NS))
            }
            _ => Ns::NEVER,
        }
    }

    /// Lets time pass: what is due happens.
    pub fn advance(&mut self, now: Ns) {
        if !self.runs {
            return;
        }
        let count = self.count(now);
        for (index, timer) in self.timers.iter_mut().enumerate() {
            if !timer.matches(count) || !timer.interrupts() {
                continue;
            }
            if timer.is_level() {
                self.status |= 1 << index;
            } else {
                self.pulses |= 1 << timer.pin();
            }
        }
    }

    /// The pins of edge-triggered timers to be pulsed; they are so once.
    pub const fn take_pulses(&mut self) -> u32 {
        core::mem::replace(&mut self.pulses, 0)
    }

    /// The pins that level-triggered timers hold high.
    pub fn lines(&self) -> u32 {
        let held = self.timers.iter().enumerate().filter(|(n, _)| self.status >> n & 1 != 0);
        held.fold(0, |pins, (_, timer)| pins | 1 << timer.pin())
    }

    fn count(&self, now: Ns) -> u64 {
        if self.runs { self.base.wrapping_add(now.since(self.since) / TICK_NS) } else { self.base }
    }

    /// Which timer's, and whether its comparator's, an offset is.
    fn timer_at(offset: u16) -> Option<(usize, u16)> {
        let beyond = offset.checked_sub(register::TIMER)?;
        let index = usize::from(beyond / 0x20);
        (index < TIMERS).then_some((index, beyond % 0x20))
    }

    fn register(&self, offset: u16, now: Ns) -> u64 {
        match (offset, Self::timer_at(offset)) {
            (register::CAPABILITIES, _) => WHAT_IT_IS,
            (register::CONFIGURATION, _) => u64::from(self.runs),
            (register::STATUS, _) => self.status.into(),
            (register::COUNTER, _) => self.count(now),
            (_, Some((index, 0))) => self.timers[index].configuration(),
            (_, Some((index, register::COMPARATOR))) => self.timers[index].comparator(),
            _ => 0,
        }
    }

    fn write_register(&mut self, offset: u16, value: u64, mask: u64, now: Ns) {
        let count = self.count(now);
        match (offset, Self::timer_at(offset)) {
            (register::CONFIGURATION, _) if mask & ENABLE != 0 => {
                self.enable(value & ENABLE != 0, now);
            }
            (register::STATUS, _) => self.status &= !((value & mask) as u8),
            // Only while it stands still, as the specification asks for.
            (register::COUNTER, _) if !self.runs => {
                self.base = self.base & !mask | value & mask;
                self.timers.iter_mut().for_each(|timer| timer.arm(self.base));
            }
            (_, Some((index, 0))) => {
                self.timers[index].configure(value, mask, count);
                if !self.timers[index].interrupts() || !self.timers[index].is_level() {
                    self.status &= !(1 << index);
                }
            }
            (_, Some((index, register::COMPARATOR))) => {
                self.timers[index].compare_with(value, mask, count);
            }
            _ => {}
        }
    }

    fn enable(&mut self, on: bool, now: Ns) {
        if on == self.runs {
            return;
        }
        self.base = self.count(now);
        (self.runs, self.since) = (on, now);
        if on {
            let base = self.base;
            self.timers.iter_mut().for_each(|timer| timer.arm(base));
        } else {
            self.status = 0;
        }
    }
}
