//! KVM's paravirtual EOI: a byte in guest memory that says "you need not write EOI". Hyper-V's APIC assist
//! is the same ([`crate::hyperv::assist`]).
//!
//! Before an entry with an EOI that would have no side effect, the hypervisor sets bit 0 of the
//! byte. A guest that finds it set clears it instead of writing EOI, and the hypervisor does the
//! EOI at the next exit. The state here touches no memory: it says what to write and takes what
//! was read. It is per vCPU.
//!
//! The order at an exit is KVM's: [`PvEoi::from_guest`] first, before the exit is handled;
//! [`PvEoi::to_guest`] last, after events were injected.

use crate::fault::Gp;

/// The MSR that enables it.
pub const MSR: u32 = 0x4b56_4d04;

const ENABLE: u64 = 1;

/// What an exit finds in the guest's byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The guest has not done its EOI yet: write 0 to the byte, so that it does a real one.
    Withdraw,
    /// The guest has: do the EOI of the highest vector in service now.
    Eoi,
}

/// One vCPU's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PvEoi {
    msr: u64,
    pending: bool,
}

impl PvEoi {
    /// Disabled, as after reset.
    pub const fn new() -> Self {
        Self { msr: 0, pending: false }
    }

    /// Back to disabled. A byte that was set stays set: KVM does not touch it either.
    pub const fn reset(&mut self) {
        *self = Self::new();
    }

    /// The value of the MSR.
    pub const fn read_msr(&self) -> u64 {
        self.msr
    }

    /// WRMSR by the guest. Bit 0 enables, bits 63:2 are the byte's guest-physical address;
    /// `memory` is how many bytes of RAM there are from address 0. Whether the MSR exists at all,
    /// by CPUID, is for the caller to ask.
    ///
    /// # Errors
    /// `#GP`, and nothing changes, if bit 1 is set, or on enabling outside of RAM.
    pub const fn write_msr(&mut self, value: u64, memory: u64) -> Result<(), Gp> {
        let address = value & !ENABLE;
        if address & 3 != 0 || value & ENABLE != 0 && address >= memory {
            return Err(Gp);
        }
        self.msr = value;
        Ok(())
    }

    /// Hyper-V's way to enable it: the first byte of the assist page at that address, `None`: disabled.
    pub const fn move_to(&mut self, page: Option<u64>) {
        self.msr = match page {
            Some(address) => address | ENABLE,
            None => 0,
        };
    }

    /// Whether the guest enabled it.
    #[inline]
    pub const fn enabled(&self) -> bool {
        self.msr & ENABLE != 0
    }

    /// Whether the byte was set and not looked at since. Exits need [`Self::from_guest`] only then.
    #[inline]
    pub const fn pending(&self) -> bool {
        self.pending
    }

    /// The byte's guest-physical address.
    #[inline]
    pub const fn address(&self) -> u64 {
        self.msr & !ENABLE
    }

    /// Whether the EOI that the guest owes has no side effect.
    ///
    /// - `irr_pending`: KVM's flag of that name, true with any bit in IRR, always true with AVIC.
    /// - `highest_isr`: KVM's `highest_isr_cache`: the vector injected last, forgotten at every
    ///   EOI. So with two in service the top one is offered, and the other one is not.
    /// - `handled_by_ioapic`: whether an IOAPIC entry uses the vector and wants its EOI, which is
    ///   always so for IRQ 8 (RTC-P).
    #[inline]
    pub fn should_offer(
        &self,
        irr_pending: bool,
        highest_isr: Option<u8>,
        handled_by_ioapic: impl FnOnce(u8) -> bool,
    ) -> bool {
        self.enabled()
            && !irr_pending
            && highest_isr.is_some_and(|vector| !handled_by_ioapic(vector))
    }

    /// Before an entry: the address to write 1 to, if the EOI can be offered. Arguments as in
    /// [`Self::should_offer`].
    #[inline]
    pub fn to_guest(
        &mut self,
        irr_pending: bool,
        highest_isr: Option<u8>,
        handled_by_ioapic: impl FnOnce(u8) -> bool,
    ) -> Option<u64> {
        if !self.should_offer(irr_pending, highest_isr, handled_by_ioapic) {
            return None;
        }
        self.pending = true;
        Some(self.address())
    }

    /// After an exit with [`Self::pending`]: what to do about the byte just read.
    ///
    /// In any case it is not pending any more: the next entry decides anew.
    #[inline]
    pub const fn from_guest(&mut self, byte: u8) -> Taken {
        self.pending = false;
        if byte & ENABLE as u8 != 0 { Taken::Withdraw } else { Taken::Eoi }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAM: u64 = 1 << 20;

    fn enabled() -> PvEoi {
        let mut eoi = PvEoi::new();
        eoi.write_msr(0x5001, RAM).unwrap();
        eoi
    }

    #[test]
    fn the_msr_takes_aligned_addresses_in_ram_and_nothing_else() {
        let mut eoi = PvEoi::new();
        assert_eq!(eoi.write_msr(0x5003, RAM), Err(Gp));
        assert_eq!(eoi.write_msr(0x5002, RAM), Err(Gp));
        assert_eq!(eoi.write_msr(RAM | 1, RAM), Err(Gp));
        assert_eq!(eoi.write_msr(!2, RAM), Err(Gp));
        assert_eq!(eoi, PvEoi::new());
        assert_eq!(eoi.write_msr(0xffff_fff0, RAM), Ok(()), "a disabled address is not used");
        assert!(!eoi.enabled());
        assert_eq!(eoi.write_msr((RAM - 4) | 1, RAM), Ok(()));
        assert_eq!((eoi.enabled(), eoi.address()), (true, RAM - 4));
        assert_eq!(eoi.read_msr(), (RAM - 4) | 1);
        assert_eq!(eoi.write_msr(RAM | 1, RAM), Err(Gp));
        assert_eq!(eoi.address(), RAM - 4, "a refused write changes nothing");
    }

    #[test]
    fn it_is_offered_only_when_nothing_else_hangs_on_the_eoi() {
        let eoi = enabled();
        assert!(eoi.should_offer(false, Some(0xb0), |_| false));
        assert!(!eoi.should_offer(true, Some(0xb0), |_| false), "IRR pending, or AVIC");
        assert!(!eoi.should_offer(false, None, |_| false), "nothing known in service");
        assert!(!PvEoi::new().should_offer(false, Some(0xb0), |_| false), "not enabled");
    }

    #[test]
    fn rtc_p_a_vector_of_the_ioapic_is_not_offered() {
        let eoi = enabled();
        assert!(!eoi.should_offer(false, Some(0xd1), |vector| vector == 0xd1));
        assert!(eoi.should_offer(false, Some(0xd2), |vector| vector == 0xd1));
    }

    #[test]
    fn a_cleared_byte_is_an_eoi_and_a_set_one_is_withdrawn() {
        let mut eoi = enabled();
        assert_eq!(eoi.to_guest(false, Some(0xb0), |_| false), Some(0x5000));
        assert!(eoi.pending());
        assert_eq!(eoi.from_guest(0), Taken::Eoi);
        assert!(!eoi.pending());
        eoi.to_guest(false, Some(0xb0), |_| false);
        assert_eq!(eoi.from_guest(1), Taken::Withdraw);
        assert!(!eoi.pending());
    }

    #[test]
    fn an_entry_without_an_offer_leaves_nothing_pending() {
        let mut eoi = enabled();
        assert_eq!(eoi.to_guest(true, Some(0xb0), |_| false), None);
        assert!(!eoi.pending());
        eoi.to_guest(false, Some(0xb0), |_| false);
        eoi.reset();
        assert_eq!(eoi, PvEoi::new());
    }
}
