//! Synthetic timers, as a guest with a message page sees them.

mod direct;
mod messages;
mod periodic;
mod restore;

use super::*;
use crate::hyperv::timer::{AUTO_ENABLE, ENABLE, PERIODIC};
use crate::lapic::Lapic;
use crate::memory::GuestMemory;
use crate::memory::tests::Ram;

const SIM: u64 = 0x3000;
const VECTOR: u8 = 0x40;
const SINT: u64 = 3;
/// One-shot to SINT 3.
const ONE_SHOT: u64 = SINT << 16 | ENABLE;

/// vCPUs with their APICs on, message pages, and SINT 3 open.
struct Bench {
    vm: Vm,
    lapics: Vec<Lapic>,
    ram: Ram,
}

/// A message's timer, expiration and delivery.
type Tick = (u64, u64, u64);

impl Bench {
    fn new(vcpus: u32) -> Self {
        let mut bench = Self {
            vm: Vm::new(vcpus),
            lapics: (0..vcpus).map(|id| Lapic::new(id, id == 0)).collect(),
            ram: Ram::new(0x10000),
        };
        for vcpu in 0..vcpus as usize {
            bench.lapics[vcpu].write_mmio(0xf0, 0x1ff, Ns(0));
            bench.write(vcpu, SIMP, bench.page(vcpu) | 1);
            bench.write(vcpu, SINT0 + SINT as u32, VECTOR.into());
        }
        bench
    }

    fn page(&self, vcpu: usize) -> u64 {
        SIM + 0x1000 * vcpu as u64
    }

    /// WRMSR, with all that it owes.
    fn write(&mut self, vcpu: usize, msr: u32, value: u64) {
        match self.vm.write(vcpu, msr, value).unwrap() {
            Effect::TimerChanged => self.expire(vcpu),
            Effect::EndOfMessage if self.vm.timers[vcpu].retry(u16::MAX) => self.expire(vcpu),
            _ => {}
        }
    }

    fn config(&mut self, timer: u32, value: u64) {
        self.write(0, STIMER0_CONFIG + 2 * timer, value);
    }

    fn count(&mut self, timer: u32, value: u64) {
        self.write(0, STIMER0_COUNT + 2 * timer, value);
    }

    fn reads(&self, timer: u32) -> (u64, u64) {
        let read = |msr| self.vm.read(0, msr + 2 * timer).unwrap();
        (read(STIMER0_CONFIG), read(STIMER0_COUNT))
    }

    fn enabled(&self, timer: u32) -> bool {
        self.reads(timer).0 & ENABLE != 0
    }

    fn expire(&mut self, vcpu: usize) {
        let (timers, synic) = (&mut self.vm.timers[vcpu], &self.vm.synics[vcpu]);
        expiry::expire(timers, synic, &mut self.lapics[vcpu], &self.ram, self.vm.now);
    }

    fn deadline(&self, vcpu: usize) -> Ns {
        self.vm.timers[vcpu].next_deadline()
    }

    fn reference(&self) -> u64 {
        self.vm.clock().at(self.vm.now)
    }

    /// Lets time pass to reference time `until`, with everything that is due on the way.
    fn pass_until(&mut self, until: u64) {
        let end = self.vm.clock().when(until);
        while let Some(vcpu) = (0..self.lapics.len())
            .filter(|&v| self.deadline(v) <= end)
            .min_by_key(|&v| self.deadline(v))
        {
            self.vm.now = self.deadline(vcpu).max(self.vm.now);
            self.expire(vcpu);
            if self.deadline(vcpu) <= self.vm.now {
                panic!("vCPU {vcpu} expires without end");
            }
        }
        self.vm.now = end.max(self.vm.now);
    }

    /// Takes the interrupt that waits, if one does.
    fn acknowledge(&mut self, vcpu: usize) -> Option<u8> {
        let vector = self.lapics[vcpu].deliverable()?;
        self.lapics[vcpu].acknowledge(vector, self.vm.synics[vcpu].is_auto_eoi(vector));
        Some(vector)
    }

    /// Takes and ends it.
    fn interrupt(&mut self, vcpu: usize) -> Option<u8> {
        let vector = self.acknowledge(vcpu)?;
        self.lapics[vcpu].eoi();
        Some(vector)
    }

    fn word(&self, vcpu: usize, at: u64) -> u64 {
        self.ram.read_u64(self.page(vcpu) + SINT * 256 + at).unwrap()
    }

    /// Takes the message out of SINT 3's slot.
    fn message(&self, vcpu: usize) -> Option<Tick> {
        if self.word(vcpu, 0) as u32 == 0 {
            return None;
        }
        let tick = (self.word(vcpu, 16), self.word(vcpu, 24), self.word(vcpu, 32));
        self.ram.put(self.page(vcpu) + SINT * 256, &[0; 4]);
        Some(tick)
    }

    fn more_wait(&self) -> bool {
        self.word(0, 0) >> 40 & 1 != 0
    }
}

#[test]
fn hv_130_138_a_one_shot_expires_at_its_time_and_disables_itself() {
    let mut bench = Bench::new(1);
    bench.count(0, 1000);
    bench.config(0, ONE_SHOT);
    assert_eq!(bench.reads(0), (ONE_SHOT, 1000));
    bench.pass_until(999);
    assert_eq!((bench.interrupt(0), bench.message(0)), (None, None));
    bench.pass_until(1000);
    assert_eq!(bench.interrupt(0), Some(VECTOR));
    assert_eq!(bench.message(0), Some((0, 1000, 1000)));
    assert_eq!(bench.reads(0), (ONE_SHOT & !ENABLE, 1000));
    assert_eq!(bench.deadline(0), Ns::NEVER);
}

#[test]
fn hv_131_a_time_in_the_past_expires_at_once() {
    let mut bench = Bench::new(1);
    bench.pass_until(5000);
    bench.count(0, 1000);
    bench.config(0, ONE_SHOT);
    assert_eq!((bench.interrupt(0), bench.message(0)), (Some(VECTOR), Some((0, 1000, 5000))));
    assert!(!bench.enabled(0));
}

#[test]
fn hv_133_count_0_stops_and_disables() {
    for config in [ONE_SHOT, ONE_SHOT | PERIODIC, ONE_SHOT | AUTO_ENABLE] {
        let mut bench = Bench::new(1);
        bench.count(0, 1000);
        bench.config(0, config);
        bench.count(0, 0);
        assert_eq!(bench.reads(0), (config & !ENABLE, 0));
        bench.pass_until(10_000);
        assert_eq!((bench.interrupt(0), bench.message(0)), (None, None));
    }
}

#[test]
fn hv_134_152_one_write_of_count_arms_with_auto_enable() {
    let mut bench = Bench::new(1);
    bench.config(0, ONE_SHOT & !ENABLE | AUTO_ENABLE);
    for time in [1000, 2000] {
        assert!(!bench.enabled(0));
        bench.count(0, time);
        assert!(bench.enabled(0));
        bench.pass_until(time);
        assert_eq!((bench.interrupt(0), bench.message(0)), (Some(VECTOR), Some((0, time, time))));
        assert!(!bench.more_wait(), "nothing is left to say EOM for");
    }
    bench.config(1, ONE_SHOT & !ENABLE);
    bench.count(1, 3000);
    assert!(!bench.enabled(1), "enabled without AutoEnable");
}

/// Not HV-136 as the TLFS has it: KVM clears Enable only of a timer that was enabled before.
#[test]
fn hv_136_sint_0_is_refused_to_a_timer_that_runs() {
    let mut bench = Bench::new(1);
    bench.config(0, ENABLE);
    assert_eq!(bench.reads(0).0, ENABLE);
    bench.config(0, ENABLE);
    assert_eq!(bench.reads(0).0, 0);
}

#[test]
fn hv_146_four_timers_at_one_time_are_four_messages() {
    let mut bench = Bench::new(1);
    for timer in 0..4 {
        let sint = SINT + u64::from(timer);
        bench.write(0, SINT0 + sint as u32, u64::from(VECTOR) + u64::from(timer));
        bench.count(timer, 1000);
        bench.config(timer, sint << 16 | ENABLE);
    }
    bench.pass_until(1000);
    let taken: Vec<_> = (0..5).map(|_| bench.interrupt(0)).collect();
    assert_eq!(taken, [Some(0x43), Some(0x42), Some(0x41), Some(0x40), None]);
    for timer in 0..4 {
        let slot = bench.page(0) + (SINT + timer) * 256;
        assert_eq!(bench.ram.read_u64(slot + 16), Some(timer));
        assert_eq!(bench.ram.read_u64(slot + 24), Some(1000));
    }
}

#[test]
fn hv_147_disabling_leaves_no_expiry_behind() {
    let mut bench = Bench::new(1);
    bench.count(0, 1000);
    bench.config(0, ONE_SHOT);
    bench.config(0, ONE_SHOT & !ENABLE);
    assert_eq!(bench.deadline(0), Ns::NEVER);
    // Nor does one that waited for its slot.
    bench.ram.put(bench.page(0) + SINT * 256, &[1]);
    bench.config(0, ONE_SHOT);
    bench.pass_until(1000);
    assert!(bench.more_wait());
    bench.config(0, ONE_SHOT & !ENABLE);
    bench.ram.put(bench.page(0) + SINT * 256, &[0; 8]);
    bench.write(0, EOM, 0);
    assert_eq!((bench.interrupt(0), bench.message(0)), (None, None));
}

#[test]
fn hv_150_an_expiry_is_what_a_halted_vcpu_wakes_for() {
    let mut bench = Bench::new(1);
    bench.count(0, 1000);
    bench.config(0, ONE_SHOT);
    let deadline = bench.deadline(0);
    assert_eq!(deadline, bench.vm.clock().when(1000));
    assert_eq!(bench.lapics[0].deliverable(), None);
    bench.vm.now = deadline;
    bench.expire(0);
    assert_eq!(bench.lapics[0].deliverable(), Some(VECTOR));
    assert!(bench.lapics[0].event_request);
}

#[test]
fn hv_151_a_timer_belongs_to_its_vcpu() {
    let mut bench = Bench::new(2);
    bench.write(1, STIMER0_COUNT, 1000);
    bench.write(1, STIMER0_CONFIG, ONE_SHOT);
    assert_eq!(bench.reads(0), (0, 0));
    bench.pass_until(1000);
    assert_eq!((bench.interrupt(0), bench.message(0)), (None, None));
    assert_eq!((bench.interrupt(1), bench.message(1)), (Some(VECTOR), Some((0, 1000, 1000))));
}

#[test]
fn hv_154_nothing_fires_after_a_reset() {
    let mut bench = Bench::new(1);
    bench.count(0, 1000);
    bench.config(0, ONE_SHOT | PERIODIC);
    bench.vm.timers[0].reset();
    assert_eq!((bench.reads(0), bench.deadline(0)), ((0, 0), Ns::NEVER));
    bench.pass_until(10_000);
    assert_eq!((bench.interrupt(0), bench.message(0)), (None, None));
}
