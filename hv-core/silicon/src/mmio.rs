//! Accesses to the APIC page, in xAPIC mode (APM vol. 2 §15.29.3.1).
//!
//! [`Processor::apic_page`] says whether an access gets here at all.

use crate::exit::{Exit, Outcome, Rip};
use crate::matrix::{Read, Write};
use crate::memory::Memory;
use crate::page::Page;
use crate::processor::{AvicMode, Processor};
use trapline_defs::apic::offset;

/// Which part of the page an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Offset in the page, in bytes.
    pub offset: u16,
    /// Width, in bytes.
    pub size: u8,
}

impl Access {
    /// An aligned access of four bytes.
    #[inline]
    pub const fn dword(offset: u16) -> Self {
        Self { offset, size: 4 }
    }

    /// Registers are 32 bits at 16-byte steps. An access of 8 or 16 bytes reaches the register
    /// with its first four; what happens to any other the manual leaves open.
    #[inline]
    const fn is_defined(self) -> bool {
        self.offset < 0x1000 && self.offset & 0xf == 0 && matches!(self.size, 4 | 8 | 16)
    }

    #[inline]
    const fn slot(self) -> u8 {
        (self.offset >> 4) as u8
    }
}

impl Processor {
    /// A load from the APIC page: its first four bytes.
    #[inline]
    pub fn read_mmio(&self, access: Access, memory: &impl Memory) -> Outcome<u32> {
        if self.loaded.mode != AvicMode::XAvic {
            return Outcome::Physical;
        }
        if !access.is_defined() {
            return Outcome::Undefined;
        }
        match self.row(access.slot()).read {
            Read::Allow => Outcome::Absorbed(Page(self.tag.page).load(memory, access.offset)),
            Read::Fault => Outcome::Exit(Exit::no_accel(access.offset, false, Rip::At)),
        }
    }

    /// A store to the APIC page: its first four bytes. `ring` is called for each host APIC that
    /// gets a doorbell; this core's own doorbells are answered here.
    #[inline]
    pub fn write_mmio(
        &mut self,
        access: Access,
        value: u32,
        memory: &impl Memory,
        ring: impl FnMut(u16),
    ) -> Outcome {
        if self.loaded.mode != AvicMode::XAvic {
            return Outcome::Physical;
        }
        if !access.is_defined() {
            return Outcome::Undefined;
        }
        // Side effects work on the page of the VMCB, plain stores on what the TLB has.
        let page = Page(self.tag.page);
        match self.row(access.slot()).write {
            Write::Eoi => self.end_of_interrupt(value, memory),
            Write::Tpr => {
                self.write_tpr(value, memory);
                Outcome::Absorbed(())
            }
            Write::Icr => {
                let high = self.page().load(memory, offset::ICR_HIGH);
                self.write_icr(value, high, memory, ring)
            }
            Write::Allow => {
                page.store(memory, access.offset, value);
                Outcome::Absorbed(())
            }
            Write::Trap => {
                page.store(memory, access.offset, value);
                Outcome::Exit(Exit::no_accel(access.offset, true, Rip::After))
            }
            Write::Fault => Outcome::Exit(Exit::no_accel(access.offset, true, Rip::At)),
        }
    }

    /// A read-modify-write instruction: one exit, of the write. A register whose writes fault
    /// faults before anything is stored.
    pub fn modify_mmio(
        &mut self,
        access: Access,
        modify: impl FnOnce(u32) -> u32,
        memory: &impl Memory,
        ring: impl FnMut(u16),
    ) -> Outcome {
        match self.read_mmio(access, memory) {
            Outcome::Absorbed(value) => self.write_mmio(access, modify(value), memory, ring),
            Outcome::Exit(exit) => Outcome::Exit(exit),
            Outcome::Gp => Outcome::Gp,
            Outcome::Physical => Outcome::Physical,
            Outcome::Undefined => Outcome::Undefined,
        }
    }
}
