//! TPR, CR8 and PPR.

use super::bench::{Bench, DONE, OPEN};
use crate::{AvicMode, Boundary, Exit, Outcome, Taken};
use trapline_defs::apic::offset;
use trapline_defs::exit_code::ExitCode;

/// A guest with a vector pending at VMRUN and the two copies of its TPR as given.
fn with_tprs(mut bench: Bench, backing: u32, v_tpr: u8, vector: u8) -> Bench {
    bench.reenter(|c, ram| {
        ram.set_reg(0, offset::TPR, backing);
        c.v_intr.set_v_tpr(v_tpr);
        ram.set(0, offset::IRR, vector);
    });
    bench
}

#[test]
fn avic_077_a_tpr_write_sets_page_v_tpr_and_ppr() {
    for mut bench in Bench::both() {
        assert_eq!(bench.write(offset::TPR, 0x35), DONE);
        assert_eq!((bench.own(offset::TPR), bench.own(offset::PPR)), (0x35, 0x35));
        bench.cpu.vmexit(&mut bench.control);
        assert_eq!(bench.control.v_intr.v_tpr(), 3);
    }
}

#[test]
fn avic_078_mov_to_cr8_sets_v_tpr_and_the_page() {
    for mut bench in Bench::both() {
        bench.ram.set_reg(0, offset::TPR, 0x3f);
        assert_eq!(bench.cpu.write_cr8(5, &bench.ram), DONE);
        assert_eq!((bench.own(offset::TPR), bench.cpu.v_intr().v_tpr()), (0x50, 5));
    }
}

#[test]
fn avic_079_mov_from_cr8_reads_v_tpr() {
    for bench in Bench::both() {
        let bench = with_tprs(bench, 0x90, 2, 0x11);
        assert_eq!(bench.cpu.read_cr8(), Outcome::Absorbed(2));
    }
}

#[test]
fn avic_080_cr8_is_v_tpr_without_v_intr_masking_too() {
    for masking in [false, true] {
        for mut bench in Bench::both() {
            bench.reenter(|c, _| c.v_intr = c.v_intr.with_v_tpr(2).with_v_intr_masking(masking));
            assert_eq!(bench.cpu.read_cr8(), Outcome::Absorbed(2));
            assert_eq!(bench.cpu.write_cr8(4, &bench.ram), DONE);
            assert_eq!(bench.cpu.read_cr8(), Outcome::Absorbed(4));
        }
    }
}

#[test]
fn avic_081_the_cr8_intercept_wins() {
    for mut bench in Bench::both() {
        bench.reenter(|c, _| c.intercept_cr = 1 << 24);
        let before = (bench.cpu.v_intr(), bench.ram.words());
        let exit = Exit::intercept(ExitCode::WRITE_CR8);
        assert_eq!(bench.cpu.write_cr8(5, &bench.ram), Outcome::Exit(exit));
        assert_eq!((bench.cpu.v_intr(), bench.ram.words()), before);
    }
}

#[test]
fn without_avic_cr8_is_virtual_only_under_v_intr_masking() {
    let mut bench = Bench::new(AvicMode::Off);
    assert_eq!(bench.cpu.write_cr8(5, &bench.ram), Outcome::Physical);
    assert_eq!(bench.cpu.read_cr8(), Outcome::Physical);
    bench.reenter(|c, _| c.v_intr.set_v_intr_masking(true));
    assert_eq!(bench.cpu.write_cr8(5, &bench.ram), DONE);
    assert_eq!(bench.cpu.read_cr8(), Outcome::Absorbed(5));
    assert_eq!(bench.cpu.write_cr8(0x10, &bench.ram), Outcome::Gp);
    assert_eq!(bench.own(offset::TPR), 0);
}

#[test]
fn avic_082_the_page_s_tpr_does_not_hold_a_vector_back() {
    for bench in Bench::both() {
        assert_eq!(with_tprs(bench, 0xf0, 0, 0x40).boundary(), Taken::Interrupt(0x40));
    }
}

#[test]
fn avic_083_v_tpr_does() {
    for bench in Bench::both() {
        assert_eq!(with_tprs(bench, 0x00, 0xf, 0x40).boundary(), Taken::Nothing);
    }
}

#[test]
fn avic_084_lowering_the_tpr_delivers_without_a_doorbell() {
    for bench in Bench::both() {
        let mut bench = with_tprs(bench, 0x50, 5, 0x45);
        assert_eq!(bench.boundary(), Taken::Nothing);
        assert_eq!(bench.write(offset::TPR, 0x30), DONE);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x45));
    }
    for bench in Bench::both() {
        let mut bench = with_tprs(bench, 0x50, 5, 0x45);
        assert_eq!(bench.cpu.write_cr8(0, &bench.ram), DONE);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x45));
    }
}

#[test]
fn avic_085_raising_the_tpr_in_time_holds_the_vector_back() {
    for bench in Bench::both() {
        let mut bench = with_tprs(bench, 0, 0, 0x45);
        assert_eq!(bench.at(Boundary { interrupts: false, ..OPEN }), Taken::Nothing);
        assert_eq!(bench.write(offset::TPR, 0x40), DONE);
        assert_eq!(bench.boundary(), Taken::Nothing);
        assert!(bench.ram.has(0, offset::IRR, 0x45));
    }
}

#[test]
fn avic_086_a_class_equal_to_v_tpr_is_not_enough() {
    for bench in Bench::both() {
        assert_eq!(with_tprs(bench, 0x40, 4, 0x4f).boundary(), Taken::Nothing);
    }
}

#[test]
fn avic_087_a_class_equal_to_the_one_in_service_is_not_enough() {
    for mut bench in Bench::both() {
        bench.reenter(|_, ram| {
            ram.set(0, offset::ISR, 0x45);
            ram.set(0, offset::IRR, 0x4a);
        });
        assert_eq!(bench.boundary(), Taken::Nothing);
        bench.ram.set(0, offset::IRR, 0x51);
        bench.doorbell();
        assert_eq!(bench.boundary(), Taken::Interrupt(0x51));
    }
}
