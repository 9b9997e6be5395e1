//! ICR decode.

use super::bench::{Bench, DONE, Ram, failure, host, silicon};
use crate::{AvicMode, Chance, Knobs, Outcome, Processor, Taken};
use trapline_defs::apic::offset;
use trapline_defs::avic::{FailureId, PhysicalEntry};

const SELF: u32 = 1 << 18;
const LEVEL: u32 = 1 << 15;
const BUSY: u32 = 1 << 12;

fn nothing_posted(bench: &Bench) {
    assert!(bench.ram.all(offset::IRR).is_empty() && bench.rung.is_empty());
}

#[test]
fn avic_097_a_fixed_edge_ipi_to_a_running_vcpu_is_posted_and_rung() {
    for mut bench in Bench::both() {
        assert_eq!(bench.send(0x4050, 2), DONE);
        assert_eq!(bench.ram.all(offset::IRR), [(2, 0x50)]);
        assert_eq!(bench.rung, [host(2)]);
        assert_eq!(bench.own(offset::ICR), 0x4050);
    }
}

#[test]
fn avic_098_other_delivery_modes_exit_with_id_0_model_defined() {
    for mode in 1..8 {
        for mut bench in Bench::both() {
            let low = mode << 8 | 0x50;
            let expected = bench.incomplete(low, 2, FailureId::INVALID_TYPE, 0);
            assert_eq!(bench.send(low, 2), expected);
            nothing_posted(&bench);
        }
    }
}

#[test]
fn avic_099_a_level_triggered_ipi_exits_with_id_0() {
    for mut bench in Bench::both() {
        assert_eq!(failure(bench.send(LEVEL | 0x4050, 2)).0, FailureId::INVALID_TYPE);
        nothing_posted(&bench);
    }
}

#[test]
fn avic_100_vectors_below_16_exit_with_id_4() {
    for vector in 0..16 {
        for mut bench in Bench::both() {
            assert_eq!(failure(bench.send(vector, 2)).0, FailureId::INVALID_VECTOR);
            nothing_posted(&bench);
        }
    }
}

#[test]
fn avic_101_vector_16_is_the_first_that_is_sent() {
    for mut bench in Bench::both() {
        assert_eq!(bench.send(16, 2), DONE);
        assert_eq!(bench.ram.all(offset::IRR), [(2, 16)]);
    }
}

#[test]
fn avic_102_the_type_is_looked_at_first_model_defined() {
    for mut bench in Bench::both() {
        assert_eq!(failure(bench.send(0x4500, 0x77)).0, FailureId::INVALID_TYPE);
    }
}

#[test]
fn avic_103_the_vector_is_looked_at_before_the_target_model_defined() {
    for mut bench in Bench::both() {
        assert_eq!(failure(bench.send(5, 0x77)).0, FailureId::INVALID_VECTOR);
        nothing_posted(&bench);
    }
}

#[test]
fn avic_104_exit_information_holds_the_command_as_written() {
    for mut bench in Bench::both() {
        let low = 0x4450;
        assert_eq!(bench.send(low, 2), bench.incomplete(low, 2, FailureId::INVALID_TYPE, 0));
    }
    let mut bench = Bench::new(AvicMode::X2Avic);
    let Outcome::Exit(exit) = bench.write(offset::ICR, 0x1234_5678_0000_4450) else { panic!() };
    assert_eq!(exit.info_1, 0x1234_5678_0000_4450);
}

#[test]
fn avic_105_after_the_exit_the_page_holds_the_command_and_perhaps_busy() {
    for (busy_left, expected) in [(Chance::Never, 0x4450), (Chance::Always, BUSY | 0x4450)] {
        for mut bench in Bench::both() {
            let knobs = Knobs { busy_left, ..Knobs::default() };
            bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), 40);
            bench.enter();
            assert_eq!(failure(bench.send(0x4450, 2)).0, FailureId::INVALID_TYPE);
            assert_eq!(bench.own(offset::ICR), expected);
            let high = if bench.is_x2() { 2 } else { 2 << 24 };
            assert_eq!(bench.own(offset::ICR_HIGH), high);
        }
    }
}

#[test]
fn avic_106_a_complete_ipi_reads_back_idle_model_defined() {
    let mut bench = Bench::new(AvicMode::XAvic);
    assert_eq!(bench.send(BUSY | 0x4050, 2), DONE);
    assert_eq!(bench.read(offset::ICR), Outcome::Absorbed(0x4050));
}

/// The own entry is invalid and would fail any IPI that reads it.
fn without_own_entry(ram: &Ram) {
    ram.set_entry(0, PhysicalEntry::new());
}

#[test]
fn avic_107_shorthand_self_needs_no_entry() {
    for mut bench in Bench::both() {
        without_own_entry(&bench.ram);
        bench.ram.set(0, offset::TMR, 0x50);
        assert_eq!(bench.send(SELF | 0x50, 0), DONE);
        assert!(!bench.ram.has(0, offset::TMR, 0x50));
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
        assert!(bench.rung.is_empty());
    }
}

#[test]
fn avic_108_shorthand_self_ignores_the_destination() {
    for mut bench in Bench::both() {
        assert_eq!(bench.send(SELF | 0x50, 0x77), DONE);
        assert_eq!(bench.ram.all(offset::IRR), [(0, 0x50)]);
    }
}

#[test]
fn avic_109_an_nmi_to_self_exits_with_id_0() {
    for mut bench in Bench::both() {
        assert_eq!(failure(bench.send(SELF | 0x400, 0)).0, FailureId::INVALID_TYPE);
        nothing_posted(&bench);
    }
}

#[test]
fn avic_110_the_self_ipi_msr_is_shorthand_self_and_leaves_the_icr_model_defined() {
    let mut bench = Bench::new(AvicMode::X2Avic);
    without_own_entry(&bench.ram);
    bench.ram.set_reg(0, offset::ICR, 0x1234);
    assert_eq!(bench.write(offset::SELF_IPI, 0x10), DONE);
    assert_eq!(bench.own(offset::ICR), 0x1234);
    assert_eq!(bench.boundary(), Taken::Interrupt(0x10));
}

#[test]
fn avic_111_a_self_ipi_below_16_exits_with_id_4_model_defined() {
    let mut bench = Bench::new(AvicMode::X2Avic);
    assert_eq!(failure(bench.write(offset::SELF_IPI, 15)).0, FailureId::INVALID_VECTOR);
    nothing_posted(&bench);
}

#[test]
fn avic_112_wrmsr_of_the_icr_fills_both_slots() {
    let mut bench = Bench::new(AvicMode::X2Avic);
    assert_eq!(bench.write(offset::ICR, 3 << 32 | 0x4050), DONE);
    assert_eq!((bench.own(offset::ICR), bench.own(offset::ICR_HIGH)), (0x4050, 3));
}

#[test]
fn avic_113_an_xapic_ipi_goes_where_the_high_register_says() {
    let mut bench = Bench::new(AvicMode::XAvic);
    assert_eq!(bench.write(offset::ICR_HIGH, 0x03ff_ffff), DONE);
    assert_eq!(bench.write(offset::ICR, 0x50), DONE);
    assert_eq!(bench.ram.all(offset::IRR), [(3, 0x50)]);
    bench.ram.set_reg(0, offset::ICR_HIGH, 0x0100_0000);
    assert_eq!(bench.write(offset::ICR, 0x51), DONE);
    assert_eq!(bench.ram.all(offset::IRR), [(1, 0x51), (3, 0x50)]);
}
