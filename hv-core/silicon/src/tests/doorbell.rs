//! Doorbells, and what several cores see of each other.

use super::bench::{Bench, DONE, OPEN, PHYSICAL_BITS, Ram, VMCB, host, page, silicon};
use crate::{AvicMode, Boundary, Chance, Evaluation, Knobs, Outcome, Processor, Taken, doorbell};
use trapline_defs::apic::offset;

#[test]
fn avic_150_the_doorbell_register_is_write_only() {
    assert_eq!(doorbell::read(), Outcome::Gp);
}

#[test]
fn avic_151_bits_above_the_id_are_gp_model_defined() {
    assert_eq!(doorbell::write(0x1000), Outcome::Gp);
    assert_eq!(doorbell::write(1 << 63), Outcome::Gp);
    assert_eq!(doorbell::write(0xfff), Outcome::Absorbed(0xfff));
}

#[test]
fn avic_152_a_guest_s_doorbell_is_a_doorbell_model_defined() {
    // Nothing of the guest's state enters: the write rings whomever it names.
    assert_eq!(doorbell::write(u64::from(host(3))), Outcome::Absorbed(host(3)));
}

#[test]
fn avic_153_a_posted_vector_is_delivered_at_the_doorbell() {
    for mut bench in Bench::both() {
        bench.ram.set(0, offset::IRR, 0x50);
        bench.doorbell();
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_154_without_a_doorbell_it_is_not_model_defined() {
    for mut bench in Bench::both() {
        bench.ram.set(0, offset::IRR, 0x50);
        for _ in 0..100 {
            bench.cpu.glance(&bench.ram);
            assert_eq!(bench.boundary(), Taken::Nothing);
        }
    }
}

#[test]
fn relaxed_evaluation_sees_it_sooner_or_later() {
    let evaluation = Evaluation::Relaxed(Chance::OneIn(4));
    let mut bench = Bench::new(AvicMode::XAvic);
    let knobs = Knobs { evaluation, ..Knobs::default() };
    bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), PHYSICAL_BITS);
    bench.enter();
    bench.ram.set(0, offset::IRR, 0x50);
    let taken = (0..1000).find_map(|_| {
        bench.cpu.glance(&bench.ram);
        Some(bench.boundary()).filter(|taken| *taken != Taken::Nothing)
    });
    assert_eq!(taken, Some(Taken::Interrupt(0x50)));
}

#[test]
fn avic_155_an_eoi_or_tpr_write_finds_it() {
    for (register, value) in [(offset::EOI, 0), (offset::TPR, 0x10)] {
        for mut bench in Bench::both() {
            bench.ram.set(0, offset::ISR, 0x20);
            bench.ram.set(0, offset::IRR, 0x50);
            assert_eq!(bench.write(register, value), DONE);
            assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
        }
    }
}

#[test]
fn avic_156_the_next_vmrun_finds_it() {
    for mut bench in Bench::both() {
        bench.ram.set(0, offset::IRR, 0x50);
        bench.reenter(|_, _| {});
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

/// Another core, which runs vCPU `id` of the bench's VM.
fn other_core(bench: &Bench, id: u16) -> (Processor, trapline_defs::vmcb::ControlArea) {
    let mut control = bench.control;
    control.avic_backing_page = page(id);
    let knobs = Knobs::default();
    (Processor::new(silicon("zen5"), knobs, host(id), PHYSICAL_BITS), control)
}

fn take(cpu: &mut Processor, ram: &Ram) -> Taken {
    cpu.boundary(OPEN, ram)
}

#[test]
fn avic_144_a_doorbell_in_host_mode_is_lost_harmlessly() {
    for mut bench in Bench::both() {
        let (mut target, mut control) = other_core(&bench, 2);
        target.vmrun(VMCB + 0x1000, &control, &bench.ram).unwrap();
        target.vmexit(&mut control);
        assert_eq!(bench.send(0x50, 2), DONE);
        target.doorbell(&bench.ram);
        assert!(!target.interrupt_pending());
        target.vmrun(VMCB + 0x1000, &control, &bench.ram).unwrap();
        assert_eq!(take(&mut target, &bench.ram), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_145_a_doorbell_to_another_vcpu_delivers_nothing_there() {
    for mut bench in Bench::both() {
        // The table says that vCPU 2 runs on this core, but the core runs vCPU 3 by now.
        let (mut target, control) = other_core(&bench, 3);
        target.vmrun(VMCB + 0x1000, &control, &bench.ram).unwrap();
        assert_eq!(bench.send(0x50, 2), DONE);
        target.doorbell(&bench.ram);
        assert_eq!(take(&mut target, &bench.ram), Taken::Nothing);
        assert!(bench.ram.has(2, offset::IRR, 0x50));
        assert!(bench.ram.all(offset::ISR).is_empty());
    }
}

#[test]
fn avic_168_host_if_gates_physical_interrupts_under_v_intr_masking() {
    let closed = Boundary { interrupts: false, physical_interrupt: true, ..OPEN };
    for mut bench in Bench::both() {
        assert_eq!(bench.at(closed), Taken::Nothing);
        bench.reenter(|c, _| c.v_intr.set_v_intr_masking(true));
        assert!(matches!(bench.at(closed), Taken::Exit(_)));
        let deaf = Boundary { host_interrupts: false, ..closed };
        assert_eq!(bench.at(deaf), Taken::Nothing);
    }
}
