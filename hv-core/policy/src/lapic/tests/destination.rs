use trapline_defs::apic::{DFR_CLUSTER, DeliveryMode, Icr, Shorthand};

use super::*;
use crate::lapic::{Delivery, Message};

fn flat(ldr: u32) -> Lapic {
    let mut apic = xapic();
    apic.write_mmio(offset::LDR, ldr << 24, T0);
    apic
}

fn cluster(ldr: u32) -> Lapic {
    let mut apic = flat(ldr);
    apic.write_mmio(offset::DFR, DFR_CLUSTER, T0);
    apic
}

#[test]
fn a_physical_destination_is_the_id_or_broadcast() {
    let apic = xapic();
    assert!(apic.matches(0, false));
    assert!(!apic.matches(1, false));
    assert!(apic.matches(0xff, false));
}

#[test]
fn a_changed_xapic_id_moves_the_physical_destination() {
    let mut apic = xapic();
    apic.write_mmio(offset::ID, 0x0700_0000, T0);
    assert!(apic.map_changed);
    assert!(apic.matches(7, false) && !apic.matches(0, false));
    assert_eq!(apic.physical_id(), 7);
}

#[test]
fn an_x2apic_destination_has_32_bits_and_another_broadcast() {
    let apic = x2apic(0x123);
    assert!(apic.matches(0x123, false));
    assert!(!apic.matches(0x23, false));
    assert!(!apic.matches(0xff, false));
    assert!(apic.matches(0xffff_ffff, false));
}

#[test]
fn a_flat_destination_matches_by_any_common_bit() {
    let apic = flat(0x04);
    assert!(apic.matches(0x06, true));
    assert!(!apic.matches(0x0b, true));
    assert!(!flat(0).matches(0x7f, true));
}

#[test]
fn a_cluster_destination_needs_the_cluster_and_a_bit() {
    let apic = cluster(0x24);
    assert!(apic.matches(0x2c, true));
    assert!(!apic.matches(0x3c, true));
    assert!(!apic.matches(0x23, true));
    assert!(apic.matches(0xff, true), "broadcast");
}

#[test]
fn an_unknown_format_counts_as_cluster_for_an_apic_with_one_bit() {
    let mut apic = flat(0x24);
    apic.write_mmio(offset::DFR, 0x5000_0000, T0);
    assert!(apic.matches(0x24, true));
    let mut apic = flat(0x26);
    apic.write_mmio(offset::DFR, 0x5000_0000, T0);
    assert!(!apic.matches(0x24, true));
}

#[test]
fn an_x2apic_logical_destination_is_cluster_and_bit() {
    let apic = x2apic(0x23);
    assert_eq!(apic.ldr(), 0x0002_0008);
    assert!(apic.matches(0x0002_000c, true));
    assert!(!apic.matches(0x0001_0008, true));
}

#[test]
fn a_software_disabled_apic_has_no_logical_id() {
    let mut apic = flat(1);
    apic.write_mmio(offset::SVR, 0xff, T0);
    assert!(!apic.matches(1, true));
    assert!(apic.matches(0xff, true), "but hears broadcasts");
    assert!(apic.matches(0, false));
}

#[test]
fn shorthands_ignore_the_destination() {
    let apic = xapic();
    let icr = |shorthand| Icr::new().with_shorthand(shorthand).with_destination(9);
    assert!(apic.targets_self(icr(Shorthand::Itself)));
    assert!(apic.targets_self(icr(Shorthand::AllIncludingSelf)));
    assert!(!apic.targets_self(icr(Shorthand::AllExcludingSelf)));
    assert!(!apic.targets_self(icr(Shorthand::None)));
    assert!(!apic.targeted_by_peer(icr(Shorthand::Itself)));
    assert!(apic.targeted_by_peer(icr(Shorthand::AllExcludingSelf)));
}

#[test]
fn lowest_priority_picks_a_bit_by_the_vector_even_if_nobody_has_it() {
    let apic = flat(1);
    let icr = |vector| {
        Icr::new()
            .with_delivery_mode(DeliveryMode::LowestPriority)
            .with_logical(true)
            .with_destination(3)
            .with_vector(vector)
    };
    assert!(apic.targets_self(icr(0x50)));
    assert!(!apic.targets_self(icr(0x51)), "bit 1 wins and is lost");
    assert!(apic.targets_self(icr(0x51).with_destination(0xff)), "broadcast asks everybody");
    let apic = flat(2);
    assert!(apic.targets_self(icr(0x51)));
    assert!(!apic.targets_self(icr(0x50)));
    let apic = x2apic(0x21);
    assert!(apic.targets_self(icr(0x51).with_destination(0x0002_0003)));
    assert!(!apic.targets_self(icr(0x50).with_destination(0x0002_0003)));
}

#[test]
fn a_device_s_ffh_reaches_an_x2apic() {
    let mut apic = x2apic(3);
    let message = Message {
        destination: 0xff,
        logical: false,
        mode: DeliveryMode::Fixed,
        vector: 0x50,
        level: false,
    };
    assert_ne!(apic.receive_message(message), Delivery::None);
    assert_eq!(apic.highest_irr(), Some(0x50));
    assert_eq!(apic.receive(Icr::new().with_destination(0xff).with_vector(0x60)), Delivery::None);
}

#[test]
fn each_delivery_mode_asks_for_its_own() {
    let icr = |mode| Icr::new().with_delivery_mode(mode).with_vector(0x9a);
    assert_eq!(
        Delivery::of(icr(DeliveryMode::Fixed)),
        Delivery::Interrupt { vector: 0x9a, level: false }
    );
    assert_eq!(Delivery::of(icr(DeliveryMode::Smi)), Delivery::Smi);
    assert_eq!(Delivery::of(icr(DeliveryMode::RemoteRead)), Delivery::Unhalt);
    assert_eq!(Delivery::of(icr(DeliveryMode::Nmi)), Delivery::Nmi);
    assert_eq!(Delivery::of(icr(DeliveryMode::Init)), Delivery::Init);
    assert_eq!(Delivery::of(icr(DeliveryMode::StartUp)), Delivery::Sipi { vector: 0x9a });
    assert_eq!(Delivery::of(icr(DeliveryMode::ExtInt)), Delivery::ExtInt);
}

#[test]
fn a_level_triggered_de_assert_does_nothing() {
    for mode in [DeliveryMode::Fixed, DeliveryMode::LowestPriority, DeliveryMode::Init] {
        let icr = Icr::new().with_delivery_mode(mode).with_level_triggered(true);
        assert_eq!(Delivery::of(icr), Delivery::None);
        assert_ne!(Delivery::of(icr.with_assert(true)), Delivery::None);
    }
}

#[test]
fn a_level_triggered_self_ipi_sets_tmr() {
    let mut apic = xapic();
    let icr = Icr::to_self(0x50).with_level_triggered(true).with_assert(true);
    assert_eq!(apic.receive_own(icr), Delivery::Interrupt { vector: 0x50, level: true });
    assert_eq!(apic.tmr()[2], 1 << 16);
}

#[test]
fn a_lost_interrupt_is_reported_as_no_delivery() {
    let mut apic = Lapic::new(0, true);
    assert_eq!(apic.receive_own(Icr::to_self(0x50)), Delivery::None);
    assert_eq!(apic.highest_irr(), None);
}
