//! The MC146818 real-time clock at ports 70h and 71h.
//!
//! Nothing runs here while nobody looks: time, periodic ticks, update and alarm flags follow from
//! the divider chain's start and are worked out when a register is accessed. Only an enabled
//! interrupt gives the model a deadline, and only until its line is high: the edge has happened,
//! and until the guest reads register C there will be no other (RTC-010).
//!
//! Flags are set whether or not their interrupt is enabled, as the chip does and KVM's usual
//! companion QEMU does not for PF (RTC-012). What QEMU does with the rest is kept: 244 us of UIP,
//! an update that takes no time at its end, a century at 32h that counts along.
//!
//! Sources: MC146818 data sheet; rules RTC-001 to RTC-028.

mod alarm;
mod calendar;
mod divider;
mod registers;
#[cfg(test)]
mod tests;

use crate::time::Ns;
use alarm::Alarm;
pub use calendar::Date;
use divider::{Divider, SECOND};
use registers::{Format, TimeRegisters};

/// The index port.
pub const INDEX_PORT: u16 = 0x70;
/// The data port.
pub const DATA_PORT: u16 = 0x71;

/// Register A: divider and rate.
pub const A: u8 = 0x0a;
/// Register B: modes and interrupt enables.
pub const B: u8 = 0x0b;
/// Register C: interrupt flags.
pub const C: u8 = 0x0c;
/// Register D: power.
pub const D: u8 = 0x0d;

/// A: an update is in progress, or comes within 244 us.
pub const UIP: u8 = 0x80;
/// B: the time stands still, for the guest to set it.
pub const SET: u8 = 0x80;
/// B: periodic interrupt enable; C: periodic flag.
pub const PERIODIC: u8 = 0x40;
/// B: alarm interrupt enable; C: alarm flag.
pub const ALARM: u8 = 0x20;
/// B: update-ended interrupt enable; C: update-ended flag.
pub const UPDATE: u8 = 0x10;
/// B: square wave enable; only stored.
pub const SQUARE_WAVE: u8 = 0x08;
/// B: binary instead of BCD.
pub const DM: u8 = 0x04;
/// B: 24 instead of 12 hours.
pub const HOUR_24: u8 = 0x02;
/// C: an enabled interrupt's flag is set; IRQ 8 is high.
pub const IRQF: u8 = 0x80;

const FLAGS: u8 = PERIODIC | ALARM | UPDATE;
/// D: the battery is good.
const VALID: u8 = 0x80;
/// How long before the end of an update UIP is set: 8 oscillator cycles.
const UIP_NS: u64 = 244_140;

/// The clock chip.
#[derive(Clone, Debug)]
pub struct Rtc {
    /// A seeded fault: a read of register C does not clear it, against RTC-011.
    pub keep_c: bool,
    /// Periodic ticks go on though nobody reads register C (RTC-031), as a WAET table with "RTC good"
    /// promises: each one that finds the line high is [`Self::take_tick`]'s.
    pub good: bool,
    /// Such a tick came.
    tick: bool,
    index: u8,
    nmi_masked: bool,
    a: u8,
    b: u8,
    flags: u8,
    time: TimeRegisters,
    alarm: Alarm,
    /// `None` while register A holds the divider.
    divider: Option<Divider>,
    deadline: Ns,
    ram: [u8; 128],
}

impl Rtc {
    /// A chip that was switched on at `Ns(0)`, when it was `date`.
    pub fn new(date: Date) -> Self {
        let b = HOUR_24;
        Self {
            keep_c: false,
            good: false,
            tick: false,
            index: 0,
            nmi_masked: false,
            a: 0x26,
            b,
            flags: 0,
            time: TimeRegisters::of(&date, Format::of(b)),
            alarm: Alarm::default(),
            divider: Some(Divider::started(Ns(0), SECOND)),
            deadline: Ns::NEVER,
            ram: [0; 128],
        }
    }

    /// What the RESET pin does: interrupts off, flags cleared; the rest is on battery (RTC-022).
    pub fn reset(&mut self, now: Ns) {
        self.sync(now);
        self.b &= !(FLAGS | SQUARE_WAVE);
        self.flags = 0;
        self.rearm();
    }

    /// Whether IRQ 8 is high, as of the last access or [`Self::advance`].
    #[inline]
    pub const fn irq(&self) -> bool {
        self.flags & self.b & FLAGS != 0
    }

    /// Whether bit 7 of the last index masks NMIs (RTC-003).
    pub const fn nmi_masked(&self) -> bool {
        self.nmi_masked
    }

    /// When [`Self::irq`] rises if the guest does nothing.
    #[inline]
    pub const fn next_deadline(&self) -> Ns {
        self.deadline
    }

    /// Whether the line is to be lowered for a moment, for another tick to be seen; it is so once.
    #[inline]
    pub const fn take_tick(&mut self) -> bool {
        core::mem::replace(&mut self.tick, false)
    }

    /// Lets time pass. Cheap unless a deadline was reached.
    #[inline]
    pub fn advance(&mut self, now: Ns) {
        if now >= self.deadline {
            self.sync(now);
            self.rearm();
        }
    }

    /// IN from one of the two ports. Call [`Self::advance`] first, or an edge that is due is lost with
    /// the read of C that it precedes; look at [`Self::irq`] afterwards, which that read drops.
    pub fn read(&mut self, port: u16, now: Ns) -> u8 {
        // The index cannot be read back (RTC-004).
        if port == DATA_PORT { self.read_register(self.index, now) } else { 0xff }
    }

    /// OUT to one of the two ports. Look at [`Self::irq`] afterwards.
    pub fn write(&mut self, port: u16, value: u8, now: Ns) {
        match port {
            INDEX_PORT => {
                self.index = value & 0x7f;
                self.nmi_masked = value & 0x80 != 0;
            }
            DATA_PORT => self.write_register(self.index, value, now),
            _ => {}
        }
    }

    fn read_register(&mut self, index: u8, now: Ns) -> u8 {
        match index {
            A => self.a | if self.updating(now) { UIP } else { 0 },
            B => self.b,
            C => self.take_flags(now),
            D => VALID,
            _ => {
                if self.time.at(index).is_some() {
                    self.sync(now);
                    // Flags that the look brought up may belong to an enabled interrupt.
                    self.rearm();
                }
                *self.byte(index)
            }
        }
    }

    /// The byte behind an index that is none of A to D.
    fn byte(&mut self, index: u8) -> &mut u8 {
        match (self.time.at(index), self.alarm.at(index)) {
            (Some(byte), _) | (None, Some(byte)) => byte,
            (None, None) => &mut self.ram[usize::from(index & 0x7f)],
        }
    }

    fn write_register(&mut self, index: u8, value: u8, now: Ns) {
        self.sync(now);
        match index {
            A => self.write_a(value, now),
            B => self.write_b(value),
            C | D => {}
            _ => *self.byte(index) = value,
        }
        self.rearm();
    }

    fn write_a(&mut self, value: u8, now: Ns) {
        self.a = value & !UIP;
        self.divider = match (divider::runs(value), self.divider) {
            (false, _) => None,
            (true, None) => Some(Divider::started(now, SECOND / 2)),
            (true, running) => running,
        };
    }

    fn write_b(&mut self, value: u8) {
        let before = core::mem::replace(&mut self.b, value);
        if value & SET != 0 {
            self.b &= !UPDATE;
        } else if before & SET == 0 {
            // The chip would leave the bytes as they are. QEMU keeps the time instead, and so
            // do we (RTC-019); while SET is on, the bytes are the guest's business.
            let (old, new) = (Format::of(before), Format::of(value));
            if old != new {
                self.time = TimeRegisters::of(&self.time.date(old).after(0), new);
            }
        }
    }

    fn take_flags(&mut self, now: Ns) -> u8 {
        self.sync(now);
        let value = self.flags | if self.irq() { IRQF } else { 0 };
        if !self.keep_c {
            self.flags = 0;
        }
        self.rearm();
        value
    }

    fn updating(&self, now: Ns) -> bool {
        self.b & SET == 0
            && self.divider.is_some_and(|mut chain| {
                chain.updates(now);
                now.after(UIP_NS) >= chain.next_update
            })
    }

    /// Brings time and flags up to `now`.
    fn sync(&mut self, now: Ns) {
        let Some(chain) = &mut self.divider else { return };
        if chain.ticked(divider::period(self.a), now) {
            self.tick |= self.good && self.flags & self.b & PERIODIC != 0;
            self.flags |= PERIODIC;
        }
        let updates = chain.updates(now);
        // With SET the chain goes on, only the time does not follow (RTC-017).
        if updates == 0 || self.b & SET != 0 {
            return;
        }
        let format = Format::of(self.b);
        let date = self.time.date(format);
        let alarm = self.alarm.distance(date.time_of_day(), format);
        if alarm.is_some_and(|seconds| u64::from(seconds) <= updates) {
            self.flags |= ALARM;
        }
        self.flags |= UPDATE;
        self.time = TimeRegisters::of(&date.after(updates), format);
    }

    /// Works out the deadline again, after anything that may have moved it.
    fn rearm(&mut self) {
        self.deadline = Ns::NEVER;
        let Some(chain) = &self.divider else { return };
        let is_high = self.irq();
        if self.b & FLAGS == 0 || is_high && !self.good {
            return;
        }
        if self.b & PERIODIC != 0
            && let Some(period) = divider::period(self.a)
        {
            self.deadline = chain.next_tick(period);
        }
        if self.b & SET != 0 || is_high {
            return;
        }
        if self.b & UPDATE != 0 {
            self.deadline = self.deadline.min(chain.next_update);
        }
        if self.b & ALARM != 0 {
            let format = Format::of(self.b);
            let time = self.time.date(format).time_of_day();
            if let Some(seconds) = self.alarm.distance(time, format) {
                let at = chain.next_update.after((u64::from(seconds) - 1) * SECOND);
                self.deadline = self.deadline.min(at);
            }
        }
    }
}
