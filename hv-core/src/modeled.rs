//! The run loop's handler under the silicon model: every trap passes the model first.
//!
//! What the described processor does by itself ends here, after the shortest way back into the guest;
//! everything else goes on in [`crate::run`] as the exit that the processor would have reported.

// UNSAFETY: called from assembly.
#![expect(unsafe_code, reason = "entered from the world switch")]

use crate::core_block::Home;
use crate::host_memory::HostMemory;
use crate::laboratory::Rings;
use crate::run::{self, Turn};
use crate::vcpu_block::{Left, VcpuBlock};
use crate::{apic, clock, cores, scenario, svm};
use hv_core::model::{Around, Seen};
use trapline_defs::apic::offset;
use trapline_defs::exit_code::ExitCode;
use trapline_policy::avic::tables::LEAF_WRITABLE;
use trapline_policy::handle::Stop;
use trapline_policy::laboratory;
use trapline_policy::vm::Vm;
use trapline_silicon::Leaf;

/// The leaf that the policy put at the APIC page.
#[inline(always)]
fn leaf(vm: &Vm<'_>) -> Option<Leaf> {
    let leaf = vm.avic.leaf();
    (leaf != 0).then_some(Leaf {
        writable: leaf & LEAF_WRITABLE != 0,
        user: true,
        executable: true,
    })
}

/// One trap; it happened at TSC `exited_at`. As [`run::on_exit`].
///
/// # Safety
/// Only the world switch calls this, with GIF clear and the rest of the guest's state saved.
pub unsafe extern "C" fn on_trap(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    block.account.close_once(block.world.entered_at);
    let code = block.world.vmcb().control.exit_code.0;
    block.traps.add(code);
    let seen = if block.model_plays { look(block, false) } else { Seen::Exit };
    if seen == Seen::Absorbed {
        return resume(block);
    }
    act(block, seen, exited_at)
}

/// The same trap again, all registers saved.
///
/// # Safety
/// As for [`on_trap`], which answered [`Turn::Registers`].
pub unsafe extern "C" fn on_trap_by_register(block: &mut VcpuBlock) -> Turn {
    if !block.model.in_guest() {
        // The policy asked for them.
        // SAFETY: the caller's promise.
        let turn = unsafe { run::on_exit_by_register(block) };
        return enter_again(block, turn);
    }
    let exited_at = block.exited_at;
    match look(block, true) {
        Seen::Absorbed => resume(block),
        Seen::Exit if block.vcpu.laboratory.is_engaged() => exit(block, exited_at),
        Seen::Exit => {
            leave_guest(block);
            // SAFETY: all registers are saved.
            let turn = unsafe { run::on_exit_by_register_or_not(block, exited_at) };
            enter_again(block, turn)
        }
        seen => act(block, seen, exited_at),
    }
}

#[inline(always)]
fn look(block: &mut VcpuBlock, saved: bool) -> Seen {
    let VcpuBlock { world, vcpu, vm, memory, core, model, is_laboratory, rings, .. } = block;
    let ring = |id: u16| ring(core, is_laboratory.then_some(&mut *rings), id);
    if let Some(seen) = model.quick(vcpu, world.vmcb(), &HostMemory, ring) {
        return seen;
    }
    let ring = |id: u16| self::ring(core, is_laboratory.then_some(&mut *rings), id);
    let around = Around { guest: memory, memory: &HostMemory, leaf: || leaf(vm), saved };
    model.trap(vcpu, world.vmcb(), &around, ring)
}

/// Rings a core. In the laboratory that is kept, and a table may name a core that is not there.
#[cold]
#[inline(never)]
fn ring(core: &Home, rings: Option<&mut Rings>, id: u16) {
    let is_there = rings.is_none() || cores::is_host(id);
    if let Some(rings) = rings {
        rings.note(id);
    }
    if is_there {
        core.apic.ring(u32::from(id));
    }
}

/// Back into the guest; the trap was none of the policy's business.
#[inline(always)]
fn resume(block: &mut VcpuBlock) -> Turn {
    block.exits_left -= 1;
    if block.exits_left == 0 {
        block.left = Left::ExitBudget;
        leave_guest(block);
        return Turn::Leave;
    }
    Turn::Enter
}

#[inline(never)]
fn act(block: &mut VcpuBlock, seen: Seen, exited_at: u64) -> Turn {
    match seen {
        Seen::Absorbed => resume(block),
        Seen::Exit => exit(block, exited_at),
        Seen::Registers => {
            block.exited_at = exited_at;
            Turn::Registers
        }
        Seen::Interrupt => interrupt(block, exited_at),
        Seen::Halted => halted(block),
        Seen::Undefined => {
            leave_guest(block);
            block.exited_at = exited_at;
            block.left = Left::Stop(Stop::CannotEmulate);
            Turn::Leave
        }
    }
}

/// An exit of the described processor.
fn exit(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    leave_guest(block);
    let turn = if block.vcpu.laboratory.is_engaged() {
        keep(block, exited_at)
    } else {
        run::on_any_exit(block, exited_at)
    };
    enter_again(block, turn)
}

/// The laboratory keeps the exit, and the guest goes on.
fn keep(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    let handled = laboratory::exit(vcpu, vmcb, memory, exited_at, vm.soft_injection);
    if let Some(vector) = vcpu.laboratory.request.take() {
        vm.avic.page(vcpu.index).set(offset::IRR, vector);
    }
    run::account(block, handled, rip, exited_at)
}

fn leave_guest(block: &mut VcpuBlock) {
    if block.model_plays {
        block.model.leave(block.world.vmcb());
    }
    block.mailbox.left();
}

fn enter_again(block: &mut VcpuBlock, turn: Turn) -> Turn {
    if turn == Turn::Enter { enter(block) } else { turn }
}

/// VMRUN of the described processor, once everything is ready for it. It may exit at once.
pub fn enter(block: &mut VcpuBlock) -> Turn {
    if !block.model_plays {
        return Turn::Enter;
    }
    let VcpuBlock { world, model, vcpu, .. } = block;
    // Asked for by a payload that wants to see it and a virtual one at the same VMRUN.
    let deadline = vcpu.laboratory.deadline;
    model.interrupt_waits = deadline != u64::MAX && clock::now() >= deadline;
    let address = world.vmcb_address();
    match model.enter(address, world.vmcb(), &HostMemory) {
        Ok(()) => Turn::Enter,
        Err(_) => {
            block.mailbox.left();
            let control = &mut block.world.vmcb().control;
            control.exit_code = ExitCode(u64::MAX);
            (control.exit_info_1, control.exit_info_2) = (0, 0);
            let now = clock::now();
            let turn = if block.vcpu.laboratory.is_engaged() {
                keep(block, now)
            } else {
                run::on_any_exit(block, now)
            };
            enter_again(block, turn)
        }
    }
}

/// A physical interrupt: a doorbell is the processor's own business, everything else an exit 60h.
fn interrupt(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    if !block.core.apic.only_doorbell_waits() {
        return exit(block, exited_at);
    }
    svm::gif::take_pending();
    if something_else(block) {
        return exit(block, exited_at);
    }
    let VcpuBlock { world, model, .. } = block;
    model.rung(world.vmcb(), &HostMemory);
    resume(block)
}

/// Whether a kick, the timer or the end of the scenario came with what was just taken.
fn something_else(block: &VcpuBlock) -> bool {
    block.mailbox.is_full() || clock::now() >= block.core.armed_for.get() || scenario::is_over()
}

/// The guest is halted in the processor, until something wakes it there or makes it exit.
fn halted(block: &mut VcpuBlock) -> Turn {
    loop {
        let VcpuBlock { world, model, .. } = block;
        if model.wakes(world.vmcb(), &HostMemory) {
            return resume(block);
        }
        if something_else(block) {
            let control = &mut block.world.vmcb().control;
            control.exit_code = ExitCode::INTR;
            (control.exit_info_1, control.exit_info_2) = (0, 0);
            return exit(block, clock::now());
        }
        apic::sleep_in_guest();
        block.model.processor().doorbell(&HostMemory);
    }
}
