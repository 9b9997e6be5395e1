//! The register file behind both interfaces.

use trapline_defs::apic::error::SEND_ILLEGAL_VECTOR;
use trapline_defs::apic::{DeliveryMode, Icr, offset};

use super::{Effect, Lapic, Mode, lvt};
use crate::time::Ns;

/// Version 14h, six LVT entries, no directed EOI.
const VERSION: u32 = 0x0005_0014;

impl Lapic {
    /// A register's value. None if it cannot be read in this mode.
    ///
    /// Nothing changes by reading, so this also fills an AVIC backing page.
    pub fn peek(&self, register: u16, now: Ns) -> Option<u32> {
        let xapic = self.mode != Mode::X2Apic;
        Some(match register {
            offset::ID => self.id_register,
            offset::VERSION => VERSION,
            offset::TPR => self.tpr.into(),
            // KVM has no arbitration and keeps no value.
            offset::APR if xapic => 0,
            offset::PPR => self.ppr.into(),
            offset::LDR => self.ldr,
            offset::DFR if xapic => self.dfr,
            offset::SVR => self.svr.into_bits(),
            offset::ISR..0x180 => self.isr.0[word(register)],
            offset::TMR..0x200 => self.tmr.0[word(register)],
            offset::IRR..0x280 => self.irr.0[word(register)],
            offset::ESR => self.errors.shown(),
            offset::ICR => self.icr_low,
            offset::ICR_HIGH if xapic => self.icr_high,
            offset::TIMER_INITIAL => self.timer.initial(),
            offset::TIMER_CURRENT => self.timer.current(now),
            offset::TIMER_DIVIDE => self.timer.divide_register(),
            _ => self.lvt[lvt::index_of(register)?].into_bits(),
        })
    }

    /// A write of 32 bits. None if the mode has no such register or value: `#GP` from an MSR,
    /// nothing from memory.
    pub(super) fn write_register(&mut self, register: u16, value: u32, now: Ns) -> Option<Effect> {
        let xapic = self.mode != Mode::X2Apic;
        match register {
            offset::TPR => self.set_tpr(value as u8),
            offset::EOI => return Some(self.eoi().map_or(Effect::None, Effect::Eoi)),
            offset::ICR => {
                self.icr_low = value & !(Icr::BUSY as u32);
                return Some(self.send(Icr::from_xapic(self.icr_low, self.icr_high)));
            }
            offset::ICR_HIGH if xapic => self.icr_high = value & 0xff00_0000,
            offset::SELF_IPI if !xapic && value <= 0xff => {
                return Some(self.send(Icr::to_self(value as u8)));
            }
            offset::ID if xapic => {
                self.id_register = value & 0xff00_0000;
                self.map_changed = true;
            }
            offset::LDR if xapic => {
                self.ldr = value & 0xff00_0000;
                self.map_changed = true;
            }
            offset::DFR if xapic => {
                self.dfr = value | 0x0fff_ffff;
                self.map_changed = true;
            }
            offset::SVR => self.write_svr(value),
            offset::ESR if xapic || value == 0 => self.errors.latch(),
            offset::TIMER_INITIAL => {
                self.timer.write_initial(value, now);
                self.inject_timer();
            }
            offset::TIMER_DIVIDE => {
                self.timer.write_divide(value, now);
                self.inject_timer();
            }
            _ => self.write_lvt(lvt::index_of(register)?, value),
        }
        Some(Effect::None)
    }

    /// Hands an IPI out, unless its vector is illegal and errors are reported.
    #[inline]
    /// ICR as it was written last, in both halves.
    pub const fn icr(&self) -> u64 {
        (self.icr_high as u64) << 32 | self.icr_low as u64
    }

    pub(super) fn send(&mut self, icr: Icr) -> Effect {
        let fixed =
            matches!(icr.delivery_mode(), DeliveryMode::Fixed | DeliveryMode::LowestPriority);
        if fixed && icr.vector() < 16 && self.raise_error(SEND_ILLEGAL_VECTOR) {
            return Effect::None;
        }
        Effect::Ipi(icr)
    }
}

/// Which of the eight words of a vector map a register is.
#[inline]
const fn word(register: u16) -> usize {
    (register >> 4 & 7) as usize
}
