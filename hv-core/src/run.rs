//! The run loop's handler: what happens between #VMEXIT and the next VMRUN.

// UNSAFETY: called from assembly.
#![expect(unsafe_code, reason = "entered from the world switch")]

use crate::core_block::{CoreBlock, Left};
use crate::{apic, clock, cores, guest, scenario, svm};
use trapline_abi::exit::ExitKey;
use trapline_defs::exit_code::ExitCode;
use trapline_policy::avic::{activation, running};
use trapline_policy::events;
use trapline_policy::handle::{self, Handled, Next, Stop};
use trapline_policy::mailbox::State;
use trapline_policy::msr::map_changed;
use trapline_policy::time::Ns;

/// What the world switch does after an exit.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Turn {
    /// Return to `svm::world::run`.
    Leave = 0,
    /// Enter the guest.
    Enter = 1,
    /// Save the other registers and call [`on_exit_by_register`].
    Registers = 2,
}

/// One exit; it happened at TSC `exited_at`. RBP and R12 to R15 are still in the processor.
///
/// # Safety
/// Only the world switch calls this, with GIF clear and the rest of the guest's state saved.
pub unsafe extern "C" fn on_exit(core: &mut CoreBlock, exited_at: u64) -> Turn {
    core.mailbox.left();
    core.account.close(core.world.entered_at);
    let CoreBlock { world, vcpu, .. } = core;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    // Kept free of calls, so that it needs no register that would have to be saved.
    if vmcb.control.exit_code == ExitCode::CPUID
        && handle::settled(vcpu, vmcb)
        && let Some(key) = handle::cpuid(vcpu, vmcb)
    {
        return account(core, Handled::enter(key), rip, exited_at);
    }
    on_any_exit(core, exited_at)
}

/// Every exit but the shortest.
#[inline(never)]
pub fn on_any_exit(core: &mut CoreBlock, exited_at: u64) -> Turn {
    let CoreBlock { world, vcpu, vm, memory, .. } = core;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    let handled = handle::exit(vm, vcpu, vmcb, memory, exited_at);
    if handled.next == Next::Registers {
        core.exited_at = exited_at;
        return Turn::Registers;
    }
    account(core, handled, rip, exited_at)
}

/// The same exit again, all registers saved.
///
/// # Safety
/// As for [`on_exit`], which answered [`Turn::Registers`].
pub unsafe extern "C" fn on_exit_by_register(core: &mut CoreBlock) -> Turn {
    let exited_at = core.exited_at;
    let CoreBlock { world, vcpu, vm, memory, .. } = core;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    let handled = handle::exit_by_register(vm, vcpu, vmcb, memory, exited_at);
    account(core, handled, rip, exited_at)
}

/// An exit that was found out about with all registers saved, and that may need them.
///
/// # Safety
/// As for [`on_exit_by_register`].
pub unsafe fn on_exit_by_register_or_not(core: &mut CoreBlock, exited_at: u64) -> Turn {
    core.exited_at = exited_at;
    match on_any_exit(core, exited_at) {
        // SAFETY: the caller's promise.
        Turn::Registers => unsafe { on_exit_by_register(core) },
        turn => turn,
    }
}

#[inline(always)]
pub fn account(core: &mut CoreBlock, handled: Handled, rip: u64, exited_at: u64) -> Turn {
    core.last_exits.push(handled.key, rip, exited_at);
    core.exits_left -= 1;
    if handled.next != Next::Enter || core.vcpu.rearm || core.exits_left == 0 {
        return after(core, handled, exited_at);
    }
    // From here on others kick this core; what they left before is looked at now.
    core.mailbox.enter();
    if core.mailbox.is_full() {
        core.mailbox.left();
        return after(core, handled, exited_at);
    }
    if core.account.reopen(handled.key, exited_at) {
        return Turn::Enter;
    }
    search(core, handled.key)
}

/// A key that is not in its first place.
#[cold]
#[inline(never)]
fn search(core: &mut CoreBlock, key: ExitKey) -> Turn {
    core.account.search(key);
    Turn::Enter
}

/// What most exits do not need.
#[inline(never)]
fn after(core: &mut CoreBlock, handled: Handled, exited_at: u64) -> Turn {
    let Handled { key, next } = handled;
    core.exited_at = exited_at;
    if next == Next::Call {
        core.account.open_outside(key, exited_at);
    } else {
        core.account.open(key, exited_at);
    }
    if core.exits_left == 0 {
        return leave(core, Left::ExitBudget);
    }
    match next {
        Next::Enter | Next::Registers => {}
        Next::Interrupt => {
            svm::gif::take_pending();
            if scenario::is_over() {
                return leave(core, Left::Elsewhere);
            }
            let now = clock::now();
            if now >= core.ends_at {
                return leave(core, Left::TimeBudget);
            }
            // The timer may have been the one that a deadline was armed with.
            core.armed_for = 0;
            let_time_pass(core, now);
        }
        Next::Map => {
            let CoreBlock { world, vcpu, tables, .. } = core;
            tables.map(world.vmcb().control.exit_info_2);
            events::flush_tlb(vcpu, world.vmcb());
        }
        Next::MapApic => {
            if !core.model_plays {
                core.tables.map_apic();
            }
        }
        Next::Block => return leave(core, Left::Block),
        Next::Call => return leave(core, Left::Call),
        Next::Stop(stop) => return leave(core, Left::Stop(stop)),
    }
    if let Some(left) = collect(core) {
        return leave(core, left);
    }
    match enter(core) {
        None => Turn::Enter,
        Some(left) => leave(core, left),
    }
}

/// Gets ready for the guest; what arrives meanwhile is settled, too. Why the guest cannot be entered,
/// if it cannot.
pub fn enter(core: &mut CoreBlock) -> Option<Left> {
    loop {
        arm(core);
        kick_others(core);
        if core.vcpu.avic.update {
            if !activation::may_update(&core.vm, &core.vcpu) {
                core::hint::spin_loop();
                if scenario::is_over() {
                    return Some(Left::Elsewhere);
                }
                continue;
            }
            let CoreBlock { world, vcpu, vm, .. } = core;
            activation::update(vm, vcpu, world.vmcb());
            if vm.avic.leaf() == 0 {
                core.tables.unmap_apic();
            }
            if let Some(left) = collect(core) {
                return Some(left);
            }
            continue;
        }
        core.mailbox.enter();
        if !core.mailbox.is_full() {
            return None;
        }
        core.mailbox.set_state(State::Host);
        let left = collect(core);
        if left.is_some() {
            return left;
        }
    }
}

/// Takes over what other vCPUs left, and evaluates it.
fn collect(core: &mut CoreBlock) -> Option<Left> {
    let left = take_over(core);
    let CoreBlock { world, vcpu, vm, memory, .. } = core;
    if left.is_none() && vcpu.lapic.event_request {
        events::evaluate(vm, vcpu, world.vmcb(), memory);
    }
    left
}

/// Takes over what other vCPUs left, and evaluates nothing.
fn take_over(core: &mut CoreBlock) -> Option<Left> {
    if scenario::is_over() {
        return Some(Left::Elsewhere);
    }
    if !core.mailbox.is_full() {
        return None;
    }
    let CoreBlock { world, vcpu, vm, tables, .. } = core;
    let letters = vm.collect(vcpu);
    if letters.init {
        if vcpu.index == 0 {
            return Some(Left::Stop(Stop::Init));
        }
        // All of it is new but guest time; the flush that a new VMCB asks for is what changing to real
        // mode needs.
        let tsc_offset = world.vmcb().control.tsc_offset;
        guest::reset_vmcb(world.vmcb(), tables, 0);
        world.vmcb().control.tsc_offset = tsc_offset;
        vcpu.init();
        activation::reset(vm, vcpu);
        activation::prepare(vm, vcpu, world.vmcb());
        map_changed(vm, vcpu);
    }
    if let Some(vector) = letters.sipi
        && vcpu.waits_for_sipi
    {
        vcpu.waits_for_sipi = false;
        vcpu.starts += 1;
        guest::start_at(world.vmcb(), vector);
        vcpu.lapic.event_request = true;
    }
    vcpu.waits_for_sipi.then_some(Left::Block)
}

/// Kicks the cores whose vCPUs were left something.
fn kick_others(core: &mut CoreBlock) {
    let kicks = core::mem::take(&mut core.vcpu.kicks);
    if kicks != 0 {
        cores::kick(&core.apic, kicks);
    }
    let doorbells = core::mem::take(&mut core.vcpu.doorbells);
    if doorbells != 0 {
        cores::ring(&core.apic, doorbells);
    }
}

fn leave(core: &mut CoreBlock, left: Left) -> Turn {
    core.left = left;
    Turn::Leave
}

/// Lets guest time pass to host TSC `now`: deadlines fire, and what they bring is evaluated.
fn let_time_pass(core: &mut CoreBlock, now: u64) {
    let_time_pass_halted(core, now);
    let CoreBlock { world, vcpu, vm, memory, .. } = core;
    if vcpu.lapic.event_request {
        events::evaluate(vm, vcpu, world.vmcb(), memory);
    }
}

/// Arms the host's timer for the next deadline or the end of the budget, whichever comes first.
pub fn arm(core: &mut CoreBlock) {
    core.vcpu.rearm = false;
    core.vcpu.armed = core.vcpu.lapic.next_deadline();
    // The bootstrap vCPU's core keeps the devices' time.
    let devices = if core.vcpu.index == 0 { core.vm.next_deadline() } else { Ns::NEVER };
    let deadline = core.vcpu.lapic.next_deadline().min(devices);
    let mut wanted = core.ends_at.min(core.vcpu.laboratory.deadline);
    if deadline != Ns::NEVER {
        let ticks = core.vm.clock.ticks(deadline.0);
        wanted = wanted.min(ticks.saturating_add(core.vm.clock.offset.wrapping_neg()));
    }
    if wanted != core.armed_for {
        core.armed_for = wanted;
        let left = wanted.saturating_sub(clock::now());
        core.apic.arm(core.clock.apic_ticks(left));
    }
}

/// Blocks until the vCPU has something to wake for; [`enter`] has to follow. GIF is clear before and
/// after.
///
/// Returns why the scenario ends instead, if it does.
pub fn block(core: &mut CoreBlock) -> Option<Left> {
    // Before anything is looked for that the vCPU might wake for (AVH-012).
    running::put(&core.vm, &mut core.vcpu);
    let left = block_until_woken(core);
    if left.is_none() {
        let host_id = core.vcpu.avic.host_id;
        running::load(&core.vm, &mut core.vcpu, host_id);
    }
    left
}

fn block_until_woken(core: &mut CoreBlock) -> Option<Left> {
    loop {
        core.mailbox.set_state(State::Host);
        let now = clock::now();
        if now >= core.ends_at {
            return Some(Left::TimeBudget);
        }
        let_time_pass_halted(core, now);
        let before = core.vcpu.starts;
        match take_over(core) {
            None | Some(Left::Block) => {}
            left => return left,
        }
        let CoreBlock { world, vcpu, vm, memory, .. } = core;
        if vcpu.starts != before || !vcpu.waits_for_sipi && handle::wakes(vm, vcpu, world.vmcb()) {
            // What woke it is injected right away, without a window (rule HLT-2).
            vcpu.lapic.event_request = true;
            events::evaluate(vm, vcpu, world.vmcb(), memory);
            return None;
        }
        let deadline = core.vcpu.lapic.next_deadline().min(core.vm.next_deadline());
        if core.vm.vcpus == 1 && deadline == Ns::NEVER {
            return Some(Left::Stuck);
        }
        arm(core);
        kick_others(core);
        core.mailbox.set_state(State::Asleep);
        if core.mailbox.is_full() || scenario::is_over() {
            continue;
        }
        // What is posted to the backing page fills no box.
        let CoreBlock { world, vcpu, vm, .. } = core;
        if vcpu.avic.active && handle::wakes(vm, vcpu, world.vmcb()) {
            continue;
        }
        // IF is clear here, so nothing is taken before the sleep begins.
        svm::gif::open();
        apic::wait();
        svm::gif::close();
        core.armed_for = 0;
    }
}

/// As [`let_time_pass`], but nothing is evaluated: the vCPU is not about to be entered.
fn let_time_pass_halted(core: &mut CoreBlock, now: u64) {
    let CoreBlock { vcpu, vm, .. } = core;
    let time = vm.clock.at(now);
    vcpu.lapic.advance(time);
    vm.advance(vcpu, time);
}
