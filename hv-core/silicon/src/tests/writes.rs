//! Register writes other than of ICR, EOI and TPR.

use super::bench::{Bench, DONE, fault, no_accel, silicon, trap};
use crate::{Access, AvicMode, Exit, Gate, Outcome, Quirks, Rip};
use trapline_defs::apic::offset;
use trapline_defs::avic::NoAccel;
use trapline_defs::exit_code::ExitCode;

use AvicMode::{X2Avic, XAvic};

fn traps(bench: &mut Bench, register: u16, value: u64) {
    assert_eq!(bench.write(register, value), trap(register), "{register:#x}");
    assert_eq!(u64::from(bench.own(register)), value, "{register:#x}");
}

fn faults(bench: &mut Bench, register: u16) {
    let before = bench.ram.words();
    assert_eq!(bench.write(register, 0x55), fault(register), "{register:#x}");
    assert_eq!(bench.ram.words(), before, "{register:#x}");
}

fn is_gp(bench: &mut Bench, register: u16, value: u64) {
    let before = bench.ram.words();
    assert_eq!(bench.write(register, value), Outcome::Gp, "{register:#x}");
    assert_eq!(bench.ram.words(), before, "{register:#x}");
}

fn extended(mode: AvicMode) -> Bench {
    let mut bench = Bench::on(silicon("zen5").with_quirks(Quirks::EXTENDED_LVT), mode);
    bench.enter();
    bench
}

#[test]
fn avic_044_writing_the_id_traps() {
    traps(&mut Bench::new(XAvic), offset::ID, 0x0500_0000);
}

#[test]
fn avic_045_wrmsr_of_the_id_is_gp_model_defined() {
    is_gp(&mut Bench::new(X2Avic), offset::ID, 5);
}

#[test]
fn avic_046_writing_the_version_faults() {
    Bench::both().iter_mut().for_each(|bench| faults(bench, offset::VERSION));
}

#[test]
fn avic_047_writing_apr_or_ppr_faults() {
    for bench in &mut Bench::both() {
        faults(bench, offset::APR);
        faults(bench, offset::PPR);
    }
}

#[test]
fn avic_048_writing_remote_read_traps() {
    traps(&mut Bench::new(XAvic), offset::REMOTE_READ, 0x1234);
}

#[test]
fn avic_049_writing_the_ldr_traps_and_leaves_the_table() {
    let mut bench = Bench::new(XAvic);
    let table = bench.ram.words()[0x8000 / 8..0x9000 / 8].to_vec();
    traps(&mut bench, offset::LDR, 0x4000_0000);
    assert_eq!(bench.ram.words()[0x8000 / 8..0x9000 / 8], table);
}

#[test]
fn avic_050_wrmsr_of_the_ldr_is_gp_model_defined() {
    is_gp(&mut Bench::new(X2Avic), offset::LDR, 1);
}

#[test]
fn avic_051_writing_the_dfr_traps() {
    traps(&mut Bench::new(XAvic), offset::DFR, 0x0fff_ffff);
}

#[test]
fn avic_052_writing_the_svr_traps() {
    Bench::both().iter_mut().for_each(|bench| traps(bench, offset::SVR, 0x0ff));
}

#[test]
fn avic_053_writing_isr_tmr_or_irr_faults() {
    for bench in &mut Bench::both() {
        (offset::ISR..offset::ESR).step_by(16).for_each(|register| faults(bench, register));
    }
}

#[test]
fn avic_054_writing_the_esr_traps() {
    traps(&mut Bench::new(XAvic), offset::ESR, 0x40);
    traps(&mut Bench::new(X2Avic), offset::ESR, 0);
    is_gp(&mut Bench::new(X2Avic), offset::ESR, 0x40);
}

#[test]
fn avic_055_writing_the_high_icr_only_stores() {
    let mut bench = Bench::new(XAvic);
    assert_eq!(bench.write(offset::ICR_HIGH, 0x0300_0000), DONE);
    assert_eq!(bench.own(offset::ICR_HIGH), 0x0300_0000);
    assert!(bench.ram.all(offset::IRR).is_empty() && bench.rung.is_empty());
}

#[test]
fn avic_056_writing_the_timer_lvt_traps() {
    Bench::both().iter_mut().for_each(|bench| traps(bench, offset::LVT_TIMER, 0x2_00ec));
}

#[test]
fn avic_057_wrmsr_of_the_timer_lvt_with_bit_18_is_gp() {
    is_gp(&mut Bench::new(X2Avic), offset::LVT_TIMER, 1 << 18 | 0xec);
    traps(&mut Bench::new(XAvic), offset::LVT_TIMER, 1 << 18 | 0xec);
}

#[test]
fn avic_058_writing_the_other_lvts_traps() {
    for bench in &mut Bench::both() {
        (0x330..=0x370).step_by(16).for_each(|register| traps(bench, register, 0x1_00ff));
    }
}

#[test]
fn avic_059_writing_the_initial_count_traps() {
    Bench::both().iter_mut().for_each(|bench| traps(bench, offset::TIMER_INITIAL, 0xffff_ffff));
}

#[test]
fn avic_060_writing_the_current_count_faults() {
    Bench::both().iter_mut().for_each(|bench| faults(bench, offset::TIMER_CURRENT));
}

#[test]
fn avic_061_writing_the_divide_configuration_traps() {
    Bench::both().iter_mut().for_each(|bench| traps(bench, offset::TIMER_DIVIDE, 0xb));
}

#[test]
fn avic_062_writing_extended_control_or_ier_faults() {
    for bench in &mut Bench::both() {
        [0x400, 0x410, 0x420].into_iter().for_each(|register| faults(bench, register));
        (0x480..0x500).step_by(16).for_each(|register| faults(bench, register));
    }
}

#[test]
fn avic_063_the_extended_lvt_traps_with_its_cpuid_bit_and_faults_without() {
    for bench in &mut Bench::both() {
        (0x500..0x540).step_by(16).for_each(|register| faults(bench, register));
    }
    for mode in [XAvic, X2Avic] {
        let mut bench = extended(mode);
        (0x500..0x540).step_by(16).for_each(|register| traps(&mut bench, register, 0x77));
    }
}

#[test]
fn avic_064_writing_a_hole_stores() {
    let mut bench = Bench::new(XAvic);
    for register in [0x2f0, 0x000, 0x040, 0x290, 0x3a0, 0x3f0, 0x430] {
        assert_eq!(bench.write(register, 0x1234), DONE);
        assert_eq!(bench.own(register), 0x1234);
    }
    assert!(bench.ram.all(offset::IRR).is_empty());
}

#[test]
fn avic_065_writing_beyond_the_registers_faults() {
    let mut bench = Bench::new(XAvic);
    (0x580..0x1000).step_by(16).for_each(|register| faults(&mut bench, register));
}

#[test]
fn avic_066_exit_information_names_the_offset_and_the_direction() {
    let mut bench = Bench::new(XAvic);
    for register in (0..0x1000).step_by(16).filter(|&at| at != offset::ICR) {
        for (outcome, write) in [
            (bench.cpu.read_mmio(Access { offset: register, size: 16 }, &bench.ram), false),
            match bench.write(register, 0) {
                Outcome::Exit(exit) => (Outcome::Exit(exit), true),
                _ => continue,
            },
        ] {
            let Outcome::Exit(exit) = outcome else { continue };
            let word = NoAccel::from_bits(exit.info_1);
            assert_eq!((word.offset(), word.write()), (register, write));
            assert_eq!(exit.info_1 & 0xf, 0);
        }
    }
}

#[test]
fn avic_067_a_trap_leaves_rip_behind_the_instruction() {
    let mut bench = Bench::new(XAvic);
    for outcome in [bench.write(offset::SVR, 0x1ff), bench.send(0x4450, 1)] {
        let Outcome::Exit(exit) = outcome else { panic!("{outcome:?}") };
        assert_eq!(exit.rip, Rip::After);
    }
}

#[test]
fn avic_067_avic_exits_save_no_next_rip_model_defined() {
    let mut bench = Bench::new(XAvic);
    for outcome in [bench.write(offset::SVR, 0x1ff), bench.send(0x4450, 1)] {
        let Outcome::Exit(exit) = outcome else { panic!("{outcome:?}") };
        assert!(!exit.saves_next_rip());
    }
}

#[test]
fn avic_068_read_modify_write_of_the_svr_traps_once_model_defined() {
    let mut bench = Bench::new(XAvic);
    let access = Access::dword(offset::SVR);
    let outcome = bench.cpu.modify_mmio(access, |svr| svr & !0x100, &bench.ram, |_| {});
    assert_eq!(outcome, trap(offset::SVR));
    assert_eq!(bench.own(offset::SVR), 0x0ff);
}

#[test]
fn avic_069_read_modify_write_of_the_ppr_stores_nothing_model_defined() {
    let mut bench = Bench::new(XAvic);
    let before = bench.ram.words();
    let access = Access::dword(offset::PPR);
    let outcome = bench.cpu.modify_mmio(access, |ppr| ppr | 0xf0, &bench.ram, |_| {});
    assert_eq!(outcome, fault(offset::PPR));
    assert_eq!(bench.ram.words(), before);
    let access = Access::dword(offset::APR);
    let outcome = bench.cpu.modify_mmio(access, |apr| apr, &bench.ram, |_| {});
    assert_eq!(outcome, Outcome::Exit(no_accel(offset::APR, false, Rip::At)));
}

#[test]
fn avic_072_an_apic_msr_above_ring_0_is_gp_before_the_permission_map() {
    let mut bench = Bench::new(X2Avic);
    let before = bench.ram.words();
    for msr in [0x80b, 0x830] {
        for intercepted in [false, true] {
            let gate = Gate { cpl: 3, intercepted };
            let outcome = bench.cpu.write_msr(msr, 0, gate, &bench.ram, |_| panic!("rang"));
            assert_eq!(outcome, Outcome::Gp);
        }
    }
    assert_eq!(bench.ram.words(), before);
}

#[test]
fn avic_073_an_intercepted_icr_write_is_an_msr_exit_and_sends_nothing() {
    let mut bench = Bench::new(X2Avic);
    let before = bench.ram.words();
    let gate = Gate { cpl: 0, intercepted: true };
    let outcome = bench.cpu.write_msr(0x830, 1 << 32 | 0x50, gate, &bench.ram, |_| panic!("rang"));
    let expected = Exit { code: ExitCode::MSR, info_1: 1, info_2: 0, rip: Rip::At };
    assert_eq!(outcome, Outcome::Exit(expected));
    assert!(expected.saves_next_rip());
    assert_eq!(bench.ram.words(), before);
}

#[test]
fn avic_074_an_intercepted_read_is_an_msr_exit() {
    let bench = Bench::new(X2Avic);
    let gate = Gate { cpl: 0, intercepted: true };
    let expected = Exit { code: ExitCode::MSR, info_1: 0, info_2: 0, rip: Rip::At };
    assert_eq!(bench.cpu.read_msr(0x802, gate, &bench.ram), Outcome::Exit(expected));
}

#[test]
fn avic_076_in_xapic_mode_the_msrs_reach_the_physical_apic_model_defined() {
    let mut bench = Bench::new(XAvic);
    let before = bench.ram.words();
    let outcome = bench.cpu.write_msr(0x80b, 0, Gate::OPEN, &bench.ram, |_| panic!("rang"));
    assert_eq!(outcome, Outcome::Physical);
    assert_eq!(bench.cpu.read_msr(0x802, Gate::OPEN, &bench.ram), Outcome::Physical);
    assert_eq!(bench.ram.words(), before);
}

#[test]
fn reserved_bits_of_an_msr_are_gp() {
    let mut bench = Bench::new(X2Avic);
    let table = [
        (offset::TPR, 0x100),
        (offset::SVR, 0x1_00ff),
        (offset::LVT_THERMAL, 1 << 11),
        (offset::LVT_ERROR, 1 << 17),
        (offset::LVT_LINT0, 1 << 17),
        (offset::ICR, 1 << 12 | 0x50),
        (offset::ICR, 1 << 13 | 0x50),
        (offset::ICR, 1 << 16 | 0x50),
        (offset::ICR, 1 << 20 | 0x50),
        (offset::SELF_IPI, 0x150),
        (offset::TIMER_INITIAL, 1 << 32),
        (offset::ISR, 1 << 32),
    ];
    table.into_iter().for_each(|(register, value)| is_gp(&mut bench, register, value));
}

#[test]
fn msrs_outside_the_range_are_not_the_model_s() {
    let mut bench = Bench::new(X2Avic);
    for msr in [0x7ff, 0x900, 0, !0] {
        assert_eq!(bench.cpu.read_msr(msr, Gate::OPEN, &bench.ram), Outcome::Physical);
        let outcome = bench.cpu.write_msr(msr, 0, Gate::OPEN, &bench.ram, |_| {});
        assert_eq!(outcome, Outcome::Physical);
    }
}
