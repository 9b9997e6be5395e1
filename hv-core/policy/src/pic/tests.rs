//! What a guest and devices see of the 8259 pair.

use super::*;

const EOI: u8 = 0x20;

/// The pair as a PC sets it up: vectors 20h and 28h, nothing masked.
fn pc() -> Pic {
    with_mode(0x01)
}

/// The same with another ICW4 for both.
fn with_mode(mode: u8) -> Pic {
    let mut pic = Pic::new();
    for (port, base, cascade) in [(0x20, 0x20, 4), (0xa0, 0x28, 2)] {
        pic.write(port, 0x11);
        for value in [base, cascade, mode] {
            pic.write(port + 1, value);
        }
        pic.write(port + 1, 0);
    }
    pic
}

fn pulse(pic: &mut Pic, irq: u8) {
    pic.set_line(irq, true);
    pic.set_line(irq, false);
}

#[test]
fn an_edge_is_latched_and_gives_its_vector() {
    let mut pic = pc();
    pulse(&mut pic, 3);
    assert!(pic.output());
    assert_eq!(pic.acknowledge(), 0x23);
    assert!(!pic.output());
    pic.set_line(3, true);
    assert!(!pic.output(), "in service");
    pic.write(0x20, EOI);
    assert_eq!(pic.acknowledge(), 0x23);
}

#[test]
fn a_line_that_stays_high_is_one_edge() {
    let mut pic = pc();
    pic.set_line(3, true);
    pic.acknowledge();
    pic.write(0x20, EOI);
    pic.set_line(3, true);
    assert!(!pic.output());
}

#[test]
fn lower_lines_come_first_and_interrupt_higher_ones() {
    let mut pic = pc();
    pulse(&mut pic, 5);
    pulse(&mut pic, 3);
    assert_eq!(pic.acknowledge(), 0x23);
    assert!(!pic.output(), "5 is below 3 in service");
    pulse(&mut pic, 1);
    assert!(pic.output());
    assert_eq!(pic.acknowledge(), 0x21);
    pic.write(0x20, EOI);
    pic.write(0x20, EOI);
    assert_eq!(pic.acknowledge(), 0x25);
}

#[test]
fn the_second_controller_comes_through_input_2() {
    let mut pic = pc();
    pulse(&mut pic, 8);
    assert!(pic.output());
    assert_eq!(pic.acknowledge(), 0x28);
    pic.write(0x20, 0x0b);
    pic.write(0xa0, 0x0b);
    assert_eq!((pic.read(0x20), pic.read(0xa0)), (0x04, 0x01));
    pic.write(0xa0, EOI);
    pic.write(0x20, EOI);
    assert_eq!((pic.read(0x20), pic.read(0xa0)), (0, 0));
}

#[test]
fn both_controllers_mask_irq8() {
    for port in [0x21, 0xa1] {
        let mut pic = pc();
        pic.write(port, 0xff);
        pulse(&mut pic, 8);
        assert!(!pic.output(), "{port:#x}");
        pic.write(port, 0);
        assert!(pic.output(), "{port:#x}");
        assert_eq!(pic.read(port), 0);
    }
}

#[test]
fn a_level_line_requests_as_long_as_it_is_high() {
    let mut pic = pc();
    pic.write(0x4d0, 0x08);
    pic.set_line(3, true);
    assert_eq!(pic.acknowledge(), 0x23);
    pic.write(0x20, EOI);
    assert!(pic.output(), "still high");
    pic.set_line(3, false);
    assert!(!pic.output());
}

#[test]
fn elcr_keeps_the_system_lines_edge_triggered() {
    let mut pic = pc();
    pic.write(0x4d0, 0xff);
    pic.write(0x4d1, 0xff);
    assert_eq!((pic.read(0x4d0), pic.read(0x4d1)), (0xf8, 0xde));
}

#[test]
fn nobody_there_gives_the_spurious_vector_7() {
    let mut pic = pc();
    assert_eq!(pic.acknowledge(), 0x27);
    pic.write(0x20, 0x0b);
    assert_eq!(pic.read(0x20), 0, "nothing is in service");
}

#[test]
fn a_request_of_the_second_that_vanished_gives_its_spurious_vector() {
    let mut pic = pc();
    pic.write(0x4d1, 0x02);
    pic.set_line(9, true);
    pic.set_line(9, false);
    assert!(pic.output(), "latched in the first");
    assert_eq!(pic.acknowledge(), 0x2f);
}

#[test]
fn irr_and_isr_are_read_by_ocw3() {
    let mut pic = pc();
    pulse(&mut pic, 3);
    assert_eq!(pic.read(0x20), 0x08);
    pic.acknowledge();
    assert_eq!(pic.read(0x20), 0);
    pic.write(0x20, 0x0b);
    assert_eq!(pic.read(0x20), 0x08);
    pic.write(0x20, 0x0a);
    assert_eq!(pic.read(0x20), 0);
}

#[test]
fn a_specific_eoi_ends_its_line_only() {
    let mut pic = pc();
    pulse(&mut pic, 5);
    pic.acknowledge();
    pulse(&mut pic, 3);
    pic.acknowledge();
    pic.write(0x20, 0x65);
    pic.write(0x20, 0x0b);
    assert_eq!(pic.read(0x20), 0x08);
}

#[test]
fn rotation_makes_the_ended_line_the_last() {
    let mut pic = pc();
    pulse(&mut pic, 3);
    pic.acknowledge();
    pic.write(0x20, 0xa0);
    pulse(&mut pic, 3);
    pulse(&mut pic, 4);
    assert_eq!(pic.acknowledge(), 0x24);
    pic.write(0x20, 0xe4);
    pulse(&mut pic, 5);
    assert_eq!(pic.acknowledge(), 0x25);
}

#[test]
fn set_priority_names_the_last_line() {
    let mut pic = pc();
    pic.write(0x20, 0xc3);
    pulse(&mut pic, 1);
    pulse(&mut pic, 4);
    assert_eq!(pic.acknowledge(), 0x24);
}

#[test]
fn auto_eoi_leaves_nothing_in_service_and_can_rotate() {
    let mut pic = with_mode(0x03);
    pic.write(0x20, 0x80);
    pulse(&mut pic, 3);
    pic.acknowledge();
    pic.write(0x20, 0x0b);
    assert_eq!(pic.read(0x20), 0);
    pulse(&mut pic, 3);
    pulse(&mut pic, 4);
    assert_eq!(pic.acknowledge(), 0x24);
}

#[test]
fn special_fully_nested_mode_lets_the_second_interrupt_itself() {
    for (mode, nested) in [(0x01, false), (0x11, true)] {
        let mut pic = with_mode(mode);
        pulse(&mut pic, 12);
        pic.acknowledge();
        pulse(&mut pic, 9);
        assert_eq!(pic.output(), nested);
    }
}

#[test]
fn special_mask_mode_is_stored_without_effect_as_in_kvm() {
    let mut pic = pc();
    pulse(&mut pic, 3);
    pic.acknowledge();
    pic.write(0x21, 0x08);
    pic.write(0x20, 0x68);
    assert!(pic.first.special_mask);
    pulse(&mut pic, 5);
    assert!(!pic.output(), "3 still holds 5 back");
    pic.write(0x20, 0x48);
    assert!(!pic.first.special_mask);
}

#[test]
fn a_poll_reports_and_ends_the_request() {
    let mut pic = pc();
    pulse(&mut pic, 3);
    pic.write(0x20, 0x0c);
    assert_eq!(pic.read(0x20), 0x83);
    assert!(!pic.output());
    assert_eq!(pic.read(0x21), 0, "once only");
    pic.write(0x20, 0x0c);
    assert_eq!(pic.read(0x20), 0x07);
}

#[test]
fn a_poll_of_the_second_frees_input_2() {
    let mut pic = pc();
    pulse(&mut pic, 10);
    pic.write(0xa0, 0x0c);
    assert_eq!(pic.read(0xa0), 0x82);
    assert!(!pic.output());
    assert_eq!(pic.read(0x20), 0);
}

#[test]
fn icw1_forgets_edges_masks_and_rotation_but_not_high_level_lines() {
    let mut pic = pc();
    pic.write(0x4d0, 0x20);
    pic.set_line(5, true);
    pulse(&mut pic, 6);
    pic.write(0x21, 0x01);
    pic.write(0x20, 0x11);
    assert_eq!(pic.read(0x20), 0x20);
    assert_eq!(pic.read(0x21), 0);
}

#[test]
fn without_icw4_three_words_are_enough() {
    let mut pic = with_mode(0x03);
    pic.write(0x20, 0x10);
    pic.write(0x21, 0x47);
    pic.write(0x21, 0x04);
    pic.write(0x21, 0xfe);
    assert_eq!(pic.read(0x21), 0xfe, "the mask, not ICW4");
    pulse(&mut pic, 0);
    assert_eq!(pic.acknowledge(), 0x40, "bits 2:0 of the base are dropped");
    pic.write(0x20, 0x0b);
    assert_eq!(pic.read(0x20), 1, "no auto-EOI any more");
}

#[test]
fn a_rising_output_requests_events() {
    let mut pic = pc();
    pulse(&mut pic, 3);
    assert!(core::mem::take(&mut pic.event_request));
    pulse(&mut pic, 5);
    assert!(!pic.event_request, "it was high already");
    pic.acknowledge();
    assert!(!pic.event_request);
    pic.write(0x20, EOI);
    assert!(core::mem::take(&mut pic.event_request));
}

#[test]
fn an_acknowledge_that_leaves_a_request_asks_again() {
    let mut pic = with_mode(0x03);
    pulse(&mut pic, 3);
    pulse(&mut pic, 5);
    pic.event_request = false;
    pic.acknowledge();
    assert!(pic.event_request);
}

#[test]
fn foreign_ports_read_all_ones_and_ignore_writes() {
    let mut pic = pc();
    pic.write(0x22, 0x11);
    assert_eq!(pic.read(0x22), 0xff);
    assert_eq!(pic.first.base, 0x20);
}

proptest::proptest! {
    #[test]
    fn random_traffic_never_panics_and_the_output_is_honest(
        steps in proptest::collection::vec(
            (0..8u8, proptest::num::u8::ANY, proptest::num::u8::ANY), 1..300
        ),
    ) {
        let ports = [0x20, 0x21, 0xa0, 0xa1, 0x4d0, 0x4d1, 0x80, 0x22];
        let mut pic = pc();
        for (kind, which, value) in steps {
            let port = ports[usize::from(which & 7)];
            match kind {
                0..=2 => pic.write(port, value),
                3 => { pic.read(port); }
                4..=6 => {
                    pic.set_line(which & 15, value & 1 != 0);
                    proptest::prop_assert_eq!(pic.output(), pic.first.request(true).is_some());
                }
                _ => {
                    let vector = pic.acknowledge();
                    let (first, second) = (pic.first.base, pic.second.base);
                    proptest::prop_assert!(vector & 0xf8 == first || vector & 0xf8 == second);
                    proptest::prop_assert_eq!(pic.output(), pic.first.request(true).is_some());
                }
            }
        }
    }
}
