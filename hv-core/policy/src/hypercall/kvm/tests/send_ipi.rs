//! SEND_IPI.

use super::*;
use crate::mailbox::State;
use crate::time::Ns;
use trapline_abi::plan::Seed;
use trapline_defs::apic::offset;

const FIXED: u64 = 0xb0;
const NMI: u64 = 4 << 8;
const INIT: u64 = 5 << 8;
const SIPI: u64 = 6 << 8 | 8;
const EINVAL: u64 = -22i64 as u64;
const EOPNOTSUPP: u64 = -95i64 as u64;

fn name(bench: &mut Bench, n: u32, id: u32) {
    let _ = bench.vcpus[n as usize].lapic.write_mmio(offset::ID, id << 24, Ns(0));
    bench.map_changed(n);
}

/// vCPUs with these ids behind vCPU 0, which is 0.
fn sparse(ids: &[u32]) -> Bench {
    let mut bench = bench(ids.len() as u32 + 1);
    for (n, &id) in (1..).zip(ids) {
        name(&mut bench, n, id);
    }
    bench
}

/// Which of the others got FIXED, one bit each.
fn got(bench: &mut Bench) -> u32 {
    (1..bench.vcpus.len() as u32).fold(0, |all, n| {
        collect(bench, n);
        let has = bench.vcpus[n as usize].lapic.eoi_outstanding(FIXED as u8);
        all | u32::from(has) << n
    })
}

#[test]
fn hc_2_a_window_has_128_ids() {
    // By vCPU, from 1 on; vCPU 0, the sender, has id 0.
    let ids = [1, 63, 64, 127, 128, 191, 192];
    for (low, high, first, expected, accepted) in [
        (!0, !0, 0, 0b0001_1110, 5),
        (!0, !0, 1, 0b0011_1110, 5),
        (!0, !0, 64, 0b0111_1000, 4),
        (!0, !0, 65, 0b1111_0000, 4),
        (1, 1, 64, 0b0010_1000, 2),
        (0, 1 << 63, 64, 0b0100_0000, 1),
        (1 << 63, 0, 1, 0b0000_1000, 1),
        (!0, !0, 193, 0, 0),
        // The second half's first id wraps around to 63.
        (!0, !0, 0xffff_ffff, 0b0000_1100, 2),
    ] {
        let mut bench = sparse(&ids);
        let result = call(&mut bench, 10, [low, high, first, FIXED]);
        assert_eq!(result, (accepted, Next::Enter), "from {first}");
        assert_eq!(got(&mut bench), expected, "from {first}");
    }
}

#[test]
fn hc_2_outside_of_64_bit_mode_a_window_has_64_ids() {
    let mut bench = sparse(&[31, 32, 63, 64]);
    bench.vmcb(0).save.cs.attributes &= !(1 << 9);
    assert_eq!(call(&mut bench, 10, [!0, !0, 0, FIXED]).0, 4);
    assert_eq!(got(&mut bench), 0b1110);
}

#[test]
fn hc_2_ids_are_physical_in_x2apic_mode_too() {
    let mut bench = bench(16);
    for n in 0..16 {
        bench.x2apic(n);
    }
    assert_eq!(call(&mut bench, 10, [0x5555, 0, 1, FIXED]).0, 8);
    assert_eq!(got(&mut bench), 0xaaaa);
    assert!(bench.vcpus[0].lapic.mode() == crate::lapic::Mode::X2Apic);
}

#[test]
fn hc_3_only_physical_destinations_without_shorthand() {
    let mut bench = bench(2);
    for wrong in [1 << 11, 1 << 18, 2 << 18, 3 << 18] {
        assert_eq!(call(&mut bench, 10, [0b11, 0, 0, FIXED | wrong]).0, EINVAL);
    }
    assert_eq!(got(&mut bench), 0);
    assert!(!bench.vcpus[0].lapic.eoi_outstanding(FIXED as u8));
    // A destination in the upper half is not looked at.
    assert_eq!(call(&mut bench, 10, [0b10, 0, 0, 0xff << 56 | FIXED]).0, 1);
}

#[test]
fn hc_3_two_of_one_id_are_an_error_unless_one_is_off() {
    let mut bench = sparse(&[5, 5]);
    assert_eq!(call(&mut bench, 10, [1 << 5, 0, 0, FIXED]).0, EOPNOTSUPP);
    assert_eq!(got(&mut bench), 0);
    let lapic = &mut bench.vcpus[2].lapic;
    lapic.set_base(lapic.base() & !trapline_defs::apic::base::ENABLE, true).unwrap();
    bench.map_changed(2);
    assert_eq!(call(&mut bench, 10, [1 << 5, 0, 0, FIXED]).0, 1);
    assert_eq!(got(&mut bench), 0b10);
}

#[test]
fn hc_4_accepted_is_counted_by_what_is_sent() {
    let mut bench = bench(4);
    // vCPU 2 is off in SVR.
    let _ = bench.vcpus[2].lapic.write_mmio(offset::SVR, 0xff, Ns(0));
    bench.map_changed(2);
    let all = |icr| [0b1110, 0, 0, icr];
    assert_eq!(call(&mut bench, 10, all(FIXED)).0, 2);
    assert_eq!(call(&mut bench, 10, all(FIXED)).0, 2, "a vector that is pending counts again");
    assert_eq!(call(&mut bench, 10, all(1 << 8 | FIXED)).0, 2, "lowest priority, to all of them");
    assert_eq!(call(&mut bench, 10, all(1 << 15 | FIXED)).0, 0, "level without assert");
    assert_eq!(call(&mut bench, 10, all(1 << 15 | 1 << 14 | FIXED)).0, 2);
    assert_eq!(call(&mut bench, 10, all(7 << 8)).0, 0, "ExtINT");
    assert_eq!(got(&mut bench), 0b1010);
    for (icr, what) in [(NMI, "NMI"), (INIT, "INIT"), (SIPI, "SIPI")] {
        assert_eq!(call(&mut bench, 10, all(icr)).0, 3, "{what}");
    }
    let letters = collect(&mut bench, 2);
    assert_eq!((letters.nmis, letters.init, letters.sipi), (1, true, Some(8)));
}

#[test]
fn hc_4_the_senders_own_bit_counts() {
    let mut bench = bench(2);
    assert_eq!(call(&mut bench, 10, [0b11, 0, 0, FIXED]).0, 2);
    assert_eq!(bench.vmcb(0).control.event_injection.vector(), FIXED as u8);
    assert_eq!(call(&mut bench, 10, [0b1, 0, 0, NMI]), (1, Next::Enter));
    assert_eq!(bench.vcpus[0].events.nmis, 1);
    let stop = Next::Stop(crate::handle::Stop::Init);
    assert_eq!(call(&mut bench, 10, [0b1, 0, 0, INIT]), (1, stop));
}

#[test]
fn hc_2_under_avic_a_running_target_is_rung_and_others_are_woken() {
    let mut bench = with(4, FEATURES);
    bench.set_state(1, State::Guest);
    bench.set_state(2, State::Asleep);
    bench.set_state(3, State::Host);
    assert_eq!(call(&mut bench, 10, [0b1110, 0, 0, FIXED]).0, 3);
    for n in 1..4 {
        assert!(bench.page(n).vectors(offset::IRR).has(FIXED as u8), "vCPU {n}");
    }
    let vcpu = &bench.vcpus[0];
    assert_eq!((vcpu.doorbells, vcpu.kicks), (0b10, 0b100));
    assert!(vcpu.rearm);
}

#[test]
fn hc_2_the_seeded_fault_loses_the_highest_id() {
    for (low, high, lost) in [(0b1110, 0, 3), (0b10, 0b1, 4)] {
        let mut bench = sparse(&[1, 2, 3, 64]);
        bench.vm.seed = Some(Seed::PvIpiTopLost);
        call(&mut bench, 10, [low, high, 0, FIXED]);
        let asked = low as u32 | (high as u32) << 4;
        assert_eq!(got(&mut bench), asked & !(1 << lost));
    }
}
