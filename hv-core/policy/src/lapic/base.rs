//! IA32_APIC_BASE (MSR 1Bh) and the changes of mode it makes (APM §16.3.1, §16.9).

use trapline_defs::apic::{self, base as bits};

use super::{Lapic, Mode};
use crate::fault::Gp;

/// Bits 9 and 7:0. Bit 8 (bootstrap) is writable, as in KVM.
const LOW_RESERVED: u64 = 0x2ff;

impl Lapic {
    /// The MSR's value.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Physical address of the register page.
    #[inline]
    pub fn base_address(&self) -> u64 {
        self.base & bits::ADDRESS
    }

    /// The guest writes the MSR. `offers_x2apic` is its CPUID bit.
    ///
    /// # Errors
    /// `#GP` for reserved bits, x2APIC without enable, x2APIC to xAPIC, and disabled to x2APIC.
    pub fn set_base(&mut self, value: u64, offers_x2apic: bool) -> Result<(), Gp> {
        if value == self.base {
            return Ok(());
        }
        let too_high = u64::MAX.checked_shl(self.physical_address_bits.into()).unwrap_or(0);
        let mut reserved = too_high | LOW_RESERVED;
        if !offers_x2apic {
            reserved |= bits::X2APIC;
        }
        if value & reserved != 0 {
            return Err(Gp);
        }
        let mode = match (value & bits::ENABLE != 0, value & bits::X2APIC != 0) {
            (false, false) => Mode::Disabled,
            (true, false) => Mode::XApic,
            (true, true) => Mode::X2Apic,
            (false, true) => return Err(Gp),
        };
        match (self.mode, mode) {
            (Mode::X2Apic, Mode::XApic) | (Mode::Disabled, Mode::X2Apic) => return Err(Gp),
            _ => self.change_base(value, mode),
        }
        Ok(())
    }

    fn change_base(&mut self, value: u64, mode: Mode) {
        let old = self.mode;
        self.base = value;
        self.mode = mode;
        if old == mode {
            return;
        }
        self.map_changed = true;
        match mode {
            // Registers keep their values while it is off.
            Mode::Disabled => (),
            Mode::XApic => self.id_register = self.id << 24,
            Mode::X2Apic => {
                self.id_register = self.id;
                self.ldr = apic::x2apic_logical_id(self.id);
            }
        }
    }
}
