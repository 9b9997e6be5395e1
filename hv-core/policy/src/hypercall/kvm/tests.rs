//! KVM's hypercalls, on VMs of a few vCPUs.

mod kick;
mod send_ipi;

use crate::avic::features::Features;
use crate::avic::tests::bench::{Bench, FEATURES};
use crate::handle::{Handled, Next};
use trapline_abi::exit::ExitKey;
use trapline_abi::machine::{HyperV, Kvm};
use trapline_defs::exit_code::ExitCode;
use trapline_defs::segment::Segment;

const ENOSYS: u64 = -1000i64 as u64;

/// Without AVIC, everything offered.
fn bench(vcpus: u32) -> Bench {
    with(vcpus, Features::default())
}

fn with(vcpus: u32, features: Features) -> Bench {
    let mut bench = Bench::with(vcpus, features, None);
    bench.vm.machine.kvm = Kvm::USUAL;
    for n in 0..vcpus {
        let save = &mut bench.vmcb(n).save;
        save.efer = trapline_defs::msr::efer::LMA;
        save.cs = Segment::CODE64;
    }
    bench.enter_all();
    bench
}

/// A hypercall of vCPU 0: RAX, and what comes next.
fn call(bench: &mut Bench, number: u64, arguments: [u64; 4]) -> (u64, Next) {
    let [rbx, rcx, rdx, rsi] = arguments;
    let gprs = &mut bench.vcpus[0].gprs;
    (gprs.rbx, gprs.rcx, gprs.rdx, gprs.rsi) = (rbx, rcx, rdx, rsi);
    bench.vmcb(0).save.rax = number;
    bench.vmcb(0).save.rip = 0x5000;
    let Handled { key, next } = bench.exit(0, ExitCode::VMMCALL, 0, 0);
    assert_eq!(key.code(), ExitCode::VMMCALL.0);
    assert_eq!(bench.vmcb(0).save.rip, 0x5003);
    let gprs = &bench.vcpus[0].gprs;
    assert_eq!([gprs.rbx, gprs.rcx, gprs.rdx, gprs.rsi], arguments, "only RAX changes");
    (bench.vmcb(0).save.rax, next)
}

fn write_msr(bench: &mut Bench, msr: u32, value: u64) {
    let gprs = &mut bench.vcpus[0].gprs;
    (gprs.rcx, gprs.rdx) = (msr.into(), value >> 32);
    bench.vmcb(0).save.rax = value & 0xffff_ffff;
    bench.exit(0, ExitCode::MSR, 1, 0);
}

/// What others left for a vCPU, its interrupts in its own APIC.
fn collect(bench: &mut Bench, n: u32) -> crate::mailbox::Letters {
    bench.vm.collect(&mut bench.vcpus[n as usize])
}

#[test]
fn hc_1_a_guest_of_hyperv_cannot_reach_kvms_hypercalls() {
    let mut bench = bench(2);
    bench.vm.machine.hyperv = HyperV::USUAL;
    let send = [0b10, 0, 0, 0xb0];
    assert_eq!(call(&mut bench, 10, send).0, 1);
    write_msr(&mut bench, 0x4000_0000, 1);
    // It is taken as Hyper-V's, whose code is in RCX.
    let gprs = &mut bench.vcpus[0].gprs;
    (gprs.rbx, gprs.rcx) = (0b10, 0x7fff);
    bench.vmcb(0).save.rax = 10;
    let Handled { key, next } = bench.exit(0, ExitCode::VMMCALL, 0, 0);
    assert_eq!((key, next), (ExitKey::number(ExitCode::VMMCALL.0, 0x7fff), Next::Hypercall));
    write_msr(&mut bench, 0x4000_0000, 0);
    assert_eq!(call(&mut bench, 10, send).0, 1);
}

#[test]
fn hc_1_guest_os_id_means_nothing_without_hyperv() {
    let mut bench = bench(2);
    write_msr(&mut bench, 0x4000_0000, 1);
    bench.vm.machine.hyperv = HyperV::empty();
    assert_eq!(call(&mut bench, 10, [0b10, 0, 0, 0xb0]).0, 1);
}

#[test]
fn hc_8_rings_modes_and_numbers() {
    let mut bench = bench(2);
    assert_eq!(call(&mut bench, 1, [0; 4]).0, 0, "the one that only exits");
    assert_eq!(call(&mut bench, 9, [0; 4]).0, -95i64 as u64, "no pairing of clocks");
    for number in [0, 2, 3, 4, 6, 7, 8, 12, 13, 1 << 32 | 10] {
        assert_eq!(call(&mut bench, number, [0; 4]).0, ENOSYS, "{number}");
    }
    bench.vmcb(0).save.cs.attributes &= !(1 << 9);
    assert_eq!(call(&mut bench, 2, [0; 4]).0, ENOSYS & 0xffff_ffff);
    let garbage = 0xdead_0000_0000;
    assert_eq!(call(&mut bench, 1 << 32 | 10, [garbage | 2, 0, garbage, 0xb0]).0, 1);
    bench.vmcb(0).save.cpl = 3;
    assert_eq!(call(&mut bench, 1, [0; 4]).0, 0xffff_ffff);
    bench.vmcb(0).save.cs = Segment::CODE64;
    assert_eq!(call(&mut bench, 1, [0; 4]).0, -1i64 as u64);
}

#[test]
fn hc_5_a_hidden_call_is_refused_only_if_cpuid_is_enforced() {
    let mut bench = bench(2);
    let calls = [(5, Kvm::PV_UNHALT), (10, Kvm::PV_IPI), (11, Kvm::SCHED_YIELD)];
    for (number, switch) in calls {
        for (machine, is_served) in [
            (Kvm::INTERFACE, true),
            (Kvm::empty(), true),
            (Kvm::ENFORCE_CPUID, false),
            (Kvm::all().difference(switch), false),
            (Kvm::INTERFACE.union(Kvm::ENFORCE_CPUID).union(switch), true),
        ] {
            bench.vm.machine.kvm = machine;
            let result = call(&mut bench, number, [0; 4]).0;
            assert_eq!(result, if is_served { 0 } else { ENOSYS }, "{number} {machine:?}");
        }
    }
}
