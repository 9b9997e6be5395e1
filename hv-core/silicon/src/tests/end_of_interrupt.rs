//! EOI.

use super::bench::{Bench, DONE, OPEN, no_accel};
use crate::{AvicMode, Exit, Gate, Outcome, Rip, Taken};
use trapline_defs::apic::offset;

/// A guest with these vectors in service, of which these are level-triggered.
fn serving(mut bench: Bench, vectors: &[u8], level: &[u8]) -> Bench {
    bench.reenter(|_, ram| {
        vectors.iter().for_each(|&vector| ram.set(0, offset::ISR, vector));
        level.iter().for_each(|&vector| ram.set(0, offset::TMR, vector));
    });
    bench
}

fn in_service(bench: &Bench) -> Vec<u8> {
    bench.ram.all(offset::ISR).into_iter().map(|(_, vector)| vector).collect()
}

#[test]
fn avic_088_an_edge_eoi_ends_the_vector_and_looks_for_the_next() {
    for bench in Bench::both() {
        let mut bench = serving(bench, &[0x55], &[]);
        bench.ram.set_reg(0, offset::TPR, 0x20);
        bench.ram.set(0, offset::IRR, 0x51);
        assert_eq!(bench.write(offset::EOI, 0), DONE);
        assert!(in_service(&bench).is_empty());
        assert_eq!(bench.own(offset::PPR), 0x20);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x51));
    }
}

#[test]
fn avic_089_only_the_highest_vector_ends() {
    for bench in Bench::both() {
        let mut bench = serving(bench, &[0x31, 0x55, 0x81], &[]);
        assert_eq!(bench.write(offset::EOI, 0), DONE);
        assert_eq!(in_service(&bench), [0x31, 0x55]);
        assert_eq!(bench.own(offset::PPR), 0x50);
    }
}

#[test]
fn avic_090_a_level_eoi_exits_with_its_vector_still_in_service_model_defined() {
    for bench in Bench::both() {
        let mut bench = serving(bench, &[0x31, 0x55], &[0x55]);
        let exit = Exit { info_2: 0x55, ..no_accel(offset::EOI, true, Rip::After) };
        assert_eq!(bench.write(offset::EOI, 0), Outcome::Exit(exit));
        assert_eq!(exit.info_1, 0x1_0000_00b0);
        assert_eq!(in_service(&bench), [0x31, 0x55]);
    }
}

#[test]
fn avic_091_a_level_vector_below_the_highest_does_not_matter() {
    for bench in Bench::both() {
        let mut bench = serving(bench, &[0x31, 0x55], &[0x31]);
        assert_eq!(bench.write(offset::EOI, 0), DONE);
        assert_eq!(in_service(&bench), [0x31]);
    }
}

#[test]
fn avic_092_the_trigger_of_a_vector_that_is_not_in_service_does_not_matter() {
    for bench in Bench::both() {
        let mut bench = serving(bench, &[0x55], &[0x54, 0x56, 0x91]);
        assert_eq!(bench.write(offset::EOI, 0), DONE);
    }
}

#[test]
fn avic_093_an_eoi_with_nothing_in_service_does_nothing_model_defined() {
    for mut bench in Bench::both() {
        let before = bench.ram.words();
        assert_eq!(bench.write(offset::EOI, 0), DONE);
        assert_eq!(bench.ram.words(), before);
    }
}

#[test]
fn avic_094_the_value_of_an_eoi_does_not_matter_model_defined() {
    let mut bench = serving(Bench::new(AvicMode::XAvic), &[0x55], &[]);
    assert_eq!(bench.write(offset::EOI, 0xffff_ffff), DONE);
    assert!(in_service(&bench).is_empty());
}

#[test]
fn avic_095_wrmsr_of_a_non_zero_eoi_is_gp_model_defined() {
    let mut bench = serving(Bench::new(AvicMode::X2Avic), &[0x55], &[]);
    assert_eq!(bench.write(offset::EOI, 1), Outcome::Gp);
    let outcome = bench.cpu.write_msr(0x80b, 1 << 32, Gate::OPEN, &bench.ram, |_| {});
    assert_eq!(outcome, Outcome::Gp);
    assert_eq!(in_service(&bench), [0x55]);
}

#[test]
fn avic_096_after_a_level_eoi_the_next_vector_comes_at_vmrun() {
    for bench in Bench::both() {
        let mut bench = serving(bench, &[0x55], &[0x55]);
        bench.ram.set(0, offset::IRR, 0x41);
        assert!(matches!(bench.write(offset::EOI, 0), Outcome::Exit(_)));
        assert_eq!(bench.at(OPEN), Taken::Nothing);
        bench.reenter(|_, ram| ram.clear(0, offset::ISR, 0x55));
        assert_eq!(bench.boundary(), Taken::Interrupt(0x41));
    }
}
