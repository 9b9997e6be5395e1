//! MSRs in general.

use super::*;

const UNASSIGNED: [u32; 4] = [0x4000_000f, 0x4000_00a0, 0x4000_00b8, 0x4000_0085];

/// Exists in the TLFS, but not in this hypervisor's CPUID: RESET, VP_RUNTIME, EOI, ICR, TPR,
/// VP_ASSIST, GUEST_IDLE, crash, reenlightenment.
const NOT_OFFERED: [u32; 9] = [
    0x4000_0003,
    0x4000_0010,
    0x4000_0070,
    0x4000_0071,
    0x4000_0072,
    0x4000_0073,
    0x4000_00f0,
    0x4000_0105,
    0x4000_0106,
];

#[test]
fn hv_006_021_msrs_that_are_not_offered_fault_and_change_nothing() {
    let mut vm = Vm::new(1);
    let before = vm.registers();
    for msr in UNASSIGNED.into_iter().chain(NOT_OFFERED) {
        assert_eq!(vm.read(0, msr), Err(Gp), "{msr:#x}");
        assert_eq!(vm.write(0, msr, 1), Err(Gp), "{msr:#x}");
    }
    assert_eq!(vm.registers(), before);
}

#[test]
fn hv_022_without_hyperv_in_cpuid_everything_faults() {
    let mut vm = Vm::new(1);
    vm.partition = Partition::new(HyperV::empty(), RAM);
    for msr in 0x4000_0000..0x4000_0200 {
        assert_eq!(vm.read(0, msr), Err(Gp), "{msr:#x}");
        assert_eq!(vm.write(0, msr, 0), Err(Gp), "{msr:#x}");
    }
}

#[test]
fn hv_023_read_only_msrs_fault_on_writes() {
    let mut vm = Vm::new(1);
    for msr in [VP_INDEX, TIME_REF_COUNT, TSC_FREQUENCY, APIC_FREQUENCY, SVERSION] {
        let before = vm.read(0, msr).unwrap();
        assert_eq!(vm.write(0, msr, before), Err(Gp), "{msr:#x}");
    }
}

#[test]
fn hv_026_vp_index_is_the_vcpu() {
    let vm = Vm::new(3);
    assert_eq!([0, 1, 2].map(|v| vm.read(v, VP_INDEX)), [Ok(0), Ok(1), Ok(2)]);
}

#[test]
fn hv_027_guest_os_id_is_shared_and_simp_is_not() {
    let mut vm = Vm::new(2);
    vm.write(0, GUEST_OS_ID, 0x8100_0000_0000_0001).unwrap();
    vm.write(0, SIMP, 0x3001).unwrap();
    assert_eq!(vm.read(1, GUEST_OS_ID), Ok(0x8100_0000_0000_0001));
    assert_eq!([vm.read(0, SIMP), vm.read(1, SIMP)], [Ok(0x3001), Ok(0)]);
}

#[test]
fn hv_028_hypercall_without_guest_os_id_is_dropped() {
    let mut vm = Vm::new(1);
    assert_eq!(vm.write(0, HYPERCALL, 0x5001), Ok(Effect::None));
    assert_eq!(vm.read(0, HYPERCALL), Ok(0));
}

#[test]
fn hv_029_enabling_hypercall_writes_vmmcall_and_ret() {
    let mut vm = Vm::new(2);
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    let bytes = &[0x0f, 0x01, 0xd9, 0xc3];
    let effect = vm.write(0, HYPERCALL, 0x5001);
    assert_eq!(effect, Ok(Effect::WriteBytes { address: 0x5000, bytes }));
    assert_eq!(vm.read(1, HYPERCALL), Ok(0x5001));
    assert_eq!(vm.write(0, HYPERCALL, 0x5000), Ok(Effect::None));
}

#[test]
fn hc_1_beside_xens_interface_the_page_marks_hypercalls_as_hypervs() {
    let mut vm = Vm::new(1);
    vm.partition.beside_xen = true;
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    let bytes = &[0x0d, 0, 0, 0, 0x80, 0x0f, 0x01, 0xd9, 0xc3];
    assert_eq!(vm.write(0, HYPERCALL, 0x5001), Ok(Effect::WriteBytes { address: 0x5000, bytes }));
}

#[test]
fn hv_030_guest_os_id_zero_disables_hypercall_everywhere() {
    let mut vm = Vm::new(2);
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    vm.write(0, HYPERCALL, 0x5001).unwrap();
    vm.write(1, GUEST_OS_ID, 0).unwrap();
    assert_eq!([vm.read(0, HYPERCALL), vm.read(1, HYPERCALL)], [Ok(0x5000); 2]);
}

#[test]
fn hv_031_hypercall_outside_of_ram_faults_and_keeps_its_value() {
    let mut vm = Vm::new(1);
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    vm.write(0, HYPERCALL, 0x5001).unwrap();
    for page in [RAM, !0xfff] {
        assert_eq!(vm.write(0, HYPERCALL, page | 1), Err(Gp));
        assert_eq!(vm.read(0, HYPERCALL), Ok(0x5001));
    }
    assert!(vm.write(0, HYPERCALL, (RAM - 0x1000) | 1).is_ok());
}

/// KVM keeps the lock bit and means nothing by it; what counts here is the other side of a reset.
#[test]
fn hv_245_after_a_reset_hypercall_is_writable_again() {
    let mut vm = Vm::new(1);
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    vm.write(0, HYPERCALL, 0x5001).unwrap();
    let value = vm.read(0, HYPERCALL).unwrap();
    vm.write(0, HYPERCALL, value | 2).unwrap();
    assert_eq!(vm.read(0, HYPERCALL), Ok(0x5003));
    vm.partition.reset();
    assert_eq!(vm.read(0, HYPERCALL), Ok(0));
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    vm.write(0, HYPERCALL, 0x6001).unwrap();
    assert_eq!(vm.read(0, HYPERCALL), Ok(0x6001));
}

#[test]
fn hv_033_034_reset_values() {
    let mut vm = Vm::new(1);
    let expected = |vm: &Vm| {
        assert_eq!(vm.read(0, GUEST_OS_ID), Ok(0));
        assert_eq!(vm.read(0, HYPERCALL), Ok(0));
        assert_eq!(vm.read(0, REFERENCE_TSC), Ok(0));
        assert_eq!(vm.read(0, SCONTROL), Ok(1));
        assert_eq!(vm.read(0, SVERSION), Ok(1));
        assert_eq!([SIEFP, SIMP, EOM].map(|msr| vm.read(0, msr)), [Ok(0); 3]);
        for msr in SINT0..=SINT15 {
            assert_eq!(vm.read(0, msr), Ok(MASKED));
        }
        for msr in STIMER0_CONFIG..=STIMER3_COUNT {
            assert_eq!(vm.read(0, msr), Ok(0));
        }
    };
    expected(&vm);
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    vm.write(0, REFERENCE_TSC, 0x8001).unwrap();
    for (msr, value) in [(HYPERCALL, 0x5001), (SCONTROL, 0), (SIEFP, 0x6001), (SIMP, 0x7001)] {
        vm.write(0, msr, value).unwrap();
    }
    for msr in SINT0..=SINT15 {
        vm.write(0, msr, AUTO_EOI | 0x40).unwrap();
    }
    for msr in STIMER0_CONFIG..=STIMER3_COUNT {
        vm.write(0, msr, 0x2_0003).unwrap();
    }
    vm.timers[0].reset();
    vm.partition.reset();
    vm.synics[0].reset(&mut vm.partition, &mut vm.inhibits);
    expected(&vm);
    assert_eq!(vm.count(), 0);
}

#[test]
fn hv_040_reserved_bits_of_simp_and_siefp_do_not_fault() {
    let mut vm = Vm::new(1);
    for msr in [SIMP, SIEFP] {
        assert_eq!(vm.write(0, msr, 0x3fff), Ok(Effect::ZeroPage { address: 0x3000 }));
        assert_eq!(vm.read(0, msr), Ok(0x3fff));
    }
}

#[test]
fn hv_066_a_page_is_zeroed_when_enabled_unless_the_option_is_off() {
    let mut vm = Vm::new(1);
    assert_eq!(vm.write(0, SIMP, 0x3000), Ok(Effect::None));
    assert_eq!(vm.write(0, SIMP, 0x3001), Ok(Effect::ZeroPage { address: 0x3000 }));
    assert_eq!(vm.write(0, SIMP, RAM | 1), Err(Gp));
    assert_eq!(vm.read(0, SIMP), Ok(0x3001));
    vm.partition.zero_pages = false;
    assert_eq!(vm.write(0, SIEFP, 0x4001), Ok(Effect::None));
}

#[test]
fn eom_tells_the_senders() {
    let mut vm = Vm::new(1);
    assert_eq!(vm.write(0, EOM, 0), Ok(Effect::EndOfMessage));
    assert_eq!(vm.read(0, EOM), Ok(0));
}
