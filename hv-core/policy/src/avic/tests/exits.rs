//! Exits 401h, 402h and A6h, and what must not be done at them.

use super::bench::{Bench, FEATURES, features};
use crate::avic::features::Features;
use crate::handle::{Next, Stop};
use crate::lapic::Vectors;
use crate::mailbox::State;
use crate::msr::{PASSED_THROUGH, x2avic_passes};
use crate::xen_rfc::Crash;
use trapline_abi::plan::{Policy, Seed};
use trapline_defs::apic::{Icr, offset};
use trapline_defs::avic::{FailureId, IncompleteIpi, NoAccel};
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word5};

/// Fixed, edge, to all but self.
const OTHERS: u64 = 3 << 18;
/// Logical, flat: destination in bits 63:56.
const LOGICAL: u64 = 1 << 11;

fn incomplete(bench: &mut Bench, id: FailureId, icr: u64, index: u16) -> Next {
    let info = IncompleteIpi::because(id, index).into_bits();
    bench.exit(0, ExitCode::AVIC_INCOMPLETE_IPI, icr, info).next
}

#[test]
fn avh_001_on_id_1_targets_are_woken_and_no_irr_is_written() {
    let mut bench = Bench::new(3);
    bench.set_state(1, State::Asleep);
    bench.set_state(2, State::Guest);
    let next = incomplete(&mut bench, FailureId::NOT_RUNNING, OTHERS | 0xb0, 1);
    assert_eq!(next, Next::Enter);
    for n in 0..3 {
        assert_eq!(bench.page(n).vectors(offset::IRR), Vectors::EMPTY, "vCPU {n}");
    }
    assert_eq!((bench.vcpus[0].kicks, bench.vcpus[0].doorbells), (1 << 1, 1 << 2));
}

#[test]
fn avh_001_sending_again_is_noticed() {
    let mut bench = Bench::with(2, FEATURES, Some(Seed::IncompleteIpiResent));
    bench.set_state(1, State::Asleep);
    let _ = incomplete(&mut bench, FailureId::NOT_RUNNING, OTHERS | 0xb0, 1);
    assert!(bench.page(1).vectors(offset::IRR).has(0xb0), "the seeded fault");
}

#[test]
fn avh_002_on_ids_0_and_2_the_whole_command_is_sent_and_busy_is_cleared() {
    for id in [FailureId::INVALID_TYPE, FailureId::INVALID_TARGET] {
        let mut bench = Bench::new(3);
        for n in 0..3 {
            bench.vcpus[n].lapic.write_mmio(offset::LDR, 1 << (24 + n), crate::time::Ns(0));
            bench.map_changed(n as u32);
        }
        // Bits of vCPU 1 and of nobody.
        let icr = LOGICAL | 0xb0 | 0x22 << 56;
        bench.page(0).store(offset::ICR, 0xb0 | Icr::BUSY as u32);
        assert_eq!(incomplete(&mut bench, id, icr, 5), Next::Enter);
        assert!(bench.page(1).vectors(offset::IRR).has(0xb0), "{id:?}: the valid target");
        assert_eq!(bench.page(2).vectors(offset::IRR), Vectors::EMPTY);
        assert_eq!(bench.page(0).load(offset::ICR), 0xb0, "{id:?}: delivery status");
    }
}

/// Linux before 6.3 warned, and that was all.
#[test]
fn avh_002_an_invalid_target_is_dropped_by_older_releases() {
    for policy in [Policy::Kvm58, Policy::Kvm515] {
        let mut bench = Bench::with(3, features(policy), None);
        let next = incomplete(&mut bench, FailureId::INVALID_TARGET, OTHERS | 0xb0, 2);
        assert_eq!(next, Next::Enter);
        for n in 1..3 {
            assert!(!bench.vm.mailbox(n).is_full(), "{policy:?}");
            assert_eq!(bench.page(n).vectors(offset::IRR), Vectors::EMPTY, "{policy:?}");
        }
    }
}

#[test]
fn avh_003_every_target_that_does_not_run_is_woken() {
    let sleepers = |features| {
        let mut bench = Bench::with(4, features, None);
        (1..4).for_each(|n| bench.set_state(n, State::Asleep));
        let _ = incomplete(&mut bench, FailureId::NOT_RUNNING, OTHERS | 0xb0, 1);
        bench.vcpus[0].kicks
    };
    assert_eq!(sleepers(FEATURES), 0b1110);
    // Xen's series stopped at the first.
    assert_eq!(sleepers(features(Policy::XenAvicRfc)), 0b0010);
}

#[test]
fn avh_004_no_value_of_the_exit_kills_the_vm() {
    for id in 0..8 {
        for icr in [0xb0, 0x5, 0x700, 1 << 15 | 0xb0, u64::from(u32::MAX)] {
            let mut bench = Bench::new(2);
            assert_eq!(incomplete(&mut bench, FailureId(id), icr, 0xfff), Next::Enter, "id {id}");
        }
    }
    for slot in 0..=255u16 {
        let mut bench = Bench::new(1);
        bench.x2apic(0);
        for write in [false, true] {
            let info = NoAccel::at(slot << 4, write).into_bits();
            bench.vcpus[0].gprs.rcx = 0x800 + u64::from(slot);
            let next = bench.exit(0, ExitCode::AVIC_NOACCEL, info, 0).next;
            assert_eq!(next, Next::Enter, "{slot:#x} {write}");
        }
    }
    let mut xen = Bench::with(2, features(Policy::XenAvicRfc), None);
    let next = incomplete(&mut xen, FailureId::INVALID_TARGET, 0xb0, 0);
    assert_eq!(
        (next, xen.vcpus[0].avic.crash),
        (Next::Stop(Stop::Crashed), Some(Crash::IncompleteIpi))
    );
}

#[test]
fn avh_005_the_index_is_twelve_bits_of_exitinfo2() {
    let info = IncompleteIpi::from_bits(1 << 32 | 0xabcd_f001);
    assert_eq!((info.id(), info.index()), (FailureId::NOT_RUNNING, 1));
    // And nothing depends on it: who is woken follows from the command.
    let mut bench = Bench::new(3);
    bench.set_state(2, State::Asleep);
    let icr = 0xb0 | 2 << 56;
    bench.exit(0, ExitCode::AVIC_INCOMPLETE_IPI, icr, 1 << 32 | 0xffff_f001);
    assert_eq!(bench.vcpus[0].kicks, 1 << 2);
}

#[test]
fn avh_006_a_trap_moves_no_rip_and_keeps_what_the_guest_wrote() {
    let mut bench = Bench::new(1);
    for (register, value) in [
        (offset::TIMER_DIVIDE, 0xb),
        (offset::TIMER_INITIAL, 1000),
        (offset::LVT_TIMER, 0x2_00b0),
        (offset::LDR, 0x0100_0000),
    ] {
        bench.page(0).store(register, value);
        let info = NoAccel::at(register, true).into_bits();
        assert_eq!(bench.exit(0, ExitCode::AVIC_NOACCEL, info, 0).next, Next::Enter);
        assert_eq!(bench.page(0).load(register), value, "{register:#x}");
        assert_eq!(bench.vmcb(0).save.rip, 0x5000, "{register:#x}");
    }
    assert_eq!(bench.vcpus[0].lapic.peek(offset::TIMER_INITIAL, crate::time::Ns(0)), Some(1000));
}

#[test]
fn avh_007_a_fault_is_emulated_from_the_bytes_at_rip() {
    let mut bench = Bench::new(1);
    // mov eax, [rdx]; mov [rdx], eax.
    bench.ram.put(0x5000, &[0x8b, 0x02, 0x89, 0x02]);
    let info = NoAccel::at(offset::TIMER_CURRENT, false).into_bits();
    bench.vmcb(0).save.rax = u64::MAX;
    assert_eq!(bench.exit(0, ExitCode::AVIC_NOACCEL, info, 0).next, Next::Enter);
    assert_eq!((bench.vmcb(0).save.rip, bench.vmcb(0).save.rax), (0x5002, 0));
    // A write that no APIC takes: over it, nothing changed.
    let before = bench.page(0).load(offset::PPR);
    let info = NoAccel::at(offset::PPR, true).into_bits();
    assert_eq!(bench.exit(0, ExitCode::AVIC_NOACCEL, info, 0).next, Next::Enter);
    assert_eq!((bench.vmcb(0).save.rip, bench.page(0).load(offset::PPR)), (0x5004, before));
}

#[test]
fn avh_008_the_next_rip_of_401h_and_402h_is_not_used() {
    // `Bench::exit` fills it with something that is none.
    let mut bench = Bench::new(2);
    let _ = incomplete(&mut bench, FailureId::NOT_RUNNING, OTHERS | 0xb0, 1);
    assert_eq!(bench.vmcb(0).save.rip, 0x5000);
    bench.ram.put(0x5000, &[0x8b, 0x02]);
    bench.exit(0, ExitCode::AVIC_NOACCEL, NoAccel::at(offset::APR, false).into_bits(), 0);
    assert_eq!(bench.vmcb(0).save.rip, 0x5002);
}

#[test]
fn avh_024_an_interrupted_delivery_is_repeated_and_no_irr_is_set() {
    let mut bench = Bench::new(1);
    bench.vmcb(0).control.exit_int_info = Event::interrupt(0xb0);
    bench.exit(0, ExitCode::NPF, 0, 0x7000);
    assert_eq!(bench.vmcb(0).control.event_injection, Event::interrupt(0xb0));
    assert_eq!(bench.page(0).vectors(offset::IRR), Vectors::EMPTY);
    assert_eq!(bench.vcpus[0].lapic.irr(), &[0; 8]);
}

#[test]
fn avh_025_halting_looks_at_irr_ppr_and_if() {
    let halt = |vector: u8, in_service: Option<u8>, rflags| {
        let mut bench = Bench::new(1);
        bench.page(0).set(offset::IRR, vector);
        if let Some(service) = in_service {
            bench.page(0).set(offset::ISR, service);
        }
        bench.vmcb(0).save.rflags = rflags;
        bench.exit(0, ExitCode::HLT, 0, 0).next
    };
    assert_eq!(halt(0xb0, None, 0x202), Next::Enter);
    assert_eq!(halt(0xb0, None, 0x2), Next::Block, "IF is clear");
    assert_eq!(halt(0xb0, Some(0xb1), 0x202), Next::Block, "the same class is in service");
    assert_eq!(halt(0xb0, Some(0xa1), 0x202), Next::Enter);
}

#[test]
fn avh_025_not_looking_is_noticed() {
    let mut bench = Bench::with(1, FEATURES, Some(Seed::BlockWithoutLook));
    bench.page(0).set(offset::IRR, 0xb0);
    assert_eq!(bench.exit(0, ExitCode::HLT, 0, 0).next, Next::Block, "the seeded fault");
}

/// KVM 6.12 lets more through than the rule says: until 2026 its list had reads that fault and writes
/// that trap on it. What matters is kept: everything that it lets through has an answer at 402h, and
/// the self-IPI and the timer's LVT are not on the list.
#[test]
fn avh_026_what_kvm_6_12_lets_through_is_answered() {
    assert!(!x2avic_passes(0x83f) && !x2avic_passes(0x832));
    for msr in [0x808, 0x80b, 0x830] {
        assert!(x2avic_passes(msr), "{msr:#x}");
    }
    for msr in (0x800..0x900).filter(|&msr| x2avic_passes(msr)) {
        let mut bench = Bench::new(1);
        bench.x2apic(0);
        bench.vcpus[0].gprs.rcx = u64::from(msr);
        let info = NoAccel::at(((msr - 0x800) << 4) as u16, false).into_bits();
        assert_eq!(bench.exit(0, ExitCode::AVIC_NOACCEL, info, 0).next, Next::Enter, "{msr:#x}");
    }
}

#[test]
fn avh_028_guests_ring_no_doorbells() {
    const DOORBELL: u32 = 0xc001_011b;
    assert!(!PASSED_THROUGH.contains(&DOORBELL) && !x2avic_passes(DOORBELL));
    let mut bench = Bench::new(1);
    bench.vcpus[0].gprs.rcx = DOORBELL.into();
    bench.exit(0, ExitCode::MSR, 1, 0);
    assert_eq!(bench.vmcb(0).control.event_injection, Event::GP);
}

#[test]
fn avh_029_a_level_triggered_eoi_is_ended_in_software() {
    let mut bench = Bench::new(1);
    let page = bench.page(0);
    page.set(offset::ISR, 0x51);
    page.set(offset::ISR, 0x31);
    page.set(offset::TMR, 0x51);
    page.store(offset::PPR, 0x50);
    let info = NoAccel::at(offset::EOI, true).into_bits();
    assert_eq!(bench.exit(0, ExitCode::AVIC_NOACCEL, info, 0x51).next, Next::Enter);
    let service = page.vectors(offset::ISR);
    assert!(!service.has(0x51) && service.has(0x31));
    assert_eq!(page.load(offset::PPR), 0x30);
}

#[test]
fn avh_030_an_nmi_comes_as_id_0_and_is_delivered() {
    for vnmi in [false, true] {
        let mut bench = Bench::with(2, Features { vnmi, ..FEATURES }, None);
        let nmi = 4 << 8 | 1 << 56;
        assert_eq!(incomplete(&mut bench, FailureId::INVALID_TYPE, nmi, 0), Next::Enter);
        bench.enter_all();
        let control = &bench.vmcb(1).control;
        assert_eq!(control.event_injection == Event::nmi(), !vnmi);
        assert_eq!(control.v_intr.v_nmi(), vnmi);
        assert_eq!(control.intercept_3.contains(Word3::IRET), !vnmi, "with VNMI nobody watches");
    }
}

#[test]
fn avh_032_an_idle_hlt_exit_is_a_hlt_exit() {
    let mut bench = Bench::with(1, Features { idle_hlt: true, ..FEATURES }, None);
    let control = bench.vmcb(0).control;
    assert!(control.intercept_5.contains(Word5::IDLE_HLT));
    assert!(!control.intercept_3.contains(Word3::HLT));
    bench.vmcb(0).control.interrupt_shadow = 1;
    let handled = bench.exit(0, ExitCode::IDLE_HLT, 0, 0);
    assert_eq!((handled.next, handled.key.code()), (Next::Block, 0xa6));
    assert_eq!((bench.vmcb(0).save.rip, bench.vmcb(0).control.interrupt_shadow), (0x5001, 0));
    bench.page(0).set(offset::IRR, 0xb0);
    assert_eq!(bench.exit(0, ExitCode::IDLE_HLT, 0, 0).next, Next::Enter);
}
