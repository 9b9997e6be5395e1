//! What a core remembers too long.

use super::bench::{Bench, DONE, PHYSICAL_BITS, VMCB, failure, host, page, silicon};
use crate::{AvicMode, Chance, Knobs, Outcome, Processor};
use trapline_defs::apic::offset;
use trapline_defs::avic::{FailureId, PhysicalEntry};
use trapline_defs::vmcb::TlbControl;

/// A core whose TLB keeps what it can, after vCPU 0 ran on it, and then vCPU 1.
fn second_vcpu(mode: AvicMode, flush: TlbControl) -> Bench {
    let mut bench = Bench::ready(mode);
    let knobs = Knobs { stale_tlb_tag: Chance::Always, ..Knobs::default() };
    bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), PHYSICAL_BITS);
    bench.ram.set_reg(0, offset::TPR, 0xa0);
    bench.ram.set_reg(1, offset::TPR, 0xb0);
    bench.enter();
    bench.cpu.vmexit(&mut bench.control);
    bench.become_vcpu(1);
    bench.control.tlb_control = flush;
    bench.cpu.vmrun(VMCB + 0x1000, &bench.control, &bench.ram).unwrap();
    bench
}

#[test]
fn avic_019_after_a_flush_the_second_vcpu_has_its_own_page() {
    for flush in [TlbControl::FLUSH_GUEST, TlbControl::FLUSH_ALL] {
        let bench = second_vcpu(AvicMode::XAvic, flush);
        assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0xb0));
    }
}

#[test]
fn avic_020_without_one_it_may_have_the_first_one_s() {
    let mut bench = second_vcpu(AvicMode::XAvic, TlbControl::NONE);
    assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0xa0));
    // A later flush ends it.
    bench.reenter(|c, _| c.tlb_control = TlbControl::FLUSH_GUEST);
    assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0xb0));
    bench.reenter(|c, _| c.tlb_control = TlbControl::NONE);
    assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0xb0));
}

#[test]
fn in_x2apic_mode_there_is_no_tlb_entry_to_be_stale() {
    let bench = second_vcpu(AvicMode::X2Avic, TlbControl::NONE);
    assert_eq!(bench.read(offset::TPR), Outcome::Absorbed(0xb0));
}

/// A Zen 2 core on which erratum 1235 strikes whenever it can.
fn erratum_1235() -> Bench {
    let mut bench = Bench::ready(AvicMode::XAvic);
    let knobs = Knobs { stale_is_running: Chance::Always, ..Knobs::default() };
    bench.cpu = Processor::new(silicon("zen2"), knobs, host(0), PHYSICAL_BITS);
    bench.enter();
    bench
}

fn park(bench: &Bench, id: u16) {
    bench.ram.set_entry(id, PhysicalEntry::parked(page(id)).with_host_id(host(id)));
}

#[test]
fn erratum_1235_posts_but_neither_rings_nor_reports() {
    let mut bench = erratum_1235();
    assert_eq!(bench.send(0x50, 2), DONE);
    park(&bench, 2);
    bench.rung.clear();
    assert_eq!(bench.send(0x51, 2), DONE);
    assert!(bench.rung.is_empty());
    assert!(bench.ram.has(2, offset::IRR, 0x51));
    assert_eq!(failure(bench.send(0x52, 2)), (FailureId::NOT_RUNNING, 2));
}

#[test]
fn erratum_1235_spares_entries_that_never_ran_and_self_ipis() {
    let mut bench = erratum_1235();
    (0..4).for_each(|id| park(&bench, id));
    for id in 0..4 {
        assert_eq!(failure(bench.send(0x50, id)), (FailureId::NOT_RUNNING, id as u16));
    }
    assert_eq!(bench.send(1 << 18 | 0x60, 0), DONE);
    assert!(bench.cpu.interrupt_pending());
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut bench = Bench::ready(AvicMode::XAvic);
        let stale_is_running = Chance::OneIn(3);
        let knobs = Knobs { stale_is_running, seed, ..Knobs::default() };
        bench.cpu = Processor::new(silicon("zen2"), knobs, host(0), PHYSICAL_BITS);
        bench.enter();
        (0..64)
            .map(|_| {
                bench.ram.set_entry(2, PhysicalEntry::running(page(2), host(2)));
                assert_eq!(bench.send(0x50, 2), DONE);
                park(&bench, 2);
                bench.send(0x50, 2) == DONE
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert_eq!(run(0), run(0));
}
