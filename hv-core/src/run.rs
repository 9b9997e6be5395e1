//! The run loop's handler: what happens between #VMEXIT and the next VMRUN.

// UNSAFETY: called from assembly.
#![expect(unsafe_code, reason = "entered from the world switch")]

use crate::vcpu_block::{Left, VcpuBlock};
use crate::{apic, clock, cores, guest, scenario, svm, switch, turns};
use trapline_abi::exit::ExitKey;
use trapline_defs::exit_code::ExitCode;
use trapline_policy::avic::{activation, post};
use trapline_policy::handle::{self, Handled, Next, Stop};
use trapline_policy::hyperv::delivery::deliver_due;
use trapline_policy::mailbox::State;
use trapline_policy::msr::map_changed;
use trapline_policy::time::Ns;
use trapline_policy::{events, hypercall};

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
pub unsafe extern "C" fn on_exit(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    block.mailbox.left();
    block.account.close(block.world.entered_at);
    let VcpuBlock { world, vcpu, .. } = block;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    // Kept free of calls, so that it needs no register that would have to be saved.
    if vmcb.control.exit_code == ExitCode::CPUID
        && handle::settled(vcpu, vmcb)
        && let Some(key) = handle::cpuid(vcpu, vmcb)
    {
        return account(block, Handled::enter(key), rip, exited_at);
    }
    on_any_exit(block, exited_at)
}

/// Every exit but the shortest.
#[inline(never)]
pub fn on_any_exit(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    let VcpuBlock { world, vcpu, .. } = block;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    if !handle::settled(vcpu, vmcb) {
        settle(block);
    }
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    let handled = handle::dispatch(vm, vcpu, world.vmcb(), memory, exited_at);
    if handle::is_to_evaluate(&block.vcpu, handled) {
        evaluate(block);
    }
    if handled.next == Next::Registers {
        block.exited_at = exited_at;
        return Turn::Registers;
    }
    account(block, handled, rip, exited_at)
}

/// Takes over what processor and guest left behind.
#[cold]
#[inline(never)]
fn settle(block: &mut VcpuBlock) {
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    events::settle(vm, vcpu, world.vmcb(), memory);
}

/// Decides what the next entry injects.
#[inline(never)]
fn evaluate(block: &mut VcpuBlock) {
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    events::evaluate(vm, vcpu, world.vmcb(), memory);
}

/// The same exit again, all registers saved.
///
/// # Safety
/// As for [`on_exit`], which answered [`Turn::Registers`].
pub unsafe extern "C" fn on_exit_by_register(block: &mut VcpuBlock) -> Turn {
    let exited_at = block.exited_at;
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    let vmcb = world.vmcb();
    let rip = vmcb.save.rip;
    let handled = handle::exit_by_register(vm, vcpu, vmcb, memory, exited_at);
    account(block, handled, rip, exited_at)
}

/// An exit that was found out about with all registers saved, and that may need them.
///
/// # Safety
/// As for [`on_exit_by_register`].
pub unsafe fn on_exit_by_register_or_not(block: &mut VcpuBlock, exited_at: u64) -> Turn {
    block.exited_at = exited_at;
    match on_any_exit(block, exited_at) {
        // SAFETY: the caller's promise.
        Turn::Registers => unsafe { on_exit_by_register(block) },
        turn => turn,
    }
}

#[inline(always)]
pub fn account(block: &mut VcpuBlock, handled: Handled, rip: u64, exited_at: u64) -> Turn {
    block.last_exits.push(handled.key, rip, exited_at);
    block.exits_left -= 1;
    if handled.next != Next::Enter || block.vcpu.rearm || block.exits_left == 0 {
        return after(block, handled, exited_at);
    }
    // From here on others kick this core; what they left before is looked at now.
    block.mailbox.enter();
    if block.mailbox.is_full() {
        block.mailbox.left();
        return after(block, handled, exited_at);
    }
    if block.account.reopen(handled.key, exited_at) {
        return Turn::Enter;
    }
    search(block, handled.key)
}

/// A key that is not in its first place.
#[cold]
#[inline(never)]
fn search(block: &mut VcpuBlock, key: ExitKey) -> Turn {
    block.account.search(key);
    Turn::Enter
}

/// What most exits do not need.
#[inline(never)]
fn after(block: &mut VcpuBlock, handled: Handled, exited_at: u64) -> Turn {
    let Handled { key, next } = handled;
    block.exited_at = exited_at;
    if next == Next::Call {
        block.account.open_outside(key, exited_at);
    } else {
        block.account.open(key, exited_at);
    }
    if block.exits_left == 0 {
        return leave(block, Left::ExitBudget);
    }
    match next {
        Next::Enter | Next::Registers => tell(block, exited_at),
        Next::Interrupt => {
            svm::gif::take_pending();
            if scenario::is_over() {
                return leave(block, Left::Elsewhere);
            }
            let now = clock::now();
            if now >= block.ends_at {
                return leave(block, Left::TimeBudget);
            }
            // The timer may have been the one that a deadline was armed with.
            block.core.armed_for.set(0);
            if block.core.is_shared() && has_to_go(block, now) {
                return leave(block, Left::Preempted);
            }
            let_time_pass(block, now);
        }
        Next::Map => {
            let VcpuBlock { world, vcpu, tables, .. } = block;
            tables.map(world.vmcb().control.exit_info_2);
            events::flush_tlb(vcpu, world.vmcb());
        }
        Next::MapApic => {
            if !block.model_plays {
                block.tables.map_apic();
            }
        }
        Next::Yield => {
            if turns::may_yield(block) {
                // Others that were kicked do not wait for its next turn.
                kick_others(block);
                return leave(block, Left::Yielded);
            }
            tell(block, exited_at);
        }
        Next::Hypercall => {
            let VcpuBlock { world, vcpu, vm, memory, .. } = block;
            let xmm = world.fx.xmm_input();
            let next = hypercall::answer(vm, vcpu, world.vmcb(), memory, &xmm);
            tell(block, exited_at);
            match next {
                Next::Block => return leave(block, Left::Block),
                Next::Stop(stop) => return leave(block, Left::Stop(stop)),
                _ => {}
            }
        }
        Next::Block => return leave(block, Left::Block),
        Next::Call => return leave(block, Left::Call),
        Next::Stop(stop) => return leave(block, Left::Stop(stop)),
    }
    if let Some(left) = collect(block) {
        return leave(block, left);
    }
    match enter(block) {
        None => Turn::Enter,
        Some(left) => leave(block, left),
    }
}

/// What the exit at TSC `at` left to be told to the guest, and what that brings.
fn tell(block: &mut VcpuBlock, at: u64) {
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    vcpu.tell(memory, vm.clock.at(at));
    deliver_due(vm, vcpu, memory);
    if vcpu.lapic.event_request {
        events::evaluate(vm, vcpu, world.vmcb(), memory);
    }
}

/// Whether the vCPU's slice is over and another one's turn has come.
#[cold]
fn has_to_go(block: &VcpuBlock, now: u64) -> bool {
    block.core.schedule.get().is_over(now) && turns::is_another_ready(block, now)
}

/// Makes up for the time in which others had the core, before [`enter`].
pub fn catch_up(block: &mut VcpuBlock) {
    let_time_pass(block, clock::now());
}

/// Gets ready for the guest; what arrives meanwhile is settled, too. Why the guest cannot be entered,
/// if it cannot.
pub fn enter(block: &mut VcpuBlock) -> Option<Left> {
    loop {
        arm(block);
        kick_others(block);
        if block.vcpu.avic.update {
            if let Some(left) = update_avic(block) {
                return Some(left);
            }
            continue;
        }
        block.mailbox.enter();
        if !block.mailbox.is_full() {
            return None;
        }
        block.mailbox.set_state(State::Host);
        let left = collect(block);
        if left.is_some() {
            return left;
        }
    }
}

/// Turns AVIC on or off, as soon as nobody is in the guest who should not be.
#[cold]
fn update_avic(block: &mut VcpuBlock) -> Option<Left> {
    if !activation::may_update(&block.vm, &block.vcpu) {
        core::hint::spin_loop();
        return scenario::is_over().then_some(Left::Elsewhere);
    }
    let VcpuBlock { world, vcpu, vm, tables, .. } = block;
    activation::update(vm, vcpu, world.vmcb());
    if vm.avic.leaf() == 0 {
        tables.unmap_apic();
    }
    collect(block)
}

/// Takes over what other vCPUs left, and evaluates it.
fn collect(block: &mut VcpuBlock) -> Option<Left> {
    let left = take_over(block);
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    if left.is_none() && vcpu.lapic.event_request {
        events::evaluate(vm, vcpu, world.vmcb(), memory);
    }
    left
}

/// Takes over what other vCPUs left, and evaluates nothing.
fn take_over(block: &mut VcpuBlock) -> Option<Left> {
    if scenario::is_over() {
        return Some(Left::Elsewhere);
    }
    if !block.mailbox.is_full() {
        return None;
    }
    let VcpuBlock { world, vcpu, vm, tables, memory, .. } = block;
    let letters = vm.collect(vcpu);
    deliver_due(vm, vcpu, memory);
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

/// Kicks the cores whose vCPUs were left something; its own looks by itself, in [`arm`] or [`block`].
fn kick_others(block: &mut VcpuBlock) {
    let kicks = core::mem::take(&mut block.vcpu.kicks);
    if kicks != 0 {
        cores::kick(&block.core.apic, kicks & !block.core.schedule.get().vcpus());
    }
    let doorbells = core::mem::take(&mut block.vcpu.doorbells);
    if doorbells != 0 {
        cores::ring(&block.core.apic, doorbells);
    }
}

fn leave(block: &mut VcpuBlock, left: Left) -> Turn {
    block.left = left;
    Turn::Leave
}

/// Lets guest time pass to host TSC `now`: deadlines fire, and what they bring is evaluated.
fn let_time_pass(block: &mut VcpuBlock, now: u64) {
    let_time_pass_halted(block, now);
    let VcpuBlock { world, vcpu, vm, memory, .. } = block;
    if vcpu.lapic.event_request {
        events::evaluate(vm, vcpu, world.vmcb(), memory);
    }
}

/// Arms the host's timer for what comes first: the next deadline of any of the core's vCPUs, the end of
/// the slice if another one is ready, the end of the budget.
pub fn arm(block: &mut VcpuBlock) {
    let mut wanted = next_alarm(block);
    if block.core.is_shared() {
        wanted = wanted.min(alarm_of_others(block));
    }
    arm_for(block, wanted);
}

#[cold]
fn alarm_of_others(block: &VcpuBlock) -> u64 {
    let is_one_ready = turns::is_another_ready(block, clock::now());
    block.core.schedule.get().alarm(is_one_ready)
}

/// What there is to arm for without others.
#[inline(always)]
fn next_alarm(block: &mut VcpuBlock) -> u64 {
    block.vcpu.rearm = false;
    block.vcpu.armed = block.vcpu.lapic.next_deadline();
    block.next_deadline().min(block.ends_at).min(block.vcpu.laboratory.deadline)
}

#[inline(always)]
fn arm_for(block: &VcpuBlock, wanted: u64) {
    if wanted != block.core.armed_for.get() {
        block.core.armed_for.set(wanted);
        let left = wanted.saturating_sub(clock::now());
        block.core.apic.arm(block.core.clock.apic_ticks(left));
    }
}

/// Blocks until the vCPU has something to wake for; [`enter`] has to follow. GIF is clear before and
/// after.
///
/// Returns why not, if it cannot: another vCPU of its core is ready, so that this has to be called again
/// when its turn comes, or the scenario ends.
pub fn block(block: &mut VcpuBlock) -> Option<Left> {
    if !block.is_blocked {
        switch::blocking(block);
    }
    loop {
        block.mailbox.set_state(State::Host);
        let now = clock::now();
        if now >= block.ends_at {
            return Some(Left::TimeBudget);
        }
        let_time_pass_halted(block, now);
        let before = block.vcpu.starts;
        match take_over(block) {
            None | Some(Left::Block) => {}
            left => return left,
        }
        let VcpuBlock { world, vcpu, vm, memory, .. } = block;
        if vcpu.avic.active {
            // What came for it meanwhile wakes it from the backing page.
            post::flush(vm.avic, vcpu);
        }
        if vcpu.starts != before
            || !vcpu.waits_for_sipi && handle::wakes(vm, vcpu, world.vmcb(), memory)
        {
            switch::unblocking(block);
            let VcpuBlock { world, vcpu, vm, memory, .. } = block;
            // What woke it is injected right away, without a window (rule HLT-2).
            vcpu.lapic.event_request = true;
            events::evaluate(vm, vcpu, world.vmcb(), memory);
            return None;
        }
        let nothing_comes =
            || block.vcpu.next_deadline() == Ns::NEVER && block.vm.next_deadline() == Ns::NEVER;
        if block.vm.vcpus == 1 && nothing_comes() {
            return Some(Left::Stuck);
        }
        let wanted = next_alarm(block).min(block.core.schedule.get().wakes_at());
        arm_for(block, wanted);
        kick_others(block);
        block.mailbox.set_state(State::Asleep);
        if block.mailbox.is_full() || scenario::is_over() {
            continue;
        }
        // What is posted to the backing page fills no box.
        let VcpuBlock { world, vcpu, vm, memory, .. } = block;
        if vm.features.avic && handle::wakes(vm, vcpu, world.vmcb(), memory) {
            continue;
        }
        if !block.core.is_shared() {
            sleep(block);
        } else if sleep_among_others(block) {
            return Some(Left::Asleep);
        }
    }
}

/// Lets the core sleep until there is an interrupt.
#[inline(always)]
fn sleep(block: &VcpuBlock) {
    // IF is clear here, so nothing is taken before the sleep begins.
    svm::gif::open();
    apic::wait();
    svm::gif::close();
    block.core.armed_for.set(0);
}

/// As [`sleep`], but only until another vCPU of the core is ready: whether one is.
#[cold]
fn sleep_among_others(block: &VcpuBlock) -> bool {
    let is_another_ready = || turns::is_another_ready(block, clock::now());
    is_another_ready() || {
        sleep(block);
        is_another_ready()
    }
}

/// As [`let_time_pass`], but nothing is evaluated: the vCPU is not about to be entered.
fn let_time_pass_halted(block: &mut VcpuBlock, now: u64) {
    let VcpuBlock { vcpu, vm, memory, .. } = block;
    let time = vm.clock.at(now);
    vcpu.advance(memory, time);
    deliver_due(vm, vcpu, memory);
    vm.advance(vcpu, time);
}
