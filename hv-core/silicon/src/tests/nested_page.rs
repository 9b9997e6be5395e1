//! The APIC page and the leaf that maps it.

use super::bench::{BAR, Bench, DONE, SCRATCH};
use crate::{Access, AvicMode, Cause, Exit, Goes, Leaf, Outcome};
use trapline_defs::apic::offset;
use trapline_defs::exit_code::ExitCode;

const RWU: Leaf = Leaf { writable: true, user: true, executable: false };

fn fault(goes: Goes) -> Exit {
    match goes {
        Goes::Fault(exit) => exit,
        other => panic!("no nested page fault: {other:?}"),
    }
}

#[test]
fn avic_071_ring_3_reaches_the_registers_like_ring_0_model_defined() {
    // Every guest access is a user access to the nested walk; what the guest's own tables allow
    // was asked before.
    let mut bench = Bench::new(AvicMode::XAvic);
    let goes = bench.cpu.apic_page(BAR + 0x80, Some(RWU), Cause::Write);
    assert_eq!(goes, Goes::Registers(0x080));
    assert_eq!(bench.write(offset::TPR, 0x20), DONE);
    let supervisor = Some(Leaf { user: false, ..RWU });
    let exit = fault(bench.cpu.apic_page(BAR + 0x80, supervisor, Cause::Write));
    assert_eq!(exit.info_1 & 1, 1);
}

#[test]
fn avic_075_in_x2apic_mode_the_page_is_ordinary() {
    let mut bench = Bench::new(AvicMode::X2Avic);
    let before = bench.ram.words();
    assert_eq!(bench.cpu.apic_page(BAR + 0xb0, Some(RWU), Cause::Write), Goes::Memory);
    let exit = fault(bench.cpu.apic_page(BAR + 0xb0, None, Cause::Write));
    assert_eq!((exit.code, exit.info_2), (ExitCode::NPF, BAR + 0xb0));
    let access = Access::dword(offset::EOI);
    let outcome = bench.cpu.write_mmio(access, 0, &bench.ram, |_| {});
    assert_eq!(outcome, Outcome::Physical);
    assert_eq!(bench.ram.words(), before);
}

#[test]
fn avic_173_a_leaf_that_is_not_present_faults() {
    let bench = Bench::new(AvicMode::XAvic);
    let exit = fault(bench.cpu.apic_page(BAR + 0x80, None, Cause::Read));
    assert_eq!((exit.code, exit.info_2), (ExitCode::NPF, 0xfee0_0080));
    assert_eq!(exit.info_1 & (1 << 32 | 0b11), 1 << 32);
}

#[test]
fn avic_174_a_read_only_leaf_faults_on_writes_before_any_effect_model_defined() {
    let bench = Bench::new(AvicMode::XAvic);
    bench.ram.set(0, offset::ISR, 0x50);
    let read_only = Some(Leaf { writable: false, ..RWU });
    let exit = fault(bench.cpu.apic_page(BAR + 0xb0, read_only, Cause::Write));
    assert_eq!(exit.info_1 & (1 << 32 | 0b11), 1 << 32 | 0b11);
    assert!(bench.ram.has(0, offset::ISR, 0x50));
    let goes = bench.cpu.apic_page(BAR + 0xb0, read_only, Cause::Read);
    assert_eq!(goes, Goes::Registers(0x0b0));
}

#[test]
fn avic_175_what_the_leaf_points_to_is_not_used() {
    // The model is not even told; a register read finds the backing page, not the leaf's.
    let bench = Bench::new(AvicMode::XAvic);
    bench.ram.store64(SCRATCH + 0x80, 0xdead);
    bench.ram.set_reg(0, offset::TPR, 0x20);
    let goes = bench.cpu.apic_page(BAR + 0x80, Some(RWU), Cause::Read);
    assert_eq!(goes, Goes::Registers(0x080));
    assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0x20));
}

#[test]
fn avic_176_the_page_moves_with_the_bar() {
    let mut bench = Bench::new(AvicMode::XAvic);
    bench.reenter(|c, _| c.avic_apic_bar = 0xd000_0000);
    let goes = bench.cpu.apic_page(0xd000_0300, Some(RWU), Cause::Write);
    assert_eq!(goes, Goes::Registers(0x300));
    assert_eq!(bench.cpu.apic_page(BAR + 0x300, Some(RWU), Cause::Write), Goes::Memory);
}

#[test]
fn avic_177_a_large_leaf_is_replaced_for_four_kib_only_model_defined() {
    let bench = Bench::new(AvicMode::XAvic);
    for (gpa, goes) in [
        (BAR - 0x1000, Goes::Memory),
        (BAR + 0xfff, Goes::Registers(0xfff)),
        (BAR + 0x1000, Goes::Memory),
    ] {
        assert_eq!(bench.cpu.apic_page(gpa, Some(RWU), Cause::Read), goes);
    }
}

#[test]
fn avic_178_only_the_guest_physical_address_matters() {
    // Two linear addresses of one page arrive here as the same guest-physical one.
    let mut bench = Bench::new(AvicMode::XAvic);
    for value in [0x20, 0x30] {
        let goes = bench.cpu.apic_page(BAR + 0x80, Some(RWU), Cause::Write);
        assert_eq!(goes, Goes::Registers(offset::TPR));
        assert_eq!(bench.write(offset::TPR, value), DONE);
        assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(value));
    }
}

#[test]
fn avic_179_fetches_and_walks_in_the_page_are_undefined_model_defined() {
    let bench = Bench::new(AvicMode::XAvic);
    let executable = Some(Leaf { executable: true, ..RWU });
    assert_eq!(bench.cpu.apic_page(BAR, executable, Cause::Fetch), Goes::Undefined);
    assert_eq!(bench.cpu.apic_page(BAR, Some(RWU), Cause::Walk), Goes::Undefined);
    let exit = fault(bench.cpu.apic_page(BAR, Some(RWU), Cause::Fetch));
    assert_eq!(exit.info_1 & 1 << 4, 1 << 4);
    let exit = fault(bench.cpu.apic_page(BAR, None, Cause::Walk));
    assert_eq!(exit.info_1 & 3 << 32, 1 << 33);
}
