//! The run loop's handlers for a traced vCPU: those of the others, between two looks.
//!
//! Nothing in the policy or the model knows of traces: what happened is read from the VMCB, from IRR and
//! ISR, and from the last exits. So a vCPU that is not traced pays nothing.

// UNSAFETY: called from assembly.
#![expect(unsafe_code, reason = "entered from the world switch")]

use crate::modeled;
use crate::records;
use crate::run::{self, Turn};
use crate::vcpu_block::VcpuBlock;
use hv_core::trace::Interrupts;
use trapline_abi::exit::{Detail, Direction, ExitKey, IOIO, MSR, NPF};
use trapline_abi::record::{Level, Record};
use trapline_abi::trace::{Event, Trap};
use trapline_defs::apic::offset;
use trapline_defs::exit_code::ExitCode;
use trapline_policy::lapic::{Mode, Vectors};

/// Bytes of events in one record.
const PIECE: usize = 3072;
/// x2APIC ICR and SELF_IPI.
const X2APIC_ICR: u32 = 0x830;
const X2APIC_SELF_IPI: u32 = 0x83f;
/// ICR's shorthand for the own vCPU.
const TO_SELF: u64 = 1 << 18;
/// The frame of the APIC's page.
const APIC_FRAME: u64 = 0xfee00;

/// One trap, traced; it happened at TSC `exited_at`.
///
/// # Safety
/// As for [`run::on_exit`].
pub unsafe extern "C" fn on_trap(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    begin(block, exited_at);
    // SAFETY: the caller's promise.
    let turn = unsafe {
        if is_modeled(block) {
            modeled::on_trap(block, exited_at)
        } else {
            run::on_exit(block, exited_at)
        }
    };
    end(block, turn)
}

/// The same trap again, all registers saved.
///
/// # Safety
/// As for [`run::on_exit_by_register`].
pub unsafe extern "C" fn on_trap_by_register(block: &mut VcpuBlock) -> Turn {
    // SAFETY: the caller's promise.
    let turn = unsafe {
        if is_modeled(block) {
            modeled::on_trap_by_register(block)
        } else {
            run::on_exit_by_register(block)
        }
    };
    end(block, turn)
}

fn is_modeled(block: &VcpuBlock) -> bool {
    block.model_plays || block.is_laboratory
}

/// IRR and ISR, wherever they are at the time.
fn interrupts(block: &VcpuBlock) -> Interrupts {
    let index = block.vcpu.index;
    if block.vm.avic.is_active(index) {
        let page = block.vm.avic.page(index);
        return Interrupts {
            waiting: page.vectors(offset::IRR),
            in_service: page.vectors(offset::ISR),
        };
    }
    let lapic = &block.vcpu.lapic;
    Interrupts { waiting: Vectors(*lapic.irr()), in_service: Vectors(*lapic.isr()) }
}

/// Before the trap is handled.
fn begin(block: &mut VcpuBlock, exited_at: u64) {
    let offset = block.vm.clock.offset;
    let (entered, at) =
        (block.world.entered_at.wrapping_add(offset), exited_at.wrapping_add(offset));
    let now = interrupts(block);
    let position = block.last_exits.position();
    let (rdx, save_rax) = (block.vcpu.gprs.rdx, block.world.vmcb().save.rax);
    let vmcb = block.world.vmcb();
    let trap = Trap {
        at,
        key: 0,
        code: vmcb.control.exit_code.0,
        info_1: vmcb.control.exit_info_1,
        info_2: vmcb.control.exit_info_2,
        interrupted: u64::from(vmcb.control.exit_int_info),
        rip: vmcb.save.rip,
        value: rdx << 32 | save_rax & 0xffff_ffff,
        rax: save_rax,
    };
    let trace = &mut *block.trace;
    let rip = trace.rip.take();
    trace.put(&Event::Enter { at: entered, rip });
    trace.look(now, at);
    trace.trap = Some((trap, position));
}

/// After it was handled; `turn` is passed on.
fn end(block: &mut VcpuBlock, turn: Turn) -> Turn {
    if turn == Turn::Registers {
        return turn;
    }
    let now = interrupts(block);
    let key = block
        .trace
        .trap
        .and_then(|(_, position)| block.last_exits.since(position).next().map(|exit| exit.key));
    let rdx = block.vcpu.gprs.rdx;
    let icr = icr(block, key);
    let is_x2apic = block.vcpu.lapic.mode() == Mode::X2Apic;
    let VcpuBlock { world, trace, .. } = block;
    let vmcb = world.vmcb();
    let Some((mut trap, _)) = trace.trap.take() else { return turn };
    trap.key = key.unwrap_or(ExitKey::EMPTY).0;
    let is_write_to_port = trap.code == IOIO;
    if key.is_some() {
        // What the described processor reports, where it is described.
        let control = &vmcb.control;
        (trap.code, trap.info_1, trap.info_2) =
            (control.exit_code.0, control.exit_info_1, control.exit_info_2);
    }
    if let Some(Detail::Access(_, Direction::Read)) = key.map(ExitKey::detail) {
        // What was read is there only now.
        let low = vmcb.save.rax & 0xffff_ffff;
        trap.value = if trap.code == MSR { rdx << 32 | low } else { low };
    } else if is_write_to_port {
        trap.value &= 0xffff_ffff;
    }
    let at = trap.at;
    trace.put(&Event::Trap(trap));
    if let Some(icr) = icr {
        // An xAPIC has eight bits of it, at the top.
        let destination = (icr >> 32) as u32 >> if is_x2apic { 0 } else { 24 };
        trace.put(&Event::Ipi { at, icr: icr as u32, destination });
    }
    trace.look(now, at);
    let event = vmcb.control.event_injection;
    if event.valid() {
        trace.put(&Event::Inject { at, event: u64::from(event) });
    }
    if turn == Turn::Enter {
        trace.rip = Some(vmcb.save.rip);
    }
    turn
}

/// ICR, if the trap wrote it.
fn icr(block: &VcpuBlock, key: Option<ExitKey>) -> Option<u64> {
    let (trap, _) = block.trace.trap?;
    match trap.code {
        MSR if trap.info_1 & 1 != 0 => match block.vcpu.gprs.rcx as u32 {
            X2APIC_ICR => Some(trap.value),
            X2APIC_SELF_IPI => Some(trap.value & 0xff | TO_SELF),
            _ => None,
        },
        // What 401h says is ICR, whichever trap made it one.
        _ if key.is_some_and(|key| key.code() == ExitCode::AVIC_INCOMPLETE_IPI.0) => {
            Some(trap.info_1)
        }
        NPF => {
            const WRITE: u64 = 1 << 1;
            let is_icr = trap.info_2 >> 12 == APIC_FRAME
                && trap.info_2 & 0xfff == u64::from(offset::ICR)
                && trap.info_1 & WRITE != 0;
            is_icr.then(|| xapic_icr(block))
        }
        _ => None,
    }
}

/// The xAPIC's ICR, from its registers.
fn xapic_icr(block: &VcpuBlock) -> u64 {
    let index = block.vcpu.index;
    if !block.vm.avic.is_active(index) {
        return block.vcpu.lapic.icr();
    }
    let [low, high] =
        [offset::ICR, offset::ICR_HIGH].map(|register| block.vm.avic.page(index).load(register));
    u64::from(high) << 32 | u64::from(low)
}

/// Hands a vCPU's events to the stream.
pub fn report(block: &VcpuBlock) {
    let vcpu = block.vcpu.index as u16;
    let lost = block.trace.pieces(PIECE, |events| records::put(&Record::Trace { vcpu, events }));
    if lost > 0 {
        records::log(
            Level::Warn,
            format_args!("vCPU {vcpu}: the trace is full, {lost} events are not in it"),
        );
    }
}
