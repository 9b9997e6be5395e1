//! The xAPIC page.

use trapline_defs::apic::error::ILLEGAL_REGISTER;

use super::{Effect, Lapic, Mode};
use crate::time::Ns;

impl Lapic {
    /// A read at `offset` of the page.
    ///
    /// Bytes 1 to 3 of a register can be read by narrower accesses: the value comes shifted. A read
    /// of something else gives 0 (KVM leaves the destination as it was). With the APIC off or in
    /// x2APIC mode the page reads all ones, KVM's quirk LAPIC_MMIO_HOLE.
    #[inline]
    pub fn read_mmio(&mut self, offset: u16, now: Ns) -> u32 {
        if self.mode != Mode::XApic {
            return u32::MAX;
        }
        let byte = offset & 0xf;
        if byte == 0
            && let Some(value) = self.peek(offset, now)
        {
            return value;
        }
        match self.peek(offset & !0xf, now) {
            Some(value) if byte < 4 => value >> (8 * byte),
            Some(_) => 0,
            None => {
                self.raise_error(ILLEGAL_REGISTER);
                0
            }
        }
    }

    /// A 32-bit write at `offset` of the page. Ignored if the offset is not a register's, and with
    /// the APIC off or in x2APIC mode. Narrower and wider writes are the caller's to drop.
    pub fn write_mmio(&mut self, offset: u16, value: u32, now: Ns) -> Effect {
        if self.mode != Mode::XApic || offset & 0xf != 0 {
            return Effect::None;
        }
        match self.write_register(offset, value, now) {
            Some(effect) => effect,
            None => {
                self.raise_error(ILLEGAL_REGISTER);
                Effect::None
            }
        }
    }
}
