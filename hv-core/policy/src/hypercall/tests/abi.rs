//! How calls are made, and what refuses them before they are looked at.

use super::*;
use proptest::prelude::*;
use trapline_defs::event::Event;

const NOTIFY: u64 = 0x08;
const SEND_IPI: u64 = 0x0b;

/// VMMCALL is `#UD`, and nothing else happened.
fn is_undefined(bench: &mut Bench) -> bool {
    let before = (bench.vcpus[0].gprs, bench.vmcbs[0].save.rax, bench.vmcbs[0].save.rip);
    bench.vmcall(0);
    let after = (bench.vcpus[0].gprs, bench.vmcbs[0].save.rax, bench.vmcbs[0].save.rip);
    let raised = core::mem::take(&mut bench.vcpus[0].events.exception);
    before == after && raised == Event::UD
}

/// A fast IPI to everybody, in registers.
fn set_up_ipi(bench: &mut Bench) {
    let gprs = &mut bench.vcpus[0].gprs;
    (gprs.rcx, gprs.rdx, gprs.r8) = (FAST | SEND_IPI, VECTOR.into(), u64::MAX);
}

#[test]
fn hv_200_above_ring_0_vmmcall_is_undefined() {
    for cpl in 1..=3 {
        let mut bench = Bench::new(2);
        set_up_ipi(&mut bench);
        bench.vmcbs[0].save.cpl = cpl;
        assert!(is_undefined(&mut bench));
        assert_eq!(bench.hit(), 0);
    }
}

#[test]
fn hv_201_in_real_mode_vmmcall_is_undefined() {
    let mut bench = Bench::new(2);
    set_up_ipi(&mut bench);
    bench.vmcbs[0].save.cr0 = 0x10;
    assert!(is_undefined(&mut bench));
    assert_eq!(bench.hit(), 0);
}

#[test]
fn hv_202_a_code_that_is_not_there_changes_rax_only() {
    let mut bench = Bench::new(1);
    let before = Gprs { rbx: 1, rcx: 0x7fff, rdx: 3, r8: 4, r9: 5, r10: 6, ..Gprs::default() };
    bench.vcpus[0].gprs = before;
    bench.vmcbs[0].save.rax = 0xdead_0000_0000;
    bench.vmcall(0);
    assert_eq!((bench.vmcbs[0].save.rax, bench.vcpus[0].gprs), (2, before));
}

#[test]
fn hv_203_reserved_bits_of_the_input_value() {
    let mut bench = Bench::new(1);
    for bit in [27, 28, 29, 30, 31, 44, 47, 60, 63] {
        assert_eq!(bench.call(0, 1 << bit | NOTIFY, 0, 0), 3, "bit {bit}");
        // Before the code, but behind the right to call it.
        assert_eq!(bench.call(0, 1 << bit | 0x7fff, 0, 0), 3);
        assert_eq!(bench.call(0, 1 << bit | 0x8001, 0, 0), 6);
    }
}

#[test]
fn hv_204_hv_205_repetitions_and_headers_of_calls_that_have_none() {
    for code in [NOTIFY, SEND_IPI, 0x5c, 0x5d] {
        let mut bench = Bench::new(1);
        for extra in [1 << 32, 1 << 43, 1 << 48, 1 << 59, 1 << 17, 1 << 26] {
            assert_eq!(bench.call(0, extra | FAST | code, VECTOR.into(), 1), 3, "{code:#x}");
        }
        assert_eq!(bench.hit(), 0);
    }
    let mut bench = Bench::new(1);
    bench.block(&[VECTOR.into(), 0, 1, 1]);
    assert_eq!(bench.call(0, 1 << 32 | 1 << 17 | 0x15, BLOCK, 0), 3);
}

#[test]
fn hv_209_32_bit_code_calls_by_pairs_of_registers() {
    for segment in [0x0c9b, 0x0a9b] {
        let mut bench = Bench::new(3);
        let vmcb = &mut bench.vmcbs[0];
        vmcb.save.cs.attributes = segment;
        // Without long mode CS.L says nothing; with it and without CS.L the code is 32-bit code.
        if segment == 0x0a9b {
            vmcb.save.efer = 0x1000;
        }
        vmcb.save.rax = 0xffff_ffff_0000_0000 | FAST | SEND_IPI;
        // RBX:RCX is the first word, RDI:RSI the second. Upper halves mean nothing.
        let garbage = 0xabcd_0000_0000;
        let gprs = Gprs {
            rcx: garbage | u64::from(VECTOR),
            rsi: garbage | 0b110,
            r8: 1,
            ..Gprs::default()
        };
        bench.vcpus[0].gprs = gprs;
        bench.vmcall(0);
        assert_eq!((bench.vmcbs[0].save.rax, bench.vcpus[0].gprs.rdx), (0, 0));
        assert_eq!(bench.hit(), 0b110);
        bench.vmcbs[0].save.rip = RIP;
        // A high half that counts: RDX has the repetitions.
        bench.vcpus[0].gprs = Gprs { rdx: 1, ..gprs };
        bench.vmcbs[0].save.rax = FAST | SEND_IPI;
        bench.vmcall(0);
        assert_eq!((bench.vmcbs[0].save.rax, bench.vcpus[0].gprs.rdx), (3, 0));
    }
}

#[test]
fn hv_210_xmm_registers_that_are_not_offered_are_undefined() {
    let mut bench = Bench::with(2, ALL.difference(HyperV::XMM_INPUT));
    let gprs = &mut bench.vcpus[0].gprs;
    (gprs.rcx, gprs.rdx, gprs.r8) = (1 << 17 | FAST | 0x15, VECTOR.into(), 1);
    assert!(is_undefined(&mut bench));
    assert_eq!(bench.hit(), 0);
    // Which is asked behind the reserved bits.
    assert_eq!(bench.call(0, 1 << 30 | FAST | 0x15, 0, 0), 3);
}

#[test]
fn hv_227_a_long_spin_wait_is_taken_note_of() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.call(0, FAST | NOTIFY, 1000, 0), 0);
    assert_eq!(bench.call(0, NOTIFY, BLOCK, 0), 0);
}

#[test]
fn hv_009_hv_228_hv_247_calls_that_cpuid_does_not_offer_are_denied() {
    let mut bench = Bench::with(1, HyperV::INTERFACE.union(HyperV::VP_INDEX));
    for code in [NOTIFY, SEND_IPI, 0x15, 0x5c, 0x5d, 0x8001, 0x8041] {
        for fast in [0, FAST] {
            assert_eq!(bench.call(0, fast | code, 0, 0), 6, "{code:#x}");
        }
    }
    assert_eq!([0x7fff, 0x8000, 0x8042].map(|code| bench.call(0, code, 0, 0)), [2; 3]);
    let mut bench = Bench::new(1);
    for code in [SEND_IPI, 0x15, 0x5c, 0x5d] {
        assert_ne!(bench.call(0, code, BLOCK, 0), 2, "{code:#x}");
    }
}

#[test]
fn hc_1_without_a_guest_os_id_the_call_is_kvms() {
    let mut bench = Bench::new(1);
    bench.msr(0, hyperv::GUEST_OS_ID, 0);
    bench.vmcbs[0].save.rax = 0;
    assert_eq!(bench.call(0, NOTIFY, 0, 0), -1000i64 as u64);
}

/// A value that calls are likely to look at.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..0x120u64,
        (0..16u32).prop_map(|n| BLOCK + u64::from(n) * 8),
        prop::sample::select(vec![MEMORY - 8, MEMORY, u64::MAX, u64::MAX - 7, BLOCK - 8]),
    ]
}

proptest! {
    #[test]
    fn whatever_a_guest_calls_with_it_gets_a_status_or_ud(
        code in prop::sample::select(vec![8u64, 0x0b, 0x15, 0x5c, 0x5d, 0x7fff, 0x8001]),
        flags in prop_oneof![Just(0), Just(FAST), (0..1u64 << 10).prop_map(|n| n << 17), any::<u64>()],
        first in word(),
        second in word(),
        block in prop::collection::vec(word(), 32),
        xmm in prop::array::uniform12(word()),
        cpl in prop::sample::select(vec![0, 0, 0, 3]),
    ) {
        let mut bench = Bench::new(3);
        bench.block(&block);
        bench.xmm = Xmm(xmm);
        bench.vmcbs[0].save.cpl = cpl;
        let gprs = &mut bench.vcpus[0].gprs;
        (gprs.rcx, gprs.rdx, gprs.r8) = (flags & !0xffff | code, first, second);
        let before = *gprs;
        bench.vmcall(0);
        let (rip, rax) = (bench.vmcbs[0].save.rip, bench.vmcbs[0].save.rax);
        let undefined = bench.vcpus[0].events.exception == Event::UD;
        prop_assert_eq!(undefined, cpl != 0);
        prop_assert_eq!(rip, if undefined { RIP } else { RIP + 3 });
        prop_assert!(undefined || [0, 2, 3, 4, 5, 6, 0x11, 0x12, 0x13, 0x18].contains(&rax));
        prop_assert_eq!(bench.vcpus[0].gprs, before);
    }
}
