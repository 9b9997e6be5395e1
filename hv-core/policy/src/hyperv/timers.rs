//! The synthetic timers of a vCPU: their MSRs, and the one moment that the vCPU has to be woken for.

use super::ReferenceClock;
use super::timer::Timer;
use crate::time::Ns;

/// Timers of a vCPU.
const TIMERS: usize = 4;

/// One vCPU's timers, with the clock that they follow.
#[derive(Clone, Debug)]
pub struct Timers {
    /// Reference time, which all vCPUs of a VM share.
    pub clock: ReferenceClock,
    /// The page that the guest asked to be filled with the clock's parameters, until it is.
    pub page: Option<u64>,
    timers: [Timer; TIMERS],
    /// When the first of them expires.
    alarm: Ns,
}

impl Timers {
    /// Timers as after reset: none runs.
    pub fn new(clock: ReferenceClock) -> Self {
        Self { clock, page: None, timers: [Timer::default(); TIMERS], alarm: Ns::NEVER }
    }

    /// VM reset. INIT does not come here, as under KVM.
    pub fn reset(&mut self) {
        *self = Self::new(self.clock);
    }

    /// When the next one expires.
    #[inline]
    pub const fn next_deadline(&self) -> Ns {
        self.alarm
    }

    /// A register: those of a timer follow each other, CONFIG first.
    pub(super) const fn read(&self, register: u32) -> u64 {
        let timer = &self.timers[register as usize / 2];
        if register.is_multiple_of(2) { timer.config() } else { timer.count() }
    }

    pub(super) fn write(&mut self, register: u32, value: u64, now: Ns) {
        let time = self.clock.at(now);
        let timer = &mut self.timers[register as usize / 2];
        if register.is_multiple_of(2) {
            timer.set_config(value, time);
        } else {
            timer.set_count(value, time);
        }
        self.plan();
    }

    /// The host restores a register: a count enables nothing (HV-135).
    pub fn restore(&mut self, register: u32, value: u64, now: Ns) {
        let time = self.clock.at(now);
        let timer = &mut self.timers[register as usize / 2];
        if register.is_multiple_of(2) {
            timer.set_config(value, time);
        } else {
            timer.restore_count(value, time);
        }
        self.plan();
    }

    /// The SINTs whose slots timers wait for, one bit each.
    pub fn waiting(&self) -> u16 {
        let waiting = self.timers.iter().filter(|timer| timer.waits());
        waiting.fold(0, |sints, timer| sints | 1 << timer.sint())
    }

    /// Message slots of these SINTs, one bit each, were emptied: what waits for one is due again. Whether
    /// something is.
    pub fn retry(&mut self, sints: u16) -> bool {
        let mut any = false;
        for timer in &mut self.timers {
            any |= sints >> timer.sint() & 1 != 0 && timer.retry();
        }
        if any {
            self.plan();
        }
        any
    }

    /// Lets the timers expire that are due. `tell` gets the timer's number, the timer, its expiration
    /// and the present time, and answers whether the guest was told.
    pub fn expire(&mut self, now: Ns, mut tell: impl FnMut(usize, &Timer, u64, u64) -> bool) {
        let time = self.clock.at(now);
        for (number, timer) in self.timers.iter_mut().enumerate() {
            let Some(expired) = timer.expires().filter(|&expires| expires <= time) else {
                continue;
            };
            if tell(number, timer, expired, time) {
                timer.told(time);
            } else {
                timer.stall();
            }
        }
        self.plan();
    }

    fn plan(&mut self) {
        let first = self.timers.iter().filter_map(Timer::expires).min();
        self.alarm = first.map_or(Ns::NEVER, |time| self.clock.when(time));
    }
}
