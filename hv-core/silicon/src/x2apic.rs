//! RDMSR and WRMSR of 800h to 8FFh, in x2APIC mode (APM vol. 2 §15.29.10).
//!
//! Order of checks: privilege, MSR permission map, then the MSR's own `#GP` conditions, then the
//! matrix. The manual lists no conditions of the third step (P12); all of them are model-defined
//! but one, bit 18 of the timer LVT, which was seen on Zen 4.

use crate::exit::{Exit, Outcome, Rip};
use crate::matrix::{Read, Write};
use crate::memory::Memory;
use crate::processor::{AvicMode, Processor};
use trapline_defs::apic::{self, offset};
use trapline_defs::exit_code::ExitCode;

/// What stands before an MSR access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The guest's privilege level.
    pub cpl: u8,
    /// The MSR permission map intercepts this access.
    pub intercepted: bool,
}

impl Gate {
    /// Ring 0, not intercepted.
    pub const OPEN: Self = Self { cpl: 0, intercepted: false };

    #[inline]
    fn bar<T>(self, write: bool) -> Option<Outcome<T>> {
        if self.cpl != 0 {
            return Some(Outcome::Gp);
        }
        self.intercepted.then_some(Outcome::Exit(Exit {
            info_1: write as u64,
            ..Exit::intercept(ExitCode::MSR)
        }))
    }
}

impl Processor {
    /// RDMSR of an x2APIC MSR.
    #[inline]
    pub fn read_msr(&self, msr: u32, gate: Gate, memory: &impl Memory) -> Outcome<u64> {
        if let Some(barred) = gate.bar(false) {
            return barred;
        }
        let Some(slot) = self.x2apic_slot(msr) else {
            return Outcome::Physical;
        };
        let row = self.row(slot);
        let register = u16::from(slot) << 4;
        if !row.msr || matches!(register, offset::EOI | offset::SELF_IPI) {
            return Outcome::Gp;
        }
        match row.read {
            Read::Fault => Outcome::Exit(Exit::no_accel(register, false, Rip::At)),
            Read::Allow if register == offset::ICR => {
                let high = self.page().load(memory, offset::ICR_HIGH);
                let low = self.page().load(memory, offset::ICR);
                Outcome::Absorbed(u64::from(high) << 32 | u64::from(low))
            }
            Read::Allow => Outcome::Absorbed(u64::from(self.page().load(memory, register))),
        }
    }

    /// WRMSR of an x2APIC MSR. `ring` is called for each host APIC that gets a doorbell; this
    /// core's own doorbells are answered here.
    #[inline]
    pub fn write_msr(
        &mut self,
        msr: u32,
        value: u64,
        gate: Gate,
        memory: &impl Memory,
        ring: impl FnMut(u16),
    ) -> Outcome {
        if let Some(barred) = gate.bar(true) {
            return barred;
        }
        let Some(slot) = self.x2apic_slot(msr) else {
            return Outcome::Physical;
        };
        let row = self.row(slot);
        let register = u16::from(slot) << 4;
        if !row.msr {
            return Outcome::Gp;
        }
        let (low, high) = (value as u32, (value >> 32) as u32);
        match row.write {
            Write::Eoi if value == 0 => self.end_of_interrupt(0, memory),
            Write::Icr if value & ICR_RESERVED == 0 => self.write_icr(low, high, memory, ring),
            // Allowed and with an MSR: that is the self-IPI.
            Write::Allow if value <= 0xff => self.self_ipi(low, memory),
            Write::Tpr if value <= 0xff => {
                self.write_tpr(low, memory);
                Outcome::Absorbed(())
            }
            // Zero, too: in x2APIC mode they are read-only.
            Write::Trap if matches!(register, offset::ID | offset::LDR) => Outcome::Gp,
            Write::Trap if value & reserved(register) == 0 => {
                self.page().store(memory, register, low);
                Outcome::Exit(Exit::no_accel(register, true, Rip::After))
            }
            Write::Fault if high == 0 => Outcome::Exit(Exit::no_accel(register, true, Rip::At)),
            _ => Outcome::Gp,
        }
    }

    /// The slot of an MSR that is virtualized. In xAPIC mode none is: the access reaches the
    /// physical APIC, which is why a hypervisor must intercept the whole range then (AVIC-076).
    #[inline]
    fn x2apic_slot(&self, msr: u32) -> Option<u8> {
        let index = msr.wrapping_sub(trapline_defs::msr::X2APIC_FIRST);
        (self.loaded.mode == AvicMode::X2Avic && index < 0x100).then_some(index as u8)
    }
}

/// The bits of the ICR's MSR that must be zero. There is no delivery status.
const ICR_RESERVED: u64 = apic::Icr::RESERVED | apic::Icr::BUSY;

/// The bits that must be zero in the MSR of a register whose writes trap.
const fn reserved(register: u16) -> u64 {
    let defined: u64 = match register {
        offset::ESR => 0,
        offset::SVR => 0x3ff,
        // Vector, delivery status, mask, periodic. Bit 18, TSC deadline, is not there.
        offset::LVT_TIMER => 0x3_10ff,
        offset::LVT_THERMAL | offset::LVT_PERFORMANCE | offset::LVT_ERROR => 0x1_17ff,
        offset::LVT_LINT0 | offset::LVT_LINT1 => 0x1_f7ff,
        _ => 0xffff_ffff,
    };
    !defined
}
