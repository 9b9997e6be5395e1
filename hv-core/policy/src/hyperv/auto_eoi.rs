//! Counting the vCPUs that use AutoEOI.
//!
//! AVIC keeps a vector in service until an EOI; AutoEOI wants it out at once. So AVIC is inhibited
//! for the whole VM while any vCPU has an unmasked SINT with AutoEOI. vCPUs are counted, not
//! SINTs, and only where a vCPU's set of such vectors becomes empty or stops being so. Count and
//! inhibit change together, under whatever guards the VM (HV-121).

use super::Partition;
use crate::inhibit::{Inhibits, Reason};

/// When the count goes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecrementRule {
    /// When a vCPU used AutoEOI and does not any more: right, and KVM's since 5.15.
    #[default]
    OldAndNotNew,
    /// When a vCPU did not use it and now does, the increment's condition once more: the first
    /// posted patch (February 2021). A branch that is never taken, so the inhibit stays for ever.
    IncrementConditionAgain,
}

impl Partition {
    /// A vCPU's use of AutoEOI went from `before` to `after`. Returns how many inhibit transitions
    /// that made, 0 or 1.
    pub(super) fn count_auto_eoi(
        &mut self,
        inhibits: &mut Inhibits,
        before: bool,
        after: bool,
    ) -> u8 {
        if !self.counts_auto_eoi() {
            return 0;
        }
        let up = !before && after;
        let down = match self.decrement {
            DecrementRule::OldAndNotNew => before && !after,
            DecrementRule::IncrementConditionAgain => up,
        };
        let changed = if up {
            self.auto_eoi_users += 1;
            inhibits.set(Reason::Hyperv)
        } else if down {
            self.auto_eoi_users -= 1;
            self.auto_eoi_users == 0 && inhibits.clear(Reason::Hyperv)
        } else {
            false
        };
        changed.into()
    }
}
