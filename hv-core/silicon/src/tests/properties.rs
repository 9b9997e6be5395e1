//! Garbage in: nothing panics, and IRR bits appear only where a valid entry says.

use super::bench::{BAR, LOGICAL, PHYSICAL_BITS, SCRATCH, TABLE, VCPUS, VMCB, page, silicon};
use super::bench::{Bench, host};
use crate::{
    Access, AvicMode, Boundary, Cause, Chance, Evaluation, Gate, Knobs, Leaf, Memory, Outcome,
    Processor, Quirks,
};
use proptest::prelude::*;
use std::cell::RefCell;
use trapline_defs::avic::{FailureId, IncompleteIpi, PhysicalEntry};
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word4, Word5};
use trapline_defs::vintr::VIntr;
use trapline_defs::vmcb::{CleanBits, TlbControl};

/// Memory that answers everywhere and remembers where bits were ORed in.
struct Watched<'a> {
    bench: &'a Bench,
    set: RefCell<Vec<u64>>,
}

fn inside(address: u64) -> bool {
    (TABLE..page(VCPUS)).contains(&address)
}

impl Memory for Watched<'_> {
    fn load32(&self, address: u64) -> u32 {
        assert_eq!(address % 4, 0);
        if inside(address) { self.bench.ram.load32(address) } else { address as u32 }
    }

    fn store32(&self, address: u64, value: u32) {
        assert_eq!(address % 4, 0);
        if inside(address) {
            self.bench.ram.store32(address, value);
        }
    }

    fn load64(&self, address: u64) -> u64 {
        assert_eq!(address % 8, 0);
        if inside(address) { self.bench.ram.load64(address) } else { address << 20 | address }
    }

    fn fetch_or32(&self, address: u64, bits: u32) -> u32 {
        self.set.borrow_mut().push(address);
        if inside(address) { self.bench.ram.fetch_or32(address, bits) } else { 0 }
    }

    fn fetch_and32(&self, address: u64, bits: u32) -> u32 {
        if inside(address) { self.bench.ram.fetch_and32(address, bits) } else { 0 }
    }

    fn barrier(&self) {}
}

/// One step, out of 128 random bits.
fn act(cpu: &mut Processor, memory: &Watched<'_>, control: u64, value: u64) {
    let low = control as u32;
    let gate = Gate { cpl: (low >> 8 & 1) as u8 * 3, intercepted: low >> 9 & 7 == 0 };
    let access =
        Access { offset: (low >> 12 & 0xff0) as u16 | (low >> 9 & 7 == 1) as u16, size: 4 };
    let register = 0x800 + (low >> 12 & 0xff);
    let kind = low & 0xf;
    // Half of the writes go to the ICR, where most of the code is.
    let (access, register) =
        if low >> 4 & 1 == 0 { (Access::dword(0x300), 0x830) } else { (access, register) };
    // Three quarters of the commands are ones that could be sent.
    let plausible = if low >> 5 & 3 != 0 { 0x0001_00ff_000c_48ff } else { !0 };
    let value = if register == 0x830 { value & plausible } else { value };
    if kind < 5 {
        let _ = cpu.write_mmio(Access::dword(0x310), (value >> 8) as u32, memory, |_| {});
    }
    memory.set.borrow_mut().clear();
    let sent = match kind {
        0..=4 => cpu.write_mmio(access, value as u32, memory, |_| {}),
        5..=9 => cpu.write_msr(register, value, gate, memory, |_| {}),
        10 => cpu.modify_mmio(access, |old| old ^ value as u32, memory, |_| {}),
        11 => cpu.write_cr8(value & 0x1f, memory),
        _ => Outcome::Absorbed(()),
    };
    check(cpu, memory, sent);
    match kind {
        0 => {
            let _ = cpu.read_mmio(access, memory);
        }
        5 => {
            let _ = cpu.read_msr(register, gate, memory);
        }
        11 => {
            let _ = (cpu.read_cr8(), cpu.stgi());
            cpu.glance(memory);
        }
        12 => {
            let taken = cpu.boundary(boundary(value), memory);
            if value >> 8 & 3 == 0 {
                cpu.cut_short(taken);
            }
        }
        13 => {
            let _ = (cpu.halt(gate.cpl, value & 1 == 0), cpu.clgi());
            cpu.iret();
        }
        14 => cpu.doorbell(memory),
        15 => {
            let leaf = Leaf { writable: value & 1 == 0, user: true, executable: value & 2 == 0 };
            for cause in [Cause::Read, Cause::Write, Cause::Fetch, Cause::Walk] {
                let _ = cpu.apic_page(BAR ^ (value >> 12 & 0x1fff), Some(leaf), cause);
            }
        }
        _ => {}
    }
}

fn boundary(value: u64) -> Boundary {
    Boundary {
        interrupts: value & 1 == 0,
        shadow: value & 6 == 6,
        host_interrupts: value & 0x10 == 0,
        physical_interrupt: value & 0x60 == 0x60,
        physical_nmi: value & 0x180 == 0x180,
    }
}

/// Failure ids 0, 2, 3 and 4 posted nothing; anything else posted only into IRRs of pages that a
/// valid entry names, or into the own one.
fn check(cpu: &Processor, memory: &Watched<'_>, sent: Outcome) {
    let set = memory.set.borrow();
    if let Outcome::Exit(exit) = sent {
        let id = IncompleteIpi::from_bits(exit.info_2).id();
        let incomplete = exit.code == ExitCode::AVIC_INCOMPLETE_IPI;
        if !incomplete || id != FailureId::NOT_RUNNING {
            assert!(set.is_empty(), "{exit:?} and yet posted to {set:x?}");
        }
    }
    let table = cpu.loaded.physical;
    for &address in set.iter() {
        assert!((0x200..0x280).contains(&(address & 0xfff)), "{address:#x} is in no IRR");
        let target = address & !0xfff;
        let named = (0..=cpu.last_id()).any(|id| {
            let entry = PhysicalEntry::from_bits(memory.load64(table + u64::from(id) * 8));
            entry.valid() && entry.page() == target && target >> PHYSICAL_BITS == 0
        });
        assert!(named || target == cpu.loaded.backing, "{target:#x} belongs to no target");
    }
}

fn knobs() -> impl Strategy<Value = Knobs> {
    any::<(bool, bool, bool, bool, bool, bool, u32)>().prop_map(|(a, b, c, d, e, f, seed)| {
        let chance = |on| if on { Chance::OneIn(3) } else { Chance::Never };
        Knobs {
            evaluation: if a { Evaluation::Relaxed(chance(true)) } else { Evaluation::Strict },
            stale_is_running: chance(b),
            stale_tlb_tag: chance(c),
            keep_clean: chance(d),
            busy_left: chance(e),
            idle_hlt_ignores_if: f,
            seed,
        }
    })
}

/// A bench whose tables and pages hold what they should, or one bit of something else.
fn garbage(flips: &[(u16, u8)]) -> Bench {
    let bench = Bench::ready(AvicMode::XAvic);
    for &(word, bit) in flips {
        // Half into the tables' first entries.
        let address = match word & 3 {
            0 => TABLE + u64::from(word >> 2 & 0xf) * 8,
            1 => LOGICAL + u64::from(word >> 2 & 0x1f) * 8,
            _ => SCRATCH + (u64::from(word >> 2) * 8) % 0x8000,
        };
        bench.ram.store64(address, bench.ram.load64(address) ^ 1 << (bit & 63));
    }
    bench
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_input_panics_and_bits_go_only_to_valid_targets(
        knobs in knobs(),
        flips in prop::collection::vec(any::<(u16, u8)>(), 0..40),
        entries in prop::collection::vec(any::<(u64, u64, u32, u16)>(), 1..6),
        steps in prop::collection::vec(any::<(u64, u64)>(), 1..200),
    ) {
        let bench = garbage(&flips);
        let memory = Watched { bench: &bench, set: RefCell::default() };
        let silicon = silicon("zen5").with_quirks(Quirks::from_bits_truncate(knobs.seed as u8));
        let mut cpu = Processor::new(silicon, knobs, host(0), PHYSICAL_BITS);
        let mut control = bench.control;
        let each = steps.len() / entries.len() + 1;
        for (&(word, pointers, clean, last), steps) in entries.iter().zip(steps.chunks(each)) {
            // Mostly with AVIC, and mostly with pointers that are accepted.
            control.v_intr = VIntr::from_bits(word | u64::from(word >> 40 & 7 != 0) << 31);
            control.clean = CleanBits::from_bits_retain(clean);
            control.tlb_control = TlbControl((clean >> 20) as u8 & 7);
            control.intercept_3 = Word3::from_bits_retain(clean) | Word3::NMI;
            control.intercept_4 = Word4::from_bits_retain(clean >> 3);
            control.intercept_5 = Word5::from_bits_retain(clean >> 5);
            control.event_injection = Event::from_bits(pointers);
            control.avic_backing_page = page((pointers & 7) as u16);
            control.avic_physical_table = TABLE | u64::from(last) & 0xff;
            if pointers >> 60 == 0 {
                control.avic_logical_table = pointers;
            }
            if cpu.vmrun(VMCB + u64::from(last >> 15) * 0x1000, &control, &memory).is_ok() {
                steps.iter().for_each(|&(a, b)| act(&mut cpu, &memory, a, b));
                cpu.vmexit(&mut control);
            }
        }
    }
}
