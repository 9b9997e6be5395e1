//! Channel 0's ticks: when they come, and what becomes of those that the guest missed.
//!
//! KVM either pulses at each tick and forgets it (`lost_tick_policy=discard`), or counts the ticks and
//! pulses for the next one when the guest has ended the one before (`delay`, which QEMU turns on unless
//! told otherwise). The second needs every EOI, which AVIC does not show: it inhibits AVIC
//! ([`crate::inhibit::Reason::PitReinject`]).

use super::HZ;
use crate::time::Ns;

const NS_PER_S: u64 = 1_000_000_000;
/// `min_timer_period_us`.
const SHORTEST_PERIOD: u64 = 200_000;

/// Channel 0's timer.
#[derive(Clone, Debug)]
pub(super) struct Ticks {
    reinjects: bool,
    /// Nanoseconds; 0 before the first count.
    period: u64,
    is_periodic: bool,
    runs: bool,
    /// When it ticks next, or ticked last.
    expiry: Ns,
    pulse: bool,
    /// Ticks that are not ended yet.
    pending: u64,
    /// The last pulse was ended.
    acknowledged: bool,
}

impl Ticks {
    pub(super) const fn new(reinjects: bool) -> Self {
        Self {
            reinjects,
            period: 0,
            is_periodic: false,
            runs: false,
            expiry: Ns(0),
            pulse: false,
            pending: 0,
            acknowledged: true,
        }
    }

    /// A count was loaded. Mode 5 and what is no mode stop it.
    pub(super) fn start(&mut self, mode: u8, count: u32, now: Ns) {
        self.runs = mode <= 4;
        if !self.runs {
            return;
        }
        let interval = u64::from(count) * NS_PER_S / HZ;
        self.is_periodic = matches!(mode, 2 | 3);
        self.period = if self.is_periodic { interval.max(SHORTEST_PERIOD) } else { interval };
        // The first one is not lengthened.
        self.expiry = now.after(interval);
        self.forget();
    }

    pub(super) const fn next_deadline(&self) -> Ns {
        if self.runs { self.expiry } else { Ns::NEVER }
    }

    pub(super) const fn elapsed(&self, now: Ns) -> u64 {
        if self.period == 0 { 0 } else { now.after(self.period).since(self.expiry) }
    }

    pub(super) fn advance(&mut self, now: Ns) {
        if now < self.next_deadline() {
            return;
        }
        let mut ticks = 1;
        if self.is_periodic {
            ticks += now.since(self.expiry) / self.period;
            self.expiry = self.expiry.after(ticks.saturating_mul(self.period));
        } else {
            self.runs = false;
        }
        if self.reinjects {
            self.pending = self.pending.saturating_add(ticks);
        }
        self.send();
    }

    pub(super) const fn take_pulse(&mut self) -> bool {
        core::mem::replace(&mut self.pulse, false)
    }

    pub(super) const fn ended(&mut self) {
        self.acknowledged = true;
        self.pending = self.pending.saturating_sub(1);
        if self.pending > 0 {
            self.send();
        }
    }

    pub(super) const fn forget(&mut self) {
        self.pending = 0;
        self.acknowledged = true;
    }

    const fn send(&mut self) {
        if self.reinjects && !core::mem::replace(&mut self.acknowledged, false) {
            return;
        }
        self.pulse = true;
    }
}
