//! Register reads.

use super::bench::{Bench, no_accel, silicon};
use crate::{Access, AvicMode, Outcome, Quirks, Rip};
use trapline_defs::apic::offset;

use AvicMode::{X2Avic, XAvic};

/// Puts a mark into a register's slot of the backing page and reads it.
fn marked(bench: &Bench, register: u16) -> (Outcome<u64>, Outcome<u64>) {
    let mark = 0xa500_0000 | u32::from(register);
    bench.ram.set_reg(0, register, mark);
    let outcome = bench.read(register);
    assert_eq!(bench.own(register), mark, "a read of {register:#x} changed the page");
    (outcome, Outcome::Absorbed(u64::from(mark)))
}

fn allows(bench: &Bench, registers: impl IntoIterator<Item = u16>) {
    for register in registers {
        let (outcome, page) = marked(bench, register);
        assert_eq!(outcome, page, "{register:#x}");
    }
}

fn faults(bench: &Bench, registers: impl IntoIterator<Item = u16>) {
    for register in registers {
        let expected = Outcome::Exit(no_accel(register, false, Rip::At));
        assert_eq!(marked(bench, register).0, expected, "{register:#x}");
    }
}

fn both_allow(registers: &[u16]) {
    for bench in Bench::both() {
        allows(&bench, registers.iter().copied());
    }
}

fn extended(mode: AvicMode) -> Bench {
    let mut bench = Bench::on(silicon("zen5").with_quirks(Quirks::EXTENDED_LVT), mode);
    bench.enter();
    bench
}

#[test]
fn avic_021_the_id_is_read_from_the_page() {
    both_allow(&[offset::ID]);
}

#[test]
fn avic_022_the_version_is_read_from_the_page() {
    both_allow(&[offset::VERSION]);
}

#[test]
fn avic_023_a_tpr_read_ignores_v_tpr() {
    for mut bench in Bench::both() {
        bench.reenter(|c, ram| {
            c.v_intr.set_v_tpr(3);
            ram.set_reg(0, offset::TPR, 0x90);
        });
        assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0x90));
    }
}

#[test]
fn avic_024_reading_the_apr_faults() {
    for bench in Bench::both() {
        faults(&bench, [offset::APR]);
    }
}

#[test]
fn avic_025_the_ppr_is_read_from_the_page() {
    both_allow(&[offset::PPR]);
}

#[test]
fn avic_026_the_eoi_register_is_readable_in_the_page() {
    allows(&Bench::new(XAvic), [offset::EOI]);
}

#[test]
fn avic_027_rdmsr_of_eoi_is_gp_model_defined() {
    assert_eq!(Bench::new(X2Avic).read(offset::EOI), Outcome::Gp);
}

#[test]
fn avic_028_the_remote_read_register_is_readable() {
    allows(&Bench::new(XAvic), [offset::REMOTE_READ]);
}

#[test]
fn avic_029_ldr_dfr_and_svr_are_read_from_the_page() {
    both_allow(&[offset::LDR, offset::SVR]);
    allows(&Bench::new(XAvic), [offset::DFR]);
}

#[test]
fn avic_030_isr_tmr_and_irr_are_read_from_the_page() {
    for bench in Bench::both() {
        allows(&bench, (offset::ISR..offset::ESR).step_by(16));
    }
}

#[test]
fn avic_031_reading_the_esr_does_not_clear_it() {
    both_allow(&[offset::ESR]);
}

#[test]
fn avic_032_the_icr_is_read_from_both_slots() {
    for bench in Bench::both() {
        bench.ram.set_reg(0, offset::ICR, 0x4050);
        bench.ram.set_reg(0, offset::ICR_HIGH, 0x0300_0000);
        let expected = if bench.is_x2() { 0x0300_0000_0000_4050 } else { 0x4050 };
        assert_eq!(bench.read(offset::ICR), Outcome::Absorbed(expected));
    }
}

#[test]
fn avic_033_the_high_icr_is_readable_in_the_page() {
    allows(&Bench::new(XAvic), [offset::ICR_HIGH]);
}

#[test]
fn avic_034_rdmsr_of_831h_is_gp_model_defined() {
    assert_eq!(Bench::new(X2Avic).read(offset::ICR_HIGH), Outcome::Gp);
}

#[test]
fn avic_035_lvts_initial_count_and_divide_are_read_from_the_page() {
    both_allow(&[0x320, 0x330, 0x340, 0x350, 0x360, 0x370, 0x380, 0x3e0]);
}

#[test]
fn avic_036_reading_the_current_count_faults() {
    for bench in Bench::both() {
        faults(&bench, [offset::TIMER_CURRENT]);
    }
}

#[test]
fn avic_037_rdmsr_of_self_ipi_is_gp_model_defined() {
    assert_eq!(Bench::new(X2Avic).read(offset::SELF_IPI), Outcome::Gp);
}

#[test]
fn avic_038_reading_extended_control_and_ier_faults() {
    for bench in Bench::both() {
        faults(&bench, [0x400, 0x410, 0x420]);
        faults(&bench, (0x480..0x500).step_by(16));
    }
}

#[test]
fn avic_039_the_extended_lvt_needs_its_cpuid_bit() {
    for bench in Bench::both() {
        faults(&bench, (0x500..0x540).step_by(16));
    }
    for mode in [XAvic, X2Avic] {
        allows(&extended(mode), (0x500..0x540).step_by(16));
    }
}

#[test]
fn avic_040_the_extended_lvt_has_eight_registers_model_defined() {
    for mode in [XAvic, X2Avic] {
        allows(&extended(mode), (0x540..0x580).step_by(16));
    }
}

#[test]
fn avic_041_reading_beyond_the_registers_faults() {
    faults(&Bench::new(XAvic), [0x580, 0x800, 0xff0]);
    faults(&extended(XAvic), [0x580, 0x800, 0xff0]);
}

#[test]
fn avic_042_holes_are_memory() {
    allows(&Bench::new(XAvic), [0x2f0, 0x000, 0x040, 0x3a0, 0x3f0, 0x430]);
}

#[test]
fn avic_043_a_wide_read_gets_the_register_first_model_defined() {
    let bench = Bench::new(XAvic);
    bench.ram.set_reg(0, offset::TPR, 0x35);
    for size in [8, 16] {
        let access = Access { offset: offset::TPR, size };
        assert_eq!(bench.cpu.read_mmio(access, &bench.ram), Outcome::Absorbed(0x35));
    }
}

#[test]
fn narrow_and_unaligned_accesses_are_reported_as_undefined() {
    let mut bench = Bench::new(XAvic);
    for (offset, size) in [(0x80, 1), (0x80, 2), (0x84, 4), (0x88, 8), (0x81, 4), (0x1000, 4)] {
        let access = Access { offset, size };
        assert_eq!(bench.cpu.read_mmio(access, &bench.ram), Outcome::Undefined);
        let write = bench.cpu.write_mmio(access, 0, &bench.ram, |_| {});
        assert_eq!(write, Outcome::Undefined);
    }
}

#[test]
fn msrs_without_a_register_are_gp_both_ways() {
    let mut bench = Bench::new(X2Avic);
    let holes = [0x00, 0x01, 0x04, 0x07, 0x0c, 0x0e, 0x29, 0x2f, 0x31, 0x3a, 0x43, 0x58, 0xff];
    for slot in holes {
        assert_eq!(bench.read(slot << 4), Outcome::Gp, "{slot:#x}");
        assert_eq!(bench.write(slot << 4, 0), Outcome::Gp, "{slot:#x}");
    }
}
