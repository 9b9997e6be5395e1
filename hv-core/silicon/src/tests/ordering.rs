//! The order in which an IPI touches memory. On x86 a locked OR hides a missing barrier, so the
//! order is looked at itself.

use super::bench::{Bench, DONE, TABLE, page};
use crate::{AvicMode, Gate, Memory};
use std::cell::RefCell;
use trapline_defs::apic::offset;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touch {
    Load(u64),
    Store(u64),
    Or(u64),
    And(u64),
    Barrier,
}

/// Memory that writes down what is done to it.
struct Logged<'a> {
    memory: &'a super::bench::Ram,
    log: RefCell<Vec<Touch>>,
}

impl Logged<'_> {
    fn note(&self, touch: Touch) {
        self.log.borrow_mut().push(touch);
    }
}

impl Memory for Logged<'_> {
    fn load32(&self, address: u64) -> u32 {
        self.note(Touch::Load(address));
        self.memory.load32(address)
    }

    fn store32(&self, address: u64, value: u32) {
        self.note(Touch::Store(address));
        self.memory.store32(address, value);
    }

    fn load64(&self, address: u64) -> u64 {
        self.note(Touch::Load(address));
        self.memory.load64(address)
    }

    fn fetch_or32(&self, address: u64, bits: u32) -> u32 {
        self.note(Touch::Or(address));
        self.memory.fetch_or32(address, bits)
    }

    fn fetch_and32(&self, address: u64, bits: u32) -> u32 {
        self.note(Touch::And(address));
        self.memory.fetch_and32(address, bits)
    }

    fn barrier(&self) {
        self.note(Touch::Barrier);
        self.memory.barrier();
    }
}

/// What a write of the x2APIC ICR does to memory, from the first OR on.
fn from_first_or(value: u64) -> Vec<Touch> {
    let mut bench = Bench::new(AvicMode::X2Avic);
    let memory = Logged { memory: &bench.ram, log: RefCell::default() };
    let sent = bench.cpu.write_msr(0x830, value, Gate::OPEN, &memory, |_| {});
    assert_eq!(sent, DONE);
    let log = memory.log.into_inner();
    let first = log.iter().position(|touch| matches!(touch, Touch::Or(_))).unwrap();
    log[first..].to_vec()
}

const IRR_OF_50: u64 = offset::IRR as u64 + 0x20;

#[test]
fn the_barrier_stands_between_the_irr_and_is_running() {
    let expected = [Touch::Or(page(2) + IRR_OF_50), Touch::Barrier, Touch::Load(TABLE + 2 * 8)];
    assert_eq!(from_first_or(2 << 32 | 0x50), expected);
}

#[test]
fn every_target_has_its_barrier_and_all_are_resolved_before_the_first() {
    let log = from_first_or(0b0110 << 32 | 0x850);
    let each = |id| {
        [Touch::Or(page(id) + IRR_OF_50), Touch::Barrier, Touch::Load(TABLE + u64::from(id) * 8)]
    };
    assert_eq!(log, [each(1), each(2)].concat());
}
