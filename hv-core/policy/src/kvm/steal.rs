//! Steal time: how long a vCPU was kept off its core, and whether it is now (Linux
//! Documentation/virt/kvm/x86/msr.rst, MSR_KVM_STEAL_TIME).
//!
//! Counted is the time from when its turn ends until its next one. The time from when a halted vCPU is woken
//! until it has the core is not: when it was woken is not written down.

use crate::fault::Gp;
use crate::memory::GuestMemory;
use crate::time::Ns;

const STEAL: u64 = 0;
const VERSION: u64 = 8;
const PREEMPTED: u64 = 16;

const ENABLE: u64 = 1;
/// The structure has 64 bytes and lies on 64.
const RESERVED: u64 = 0x3e;

/// One vCPU's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StealTime {
    msr: u64,
    /// When it lost its core, while it has none.
    lost_at: Option<Ns>,
}

impl StealTime {
    /// Off.
    pub const fn new() -> Self {
        Self { msr: 0, lost_at: None }
    }

    /// The value of the MSR.
    pub const fn msr(&self) -> u64 {
        self.msr
    }

    /// Whether the guest wants to know.
    pub const fn is_on(&self) -> bool {
        self.msr & ENABLE != 0
    }

    /// WRMSR: bit 0 enables, bits 63:6 are the structure's address.
    ///
    /// # Errors
    /// `#GP` if a bit between is set.
    pub const fn write_msr(&mut self, value: u64) -> Result<(), Gp> {
        if value & RESERVED != 0 {
            return Err(Gp);
        }
        self.msr = value;
        Ok(())
    }

    /// It loses its core although it could go on. Only one that was interrupted is called preempted: one
    /// that yields is in the middle of an instruction (KVM's `at_instruction_boundary`).
    pub fn lose(&mut self, memory: &impl GuestMemory, now: Ns, is_interrupted: bool) {
        if self.is_on() {
            self.lost_at = Some(now);
            if is_interrupted {
                memory.write_u8(self.address() + PREEMPTED, 1);
            }
        }
    }

    /// It has a core again.
    pub fn regain(&mut self, memory: &impl GuestMemory, now: Ns) {
        if let Some(lost_at) = self.lost_at.take() {
            self.record(memory, now.since(lost_at));
        }
    }

    fn address(&self) -> u64 {
        self.msr & !ENABLE
    }

    /// Adds `stolen`, and says that it runs.
    pub(super) fn record(&self, memory: &impl GuestMemory, stolen: u64) {
        if !self.is_on() {
            return;
        }
        let address = self.address();
        let (Some(steal), Some(version)) =
            (memory.read_u64(address + STEAL), memory.read_u64(address + VERSION))
        else {
            return;
        };
        memory.write_u8(address + PREEMPTED, 0);
        // Odd while it is written.
        let odd = (version as u32).wrapping_add(1) | 1;
        put(memory, address + VERSION, &odd.to_le_bytes());
        put(memory, address + STEAL, &steal.wrapping_add(stolen).to_le_bytes());
        put(memory, address + VERSION, &odd.wrapping_add(1).to_le_bytes());
    }
}

fn put(memory: &impl GuestMemory, address: u64, bytes: &[u8]) {
    for (at, &byte) in bytes.iter().enumerate() {
        memory.write_u8(address + at as u64, byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::Ram;

    fn preempted(ram: &Ram) -> u8 {
        ram.read_u8(0x1000 + PREEMPTED).unwrap()
    }

    #[test]
    fn pvc_3_time_without_a_core_adds_up() {
        let ram = Ram::new(0x2000);
        let mut steal = StealTime::new();
        steal.write_msr(0x1001).unwrap();
        steal.record(&ram, 0);
        for (lost, back) in [(100, 250), (300, 350)] {
            steal.lose(&ram, Ns(lost), true);
            assert_eq!(preempted(&ram), 1);
            steal.regain(&ram, Ns(back));
            assert_eq!(preempted(&ram), 0);
        }
        assert_eq!(ram.read_u64(0x1000), Some(200));
        assert_eq!(ram.read_u64(0x1000 + VERSION), Some(6), "once when enabled, twice since");
    }

    #[test]
    fn pvc_3_one_that_yields_is_not_called_preempted_but_is_stolen_from() {
        let ram = Ram::new(0x2000);
        let mut steal = StealTime::new();
        steal.write_msr(0x1001).unwrap();
        steal.record(&ram, 0);
        steal.lose(&ram, Ns(10), false);
        assert_eq!(preempted(&ram), 0);
        steal.regain(&ram, Ns(15));
        assert_eq!(ram.read_u64(0x1000), Some(5));
    }

    #[test]
    fn pvc_2_it_is_off_until_enabled_and_takes_aligned_addresses_only() {
        let ram = Ram::new(0x2000);
        let mut steal = StealTime::new();
        for value in [0x1003, 0x1005, 0x1021] {
            assert_eq!(steal.write_msr(value), Err(Gp));
        }
        assert_eq!(steal.write_msr(0x1000), Ok(()));
        steal.lose(&ram, Ns(10), true);
        steal.regain(&ram, Ns(15));
        assert!(ram.0.borrow().iter().all(|&byte| byte == 0));
        assert_eq!(steal.msr(), 0x1000);
    }
}
