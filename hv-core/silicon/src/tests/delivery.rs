//! Delivery of what the backing page holds.

use super::bench::{Bench, DONE, OPEN};
use crate::{Boundary, Exit, Taken};
use trapline_defs::apic::offset;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;

/// Both interfaces, entered with these vectors requested.
fn requested(vectors: &[u8]) -> [Bench; 2] {
    Bench::both().map(|mut bench| {
        bench.reenter(|_, ram| vectors.iter().for_each(|&vector| ram.set(0, offset::IRR, vector)));
        bench
    })
}

const CLOSED: Boundary = Boundary { interrupts: false, ..OPEN };
const SHADOW: Boundary = Boundary { shadow: true, ..OPEN };

#[test]
fn avic_157_a_request_is_delivered_before_the_first_instruction() {
    for mut bench in requested(&[0x50]) {
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
        assert_eq!(bench.boundary(), Taken::Nothing);
    }
}

#[test]
fn avic_158_with_if_clear_it_waits_for_sti_and_one_instruction() {
    for mut bench in requested(&[0x50]) {
        assert_eq!(bench.at(CLOSED), Taken::Nothing);
        assert_eq!(bench.at(SHADOW), Taken::Nothing);
        assert_eq!(bench.at(OPEN), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_159_an_interrupt_shadow_delays_it_by_one_instruction() {
    for mut bench in requested(&[0x50]) {
        assert_eq!(bench.at(SHADOW), Taken::Nothing);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_160_a_clear_vgif_holds_it_until_stgi() {
    for mut bench in requested(&[0x50]) {
        bench.reenter(|c, _| c.v_intr = c.v_intr.with_v_gif_enable(true).with_v_gif(false));
        assert_eq!(bench.boundary(), Taken::Nothing);
        assert_eq!(bench.cpu.stgi(), DONE);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_161_an_injected_interrupt_leaves_irr_and_isr_alone() {
    for mut bench in requested(&[0x50]) {
        let before = (bench.ram.all(offset::IRR), bench.ram.all(offset::ISR));
        bench.reenter(|c, _| c.event_injection = Event::interrupt(0x31));
        assert_eq!((bench.ram.all(offset::IRR), bench.ram.all(offset::ISR)), before);
        // The interrupt gate cleared IF; the vector follows once the handler is done with it.
        assert_eq!(bench.at(CLOSED), Taken::Nothing);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_162_an_injected_exception_goes_first_too() {
    for mut bench in requested(&[0x50]) {
        bench.reenter(|c, _| c.event_injection = Event::GP);
        assert!(bench.ram.has(0, offset::IRR, 0x50));
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_163_delivery_moves_the_vector_into_service_and_raises_the_ppr() {
    for mut bench in requested(&[0x57]) {
        bench.ram.set(0, offset::TMR, 0x57);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x57));
        assert!(bench.ram.all(offset::IRR).is_empty());
        assert_eq!(bench.ram.all(offset::ISR), [(0, 0x57)]);
        assert_eq!(bench.own(offset::PPR), 0x50);
        assert!(bench.ram.has(0, offset::TMR, 0x57));
    }
}

#[test]
fn avic_164_the_higher_of_two_goes_first() {
    for mut bench in requested(&[0x41, 0xd0, 0x8f]) {
        for vector in [0xd0, 0x8f, 0x41] {
            assert_eq!(bench.boundary(), Taken::Interrupt(vector));
            assert_eq!(bench.boundary(), Taken::Nothing);
            assert_eq!(bench.write(offset::EOI, 0), DONE);
        }
        assert_eq!(bench.boundary(), Taken::Nothing);
    }
}

#[test]
fn avic_165_a_delivery_that_is_cut_short_has_left_the_irr() {
    for mut bench in requested(&[0x50]) {
        let taken = bench.boundary();
        assert_eq!(bench.cpu.cut_short(taken).into_bits(), 0x8000_0050);
        assert!(bench.ram.all(offset::IRR).is_empty());
        assert_eq!(bench.ram.all(offset::ISR), [(0, 0x50)]);
    }
}

#[test]
fn avic_166_injecting_it_again_delivers_it_once() {
    for mut bench in requested(&[0x50]) {
        let taken = bench.boundary();
        let event = bench.cpu.cut_short(taken);
        bench.reenter(|c, _| c.event_injection = event);
        assert_eq!(bench.boundary(), Taken::Nothing);
        assert_eq!(bench.ram.all(offset::ISR), [(0, 0x50)]);
        assert_eq!(bench.write(offset::EOI, 0), DONE);
        assert_eq!(bench.boundary(), Taken::Nothing);
    }
}

#[test]
fn avic_167_a_physical_interrupt_exits_first() {
    for mut bench in requested(&[0x50]) {
        let exit = Exit::intercept(ExitCode::INTR);
        let at = Boundary { physical_interrupt: true, ..OPEN };
        assert_eq!(bench.at(at), Taken::Exit(exit));
        assert!(bench.ram.has(0, offset::IRR, 0x50));
        bench.reenter(|c, _| c.intercept_3 = trapline_defs::intercept::Word3::empty());
        assert_eq!(bench.at(at), Taken::PhysicalInterrupt);
        assert_eq!(bench.at(OPEN), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_169_a_virtual_nmi_goes_before_a_vector_model_defined() {
    for mut bench in requested(&[0x50]) {
        bench.reenter(|c, _| c.v_intr = c.v_intr.with_v_nmi_enable(true).with_v_nmi(true));
        assert_eq!(bench.boundary(), Taken::Nmi);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_170_the_software_enable_is_not_looked_at_model_defined() {
    for mut bench in requested(&[0x50]) {
        bench.ram.set_reg(0, offset::SVR, 0x0ff);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_171_vectors_below_16_never_win_model_defined() {
    for mut bench in requested(&[15]) {
        assert_eq!(bench.boundary(), Taken::Nothing);
        assert!(bench.ram.has(0, offset::IRR, 15));
    }
}

#[test]
fn avic_172_vector_16_does() {
    for mut bench in requested(&[16]) {
        assert_eq!(bench.boundary(), Taken::Interrupt(16));
    }
}

#[test]
fn a_request_that_the_hypervisor_took_back_is_not_delivered() {
    for mut bench in requested(&[0x50]) {
        bench.ram.clear(0, offset::IRR, 0x50);
        assert_eq!(bench.boundary(), Taken::Nothing);
        assert!(!bench.cpu.interrupt_pending());
    }
}
