//! The x2APIC MSRs, and the three that Hyper-V lends in any mode.

use trapline_defs::apic::{Icr, offset};

use super::{Effect, Lapic, Mode};
use crate::fault::Gp;
use crate::time::Ns;

impl Lapic {
    /// RDMSR of 800h-8FFh.
    ///
    /// # Errors
    /// `#GP` outside x2APIC mode and for MSRs that are not there or write-only.
    pub fn read_msr(&mut self, msr: u32, now: Ns) -> Result<u64, Gp> {
        if self.mode != Mode::X2Apic {
            return Err(Gp);
        }
        self.read_wide(offset::of_msr(msr), now)
    }

    /// WRMSR of 800h-8FFh.
    ///
    /// # Errors
    /// `#GP` outside x2APIC mode, for MSRs that are not there or read-only, for bits 63:32 of all
    /// but the ICR, for reserved bits of ICR and SELF_IPI and for a non-zero ESR.
    #[inline]
    pub fn write_msr(&mut self, msr: u32, value: u64, now: Ns) -> Result<Effect, Gp> {
        if self.mode != Mode::X2Apic {
            return Err(Gp);
        }
        self.write_wide(offset::of_msr(msr), value, now)
    }

    /// A register read through an MSR, whatever the mode. Hyper-V's ICR and TPR MSRs come here.
    ///
    /// # Errors
    /// As [`Lapic::read_msr`], without the mode.
    pub fn read_wide(&self, register: u16, now: Ns) -> Result<u64, Gp> {
        if register == offset::ICR {
            return Ok(u64::from(self.icr_high) << 32 | u64::from(self.icr_low));
        }
        self.peek(register, now).map(u64::from).ok_or(Gp)
    }

    /// A register written through an MSR, whatever the mode. Hyper-V's EOI, ICR and TPR MSRs come
    /// here; outside x2APIC mode the ICR's destination is in bits 63:56 (HV-038).
    ///
    /// # Errors
    /// As [`Lapic::write_msr`], without the mode.
    #[inline]
    pub fn write_wide(&mut self, register: u16, value: u64, now: Ns) -> Result<Effect, Gp> {
        if register == offset::ICR {
            return self.write_icr(value);
        }
        if value >> 32 != 0 {
            return Err(Gp);
        }
        self.write_register(register, value as u32, now).ok_or(Gp)
    }

    #[inline]
    fn write_icr(&mut self, value: u64) -> Result<Effect, Gp> {
        if value & Icr::RESERVED != 0 {
            return Err(Gp);
        }
        let value = value & !Icr::BUSY;
        self.icr_low = value as u32;
        self.icr_high = (value >> 32) as u32;
        let icr = match self.mode {
            Mode::X2Apic => Icr::from_bits(value),
            _ => Icr::from_xapic(self.icr_low, self.icr_high),
        };
        Ok(self.send(icr))
    }
}
