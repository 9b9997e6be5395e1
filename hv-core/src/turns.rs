//! A core's vCPUs take turns ([`Schedule`]).
//!
//! [`Schedule`]: trapline_policy::schedule::Schedule

use crate::core_block::CoreBlock;
use crate::scenario::{self, End};
use crate::vcpu_block::VcpuBlock;
use crate::{clock, run, svm, switch, vcpus};
use core::ops::ControlFlow;
use trapline_policy::mailbox::State;
use trapline_policy::schedule::SLICE;

/// Runs the core's vCPUs until the scenario ends: which one ended it and how, if it was one of them.
pub fn run(core: &CoreBlock) -> Option<(u32, End)> {
    let schedule = core.schedule.get();
    // They wait for a SIPI from the start.
    for number in bits(schedule.others()) {
        vcpus::block(number).mailbox.set_state(State::Asleep);
    }
    let mut block = vcpus::block(schedule.current() as usize);
    give(core, block, false);
    loop {
        if let ControlFlow::Break(end) = scenario::turn(block) {
            return end.map(|end| (block.vcpu.index, end));
        }
        switch::switched_out(block);
        // As a host would: what is pending is not the next one's. A kick that goes with it was for
        // something that is looked at from here on.
        svm::gif::take_pending();
        core.armed_for.set(0);
        if scenario::is_over() {
            return None;
        }
        let last = block.vcpu.index;
        let next = core.schedule.get().next(ready(core)).unwrap_or(last);
        block = vcpus::block(next as usize);
        give(core, block, next != last);
        if !block.is_blocked {
            run::catch_up(block);
        }
    }
}

/// Gives the core to a vCPU, with a whole slice.
fn give(core: &CoreBlock, block: &mut VcpuBlock, is_after_another: bool) {
    let number = block.vcpu.index;
    let mut schedule = core.schedule.get();
    let slice_ends = clock::now().saturating_add(block.vm.clock.ticks(SLICE));
    let sleepers = bits(schedule.vcpus() & !(1 << number))
        .map(vcpus::block)
        .filter(|other| other.mailbox.is_asleep());
    let wakes_at = sleepers.map(|other| other.next_deadline()).min().unwrap_or(u64::MAX);
    schedule.switch(number, slice_ends, wakes_at);
    core.schedule.set(schedule);
    switch::switched_in(block, is_after_another);
}

/// Those of the others that can run or have to look, one bit each. No block of theirs is in use.
fn ready(core: &CoreBlock) -> u32 {
    let now = clock::now();
    bits(core.schedule.get().others())
        .filter(|&number| {
            let block = vcpus::block(number);
            !block.mailbox.is_asleep() || block.next_deadline() <= now
        })
        .fold(0, |mask, number| mask | 1 << number)
}

/// Whether another vCPU of the running one's core is ready at TSC `now`.
pub fn is_another_ready(block: &VcpuBlock, now: u64) -> bool {
    let schedule = block.core.schedule.get();
    now >= schedule.wakes_at()
        || bits(schedule.others()).any(|number| !block.vm.mailbox(number as u32).is_asleep())
}

/// Whether the vCPU that the running one yields to can have the core now; if so it is next.
///
/// KVM yields to whoever is ready, on whichever core (`yield_to`); here a vCPU never changes its core, so
/// that one of another core gains nothing by this one's turn.
#[cold]
pub fn may_yield(block: &VcpuBlock) -> bool {
    let mut schedule = block.core.schedule.get();
    let target = block.vcpu.kvm.yields_to;
    let is_here = schedule.others() >> target & 1 != 0;
    let can_run = is_here && !block.vm.mailbox(target).is_asleep();
    if can_run {
        schedule.favor(target);
        block.core.schedule.set(schedule);
    }
    can_run
}

/// The numbers of the bits that are set.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let number = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(number)
    })
}
