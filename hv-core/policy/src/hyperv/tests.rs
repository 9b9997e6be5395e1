//! The rules of the interface, as the guests of a small VM see them.

mod concurrency;
mod count;
mod host;
mod reference;
mod registers;
mod sints;
mod timers;

use super::*;
use crate::inhibit::Reason;
use crate::vcpu::Vcpu;
use proptest::prelude::*;

const RAM: u64 = 1 << 20;
const MASKED: u64 = 0x1_0000;
const AUTO_EOI: u64 = 0x2_0000;

/// A VM of a few vCPUs.
struct Vm {
    partition: Partition,
    synics: Vec<Synic>,
    inhibits: Inhibits,
    timers: Vec<Timers>,
    now: Ns,
}

impl Vm {
    fn new(vcpus: u32) -> Self {
        Self {
            partition: Partition::new(HyperV::USUAL, RAM),
            synics: (0..vcpus).map(Synic::new).collect(),
            inhibits: Inhibits::new(0),
            timers: (0..vcpus).map(|_| Timers::new(ReferenceClock::new(1_000_000))).collect(),
            now: Ns(0),
        }
    }

    fn with_tsc(khz: u32, vcpus: u32) -> Self {
        let timers = (0..vcpus).map(|_| Timers::new(ReferenceClock::new(khz))).collect();
        Self { timers, ..Self::new(vcpus) }
    }

    fn clock(&self) -> ReferenceClock {
        self.timers[0].clock
    }

    fn read(&self, vcpu: usize, msr: u32) -> Result<u64, Gp> {
        read_msr(&self.partition, &self.synics[vcpu], &self.timers[vcpu], msr, self.now)
    }

    fn write(&mut self, vcpu: usize, msr: u32, value: u64) -> Result<Effect, Gp> {
        let (synic, timers) = (&mut self.synics[vcpu], &mut self.timers[vcpu]);
        write_msr(&mut self.partition, synic, timers, &mut self.inhibits, msr, value, self.now)
    }

    fn sint(&mut self, vcpu: usize, sint: u32, value: u64) -> u8 {
        match self.write(vcpu, SINT0 + sint, value) {
            Ok(Effect::SintChanged { transitions }) => transitions,
            other => panic!("SINT{sint} := {value:#x} on vCPU {vcpu}: {other:?}"),
        }
    }

    /// The count, after a look at whether the inhibit fits it.
    fn count(&self) -> u32 {
        let count = self.partition.auto_eoi_users();
        assert_eq!(self.inhibits.has(Reason::Hyperv), count > 0);
        count
    }

    /// A guest's view of all registers, for "nothing changed".
    fn registers(&self) -> Vec<Result<u64, Gp>> {
        (0..self.synics.len())
            .flat_map(|vcpu| (0x4000_0000..0x4000_0200).map(move |msr| self.read(vcpu, msr)))
            .collect()
    }
}
