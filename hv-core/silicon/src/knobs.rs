//! Knobs: where silicon may do one thing or another, what the model does.
//!
//! A correct hypervisor gets the same results at every setting. The defaults are the strictest
//! processor: it does only what the manual promises, when it promises it.

use crate::profile::{Quirks, Silicon};

/// How often something optional happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// Never.
    Never,
    /// Each time.
    Always,
    /// Once in so many times on average; 0 is never.
    OneIn(u32),
}

/// When a processor looks at the IRR of the guest it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// At VMRUN, doorbell, EOI, TPR write and self-IPI, and never else. A hypervisor that sets an
    /// IRR bit and forgets the doorbell hangs its guest: what a test wants to see.
    Strict,
    /// Also wherever the caller allows it ([`crate::Processor::glance`]).
    Relaxed(Chance),
}

/// The knobs of one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// When the IRR is looked at.
    pub evaluation: Evaluation,
    /// Erratum 1235: an entry that this core saw running is taken for running once more after
    /// IsRunning was cleared. The IPI then rings nobody and reports nothing.
    pub stale_is_running: Chance,
    /// APIC accesses in xAPIC mode hit the backing page of the last vCPU of the same VM on this
    /// core, unless VMRUN flushed (APM §15.29.4.3).
    pub stale_tlb_tag: Chance,
    /// A VMCB field whose clean bit is set comes from the processor's own copy.
    pub keep_clean: Chance,
    /// ICR bit 12 is left set in the backing page on exit 401h, as real parts do at times.
    pub busy_left: Chance,
    /// A pending virtual interrupt keeps Idle HLT from exiting even if RFLAGS.IF is 0.
    pub idle_hlt_ignores_if: bool,
    /// Start of the generator behind every [`Chance`]: same seed, same run.
    pub seed: u32,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            evaluation: Evaluation::Strict,
            stale_is_running: Chance::Never,
            stale_tlb_tag: Chance::Never,
            keep_clean: Chance::Never,
            busy_left: Chance::Never,
            idle_hlt_ignores_if: true,
            seed: 1,
        }
    }
}

impl Knobs {
    /// The defaults for a description: strict, and with its errata.
    pub fn of(silicon: &Silicon) -> Self {
        let mut knobs = Self::default();
        if silicon.quirks().contains(Quirks::ERRATUM_1235) {
            knobs.stale_is_running = Chance::OneIn(16);
        }
        knobs
    }
}

/// The generator behind [`Chance`]: xorshift, because a run must be repeatable and cheap, not fair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice(u32);

impl Dice {
    pub(crate) const fn new(seed: u32) -> Self {
        // Zero is the one state that xorshift never leaves.
        Self(if seed == 0 { 1 } else { seed })
    }

    #[inline]
    pub(crate) fn happens(&mut self, chance: Chance) -> bool {
        match chance {
            Chance::Never | Chance::OneIn(0) => false,
            Chance::Always => true,
            Chance::OneIn(n) => {
                self.0 ^= self.0 << 13;
                self.0 ^= self.0 >> 17;
                self.0 ^= self.0 << 5;
                self.0.is_multiple_of(n)
            }
        }
    }
}
