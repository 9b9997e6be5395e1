//! Payload calls.
//!
//! A call costs its trap and no guest time: what hv-core does for it is taken out of the guest's
//! clock, so that a report in the middle of a payload shifts nothing behind it.

use crate::scenario::End;
use crate::vcpu_block::VcpuBlock;
use crate::{clock, laboratory, report, run};
use trapline_abi::boot::GUEST_MEMORY;
use trapline_abi::call::{Call, Query, UNAVAILABLE};
use trapline_abi::record::{Level, Outcome, Record};
use trapline_policy::events;

/// The window that is open, if one is.
#[derive(Clone, Copy)]
pub struct OpenWindow {
    label: Label,
    /// TSC right before the guest was entered behind the begin mark.
    started: u64,
    /// Where its first exit stands among the last exits.
    first: usize,
}

impl OpenWindow {
    /// None is open.
    pub const NONE: Self = Self { label: Label::EMPTY, started: 0, first: 0 };
}

/// A name that a payload gave, copied out of its memory; 40 bytes at most.
#[derive(Clone, Copy)]
pub struct Label {
    bytes: [u8; 40],
    length: u8,
}

impl Label {
    const EMPTY: Self = Self { bytes: [0; 40], length: 0 };

    /// The name.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or("(not UTF-8)")
    }
}

/// Reads the text that RBX and RCX point at.
fn text<const N: usize>(block: &VcpuBlock, buffer: &mut [u8; N]) -> usize {
    let gprs = &block.vcpu.gprs;
    let length = (gprs.rcx as usize).min(N);
    if block.memory.read(gprs.rbx, &mut buffer[..length]) { length } else { 0 }
}

fn label(block: &VcpuBlock) -> Label {
    let mut label = Label::EMPTY;
    label.length = text(block, &mut label.bytes) as u8;
    label
}

/// Answers the call that the vCPU stopped at; an end ends the scenario.
pub fn answer(block: &mut VcpuBlock) -> Option<End> {
    let (first, third, fourth) = (block.vcpu.gprs.rbx, block.vcpu.gprs.rdx, block.vcpu.gprs.rsi);
    let call = Call::from_number(block.world.vmcb().save.rax)?;
    let vcpu = block.vcpu.index as u16;
    let mut answer = 0;
    // No expiry while the guest's clock stands still: it would cost an exit that is not the guest's.
    block.core.apic.arm(0);
    match call {
        Call::Begin => {
            if block.account.in_window() {
                return Some(End::new(
                    Outcome::Unhandled,
                    format_args!("a window within a window"),
                ));
            }
            block.window.label = label(block);
            block.account.begin_window();
            block.window.first = block.last_exits.position();
        }
        Call::End => {
            if !block.account.in_window() {
                return Some(End::new(Outcome::Unhandled, format_args!("end without begin")));
            }
            block.account.end_window();
            let ticks = block.exited_at - block.window.started;
            report::window(block, ticks);
        }
        Call::Check => {
            let label = label(block);
            let (expected, actual) = (third, fourth);
            block.outbox.put(&Record::Check { vcpu, label: label.as_str(), expected, actual });
        }
        Call::Value => {
            let label = label(block);
            block.outbox.put(&Record::Value { vcpu, label: label.as_str(), value: third });
        }
        Call::Log => {
            let mut line = [0; 128];
            let length = text(block, &mut line);
            let line = core::str::from_utf8(&line[..length]).unwrap_or("(not UTF-8)");
            block.outbox.put(&Record::Log { level: Level::Info, text: line });
        }
        Call::Done => return Some(End::new(Outcome::Done, format_args!(""))),
        Call::Panic => {
            let mut message = [0; 192];
            let length = text(block, &mut message);
            let message = core::str::from_utf8(&message[..length]).unwrap_or("(not UTF-8)");
            return Some(End::new(Outcome::Panic, format_args!("{message}")));
        }
        Call::Query => answer = query(block, first),
        Call::Poke => answer = laboratory::poke(block, first, third),
        Call::Peek => answer = laboratory::peek(block, first),
        Call::Evict => {
            // Nobody else's TLB is flushed.
            if first >= GUEST_MEMORY || block.vm.vcpus > 1 {
                answer = UNAVAILABLE;
            } else {
                block.tables.unmap(first);
                events::flush_tlb(&mut block.vcpu, block.world.vmcb());
            }
        }
    }
    block.world.vmcb().save.rax = answer;
    let now = clock::now();
    block.hide_time(now - block.exited_at);
    // Deadlines moved with the clock.
    block.core.armed_for.set(0);
    run::arm(block);
    if call == Call::Begin {
        block.window.started = clock::now();
    } else {
        // What a call inside a window takes is no part of it.
        block.window.started += clock::now() - block.exited_at;
    }
    None
}

fn query(block: &VcpuBlock, number: u64) -> u64 {
    match Query::from_number(number) {
        Some(Query::AutoEoiCount) => u64::from(block.vm.devices().partition.auto_eoi_users()),
        Some(Query::ApicvInhibits) => u64::from(block.vm.devices().inhibits.mask()),
        Some(Query::Injections) => block.vcpu.events.injections,
        None => UNAVAILABLE,
    }
}

impl OpenWindow {
    /// Its name.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Where its first exit stands among the last exits.
    pub fn first(&self) -> usize {
        self.first
    }
}
