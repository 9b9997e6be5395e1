//! Destination resolution: physical ids, broadcasts and shorthands.

use super::bench::{Bench, DONE, SCRATCH, TABLE, failure, host, page, silicon};
use crate::{AvicMode, Quirks, Taken};
use trapline_defs::apic::offset;
use trapline_defs::avic::{FailureId, PhysicalEntry};

const ALL: u32 = 2 << 18;
const OTHERS: u32 = 3 << 18;
const LOGICAL: u32 = 1 << 11;

fn park(bench: &Bench, id: u16) {
    bench.ram.set_entry(id, PhysicalEntry::parked(page(id)).with_host_id(host(id)));
}

fn posted_to(bench: &Bench, vector: u8) -> Vec<u16> {
    let all = bench.ram.all(offset::IRR);
    assert!(all.iter().all(|&(_, posted)| posted == vector));
    all.into_iter().map(|(id, _)| id).collect()
}

/// Broadcast, whatever the mode's way of saying so.
fn broadcast(bench: &Bench) -> u32 {
    if bench.is_x2() { 0xffff_ffff } else { 0xff }
}

#[test]
fn avic_114_the_last_index_is_inclusive() {
    for mut bench in Bench::both() {
        bench.ram.set_entry(7, PhysicalEntry::running(page(7), host(7)));
        assert_eq!(bench.send(0x50, 7), DONE);
        assert_eq!(posted_to(&bench, 0x50), [7]);
    }
}

#[test]
fn avic_115_an_id_above_the_last_index_is_not_looked_up() {
    for mut bench in Bench::both() {
        bench.ram.set_entry(8, PhysicalEntry::running(SCRATCH, host(8)));
        let expected = bench.incomplete(0x50, 8, FailureId::INVALID_TARGET, 8);
        assert_eq!(bench.send(0x50, 8), expected);
    }
    let mut bench = Bench::new(AvicMode::X2Avic);
    assert_eq!(failure(bench.send(0x50, 0x0001_0001)).0, FailureId::INVALID_TARGET);
    assert!(posted_to(&bench, 0x50).is_empty());
}

#[test]
fn avic_116_an_invalid_entry_exits_with_id_2_model_defined() {
    for mut bench in Bench::both() {
        bench.ram.set_entry(5, PhysicalEntry::running(page(5), host(5)).with_valid(false));
        let expected = bench.incomplete(0x50, 5, FailureId::INVALID_TARGET, 5);
        assert_eq!(bench.send(0x50, 5), expected);
        assert!(posted_to(&bench, 0x50).is_empty() && bench.rung.is_empty());
    }
}

#[test]
fn avic_117_a_vcpu_that_does_not_run_is_posted_not_rung_and_reported() {
    for mut bench in Bench::both() {
        park(&bench, 2);
        let expected = bench.incomplete(0x50, 2, FailureId::NOT_RUNNING, 2);
        assert_eq!(bench.send(0x50, 2), expected);
        assert_eq!(posted_to(&bench, 0x50), [2]);
        assert!(bench.rung.is_empty());
    }
}

#[test]
fn avic_118_an_ipi_to_the_own_id_goes_through_the_table() {
    for mut bench in Bench::both() {
        assert_eq!(bench.send(0x50, 0), DONE);
        assert!(bench.rung.is_empty(), "the own doorbell is answered by the model");
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
        park(&bench, 0);
        assert_eq!(failure(bench.send(0x60, 0)), (FailureId::NOT_RUNNING, 0));
        assert_eq!(posted_to(&bench, 0x60), [0]);
    }
}

#[test]
fn avic_119_destination_ffh_is_everyone_in_logical_mode_too() {
    for mode in [0, LOGICAL] {
        let mut bench = Bench::new(AvicMode::XAvic);
        assert_eq!(bench.send(mode | 0x50, 0xff), DONE);
        assert_eq!(posted_to(&bench, 0x50), [0, 1, 2, 3]);
        assert_eq!(bench.rung, [host(1), host(2), host(3)]);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn avic_120_a_broadcast_skips_invalid_entries() {
    for mut bench in Bench::both() {
        bench.ram.set_entry(1, PhysicalEntry::running(page(1), host(1)).with_valid(false));
        let everyone = broadcast(&bench);
        assert_eq!(bench.send(0x50, everyone), DONE);
        assert_eq!(posted_to(&bench, 0x50), [0, 2, 3]);
    }
}

#[test]
fn avic_121_all_excluding_self_leaves_the_sender_out() {
    for mut bench in Bench::both() {
        assert_eq!(bench.send(OTHERS | 0x50, 0), DONE);
        assert_eq!(posted_to(&bench, 0x50), [1, 2, 3]);
        assert_eq!(bench.boundary(), Taken::Nothing);
    }
    // Its id is what the page says, right or wrong.
    for mut bench in Bench::both() {
        let two = if bench.is_x2() { 2 } else { 2 << 24 };
        bench.ram.set_reg(0, offset::ID, two);
        assert_eq!(bench.send(OTHERS | 0x50, 0), DONE);
        assert_eq!(posted_to(&bench, 0x50), [0, 1, 3]);
    }
}

#[test]
fn avic_122_all_including_self_includes_it() {
    for mut bench in Bench::both() {
        assert_eq!(bench.send(ALL | 0x50, 2), DONE);
        assert_eq!(posted_to(&bench, 0x50), [0, 1, 2, 3]);
    }
}

#[test]
fn avic_123_a_broadcast_ends_at_the_last_index() {
    for mut bench in Bench::both() {
        bench.reenter(|c, ram| {
            c.avic_physical_table = TABLE | 2;
            ram.set_entry(3, PhysicalEntry::running(page(3), host(3)));
        });
        assert_eq!(bench.send(ALL | 0x50, 0), DONE);
        assert_eq!(posted_to(&bench, 0x50), [0, 1, 2]);
    }
}

#[test]
fn index_255_of_an_xapic_table_is_never_a_target() {
    let mut bench = Bench::new(AvicMode::XAvic);
    bench.reenter(|c, ram| {
        c.avic_physical_table = TABLE | 255;
        ram.set_entry(255, PhysicalEntry::running(page(4), host(4)));
    });
    assert_eq!(bench.send(ALL | 0x50, 0), DONE);
    assert_eq!(posted_to(&bench, 0x50), [0, 1, 2, 3]);
}

#[test]
fn avic_124_a_broadcast_posts_everything_and_reports_one_that_does_not_run_model_defined() {
    for mut bench in Bench::both() {
        park(&bench, 1);
        park(&bench, 3);
        assert_eq!(failure(bench.send(OTHERS | 0x50, 0)), (FailureId::NOT_RUNNING, 1));
        assert_eq!(posted_to(&bench, 0x50), [1, 2, 3]);
        assert_eq!(bench.rung, [host(2)]);
    }
}

#[test]
fn avic_125_a_broadcast_to_nobody_does_nothing_model_defined() {
    for mut bench in Bench::both() {
        (1..4).for_each(|id| bench.ram.set_entry(id, PhysicalEntry::new()));
        assert_eq!(bench.send(OTHERS | 0x50, 0), DONE);
        assert!(posted_to(&bench, 0x50).is_empty() && bench.rung.is_empty());
    }
}

#[test]
fn avic_139_in_x2apic_mode_ffh_is_an_ordinary_id_model_defined() {
    let mut bench = Bench::new(AvicMode::X2Avic);
    bench.reenter(|c, ram| {
        c.avic_physical_table = TABLE | 511;
        ram.set_entry(255, PhysicalEntry::running(page(5), host(5)));
    });
    assert_eq!(bench.send(0x50, 0xff), DONE);
    assert_eq!(posted_to(&bench, 0x50), [5]);
}

#[test]
fn avic_140_in_x2apic_mode_ffff_ffffh_is_everyone_model_defined() {
    for mode in [0, LOGICAL] {
        let mut bench = Bench::new(AvicMode::X2Avic);
        assert_eq!(bench.send(mode | 0x50, 0xffff_ffff), DONE);
        assert_eq!(posted_to(&bench, 0x50), [0, 1, 2, 3]);
    }
}

#[test]
fn avic_141_large_tables_span_pages() {
    let silicon = silicon("zen5").with_quirks(Quirks::X2AVIC_EXT);
    let mut bench = Bench::on(silicon, AvicMode::X2Avic);
    bench.control.avic_physical_table = TABLE | 600;
    bench.ram.store64(TABLE + 600 * 8, PhysicalEntry::running(page(6), host(6)).into_bits());
    bench.enter();
    assert_eq!(bench.send(0x50, 600), DONE);
    assert_eq!(posted_to(&bench, 0x50), [6]);
    assert_eq!(bench.rung, [host(6)]);
}

#[test]
fn avic_142_a_backing_page_outside_physical_memory_exits_with_id_3() {
    for mut bench in Bench::both() {
        bench.ram.set_entry(2, PhysicalEntry::running(1 << 45, host(2)));
        assert_eq!(failure(bench.send(0x50, 2)), (FailureId::INVALID_BACKING_PAGE, 2));
        assert_eq!(failure(bench.send(ALL | 0x50, 0)), (FailureId::INVALID_BACKING_PAGE, 2));
        assert!(posted_to(&bench, 0x50).is_empty() && bench.rung.is_empty());
    }
}

#[test]
fn avic_143_the_host_id_has_twelve_bits() {
    for mut bench in Bench::both() {
        bench.ram.set_entry(2, PhysicalEntry::running(page(2), 0x1ff));
        assert_eq!(bench.send(0x50, 2), DONE);
        assert_eq!(bench.rung, [0x1ff]);
    }
    let narrow = silicon("zen2").with_quirks(Quirks::NARROW_HOST_ID);
    let mut bench = Bench::on(narrow, AvicMode::XAvic);
    bench.ram.set_entry(2, PhysicalEntry::running(page(2), 0x1ff));
    bench.enter();
    assert_eq!(bench.send(0x50, 2), DONE);
    assert_eq!(bench.rung, [0xff]);
}
