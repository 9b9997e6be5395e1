//! Guest time in TSC ticks.

use crate::time::Ns;

/// How the guest's TSC follows guest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TscClock {
    /// Frequency in kHz.
    pub khz: u32,
    /// The TSC at time 0.
    pub offset: u64,
}

/// Nanoseconds in a millisecond: kHz times this is ticks times nanoseconds.
const MILLISECOND: u64 = 1_000_000;

impl TscClock {
    /// One tick per nanosecond, from 0: what QEMU has under icount.
    pub const NANOSECONDS: Self = Self { khz: 1_000_000, offset: 0 };

    /// The TSC at `now`.
    pub const fn ticks(self, now: Ns) -> u64 {
        let khz = self.khz as u64;
        let whole = (now.0 / MILLISECOND).wrapping_mul(khz);
        let rest = now.0 % MILLISECOND * khz / MILLISECOND;
        self.offset.wrapping_add(whole).wrapping_add(rest)
    }

    /// When the TSC reaches `deadline`; `now` if it has. [`Ns::NEVER`] if it stands still.
    ///
    /// Rounded up, so that the guest never sees an earlier TSC than it asked for. (KVM rounds down
    /// and spins the rest away.)
    pub const fn when(self, deadline: u64, now: Ns) -> Ns {
        let current = self.ticks(now);
        if deadline <= current {
            return now;
        }
        let khz = self.khz as u64;
        if khz == 0 {
            return Ns::NEVER;
        }
        let ticks = deadline - current;
        let rest = (ticks % khz * MILLISECOND).div_ceil(khz);
        now.after((ticks / khz).saturating_mul(MILLISECOND)).after(rest)
    }
}
