//! The run loop's handler under the silicon model: every trap passes the model first.
//!
//! What the described processor does by itself ends here, after the shortest way back into the guest;
//! everything else goes on in [`crate::run`] as the exit that the processor would have reported.

// UNSAFETY: called from assembly.
#![expect(unsafe_code, reason = "entered from the world switch")]

use crate::core_block::{CoreBlock, Left};
use crate::host_memory::HostMemory;
use crate::run::{self, Turn};
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
pub unsafe extern "C" fn on_trap(core: &mut CoreBlock, exited_at: u64) -> Turn {
    core.account.close(core.world.entered_at);
    let code = core.world.vmcb().control.exit_code.0;
    core.traps.add(code);
    let seen = if core.model_plays { look(core, false) } else { Seen::Exit };
    if seen == Seen::Absorbed {
        return resume(core);
    }
    act(core, seen, exited_at)
}

/// The same trap again, all registers saved.
///
/// # Safety
/// As for [`on_trap`], which answered [`Turn::Registers`].
pub unsafe extern "C" fn on_trap_by_register(core: &mut CoreBlock) -> Turn {
    if !core.model.in_guest() {
        // The policy asked for them.
        // SAFETY: the caller's promise.
        let turn = unsafe { run::on_exit_by_register(core) };
        return enter_again(core, turn);
    }
    let exited_at = core.exited_at;
    match look(core, true) {
        Seen::Absorbed => resume(core),
        Seen::Exit if core.vcpu.laboratory.is_engaged() => exit(core, exited_at),
        Seen::Exit => {
            leave_guest(core);
            // SAFETY: all registers are saved.
            let turn = unsafe { run::on_exit_by_register_or_not(core, exited_at) };
            enter_again(core, turn)
        }
        seen => act(core, seen, exited_at),
    }
}

#[inline(always)]
fn look(core: &mut CoreBlock, saved: bool) -> Seen {
    let CoreBlock { world, vcpu, vm, memory, apic, model, is_laboratory, rings, .. } = core;
    let around = Around { guest: memory, memory: &HostMemory, leaf: leaf(vm), saved };
    let ring = |id: u16| {
        if *is_laboratory {
            rings.note(id);
        }
        // In the laboratory a table may name a core that is not there.
        if !*is_laboratory || cores::is_host(id) {
            apic.ring(u32::from(id));
        }
    };
    model.trap(vcpu, world.vmcb(), &around, ring)
}

/// Back into the guest; the trap was none of the policy's business.
#[inline(always)]
fn resume(core: &mut CoreBlock) -> Turn {
    core.account.suspend();
    core.exits_left -= 1;
    if core.exits_left == 0 {
        core.left = Left::ExitBudget;
        leave_guest(core);
        return Turn::Leave;
    }
    Turn::Enter
}

#[inline(never)]
fn act(core: &mut CoreBlock, seen: Seen, exited_at: u64) -> Turn {
    match seen {
        Seen::Absorbed => resume(core),
        Seen::Exit => exit(core, exited_at),
        Seen::Registers => {
            core.exited_at = exited_at;
            Turn::Registers
        }
        Seen::Interrupt => interrupt(core, exited_at),
        Seen::Halted => halted(core),
        Seen::Undefined => {
            leave_guest(core);
            core.exited_at = exited_at;
            core.left = Left::Stop(Stop::CannotEmulate);
            Turn::Leave
        }
    }
}

/// An exit of the described processor.
fn exit(core: &mut CoreBlock, exited_at: u64) -> Turn {
    leave_guest(core);
    let turn = if core.vcpu.laboratory.is_engaged() {
        keep(core, exited_at)
    } else {
        run::on_any_exit(core, exited_at)
    };
    enter_again(core, turn)
}

/// The laboratory keeps the exit, and the guest goes on.
fn keep(core: &mut CoreBlock, exited_at: u64) -> Turn {
    let CoreBlock { world, vcpu, vm, memory, .. } = core;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    let handled = laboratory::exit(vcpu, vmcb, memory, exited_at, vm.soft_injection);
    if let Some(vector) = vcpu.laboratory.request.take() {
        vm.avic.page(vcpu.index).set(offset::IRR, vector);
    }
    run::account(core, handled, rip, exited_at)
}

fn leave_guest(core: &mut CoreBlock) {
    if core.model_plays {
        core.model.leave(core.world.vmcb());
    }
    core.mailbox.left();
}

fn enter_again(core: &mut CoreBlock, turn: Turn) -> Turn {
    if turn == Turn::Enter { enter(core) } else { turn }
}

/// VMRUN of the described processor, once everything is ready for it. It may exit at once.
pub fn enter(core: &mut CoreBlock) -> Turn {
    if !core.model_plays {
        return Turn::Enter;
    }
    let CoreBlock { world, model, vcpu, .. } = core;
    // Asked for by a payload that wants to see it and a virtual one at the same VMRUN.
    let deadline = vcpu.laboratory.deadline;
    model.interrupt_waits = deadline != u64::MAX && clock::now() >= deadline;
    let address = world.vmcb_address();
    match model.enter(address, world.vmcb(), &HostMemory) {
        Ok(()) => Turn::Enter,
        Err(_) => {
            core.mailbox.left();
            let control = &mut core.world.vmcb().control;
            control.exit_code = ExitCode(u64::MAX);
            (control.exit_info_1, control.exit_info_2) = (0, 0);
            let now = clock::now();
            let turn = if core.vcpu.laboratory.is_engaged() {
                keep(core, now)
            } else {
                run::on_any_exit(core, now)
            };
            enter_again(core, turn)
        }
    }
}

/// A physical interrupt: a doorbell is the processor's own business, everything else an exit 60h.
fn interrupt(core: &mut CoreBlock, exited_at: u64) -> Turn {
    if !core.apic.only_doorbell_waits() {
        return exit(core, exited_at);
    }
    svm::gif::take_pending();
    if something_else(core) {
        return exit(core, exited_at);
    }
    let CoreBlock { world, model, .. } = core;
    model.rung(world.vmcb(), &HostMemory);
    resume(core)
}

/// Whether a kick, the timer or the end of the scenario came with what was just taken.
fn something_else(core: &CoreBlock) -> bool {
    core.mailbox.is_full() || clock::now() >= core.armed_for || scenario::is_over()
}

/// The guest is halted in the processor, until something wakes it there or makes it exit.
fn halted(core: &mut CoreBlock) -> Turn {
    loop {
        let CoreBlock { world, model, .. } = core;
        if model.wakes(world.vmcb(), &HostMemory) {
            return resume(core);
        }
        if something_else(core) {
            let control = &mut core.world.vmcb().control;
            control.exit_code = ExitCode::INTR;
            (control.exit_info_1, control.exit_info_2) = (0, 0);
            return exit(core, clock::now());
        }
        apic::sleep_in_guest();
        core.model.processor().doorbell(&HostMemory);
    }
}
