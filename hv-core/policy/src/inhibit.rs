//! The reasons why AVIC must stay off, per VM.
//!
//! Any one reason is enough, and only the first one set and the last one cleared change anything:
//! at these transitions KVM makes every vCPU leave the guest (INH-1), so they are counted.

/// A reason, numbered as in KVM 6.12 (`enum kvm_apicv_inhibit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The silicon has no AVIC, or the hypervisor was told not to use it.
    Disabled = 0,
    /// A vCPU uses AutoEOI, which the hypervisor has to do itself (HV-101).
    Hyperv = 1,
    /// There is no local APIC model.
    Absent = 2,
    /// A debugger blocks interrupts.
    BlockIrq = 3,
    /// Two vCPUs have one physical APIC ID.
    PhysicalIdAliased = 4,
    /// A guest changed an APIC ID.
    ApicIdModified = 5,
    /// A guest moved an APIC's base address.
    ApicBaseModified = 6,
    /// A vCPU runs a guest of its own.
    Nested = 7,
    /// A V_IRQ window is open, which AVIC would ignore (INH-2).
    IrqWindow = 8,
    /// The PIT re-injects lost ticks and must see each EOI.
    PitReinject = 9,
    /// The VM is encrypted.
    Sev = 10,
    /// Logical APIC IDs are not one to one.
    LogicalIdAliased = 11,
    /// CPUID offers x2APIC, which AVIC without x2AVIC cannot do. Linux 5.6 to 5.19 has it as number 5,
    /// 6.12 not at all: the number is behind all of Linux's.
    X2Apic = 31,
}

impl Reason {
    /// Its bit in [`Inhibits::mask`].
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// The set of reasons of one VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inhibits {
    mask: u32,
    transitions: u32,
}

impl Inhibits {
    /// A set with the reasons that hold from the start, as [`Self::mask`] counts them.
    pub const fn new(mask: u32) -> Self {
        Self { mask, transitions: 0 }
    }

    /// Adds a reason. `true` if it is the first one: every vCPU must now leave the guest and
    /// re-enter with AVIC off.
    #[inline]
    pub const fn set(&mut self, reason: Reason) -> bool {
        self.replace(self.mask | reason.bit())
    }

    /// Removes a reason. `true` if it was the last one: AVIC may be used again.
    #[inline]
    pub const fn clear(&mut self, reason: Reason) -> bool {
        self.replace(self.mask & !reason.bit())
    }

    const fn replace(&mut self, mask: u32) -> bool {
        let changed = (self.mask == 0) != (mask == 0);
        self.mask = mask;
        self.transitions += changed as u32;
        changed
    }

    /// Whether that reason is set.
    pub const fn has(&self, reason: Reason) -> bool {
        self.mask & reason.bit() != 0
    }

    /// Whether AVIC must be off.
    #[inline]
    pub const fn inhibited(&self) -> bool {
        self.mask != 0
    }

    /// KVM's bit mask of the reasons.
    pub const fn mask(&self) -> u32 {
        self.mask
    }

    /// How often the set changed between empty and not empty.
    pub const fn transitions(&self) -> u32 {
        self.transitions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inh_1_only_the_first_and_the_last_reason_are_transitions() {
        let mut inhibits = Inhibits::new(0);
        assert!(inhibits.set(Reason::Hyperv));
        assert!(!inhibits.set(Reason::Hyperv));
        assert!(!inhibits.set(Reason::IrqWindow));
        assert_eq!(inhibits.mask(), 0x102);
        assert!(!inhibits.clear(Reason::Hyperv));
        assert!(inhibits.inhibited());
        assert!(inhibits.clear(Reason::IrqWindow));
        assert!(!inhibits.clear(Reason::IrqWindow));
        assert_eq!((inhibits.mask(), inhibits.transitions()), (0, 2));
    }

    #[test]
    fn inh_2_the_window_is_recorded_beside_another_reason() {
        let mut inhibits = Inhibits::new(Reason::Disabled.bit());
        assert!(!inhibits.set(Reason::IrqWindow));
        assert!(inhibits.has(Reason::IrqWindow));
        assert!(!inhibits.clear(Reason::IrqWindow));
        assert_eq!((inhibits.mask(), inhibits.transitions()), (1, 0));
    }

    /// The numbers that `kvm_apicv_inhibit_changed` prints, so that traces can be compared.
    #[test]
    fn reasons_have_kvms_numbers() {
        let in_order = [
            Reason::Disabled,
            Reason::Hyperv,
            Reason::Absent,
            Reason::BlockIrq,
            Reason::PhysicalIdAliased,
            Reason::ApicIdModified,
            Reason::ApicBaseModified,
            Reason::Nested,
            Reason::IrqWindow,
            Reason::PitReinject,
            Reason::Sev,
            Reason::LogicalIdAliased,
        ];
        for (number, reason) in in_order.into_iter().enumerate() {
            assert_eq!(reason.bit(), 1 << number, "{reason:?}");
        }
    }
}
