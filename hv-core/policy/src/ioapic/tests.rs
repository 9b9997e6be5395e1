//! What a guest and devices see of the IOAPIC.

use trapline_defs::apic::DeliveryMode;

use super::*;
use crate::lapic::{Delivery, Lapic};
use crate::time::Ns;

const MASKED: u32 = 0x1_0000;
const LEVEL: u32 = 0x8000;

fn write(ioapic: &mut Ioapic, register: u8, value: u32) -> Option<Message> {
    assert_eq!(ioapic.write_mmio(0, 4, register.into()), None);
    ioapic.write_mmio(0x10, 4, value)
}

fn read(ioapic: &mut Ioapic, register: u8) -> u32 {
    ioapic.write_mmio(0, 4, register.into());
    ioapic.read_mmio(0x10, 4)
}

/// An IOAPIC with one pin set up.
fn with_pin(pin: u8, low: u32) -> Ioapic {
    let mut ioapic = Ioapic::new();
    write(&mut ioapic, 0x10 + 2 * pin, low);
    ioapic
}

fn apic() -> Lapic {
    let mut apic = Lapic::new(0, true);
    apic.write_mmio(0xf0, 0x1ff, Ns(0));
    apic
}

#[test]
fn version_and_id_read_as_an_82093aa() {
    let mut ioapic = Ioapic::new();
    assert_eq!(read(&mut ioapic, 1), 0x0017_0011);
    write(&mut ioapic, 0, 0xff00_0000);
    assert_eq!(read(&mut ioapic, 0), 0x0f00_0000);
    assert_eq!(read(&mut ioapic, 2), 0x0f00_0000);
    write(&mut ioapic, 1, 0);
    assert_eq!(read(&mut ioapic, 1), 0x0017_0011);
}

#[test]
fn entries_start_masked_and_missing_ones_read_all_ones() {
    let mut ioapic = Ioapic::new();
    assert_eq!(read(&mut ioapic, 0x10), MASKED);
    assert_eq!(read(&mut ioapic, 0x3f), 0);
    assert_eq!(read(&mut ioapic, 0x40), u32::MAX);
    assert_eq!(read(&mut ioapic, 0x05), u32::MAX);
    assert_eq!(write(&mut ioapic, 0x40, 0), None);
    assert!(ioapic.entry(23).unwrap().masked());
    assert_eq!(ioapic.entry(24), None);
}

#[test]
fn narrow_accesses_see_and_write_the_low_bytes() {
    let mut ioapic = with_pin(4, MASKED | 0x1234);
    assert_eq!(ioapic.read_mmio(0x10, 1), 0x34);
    assert_eq!(ioapic.read_mmio(0x10, 2), 0x234, "bit 12 is read-only");
    ioapic.write_mmio(0x10, 1, 0xffff_ff50);
    assert_eq!(ioapic.read_mmio(0x10, 4), 0x50, "zeros above, so unmasked");
    assert_eq!(ioapic.read_mmio(0x40, 4), 0);
}

#[test]
fn a_rising_edge_sends_once() {
    let mut ioapic = with_pin(4, 0x51);
    write(&mut ioapic, 0x19, 0x0300_0000);
    let expected = Message {
        destination: 3,
        logical: false,
        mode: DeliveryMode::Fixed,
        vector: 0x51,
        level: false,
    };
    assert_eq!(ioapic.set_line(4, true), Some(expected));
    assert_eq!(ioapic.set_line(4, true), None);
    assert_eq!(ioapic.set_line(4, false), None);
    assert_eq!(ioapic.set_line(4, true), Some(expected));
}

#[test]
fn an_edge_on_a_masked_pin_is_lost_as_in_kvm() {
    let mut ioapic = with_pin(4, MASKED | 0x51);
    assert_eq!(ioapic.set_line(4, true), None);
    assert_eq!(write(&mut ioapic, 0x18, 0x51), None);
    assert_eq!(ioapic.set_line(4, true), None);
    ioapic.set_line(4, false);
    assert!(ioapic.set_line(4, true).is_some());
}

#[test]
fn a_high_level_line_sends_when_it_is_unmasked() {
    let mut ioapic = with_pin(9, MASKED | LEVEL | 0x61);
    assert_eq!(ioapic.set_line(9, true), None);
    let message = write(&mut ioapic, 0x22, LEVEL | 0x61).unwrap();
    assert!(message.level);
    assert_eq!(message.vector, 0x61);
}

#[test]
fn remote_irr_holds_a_level_pin_until_its_eoi() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    assert!(ioapic.set_line(9, true).is_some());
    assert!(ioapic.entry(9).unwrap().remote_irr());
    ioapic.set_line(9, false);
    assert_eq!(ioapic.set_line(9, true), None);
    assert!(ioapic.eoi(0x61, true).is_some(), "the line is still high");
    ioapic.set_line(9, false);
    assert_eq!(ioapic.eoi(0x61, true), None);
    assert!(!ioapic.entry(9).unwrap().remote_irr());
    assert!(ioapic.set_line(9, true).is_some());
}

#[test]
fn an_eoi_of_another_vector_changes_nothing() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    ioapic.set_line(9, true);
    assert_eq!(ioapic.eoi(0x60, true), None);
    assert!(ioapic.entry(9).unwrap().remote_irr());
}

#[test]
fn the_eoi_of_an_edge_leaves_a_level_pin_with_its_vector_alone() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    ioapic.set_line(9, true);
    assert_eq!(ioapic.eoi(0x61, false), None);
    assert!(ioapic.entry(9).unwrap().remote_irr());
}

#[test]
fn pins_that_share_a_vector_all_send_again() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    write(&mut ioapic, 0x24, LEVEL | 0x61);
    write(&mut ioapic, 0x25, 0x0200_0000);
    ioapic.set_line(9, true);
    ioapic.set_line(10, true);
    assert_eq!(ioapic.eoi(0x61, true).unwrap().destination, 0);
    assert_eq!(ioapic.next_resend().unwrap().destination, 2);
    assert_eq!(ioapic.next_resend(), None);
}

#[test]
fn a_masked_pin_sends_after_its_eoi_only_when_unmasked() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    ioapic.set_line(9, true);
    write(&mut ioapic, 0x22, MASKED | LEVEL | 0x61);
    assert_eq!(ioapic.eoi(0x61, true), None);
    assert!(write(&mut ioapic, 0x22, LEVEL | 0x61).is_some());
}

#[test]
fn guests_cannot_write_remote_irr_but_clear_it_by_edge_mode() {
    let mut ioapic = with_pin(9, LEVEL | 0x4061);
    assert!(!ioapic.entry(9).unwrap().remote_irr());
    ioapic.set_line(9, true);
    write(&mut ioapic, 0x22, MASKED | LEVEL | 0x61);
    assert!(ioapic.entry(9).unwrap().remote_irr());
    write(&mut ioapic, 0x22, MASKED | 0x61);
    assert!(!ioapic.entry(9).unwrap().remote_irr());
}

#[test]
fn a_refused_message_awaits_no_eoi() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    ioapic.set_line(9, true);
    ioapic.refused();
    assert!(!ioapic.entry(9).unwrap().remote_irr());
    assert!(ioapic.set_line(9, true).is_some());
}

#[test]
fn rtc_p_a_tick_before_the_eoi_of_the_last_is_dropped() {
    let mut ioapic = with_pin(8, 0xd1);
    assert!(ioapic.set_line(8, true).is_some());
    assert_eq!(ioapic.rtc_awaits(), Some(0xd1));
    ioapic.set_line(8, false);
    assert_eq!(ioapic.set_line(8, true), None);
    assert_eq!(ioapic.eoi(0xd1, false), None);
    assert!(ioapic.set_line(8, true).is_some(), "the dropped edge left no trace");
}

#[test]
fn rtc_p_only_a_line_that_rises_is_waited_for() {
    let mut ioapic = with_pin(8, LEVEL | 0x61);
    assert!(ioapic.set_line(8, true).is_some());
    assert!(ioapic.eoi(0x61, true).is_some(), "the line is still high");
    assert_eq!(ioapic.rtc_awaits(), None);
    ioapic.set_line(8, false);
    assert_eq!(ioapic.set_line(8, true), None, "remote IRR holds it");
    assert!(ioapic.eoi(0x61, true).is_some(), "but it was seen");
}

#[test]
fn rtc_p_under_avic_the_wait_ends_lazily() {
    let mut ioapic = with_pin(8, 0xd1);
    ioapic.set_line(8, true);
    ioapic.set_line(8, false);
    ioapic.rtc_ended(0xd1);
    assert!(ioapic.set_line(8, true).is_some());
}

#[test]
fn rtc_p_an_nmi_or_a_refused_tick_is_not_waited_for() {
    let mut ioapic = with_pin(8, 0x4d1);
    assert_eq!(ioapic.set_line(8, true).unwrap().mode, DeliveryMode::Nmi);
    assert_eq!(ioapic.rtc_awaits(), None);
    let mut ioapic = with_pin(8, 0xd1);
    ioapic.set_line(8, true);
    ioapic.refused();
    assert_eq!(ioapic.rtc_awaits(), None);
}

#[test]
fn rtc_p_the_rtc_s_vector_and_level_vectors_are_handled_masked_or_not() {
    let mut ioapic = with_pin(8, MASKED | 0xd1);
    write(&mut ioapic, 0x22, LEVEL | 0x61);
    write(&mut ioapic, 0x18, 0x51);
    let mut apic = apic();
    let handled = ioapic.handled_by(&apic);
    assert!(handled.has(0xd1) && handled.has(0x61) && !handled.has(0x51));
    apic.set_ioapic_handled(handled);
    apic.accept(0xd1, false);
    apic.acknowledge(0xd1, false);
    assert!(!apic.pv_eoi_possible());
}

#[test]
fn a_level_vector_of_another_apic_is_handled_only_while_its_eoi_is_outstanding() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    write(&mut ioapic, 0x23, 0x0500_0000);
    let mut apic = apic();
    assert!(!ioapic.handled_by(&apic).has(0x61));
    apic.accept(0x61, true);
    assert!(ioapic.handled_by(&apic).has(0x61));
}

#[test]
fn a_message_reaches_the_local_apic_it_names() {
    let mut ioapic = with_pin(9, LEVEL | 0x61);
    let mut apic = apic();
    let message = ioapic.set_line(9, true).unwrap();
    let expected = Delivery::Interrupt { vector: 0x61, level: true };
    assert_eq!(apic.receive_message(message), expected);
    apic.set_ioapic_handled(ioapic.handled_by(&apic));
    apic.acknowledge(0x61, false);
    let eoi = apic.eoi().unwrap();
    assert!(eoi.ioapic && eoi.level);
    assert!(ioapic.eoi(eoi.vector, eoi.level).is_some());
}

proptest::proptest! {
    #[test]
    fn random_traffic_never_panics_and_sends_nothing_masked(
        steps in proptest::collection::vec(
            (0..4u8, proptest::num::u8::ANY, proptest::num::u32::ANY), 1..200
        ),
    ) {
        let mut ioapic = Ioapic::new();
        for (kind, register, value) in steps {
            let message = match kind {
                0 => write(&mut ioapic, register % 0x44, value),
                1 => ioapic.set_line(register % 24, value & 1 != 0),
                2 => ioapic.eoi(register, value & 1 != 0),
                _ => ioapic.write_mmio(register.into(), (value & 7) as u8, value),
            };
            if let Some(message) = message {
                let entry = ioapic.entry(ioapic.last).unwrap();
                proptest::prop_assert!(!entry.masked());
                proptest::prop_assert_eq!(entry.vector(), message.vector);
                proptest::prop_assert_eq!(entry.remote_irr(), entry.level_triggered());
            }
            ioapic.read_mmio(0x10, 4);
        }
    }
}
