//! Steal time: how long a vCPU waited for its core.

use crate::{cpu, smp};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trapline_defs::msr::KVM_STEAL_TIME;

/// A structure of steal time: 64 bytes on 64.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct StealTime([AtomicU64; 8]);

static STEAL: [StealTime; smp::MAX_VCPUS] =
    [const { StealTime([const { AtomicU64::new(0) }; 8]) }; smp::MAX_VCPUS];

impl StealTime {
    /// That of a vCPU.
    pub fn of(vcpu: u32) -> &'static Self {
        &STEAL[vcpu as usize]
    }

    /// Asks for that of the vCPU that asks.
    pub fn open() {
        let mine = core::ptr::from_ref(Self::of(smp::number()));
        cpu::write_msr(KVM_STEAL_TIME, mine as u64 | 1);
    }

    /// Nanoseconds in which it could have run and did not.
    pub fn stolen(&self) -> u64 {
        self.0[0].load(SeqCst)
    }

    /// Odd while it is written.
    pub fn version(&self) -> u32 {
        self.0[1].load(SeqCst) as u32
    }

    /// Whether it was interrupted in favor of somebody else, and has not run since.
    pub fn is_preempted(&self) -> bool {
        self.0[2].load(SeqCst) & 1 != 0
    }
}
