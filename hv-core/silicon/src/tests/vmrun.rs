//! VMRUN checks, loading and writing back.

use super::bench::{Bench, DONE, LOGICAL, OPEN, PHYSICAL_BITS, TABLE, VMCB, host, page, silicon};
use crate::{Access, AvicMode, Chance, Invalid, Knobs, Outcome, Processor, Quirks, Taken};
use trapline_defs::apic::offset;
use trapline_defs::avic::PhysicalEntry;
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::{CleanBits, ControlArea, NestedControl};

use AvicMode::{Off, X2Avic, XAvic};

/// VMRUN after a change to the VMCB.
fn vmrun(mode: AvicMode, change: impl FnOnce(&mut ControlArea)) -> Result<(), Invalid> {
    let mut bench = Bench::ready(mode);
    change(&mut bench.control);
    let result = bench.cpu.vmrun(VMCB, &bench.control, &bench.ram);
    assert_eq!(bench.cpu.in_guest(), result.is_ok());
    result
}

fn last_index(control: &mut ControlArea, index: u64) {
    control.avic_physical_table = TABLE | index;
}

#[test]
fn avic_001_without_avic_the_enable_is_ignored_model_defined() {
    let mut bench = Bench::on(silicon("none"), XAvic);
    bench.ram.set(0, offset::IRR, 0x40);
    bench.enter();
    assert_eq!(bench.cpu.avic(), Off);
    assert_eq!(bench.boundary(), Taken::Nothing);
    assert_eq!(bench.write(offset::EOI, 0), Outcome::Physical);
}

#[test]
fn avic_002_x2avic_needs_avic() {
    let result = vmrun(Off, |c| c.v_intr.set_x2avic_enable(true));
    assert_eq!(result, Err(Invalid::X2AvicWithoutAvic));
    assert!(!Invalid::X2AvicWithoutAvic.is_model_defined());
}

#[test]
fn avic_003_x2avic_needs_the_feature_model_defined() {
    let mut bench = Bench::on(silicon("zen2"), X2Avic);
    let result = bench.cpu.vmrun(VMCB, &bench.control, &bench.ram);
    assert_eq!(result, Err(Invalid::NoX2Avic));
    assert!(Invalid::NoX2Avic.is_model_defined());
}

#[test]
fn avic_004_index_255_is_accepted_in_xapic_mode() {
    assert_eq!(vmrun(XAvic, |c| last_index(c, 255)), Ok(()));
}

#[test]
fn avic_005_index_256_is_refused_in_xapic_mode() {
    assert_eq!(vmrun(XAvic, |c| last_index(c, 256)), Err(Invalid::MaxIndex));
}

#[test]
fn avic_006_index_511_is_the_last_in_x2apic_mode() {
    assert_eq!(vmrun(X2Avic, |c| last_index(c, 511)), Ok(()));
    assert_eq!(vmrun(X2Avic, |c| last_index(c, 512)), Err(Invalid::MaxIndex));
}

#[test]
fn avic_007_index_4095_is_accepted_with_the_extension() {
    let silicon = silicon("zen5").with_quirks(Quirks::X2AVIC_EXT);
    let mut bench = Bench::on(silicon, X2Avic);
    last_index(&mut bench.control, 4095);
    bench.enter();
}

#[test]
fn avic_008_pointers_must_lie_in_physical_memory_model_defined() {
    let beyond = 1 << PHYSICAL_BITS;
    for mode in [XAvic, X2Avic] {
        assert_eq!(vmrun(mode, |c| c.avic_backing_page = beyond), Err(Invalid::Pointer));
        assert_eq!(vmrun(mode, |c| c.avic_physical_table |= beyond), Err(Invalid::Pointer));
    }
    assert_eq!(vmrun(XAvic, |c| c.avic_logical_table = beyond), Err(Invalid::Pointer));
    assert!(Invalid::Pointer.is_model_defined());
    assert_eq!(vmrun(Off, |c| c.avic_backing_page = beyond), Ok(()));
}

#[test]
fn avic_009_the_unused_logical_pointer_is_checked_too_model_defined() {
    let result = vmrun(X2Avic, |c| c.avic_logical_table = 1 << PHYSICAL_BITS);
    assert_eq!(result, Err(Invalid::Pointer));
}

#[test]
fn avic_010_avic_needs_nested_paging_model_defined() {
    for mode in [XAvic, X2Avic] {
        let result = vmrun(mode, |c| c.nested_control = NestedControl::empty());
        assert_eq!(result, Err(Invalid::NoNestedPaging));
    }
    assert_eq!(vmrun(Off, |c| c.nested_control = NestedControl::empty()), Ok(()));
}

#[test]
fn avic_011_low_pointer_bits_are_ignored_model_defined() {
    let mut bench = Bench::ready(XAvic);
    bench.control.avic_backing_page |= 0xabc;
    bench.control.avic_logical_table |= 0xfff;
    bench.ram.set_reg(0, offset::TPR, 0x35);
    bench.enter();
    assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0x35));
    assert_eq!(bench.send(0x0850, 0x02), DONE);
    assert!(bench.ram.has(1, offset::IRR, 0x50));
}

#[test]
fn avic_012_v_irq_is_not_taken_and_vintr_does_not_fire_model_defined() {
    for mut bench in Bench::both() {
        bench.reenter(|c, _| {
            c.v_intr = c.v_intr.with_v_irq(true).with_v_intr_prio(0xf).with_v_intr_vector(0x60);
            c.intercept_3 |= Word3::VINTR;
        });
        assert_eq!(bench.boundary(), Taken::Nothing);
        bench.ram.set(0, offset::IRR, 0x50);
        bench.doorbell();
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_013_v_ign_tpr_is_ignored() {
    for mut bench in Bench::both() {
        bench.reenter(|c, ram| {
            c.v_intr = c.v_intr.with_v_ign_tpr(true).with_v_tpr(5);
            ram.set(0, offset::IRR, 0x41);
        });
        assert_eq!(bench.boundary(), Taken::Nothing);
    }
}

#[test]
fn avic_014_an_exit_writes_back_v_tpr_and_leaves_the_enables_model_defined() {
    for mut bench in Bench::both() {
        bench.reenter(|c, _| c.v_intr = c.v_intr.with_v_irq(true));
        assert_eq!(bench.write(offset::TPR, 0x70), DONE);
        let enables = (bench.control.v_intr.avic_enable(), bench.control.v_intr.x2avic_enable());
        bench.cpu.vmexit(&mut bench.control);
        let after = bench.control.v_intr;
        assert_eq!(after.v_tpr(), 7);
        assert_eq!((after.avic_enable(), after.x2avic_enable()), enables);
        assert!(after.v_irq());
        assert!(!bench.cpu.in_guest());
    }
}

#[test]
fn avic_015_without_avic_the_page_is_plain_memory() {
    let mut bench = Bench::new(Off);
    let before = bench.ram.words();
    assert_eq!(bench.write(offset::TPR, 0x50), Outcome::Physical);
    assert_eq!(bench.ram.words(), before);
}

#[test]
fn v_irq_that_was_taken_is_clear_after_the_exit() {
    let mut bench = Bench::new(Off);
    bench.reenter(|c, _| c.v_intr = c.v_intr.with_v_irq(true).with_v_intr_prio(1));
    assert_eq!(bench.boundary(), Taken::Interrupt(0));
    bench.cpu.vmexit(&mut bench.control);
    assert!(!bench.control.v_intr.v_irq());
}

/// Changes the backing page under a clean bit, or with it cleared, and says which page answers.
fn after_moving_the_page(clean: CleanBits, keep: Chance) -> Outcome<u64> {
    let mut bench = Bench::ready(XAvic);
    let knobs = Knobs { keep_clean: keep, ..Knobs::default() };
    bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), PHYSICAL_BITS);
    for id in 0..2 {
        bench.ram.set_reg(id, offset::TPR, 0x10 + u32::from(id));
    }
    bench.enter();
    bench.reenter(|c, _| {
        c.avic_backing_page = page(1);
        c.clean = clean;
    });
    bench.read(offset::TPR)
}

#[test]
fn avic_016_a_clean_bit_may_keep_the_old_page_a_cleared_one_must_not() {
    let old = Outcome::Absorbed(0x10);
    let new = Outcome::Absorbed(0x11);
    assert_eq!(after_moving_the_page(CleanBits::AVIC, Chance::Always), old);
    assert_eq!(after_moving_the_page(CleanBits::AVIC, Chance::Never), new);
    let others = CleanBits::all().difference(CleanBits::AVIC);
    assert_eq!(after_moving_the_page(others, Chance::Always), new);
}

#[test]
fn another_vmcb_never_gets_what_this_one_left() {
    let mut bench = Bench::ready(XAvic);
    let knobs = Knobs { keep_clean: Chance::Always, ..Knobs::default() };
    bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), PHYSICAL_BITS);
    bench.enter();
    bench.cpu.vmexit(&mut bench.control);
    bench.become_vcpu(1);
    bench.control.clean = CleanBits::all();
    bench.ram.set_reg(1, offset::TPR, 0x99);
    bench.cpu.vmrun(VMCB + 0x1000, &bench.control, &bench.ram).unwrap();
    assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0x99));
}

#[test]
fn avic_017_a_mode_change_applies_with_both_clean_bits_clear_model_defined() {
    for (clean, mode) in [
        (CleanBits::all().difference(CleanBits::TPR | CleanBits::AVIC), Off),
        (CleanBits::TPR, XAvic),
        (CleanBits::AVIC, XAvic),
    ] {
        let mut bench = Bench::ready(XAvic);
        let knobs = Knobs { keep_clean: Chance::Always, ..Knobs::default() };
        bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), PHYSICAL_BITS);
        bench.enter();
        bench.reenter(|c, _| {
            c.v_intr.set_avic_enable(false);
            c.clean = clean;
        });
        assert_eq!(bench.cpu.avic(), mode, "{clean:?}");
    }
}

#[test]
fn avic_018_the_own_entry_need_not_be_valid_model_defined() {
    for mode in [XAvic, X2Avic] {
        let mut bench = Bench::ready(mode);
        bench.ram.set_entry(0, PhysicalEntry::new());
        bench.enter();
        assert_eq!(bench.write(offset::TPR, 0x20), DONE);
        assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0x20));
    }
}

#[test]
fn a_refused_vmrun_loads_nothing() {
    let mut bench = Bench::new(XAvic);
    bench.cpu.vmexit(&mut bench.control);
    let v_intr = bench.cpu.v_intr();
    last_index(&mut bench.control, 300);
    bench.control.v_intr.set_v_tpr(9);
    let result = bench.cpu.vmrun(VMCB, &bench.control, &bench.ram);
    assert_eq!(result, Err(Invalid::MaxIndex));
    assert_eq!(bench.cpu.v_intr(), v_intr);
    bench.ram.set(0, offset::IRR, 0x90);
    bench.doorbell();
    assert!(!bench.cpu.interrupt_pending());
}

#[test]
fn the_logical_table_is_read_where_the_vmcb_points() {
    let mut bench = Bench::new(XAvic);
    bench.ram.set_logical(0, trapline_defs::avic::LogicalEntry::from_bits(1 << 31 | 3));
    assert_eq!(bench.control.avic_logical_table, LOGICAL);
    assert_eq!(bench.send(0x0850, 0x01), DONE);
    assert_eq!(bench.ram.all(offset::IRR), [(3, 0x50)]);
    assert_eq!(bench.at(OPEN), Taken::Nothing);
    let missing = bench.cpu.read_mmio(Access { offset: 0x84, size: 4 }, &bench.ram);
    assert_eq!(missing, Outcome::Undefined);
}
