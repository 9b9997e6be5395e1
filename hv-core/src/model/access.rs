//! Accesses that the model answers: the APIC page, CR8, and the permission map of the x2APIC's MSRs.

use super::Model;
use super::trap::{Around, Seen};
use trapline_defs::vmcb::Vmcb;
use trapline_policy::decode::{Decoded, Operation};
use trapline_policy::memory::GuestMemory;
use trapline_policy::mmio;
use trapline_policy::vcpu::Vcpu;
use trapline_silicon::{Access, Cause, Gate, Goes, Leaf, Memory, Outcome};

/// EXITINFO1 of a nested page fault.
const WRITE: u64 = 1 << 1;
const FETCH: u64 = 1 << 4;
const WALK: u64 = 1 << 33;

impl Model {
    /// Whether the architectural permission map intercepts an x2APIC MSR (APM vol. 2 §15.11): two bits
    /// each, read and write, from MSR 0 on.
    #[inline]
    pub(super) fn gate(&self, msr: u32, write: bool, memory: &impl Memory) -> Gate {
        let bit = u64::from(msr) * 2 + u64::from(write);
        let word = memory.load32((self.kept.msrpm_base & !0xfff) + bit / 32 * 4);
        // #GP of an unprivileged access came before the trap.
        Gate { cpl: 0, intercepted: word >> (bit % 32) & 1 != 0 }
    }

    /// A nested page fault while xAVIC is on.
    pub(super) fn page<G: GuestMemory, M: Memory, L: Fn() -> Option<Leaf>>(
        &mut self,
        vcpu: &mut Vcpu,
        vmcb: &mut Vmcb,
        around: &Around<'_, G, M, L>,
        ring: impl FnMut(u16),
    ) -> Seen {
        let (info, address) = (vmcb.control.exit_info_1, vmcb.control.exit_info_2);
        if address & !0xfff != self.processor.apic_bar() {
            return Seen::Exit;
        }
        let cause = if info & WALK != 0 {
            Cause::Walk
        } else if info & FETCH != 0 {
            Cause::Fetch
        } else if info & WRITE != 0 {
            Cause::Write
        } else {
            Cause::Read
        };
        match self.processor.apic_page(address, (around.leaf)(), cause) {
            Goes::Registers(offset) => self.registers(vcpu, vmcb, around, offset, ring),
            Goes::Fault(exit) => self.report(vmcb, exit, 0),
            Goes::Memory | Goes::Undefined => Seen::Undefined,
        }
    }

    fn registers<G: GuestMemory, M: Memory, L: Fn() -> Option<Leaf>>(
        &mut self,
        vcpu: &mut Vcpu,
        vmcb: &mut Vmcb,
        around: &Around<'_, G, M, L>,
        offset: u16,
        ring: impl FnMut(u16),
    ) -> Seen {
        let (cr3, rip) = (vmcb.save.cr3, vmcb.save.rip);
        let Some(decoded) = vcpu.decoder.decode(around.guest, cr3, rip) else {
            return Seen::Undefined;
        };
        if mmio::names_unsaved(decoded) && !around.saved {
            return Seen::Registers;
        }
        let Decoded { operation, register, length, .. } = decoded;
        let access = Access { offset, size: decoded.size() };
        let memory = around.memory;
        let outcome = match operation {
            Operation::Load | Operation::LoadSigned => {
                let read = self.processor.read_mmio(access, memory);
                if let Outcome::Absorbed(value) = read {
                    mmio::complete_load(vcpu, vmcb, decoded, value);
                }
                read.without_value()
            }
            Operation::Store => {
                let value = *vcpu.gprs.register(vmcb, register) as u32;
                self.processor.write_mmio(access, value, memory, ring)
            }
            Operation::StoreImmediate => {
                self.processor.write_mmio(access, decoded.immediate, memory, ring)
            }
            Operation::Exchange => {
                let new = *vcpu.gprs.register(vmcb, register) as u32;
                let mut old = 0;
                let modify = |value| {
                    old = value;
                    new
                };
                let outcome = self.processor.modify_mmio(access, modify, memory, ring);
                if matches!(outcome, Outcome::Absorbed(())) || is_trap(outcome) {
                    let width = decoded.width();
                    vcpu.gprs.write_register(vmcb, register, width, u64::from(old));
                }
                outcome
            }
            Operation::StoreString => {
                let outcome = self.processor.write_mmio(access, vmcb.save.rax as u32, memory, ring);
                let is_done = matches!(outcome, Outcome::Absorbed(())) || is_trap(outcome);
                // Each iteration is an access of its own; one that traps ends the instruction for
                // now, with RIP at it and the registers of what is left (AVIC-070).
                let again = is_done && mmio::step_string(vcpu, vmcb, decoded);
                let length = if again { 0 } else { u64::from(length) };
                return self.settle(vmcb, memory, outcome, length);
            }
            Operation::WriteControl | Operation::ReadControl => Outcome::Undefined,
        };
        self.settle(vmcb, memory, outcome, u64::from(length))
    }

    /// MOV to CR8 that no architectural intercept is set for.
    pub(super) fn cr8<G: GuestMemory, M: Memory, L: Fn() -> Option<Leaf>>(
        &mut self,
        vcpu: &mut Vcpu,
        vmcb: &mut Vmcb,
        around: &Around<'_, G, M, L>,
    ) -> Seen {
        if !around.saved {
            return Seen::Registers;
        }
        let (cr3, rip) = (vmcb.save.cr3, vmcb.save.rip);
        let Some(decoded) = vcpu.decoder.decode(around.guest, cr3, rip) else {
            return Seen::Undefined;
        };
        let value = *vcpu.gprs.register(vmcb, decoded.register);
        let outcome = self.processor.write_cr8(value, around.memory);
        self.settle(vmcb, around.memory, outcome, u64::from(decoded.length))
    }
}

/// Whether the instruction is complete although it exits.
fn is_trap(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Exit(exit) if exit.rip == trapline_silicon::Rip::After)
}
