//! Reference time.

use super::*;
use crate::memory::GuestMemory;
use crate::memory::tests::Ram;
use core::cell::RefCell;

const PAGE: u64 = 0x5000;
/// A TSC that divides nothing well, and one that is a nanosecond.
const FREQUENCIES: [u32; 3] = [1_000_000, 2_799_123, 3_593_280];

fn ram() -> Ram {
    Ram::new(0x10000)
}

/// Time as a guest computes it from the page.
fn by_page(ram: &Ram, tsc: u64) -> u64 {
    let [scale, offset] = [8, 16].map(|at| ram.read_u64(PAGE + at).unwrap());
    ((u128::from(tsc) * u128::from(scale)) >> 64) as u64 + offset
}

fn sequence(ram: &Ram) -> u32 {
    ram.read_u64(PAGE).unwrap() as u32
}

#[test]
fn hv_160_reference_time_starts_at_0_and_counts_100_ns() {
    for khz in FREQUENCIES {
        let mut vm = Vm::with_tsc(khz, 1);
        assert_eq!(vm.read(0, TIME_REF_COUNT), Ok(0));
        vm.now = Ns(1_000_000_000);
        let count = vm.read(0, TIME_REF_COUNT).unwrap();
        assert!((9_999_999..=10_000_000).contains(&count), "{count}");
    }
}

#[test]
fn hv_161_reference_time_never_goes_back_on_whatever_vcpu() {
    for khz in FREQUENCIES {
        let mut vm = Vm::with_tsc(khz, 2);
        let mut last = 0;
        for now in 0..100_000 {
            vm.now = Ns(now);
            // The page changes nothing about the MSR.
            vm.write(0, REFERENCE_TSC, PAGE | now & 1).unwrap();
            let count = vm.read(now as usize & 1, TIME_REF_COUNT).unwrap();
            assert!(last <= count, "{count} after {last}");
            last = count;
        }
        assert!(last >= 999);
    }
}

#[test]
fn hv_162_enabling_the_page_fills_it() {
    let ram = ram();
    ram.put(PAGE, &[0xff; 32]);
    let mut vm = Vm::new(2);
    let effect = vm.write(0, REFERENCE_TSC, PAGE | 0xfff);
    assert_eq!(effect, Ok(Effect::ReferencePage { address: PAGE }));
    assert_eq!(vm.read(1, REFERENCE_TSC), Ok(PAGE | 0xfff));
    vm.clock().publish(&ram, PAGE);
    assert_eq!(ram.read_u64(PAGE), Some(1), "sequence, and the reserved word behind it");
    assert_eq!(ram.read_u64(PAGE + 8), Some(u64::MAX / 100));
    assert_eq!(ram.read_u64(PAGE + 16), Some(0));
    assert_eq!(ram.read_u64(PAGE + 24), Some(u64::MAX), "written past its end");
}

#[test]
fn hv_162_the_sequence_is_never_0_nor_all_ones() {
    for (old, new) in [(0, 1), (1, 2), (u32::MAX - 2, u32::MAX - 1), (u32::MAX - 1, 1)] {
        let ram = ram();
        ram.put(PAGE, &old.to_le_bytes());
        ReferenceClock::new(1_000_000).publish(&ram, PAGE);
        assert_eq!(sequence(&ram), new);
    }
}

proptest! {
    #[test]
    fn hv_163_page_and_msr_agree(khz in 500_000..5_000_000u32, tsc in 0..1u64 << 55) {
        // What the processor counts from one instruction to the exit of the next, at least.
        const EXIT: u64 = 5;
        let ram = ram();
        let clock = ReferenceClock::new(khz);
        clock.publish(&ram, PAGE);
        let at = |tsc| clock.at(Ns((u128::from(tsc) * 1_000_000 / u128::from(khz)) as u64));
        prop_assert!(at(tsc) <= by_page(&ram, tsc));
        prop_assert!(by_page(&ram, tsc) <= at(tsc + EXIT));
    }

    #[test]
    fn hv_130_when_is_the_first_moment(khz in 500_000..5_000_000u32, time in 1..1u64 << 55) {
        let clock = ReferenceClock::new(khz);
        let when = clock.when(time);
        prop_assert!(clock.at(when) >= time);
        prop_assert!(clock.at(Ns(when.0 - 1)) < time);
    }
}

#[test]
fn hv_165_169_the_scale_is_exact_and_agrees_with_the_frequency() {
    for khz in FREQUENCIES {
        let vm = Vm::with_tsc(khz, 1);
        let hz = vm.read(0, TSC_FREQUENCY).unwrap();
        assert_eq!(hz, u64::from(khz) * 1000);
        let scale = u128::from(vm.clock().scale());
        assert!(scale * u128::from(hz) <= 10_000_000 << 64);
        assert!((scale + 1) * u128::from(hz) > 10_000_000 << 64);
        // Ten seconds of TSC are ten seconds.
        let ram = ram();
        vm.clock().publish(&ram, PAGE);
        assert!((99_999_999..=100_000_000).contains(&by_page(&ram, 10 * hz)));
    }
    assert_eq!(Vm::new(1).read(0, APIC_FREQUENCY), Ok(1_000_000_000));
}

#[test]
fn hv_166_168_disabling_reads_back_and_leaves_the_msr() {
    let mut vm = Vm::new(1);
    vm.write(0, REFERENCE_TSC, PAGE | 1).unwrap();
    for value in [PAGE, 0] {
        assert_eq!(vm.write(0, REFERENCE_TSC, value), Ok(Effect::None));
        assert_eq!(vm.read(0, REFERENCE_TSC), Ok(value));
    }
    vm.now = Ns(12_399);
    assert_eq!(vm.read(0, TIME_REF_COUNT), Ok(123));
}

/// RAM that keeps what a reader would have seen after each byte.
struct Watched {
    ram: Ram,
    seen: RefCell<Vec<(u32, u64)>>,
}

impl GuestMemory for Watched {
    fn size(&self) -> u64 {
        self.ram.size()
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        self.ram.read_u64(address)
    }

    fn write_u8(&self, address: u64, value: u8) -> bool {
        let written = self.ram.write_u8(address, value);
        self.seen.borrow_mut().push((sequence(&self.ram), by_page(&self.ram, 1 << 40)));
        written
    }
}

#[test]
fn hv_167_a_reader_meanwhile_sees_the_sequence_0_or_the_new_time() {
    let watched = Watched { ram: ram(), seen: RefCell::default() };
    ReferenceClock::new(1_000_000).publish(&watched, PAGE);
    let clock = ReferenceClock::new(2_799_123);
    watched.seen.borrow_mut().clear();
    clock.publish(&watched, PAGE);
    let new = by_page(&watched.ram, 1 << 40);
    let seen = watched.seen.into_inner();
    assert!(seen.iter().all(|&(sequence, time)| sequence == 0 || time == new || time == seen[0].1));
    let last_change = seen.iter().rposition(|&(_, time)| time != new).unwrap();
    assert!(seen[..=last_change].iter().all(|&(sequence, _)| sequence == 0), "{seen:x?}");
    assert_eq!(seen.last(), Some(&(2, new)));
}

#[test]
fn a_page_outside_of_ram_is_taken_and_not_written_as_under_kvm() {
    let mut vm = Vm::new(1);
    assert!(vm.write(0, REFERENCE_TSC, RAM | 1).is_ok());
    assert_eq!(vm.read(0, REFERENCE_TSC), Ok(RAM | 1));
    let ram = ram();
    vm.clock().publish(&ram, 0x10000);
    assert!(ram.0.borrow().iter().all(|&byte| byte == 0));
}
