//! Destination resolution: logical destinations, and what targets are left with.

use super::bench::{Bench, DONE, failure, host, page, silicon};
use crate::{AvicMode, Taken};
use trapline_defs::apic::{DFR_CLUSTER, DFR_FLAT, offset};
use trapline_defs::avic::{FailureId, LogicalEntry, PhysicalEntry};

use AvicMode::{X2Avic, XAvic};

const LOGICAL: u32 = 1 << 11;

fn maps_to(id: u8) -> LogicalEntry {
    LogicalEntry::new().with_guest_id(id).with_valid(true)
}

fn cluster() -> Bench {
    let bench = Bench::new(XAvic);
    bench.ram.set_reg(0, offset::DFR, DFR_CLUSTER);
    (0..4).for_each(|index| bench.ram.set_logical(index, LogicalEntry::new()));
    bench
}

fn posted(bench: &Bench) -> Vec<(u16, u8)> {
    bench.ram.all(offset::IRR)
}

#[test]
fn avic_126_a_flat_bit_is_the_index_of_its_entry() {
    for bit in 0..8 {
        let mut bench = Bench::new(XAvic);
        bench.ram.set_logical(bit, maps_to(2));
        assert_eq!(bench.send(LOGICAL | 0x50, 1 << bit), DONE);
        assert_eq!(posted(&bench), [(2, 0x50)]);
        assert_eq!(bench.rung, [host(2)]);
    }
}

#[test]
fn avic_127_a_flat_mask_reaches_every_bit() {
    let mut bench = Bench::new(XAvic);
    assert_eq!(bench.send(LOGICAL | 0x50, 0x0f), DONE);
    assert_eq!(posted(&bench), [(0, 0x50), (1, 0x50), (2, 0x50), (3, 0x50)]);
    assert_eq!(bench.rung, [host(1), host(2), host(3)]);
    assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
}

#[test]
fn avic_128_one_invalid_logical_entry_stops_all_model_defined() {
    let mut bench = Bench::new(XAvic);
    bench.ram.set_logical(2, LogicalEntry::new().with_guest_id(2));
    let expected = bench.incomplete(LOGICAL | 0x50, 0x06, FailureId::INVALID_TARGET, 2);
    assert_eq!(bench.send(LOGICAL | 0x50, 0x06), expected);
    assert!(posted(&bench).is_empty() && bench.rung.is_empty());
}

#[test]
fn avic_129_a_logical_entry_of_an_invalid_physical_one_stops_all_model_defined() {
    let mut bench = Bench::new(XAvic);
    bench.ram.set_entry(2, PhysicalEntry::new());
    assert_eq!(failure(bench.send(LOGICAL | 0x50, 0x06)).0, FailureId::INVALID_TARGET);
    assert!(posted(&bench).is_empty());
}

#[test]
fn avic_130_a_logical_entry_beyond_the_last_index_stops_all_model_defined() {
    let mut bench = Bench::new(XAvic);
    bench.ram.set_entry(200, PhysicalEntry::running(page(5), host(5)));
    bench.ram.set_logical(2, maps_to(200));
    assert_eq!(failure(bench.send(LOGICAL | 0x50, 0x06)).0, FailureId::INVALID_TARGET);
    assert!(posted(&bench).is_empty());
}

#[test]
fn avic_131_the_index_of_a_logical_ipi_is_the_logical_one_model_defined() {
    let mut bench = Bench::new(XAvic);
    bench.ram.set_logical(6, maps_to(1));
    bench.ram.set_entry(1, PhysicalEntry::parked(page(1)));
    let sent = bench.send(LOGICAL | 0x50, 0x44);
    assert_eq!(failure(sent), (FailureId::NOT_RUNNING, 6));
    assert_eq!(posted(&bench), [(1, 0x50), (2, 0x50)]);
    assert_eq!(bench.rung, [host(2)]);
}

#[test]
fn avic_132_an_empty_flat_mask_has_no_target_model_defined() {
    let mut bench = Bench::new(XAvic);
    assert_eq!(bench.send(LOGICAL | 0x50, 0), DONE);
    assert!(posted(&bench).is_empty() && bench.rung.is_empty());
}

#[test]
fn avic_133_cluster_3_bit_2_is_entry_14() {
    let mut bench = cluster();
    bench.ram.set_logical(14, maps_to(3));
    assert_eq!(bench.send(LOGICAL | 0x50, 0x34), DONE);
    assert_eq!(posted(&bench), [(3, 0x50)]);
}

#[test]
fn avic_134_cluster_14_bit_3_is_the_last_entry() {
    let mut bench = cluster();
    bench.ram.set_logical(59, maps_to(3));
    assert_eq!(bench.send(LOGICAL | 0x50, 0xe8), DONE);
    assert_eq!(posted(&bench), [(3, 0x50)]);
}

#[test]
fn avic_135_there_is_no_cluster_15_model_defined() {
    for destination in 0xf0..0xff {
        let mut bench = cluster();
        (60..64).for_each(|index| bench.ram.set_logical(index, maps_to(3)));
        let sent = bench.send(LOGICAL | 0x50, destination);
        assert_eq!(failure(sent).0, FailureId::INVALID_TARGET);
        assert!(posted(&bench).is_empty());
    }
}

#[test]
fn avic_136_the_sender_s_dfr_decides_model_defined() {
    let mut bench = cluster();
    bench.ram.set_reg(3, offset::DFR, DFR_FLAT);
    bench.ram.set_logical(4, maps_to(3));
    assert_eq!(bench.send(LOGICAL | 0x50, 0x11), DONE);
    assert_eq!(posted(&bench), [(3, 0x50)]);
}

#[test]
fn avic_137_an_x2apic_logical_destination_needs_no_table() {
    let mut bench = Bench::ready(X2Avic);
    // Reading there would fail the test: there is no memory.
    bench.control.avic_logical_table = 0x2000_0000;
    bench.control.avic_physical_table |= 0x1f;
    bench.ram.set_entry(0x12, PhysicalEntry::running(page(4), host(4)));
    bench.ram.set_entry(0x1f, PhysicalEntry::running(page(5), host(5)));
    bench.enter();
    assert_eq!(bench.send(LOGICAL | 0x50, 1 << 16 | 1 << 2 | 1 << 15), DONE);
    assert_eq!(posted(&bench), [(4, 0x50), (5, 0x50)]);
    assert_eq!(bench.rung, [host(4), host(5)]);
}

#[test]
fn avic_138_one_x2apic_id_beyond_the_last_index_stops_all_model_defined() {
    let mut bench = Bench::new(X2Avic);
    let sent = bench.send(LOGICAL | 0x50, 1 << 1 | 1 << 9);
    assert_eq!(failure(sent), (FailureId::INVALID_TARGET, 9));
    assert!(posted(&bench).is_empty() && bench.rung.is_empty());
    let sent = bench.send(LOGICAL | 0x50, 0xffff_0001);
    assert_eq!(failure(sent).0, FailureId::INVALID_TARGET);
}

#[test]
fn avic_148_a_vector_in_service_can_be_posted_again() {
    for mut bench in Bench::both() {
        bench.ram.set(0, offset::ISR, 0x50);
        assert_eq!(bench.send(0x50, 0), DONE);
        assert_eq!(bench.boundary(), Taken::Nothing);
        assert_eq!(bench.write(offset::EOI, 0), DONE);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_149_an_ipi_leaves_the_target_s_trigger_bit_model_defined() {
    for mut bench in Bench::both() {
        bench.ram.set(2, offset::TMR, 0x50);
        assert_eq!(bench.send(0x50, 2), DONE);
        assert!(bench.ram.has(2, offset::TMR, 0x50));
    }
}

#[test]
fn logical_ids_below_the_table_s_end_only_matter_in_xapic_mode() {
    let mut bench = Bench::on(silicon("zen4"), X2Avic);
    bench.enter();
    assert_eq!(bench.send(LOGICAL | 0x50, 0b1010), DONE);
    assert_eq!(posted(&bench), [(1, 0x50), (3, 0x50)]);
}
