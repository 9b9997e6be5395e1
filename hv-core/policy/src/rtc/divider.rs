//! The divider chain: what ticks, and when.
//!
//! One 32.768 kHz oscillator feeds a chain whose taps are the periodic rates and, last, the update
//! once per second. All taps share the chain's phase, so a rate that is selected late ticks where
//! it would have ticked anyway.

use crate::time::Ns;

/// One second.
pub(super) const SECOND: u64 = 1_000_000_000;

// 32768 / 10^9 = NUMERATOR / DENOMINATOR, in lowest terms.
const NUMERATOR: u64 = 64;
const DENOMINATOR: u64 = 1_953_125;

/// Whether register A lets the chain run. 11x holds it in reset (RTC-021); 1xx and 011 are test
/// inputs, which stop the time in QEMU's model as well, so they do here.
pub(super) const fn runs(a: u8) -> bool {
    a & 0x70 <= 0x20
}

/// Oscillator cycles of one period at the rate in register A bits 3:0; `None` for rate 0.
///
/// Rates 1 and 2 are those of taps 8 and 9 (RTC-009: 256 and 128 Hz).
pub(super) const fn period(a: u8) -> Option<u64> {
    match a & 0xf {
        0 => None,
        1 => Some(1 << 7),
        2 => Some(1 << 8),
        rate => Some(1 << (rate - 1)),
    }
}

/// A running chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divider {
    start: Ns,
    /// Cycles up to which periodic ticks are accounted for.
    seen: u64,
    /// When the next update of the time ends.
    pub(super) next_update: Ns,
}

impl Divider {
    /// A chain that has just been let go at `now`, with its first update after `first` ns.
    pub(super) const fn started(now: Ns, first: u64) -> Self {
        Self { start: now, seen: 0, next_update: now.after(first) }
    }

    /// Whole cycles since the chain started.
    const fn cycles(&self, now: Ns) -> u64 {
        let ns = now.since(self.start);
        // Split, because the product of a long time would not fit.
        ns / DENOMINATOR * NUMERATOR + ns % DENOMINATOR * NUMERATOR / DENOMINATOR
    }

    /// Whether a tick of that period happened since the last call, or since the start.
    pub(super) fn ticked(&mut self, period: Option<u64>, now: Ns) -> bool {
        let cycles = self.cycles(now).max(self.seen);
        let before = core::mem::replace(&mut self.seen, cycles);
        // Periods are powers of two.
        period.is_some_and(|p| (before ^ cycles) & !(p - 1) != 0)
    }

    /// When the first tick after the last call of [`Self::ticked`] happens.
    pub(super) fn next_tick(&self, period: u64) -> Ns {
        let cycles = (self.seen / period + 1).saturating_mul(period);
        let ns = u128::from(cycles) * u128::from(DENOMINATOR);
        let ns = ns.div_ceil(u128::from(NUMERATOR));
        u64::try_from(ns).map_or(Ns::NEVER, |ns| self.start.after(ns))
    }

    /// How many updates ended up to `now`; each counts once.
    pub(super) fn updates(&mut self, now: Ns) -> u64 {
        if now < self.next_update {
            return 0;
        }
        let updates = now.since(self.next_update) / SECOND + 1;
        self.next_update = self.next_update.after(updates.saturating_mul(SECOND));
        updates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_seen_at_its_own_nanosecond_and_not_before() {
        for a in 0x21..=0x2f {
            let period = period(a).unwrap();
            let mut chain = Divider::started(Ns(12_345), SECOND);
            for _ in 0..70 {
                let at = chain.next_tick(period);
                assert!(!chain.ticked(Some(period), Ns(at.0 - 1)), "A={a:#x} early");
                assert!(chain.ticked(Some(period), at), "A={a:#x} late");
            }
        }
    }

    #[test]
    fn a_very_late_look_is_one_tick_and_does_not_overflow() {
        let mut chain = Divider::started(Ns(0), SECOND);
        assert!(chain.ticked(period(6), Ns(u64::MAX - 1)));
        assert!(!chain.ticked(period(6), Ns(u64::MAX - 1)));
        assert!(chain.updates(Ns::NEVER) > 0);
        assert_eq!(chain.next_update, Ns::NEVER);
    }

    #[test]
    fn a_tick_is_counted_once_even_if_the_time_given_goes_back() {
        let mut chain = Divider::started(Ns(0), SECOND);
        assert!(chain.ticked(period(6), Ns(1_000_000)));
        assert!(!chain.ticked(period(6), Ns(500_000)));
        assert!(!chain.ticked(period(6), Ns(1_000_000)));
        assert_eq!((chain.updates(Ns(SECOND)), chain.updates(Ns(0))), (1, 0));
        assert_eq!(chain.updates(Ns(SECOND)), 0);
    }
}
