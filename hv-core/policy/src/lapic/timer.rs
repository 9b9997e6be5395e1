//! The APIC timer (APM §16.4.1), as KVM builds it on one host timer.
//!
//! The bus clock is 1 GHz (KVM's default: a bus cycle is 1 ns). An expiry first becomes "pending"
//! and is then delivered through the timer's entry. A masked entry leaves it pending, and further
//! expiries merge with it. KVM delivers between two entries; here it happens at the write or at
//! [`Lapic::advance`], which is the same for the guest.
//!
//! Not modelled: KVM programs TSC deadlines up to a microsecond early and spins until the deadline
//! after the next entry. The guest sees its interrupt at the deadline either way.

use trapline_defs::apic::TimerMode;

use super::{Lapic, LocalSource, TscClock};
use crate::time::Ns;

/// KVM lengthens shorter periods to this (module parameter min_timer_period_us), in ns.
const SHORTEST_PERIOD: u64 = 200_000;

#[derive(Clone, Debug)]
pub(super) struct Timer {
    mode: TimerMode,
    initial: u32,
    divide_register: u32,
    divide: u32,
    /// From initial count to 0, in ns; 0 if no count was started.
    period: u64,
    /// When the count reaches 0.
    expires: Ns,
    /// When the host timer fires.
    alarm: Ns,
    /// Expired and not delivered.
    pending: bool,
    deadline: u64,
    pub(super) tsc: TscClock,
    pub(super) offers_deadline: bool,
}

impl Timer {
    pub(super) const fn new() -> Self {
        Self {
            mode: TimerMode::OneShot,
            initial: 0,
            divide_register: 0,
            divide: 2,
            period: 0,
            expires: Ns(0),
            alarm: Ns::NEVER,
            pending: false,
            deadline: 0,
            tsc: TscClock::NANOSECONDS,
            offers_deadline: true,
        }
    }

    pub(super) const fn reset(&mut self) {
        *self = Self { tsc: self.tsc, offers_deadline: self.offers_deadline, ..Self::new() };
    }

    pub(super) const fn initial(&self) -> u32 {
        self.initial
    }

    pub(super) const fn divide_register(&self) -> u32 {
        self.divide_register
    }

    pub(super) const fn drop_pending(&mut self) {
        self.pending = false;
    }

    /// A change to or from deadline mode stops the timer; one between the counting modes does not.
    pub(super) fn set_mode(&mut self, mode: TimerMode) {
        if mode == self.mode {
            return;
        }
        if (mode == TimerMode::TscDeadline) != (self.mode == TimerMode::TscDeadline) {
            self.alarm = Ns::NEVER;
            self.pending = false;
            self.initial = 0;
            self.period = 0;
            self.deadline = 0;
        }
        self.mode = mode;
        self.limit_period();
    }

    pub(super) fn write_initial(&mut self, value: u32, now: Ns) {
        if self.mode == TimerMode::TscDeadline {
            return;
        }
        self.alarm = Ns::NEVER;
        self.pending = false;
        self.initial = value;
        if self.counts() {
            self.period = self.initial_period();
            if self.period != 0 {
                self.limit_period();
                self.expires = now.after(self.period);
                self.start(now);
            }
        }
    }

    /// A running count goes on at the new rate. After a one-shot count has ended the change starts
    /// it with nothing left, so that it fires once more: KVM does the same.
    pub(super) fn write_divide(&mut self, value: u32, now: Ns) {
        self.divide_register = value & 0xb;
        let old = self.divide;
        self.divide = 1 << ((((value & 3) | (value & 8) >> 1) + 1) & 7);
        if self.divide == old || self.period == 0 {
            return;
        }
        self.period = self.initial_period();
        self.limit_period();
        let left = self.expires.since(now).saturating_mul(self.divide.into()) / u64::from(old);
        self.expires = now.after(left);
        self.alarm = Ns::NEVER;
        self.start(now);
    }

    fn write_deadline(&mut self, value: u64, now: Ns) {
        self.deadline = value;
        self.alarm = Ns::NEVER;
        self.pending = false;
        self.start(now);
    }

    pub(super) fn current(&self, now: Ns) -> u32 {
        if self.mode == TimerMode::TscDeadline || self.initial == 0 || self.period == 0 {
            return 0;
        }
        (self.expires.since(now) % self.period / u64::from(self.divide)) as u32
    }

    /// Sets the host timer. A time that has come fires it at the next [`Timer::advance`].
    fn start(&mut self, now: Ns) {
        if self.mode != TimerMode::Periodic && self.pending {
            return;
        }
        self.alarm = match self.mode {
            TimerMode::OneShot | TimerMode::Periodic if self.period != 0 => self.expires,
            TimerMode::TscDeadline if self.deadline != 0 => self.tsc.when(self.deadline, now),
            _ => Ns::NEVER,
        };
        self.advance(now);
    }

    fn advance(&mut self, now: Ns) {
        if self.alarm > now {
            return;
        }
        self.pending = true;
        if self.mode == TimerMode::Periodic && self.period != 0 {
            // Missed periods merge into one expiry; the phase stays.
            let missed = now.since(self.expires) / self.period;
            self.expires = self.expires.after((missed + 1).saturating_mul(self.period));
            self.alarm = self.expires;
        } else {
            self.alarm = Ns::NEVER;
        }
    }

    const fn counts(&self) -> bool {
        matches!(self.mode, TimerMode::OneShot | TimerMode::Periodic)
    }

    const fn initial_period(&self) -> u64 {
        self.initial as u64 * self.divide as u64
    }

    fn limit_period(&mut self) {
        if self.mode == TimerMode::Periodic && self.period != 0 {
            self.period = self.period.max(SHORTEST_PERIOD);
        }
    }
}

impl Lapic {
    /// When [`Lapic::advance`] has something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Ns {
        self.timer.alarm
    }

    /// Lets the timer expire if its time has come.
    #[inline]
    pub fn advance(&mut self, now: Ns) {
        if self.timer.alarm <= now {
            self.timer.advance(now);
            self.inject_timer();
        }
    }

    /// Reads IA32_TSC_DEADLINE (MSR 6E0h): 0 outside deadline mode and after the interrupt.
    pub fn read_tsc_deadline(&self) -> u64 {
        if self.deadline_mode() { self.timer.deadline } else { 0 }
    }

    /// Writes IA32_TSC_DEADLINE, in TSC ticks; 0 disarms. Ignored outside deadline mode.
    pub fn write_tsc_deadline(&mut self, deadline: u64, now: Ns) {
        if self.deadline_mode() {
            self.timer.write_deadline(deadline, now);
            self.inject_timer();
        }
    }

    /// The guest's TSC, for deadline mode. A running deadline keeps its time: write it again.
    pub fn set_tsc_clock(&mut self, clock: TscClock) {
        self.timer.tsc = clock;
    }

    /// Whether CPUID offers deadline mode.
    pub fn offer_tsc_deadline(&mut self, offered: bool) {
        self.timer.offers_deadline = offered;
    }

    fn deadline_mode(&self) -> bool {
        self.mode != super::Mode::Disabled && self.timer.mode == TimerMode::TscDeadline
    }

    /// Delivers an expiry if the APIC is on and the entry open.
    pub(super) fn inject_timer(&mut self) {
        let entry = self.lvt[LocalSource::Timer as usize];
        if !self.timer.pending || !self.enabled() || entry.masked() {
            return;
        }
        self.timer.pending = false;
        match self.timer.mode {
            TimerMode::TscDeadline => self.timer.deadline = 0,
            TimerMode::OneShot => self.timer.expires = Ns(0),
            _ => (),
        }
        self.local_interrupt(LocalSource::Timer);
    }
}
