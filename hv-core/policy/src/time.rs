//! Guest time.

/// Nanoseconds of guest time since the scenario's start.
///
/// Every device model counts in this unit, so that all clocks of a guest are one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ns(pub u64);

impl Ns {
    /// Later than anything that happens: "no deadline".
    pub const NEVER: Self = Self(u64::MAX);

    /// This time plus `nanoseconds`, at most [`Ns::NEVER`].
    #[inline]
    pub const fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// The nanoseconds from `earlier` to this time; 0 if that is not earlier.
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
