//! Where things lie in host-physical memory.
//!
//! ```text
//! 0010_0000  hv-core: code, data, per-core state, tables
//! 0300_0000  the plan, at most 32 MiB
//! 0600_0000  guest memory
//! ```
//! Fixed places keep two boots alike; the loader's memory map only has to have RAM there.

use core::ops::Range;
use trapline_abi::boot::GUEST_MEMORY;

/// Where the plan lies.
pub const PLAN_AREA: u64 = 0x0300_0000;

/// Where guest memory lies; 2 MiB aligned.
pub const GUEST_AREA: u64 = 0x0600_0000;

const NEEDED: Range<u64> = 0x10_0000..GUEST_AREA + GUEST_MEMORY;

/// The RAM that the loader reports, as far as it matters.
pub struct MemoryMap {
    /// RAM from the start of the needed range on, without a hole.
    reached: u64,
}

impl MemoryMap {
    /// Reads ranges of RAM, in any order.
    pub fn new(ranges: impl Iterator<Item = Range<u64>> + Clone) -> Self {
        let mut reached = NEEDED.start;
        while let Some(next) = ranges.clone().find(|r| r.contains(&reached)) {
            reached = next.end;
        }
        Self { reached }
    }

    /// Whether hv-core, plan and guest have memory.
    ///
    /// # Errors
    /// What is missing.
    pub fn require(&self) -> Result<(), Missing> {
        if self.reached >= NEEDED.end { Ok(()) } else { Err(Missing(self.reached)) }
    }
}

/// RAM ends too early.
pub struct Missing(u64);

impl core::fmt::Display for Missing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "RAM from {:#x} to {:#x} is needed, it ends at {:#x}",
            NEEDED.start, NEEDED.end, self.0
        )
    }
}
