//! KVM's MSRs.

use super::*;
use crate::avic::features::Features;
use crate::avic::tests::bench::Bench;

const ALL: [(u32, Kvm); 7] = [
    (0x11, Kvm::CLOCK),
    (0x12, Kvm::CLOCK),
    (0x4b56_4d00, Kvm::CLOCK),
    (0x4b56_4d01, Kvm::CLOCK),
    (0x4b56_4d03, Kvm::STEAL_TIME),
    (0x4b56_4d04, Kvm::PV_EOI),
    (0x4b56_4d05, Kvm::POLL_CONTROL),
];

fn bench(machine: Kvm) -> Bench {
    let mut bench = Bench::with(2, Features::default(), None);
    bench.vm.machine.kvm = machine;
    bench
}

fn write(bench: &mut Bench, n: usize, msr: u32, value: u64, now: u64) -> Result<(), Gp> {
    write_msr(&bench.vm, &mut bench.vcpus[n], msr, value)?;
    bench.vcpus[n].tell(&bench.ram, Ns(now));
    Ok(())
}

fn read(bench: &Bench, n: usize, msr: u32) -> Result<u64, Gp> {
    read_msr(&bench.vm, &bench.vcpus[n], msr)
}

#[test]
fn hc_5_a_hidden_msr_faults_only_if_cpuid_is_enforced() {
    for (msr, switch) in ALL {
        for (machine, is_served) in [
            (Kvm::empty(), true),
            (Kvm::USUAL.difference(switch), true),
            (Kvm::ENFORCE_CPUID, false),
            (Kvm::all().difference(switch), false),
            (Kvm::ENFORCE_CPUID.union(switch), true),
        ] {
            let mut bench = bench(machine);
            let expected = if is_served { Ok(()) } else { Err(Gp) };
            assert_eq!(read(&bench, 0, msr).map(|_| ()), expected, "{msr:#x} {machine:?}");
            assert_eq!(write(&mut bench, 0, msr, 0, 1), expected, "{msr:#x} {machine:?}");
        }
    }
}

#[test]
fn hc_5_xen_has_nothing_that_it_does_not_offer() {
    for (msr, switch) in ALL {
        let mut bench = bench(Kvm::USUAL.difference(switch));
        bench.vm.features.release = crate::policies::of(trapline_abi::plan::Policy::XenAvicRfc);
        assert_eq!(read(&bench, 0, msr), Err(Gp), "{msr:#x}");
    }
}

#[test]
fn hc_5_what_kvm_has_not_is_not_there_at_all() {
    let mut bench = bench(Kvm::USUAL);
    for msr in [0x4b56_4d02, 0x4b56_4d06, 0x4b56_4d07, 0x4b56_4d08, 0x4b56_4cff, 0x13] {
        assert_eq!(read(&bench, 0, msr), Err(Gp), "{msr:#x}");
        assert_eq!(write(&mut bench, 0, msr, 0, 1), Err(Gp), "{msr:#x}");
    }
}

#[test]
fn pvc_1_both_numbers_are_one_clock_and_each_vcpu_has_its_own() {
    let mut bench = bench(Kvm::USUAL);
    write(&mut bench, 0, 0x12, 0x7001, 500).unwrap();
    write(&mut bench, 1, 0x4b56_4d01, 0x7041, 900).unwrap();
    assert_eq!([read(&bench, 0, 0x4b56_4d01), read(&bench, 1, 0x12)], [Ok(0x7001), Ok(0x7041)]);
    let word = |at: u64| bench.ram.read_u64(at).unwrap();
    assert_eq!((word(0x7000), word(0x7008), word(0x7010)), (2, 500, 500));
    assert_eq!((word(0x7040), word(0x7048), word(0x7050)), (2, 900, 900));
    assert_eq!(word(0x7018), word(0x7058), "one scale, and both are stable");
    assert_eq!(word(0x7018) >> 40 & 1, 1);
}

#[test]
fn pvc_1_any_value_is_taken_and_only_the_enable_bit_writes() {
    let mut bench = bench(Kvm::USUAL);
    for value in [0x7000, u64::MAX, 1 << 40 | 1] {
        write(&mut bench, 0, 0x4b56_4d01, value, 500).unwrap();
        assert_eq!(read(&bench, 0, 0x4b56_4d01), Ok(value));
    }
    assert_eq!(bench.ram.read_u64(0x7008), Some(0));
}

#[test]
fn pvc_2_wall_clock_poll_control_and_steal_time() {
    let mut bench = bench(Kvm::USUAL);
    write(&mut bench, 0, 0x11, 0x7000, 1_000).unwrap();
    assert_eq!(read(&bench, 1, 0x4b56_4d00), Ok(0x7000), "the VM has one");
    assert_eq!(bench.ram.read_u64(0x7000).unwrap() >> 32, Date::START.unix_time());
    assert_eq!(read(&bench, 0, 0x4b56_4d05), Ok(1));
    assert_eq!(write(&mut bench, 0, 0x4b56_4d05, 2, 1), Err(Gp));
    assert_eq!(write(&mut bench, 0, 0x4b56_4d05, 0, 1), Ok(()));
    assert_eq!([read(&bench, 0, 0x4b56_4d05), read(&bench, 1, 0x4b56_4d05)], [Ok(0), Ok(1)]);
    for bit in 1..6 {
        assert_eq!(write(&mut bench, 0, 0x4b56_4d03, 0x7001 | 1 << bit, 1), Err(Gp));
    }
    assert_eq!(write(&mut bench, 0, 0x4b56_4d03, 0x7041, 1), Ok(()));
}
