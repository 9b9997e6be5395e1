//! The AutoEOI count and the HYPERV inhibit (spec hyperv.md 4.2).

use super::*;

#[test]
fn hv_100_synic_without_auto_eoi_inhibits_nothing() {
    let mut vm = Vm::new(2);
    for (msr, value) in [(SCONTROL, 1), (SIMP, 0x3001), (SIEFP, 0x4001)] {
        vm.write(0, msr, value).unwrap();
    }
    for sint in 0..16 {
        assert_eq!(vm.sint(0, sint, 0x40 + u64::from(sint)), 0);
    }
    assert_eq!((vm.count(), vm.inhibits.mask()), (0, 0));
}

#[test]
fn hv_101_104_105_106_vcpus_are_counted_and_the_last_one_releases() {
    let mut vm = Vm::new(2);
    assert_eq!((vm.sint(0, 1, AUTO_EOI | 0x40), vm.count()), (1, 1));
    assert_eq!((vm.sint(1, 1, AUTO_EOI | 0x40), vm.count()), (0, 2));
    assert_eq!((vm.sint(0, 1, 0x40), vm.count()), (0, 1));
    assert!(vm.inhibits.inhibited());
    assert_eq!((vm.sint(1, 1, 0x40), vm.count()), (1, 0));
    assert!(!vm.inhibits.inhibited());
}

#[test]
fn hv_102_103_two_sints_of_a_vcpu_count_once() {
    for second in [0x41, 0x40] {
        let mut vm = Vm::new(1);
        vm.sint(0, 1, AUTO_EOI | 0x40);
        assert_eq!((vm.sint(0, 2, AUTO_EOI | second), vm.count()), (0, 1));
    }
}

#[test]
fn hv_106_the_first_posted_patch_never_releases() {
    let mut vm = Vm::new(1);
    vm.partition.decrement = DecrementRule::IncrementConditionAgain;
    for round in 1..=3 {
        vm.sint(0, 1, AUTO_EOI | 0x40);
        assert_eq!(vm.count(), round);
        vm.sint(0, 1, 0x40);
        assert_eq!(vm.count(), round, "the seeded fault is gone");
        assert!(vm.inhibits.inhibited());
    }
    assert_eq!(vm.inhibits.transitions(), 1);
}

#[test]
fn hv_107_a_thousand_toggles_end_at_zero() {
    let mut vm = Vm::new(1);
    for _ in 0..1000 {
        vm.sint(0, 3, AUTO_EOI | 0x40);
        assert_eq!(vm.count(), 1);
        vm.sint(0, 3, MASKED);
        assert_eq!(vm.count(), 0);
    }
    assert_eq!(vm.inhibits.transitions(), 2000);
}

#[test]
fn hv_108_the_same_value_again_changes_nothing() {
    let mut vm = Vm::new(1);
    vm.sint(0, 1, AUTO_EOI | 0x40);
    assert_eq!((vm.sint(0, 1, AUTO_EOI | 0x40), vm.count()), (0, 1));
}

#[test]
fn hv_109_110_masking_counts_as_clear() {
    let mut vm = Vm::new(1);
    assert_eq!((vm.sint(0, 1, AUTO_EOI | MASKED | 0x40), vm.count()), (0, 0));
    assert_eq!((vm.sint(0, 1, AUTO_EOI | 0x40), vm.count()), (1, 1));
    assert_eq!((vm.sint(0, 1, AUTO_EOI | MASKED | 0x40), vm.count()), (1, 0));
}

/// Not HV-111 as hyperv.md words it: KVM updates the old vector first (corrections.md row 48).
#[test]
fn hv_111_a_move_of_the_last_user_is_two_transitions() {
    let mut vm = Vm::new(1);
    vm.sint(0, 1, AUTO_EOI | 0x40);
    assert_eq!((vm.sint(0, 1, AUTO_EOI | 0x50), vm.count()), (2, 1));
    assert_eq!([0x40, 0x50].map(|v| vm.synics[0].is_auto_eoi(v)), [false, true]);
    vm.sint(0, 2, AUTO_EOI | 0x60);
    assert_eq!((vm.sint(0, 1, AUTO_EOI | 0x40), vm.count()), (0, 1), "another user remains");
}

#[test]
fn hv_112_113_one_of_two_sints_cleared_leaves_the_vcpu_counted() {
    for second in [0x40, 0x41] {
        let mut vm = Vm::new(1);
        vm.sint(0, 1, AUTO_EOI | 0x40);
        vm.sint(0, 2, AUTO_EOI | second);
        assert_eq!((vm.sint(0, 1, 0x40), vm.count()), (0, 1));
        assert_eq!((vm.sint(0, 2, second), vm.count()), (1, 0));
    }
}

#[test]
fn hv_114_115_polling_and_disabled_pages_count_all_the_same() {
    let mut vm = Vm::new(1);
    vm.write(0, SCONTROL, 0).unwrap();
    assert_eq!((vm.sint(0, 1, AUTO_EOI | 0x4_0040), vm.count()), (1, 1));
}

#[test]
fn hv_116_a_write_that_faults_leaves_the_count() {
    let mut vm = Vm::new(1);
    vm.sint(0, 1, AUTO_EOI | 0x40);
    assert_eq!(vm.write(0, SINT0 + 1, AUTO_EOI | 5), Err(Gp));
    assert_eq!(vm.write(0, SINT0 + 2, AUTO_EOI | 5), Err(Gp));
    assert_eq!(vm.count(), 1);
    assert!(vm.synics[0].is_auto_eoi(0x40));
}

#[test]
fn hv_117_118_reset_of_every_vcpu_releases() {
    let mut vm = Vm::new(4);
    for vcpu in 0..4 {
        vm.sint(vcpu, 0, AUTO_EOI | 0x30);
        vm.sint(vcpu, 1, AUTO_EOI | 0x30);
    }
    for (vcpu, left) in [(2, 3), (0, 2), (3, 1), (1, 0)] {
        vm.synics[vcpu].reset(&mut vm.partition, &mut vm.inhibits);
        assert_eq!(vm.count(), left);
    }
    assert_eq!(vm.inhibits.transitions(), 2);
}

/// hv-core takes no vCPU out of a running VM; whoever does has a reset as its way to let one go, and after
/// that the count knows nothing of it any more.
#[test]
fn hv_129_a_vcpu_that_is_reset_and_gone_no_longer_counts() {
    let mut vm = Vm::new(2);
    vm.sint(0, 0, AUTO_EOI | 0x30);
    vm.sint(1, 3, AUTO_EOI | 0x50);
    let mut gone = vm.synics.pop().unwrap();
    gone.reset(&mut vm.partition, &mut vm.inhibits);
    assert_eq!((vm.count(), vm.inhibits.inhibited()), (1, true));
    vm.sint(0, 0, MASKED);
    assert_eq!((vm.count(), vm.inhibits.inhibited()), (0, false));
}

#[test]
fn hv_122_another_reason_keeps_avic_off() {
    let mut vm = Vm::new(1);
    vm.inhibits.set(Reason::PitReinject);
    assert_eq!((vm.sint(0, 1, AUTO_EOI | 0x40), vm.count()), (0, 1));
    assert_eq!((vm.sint(0, 1, 0x40), vm.count()), (0, 0));
    assert!(vm.inhibits.inhibited());
    assert!(vm.inhibits.clear(Reason::PitReinject));
}

fn sint_value() -> impl Strategy<Value = u64> {
    // Few vectors, so that SINTs meet on them; some that fault.
    let vector = prop_oneof![8 => 0x40..0x44u64, 1 => 0..=255u64];
    (vector, 0..8u64).prop_map(|(vector, bits)| bits << 16 | vector)
}

proptest! {
    #[test]
    fn the_count_is_the_number_of_vcpus_with_an_unmasked_auto_eoi_sint(
        writes in prop::collection::vec((0..4usize, 0..16u32, sint_value()), 1..200),
    ) {
        let mut vm = Vm::new(4);
        let mut transitions = 0;
        for (vcpu, sint, value) in writes {
            let before = vm.read(vcpu, SINT0 + sint);
            match vm.write(vcpu, SINT0 + sint, value) {
                Ok(Effect::SintChanged { transitions: t }) => {
                    transitions += u32::from(t);
                    prop_assert_eq!(vm.read(vcpu, SINT0 + sint), Ok(value));
                }
                other => {
                    prop_assert_eq!(other, Err(Gp));
                    prop_assert!(value & MASKED == 0 && value & 0xff < 16);
                    prop_assert_eq!(vm.read(vcpu, SINT0 + sint), before);
                }
            }
            let vm = &vm;
            let sints = |vcpu| (SINT0..=SINT15).map(move |msr| vm.read(vcpu, msr).unwrap());
            let active = |value: &u64| value & (MASKED | AUTO_EOI) == AUTO_EOI;
            let users = (0..4).filter(|&vcpu| sints(vcpu).any(|value| active(&value))).count();
            prop_assert_eq!(vm.count() as usize, users);
            let values: Vec<u64> = sints(vcpu).collect();
            for vector in 0..=255u8 {
                let here = |v: &&u64| **v as u8 == vector && **v & MASKED == 0;
                let used = values.iter().any(|v| here(&v));
                let auto = values.iter().filter(here).any(|v| v & AUTO_EOI != 0);
                prop_assert_eq!(vm.synics[vcpu].has_vector(vector), used);
                prop_assert_eq!(vm.synics[vcpu].is_auto_eoi(vector), auto);
            }
        }
        prop_assert_eq!(vm.inhibits.transitions(), transitions);
        prop_assert_eq!(vm.inhibits.inhibited(), transitions % 2 == 1);
    }
}
