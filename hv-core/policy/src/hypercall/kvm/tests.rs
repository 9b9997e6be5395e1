//! KVM's hypercalls, on VMs of a few vCPUs.

mod send_ipi;

use crate::avic::features::Features;
use crate::avic::tests::bench::{Bench, FEATURES};
use crate::handle::{Handled, Next};
use crate::lapic::{Delivery, Effect};
use crate::mailbox::State;
use crate::time::Ns;
use trapline_abi::exit::ExitKey;
use trapline_abi::machine::{HyperV, Kvm};
use trapline_defs::apic::{Icr, offset};
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

#[test]
fn hc_6_a_kick_ends_a_halt_with_interrupts_off() {
    for features in [Features::default(), FEATURES] {
        let mut bench = with(3, features);
        bench.vmcb(2).save.rflags = 2;
        assert_eq!(bench.exit(2, ExitCode::HLT, 0, 0).next, Next::Block);
        bench.set_state(2, State::Asleep);
        assert_eq!(call(&mut bench, 5, [0, 2, 0, 0]), (0, Next::Yield));
        assert_eq!(bench.vcpus[0].kvm.yields_to, 2);
        assert_eq!(bench.vcpus[0].kicks, 0b100, "its core sleeps");
        collect(&mut bench, 2);
        let (vcpu, vmcb) = (&bench.vcpus[2], &bench.vmcbs[2]);
        assert!(crate::handle::wakes(&bench.vm, vcpu, vmcb, &bench.ram));
        bench.evaluate(2);
        assert!(!bench.vmcb(2).control.event_injection.valid());
        assert!(!collect(&mut bench, 1).unhalt, "nobody else is kicked");
    }
}

#[test]
fn hc_6_a_kick_that_comes_first_ends_the_next_halt_and_no_more() {
    let mut bench = bench(2);
    bench.vmcb(1).save.rflags = 2;
    call(&mut bench, 5, [0, 1, 0, 0]);
    collect(&mut bench, 1);
    assert_eq!(bench.exit(1, ExitCode::HLT, 0, 0).next, Next::Enter);
    assert_eq!(bench.exit(1, ExitCode::HLT, 0, 0).next, Next::Block);
}

#[test]
fn hc_6_a_vcpu_may_kick_itself_and_does_not_yield_for_it() {
    let mut bench = bench(2);
    bench.vmcb(0).save.rflags = 2;
    assert_eq!(call(&mut bench, 5, [0, 0, 0, 0]), (0, Next::Enter));
    assert_eq!(bench.exit(0, ExitCode::HLT, 0, 0).next, Next::Enter);
    assert_eq!(bench.exit(0, ExitCode::HLT, 0, 0).next, Next::Block);
}

#[test]
fn hc_6_init_leaves_the_kick_and_takes_clock_and_steal_time() {
    let mut bench = bench(1);
    let vcpu = &mut bench.vcpus[0];
    for (msr, value) in [(0x4b56_4d01, 0x7001), (0x4b56_4d03, 0x7001), (0x4b56_4d05, 0)] {
        crate::kvm::write_msr(&bench.vm, vcpu, msr, value).unwrap();
    }
    vcpu.unhalt();
    vcpu.init();
    assert!(vcpu.kvm.unhalted);
    let read = |msr| crate::kvm::read_msr(&bench.vm, &bench.vcpus[0], msr);
    assert_eq!([0x4b56_4d01, 0x4b56_4d03, 0x4b56_4d05].map(read), [Ok(0), Ok(0), Ok(0)]);
}

#[test]
fn hc_7_a_yield_names_another_vcpu_by_its_apic_id() {
    let mut bench = bench(3);
    let _ = bench.vcpus[1].lapic.write_mmio(offset::ID, 0x99 << 24, Ns(0));
    bench.map_changed(1);
    assert_eq!(call(&mut bench, 11, [2, 0, 0, 0]), (0, Next::Yield));
    assert_eq!(bench.vcpus[0].kvm.yields_to, 2);
    assert_eq!(call(&mut bench, 11, [0x99, 0, 0, 0]), (0, Next::Yield));
    assert_eq!(bench.vcpus[0].kvm.yields_to, 1);
    for nobody in [0, 1, 3, 0xff, 1 << 20] {
        assert_eq!(call(&mut bench, 11, [nobody, 0, 0, 0]), (0, Next::Enter), "{nobody:#x}");
    }
}

#[test]
fn hc_6_an_ipi_of_the_remote_read_mode_is_a_kick() {
    let mut bench = bench(2);
    assert!(bench.vm.deliver_to(&mut bench.vcpus[0], 1, Delivery::Unhalt));
    assert!(collect(&mut bench, 1).unhalt);
    assert!(bench.vcpus[1].kvm.unhalted);
    // To oneself, by shorthand.
    let icr = Icr::from_bits(1 << 18 | 3 << 8);
    let (vcpu, vmcb) = (&mut bench.vcpus[0], &mut bench.vmcbs[0]);
    let next = crate::msr::carry_out(&mut bench.vm, vcpu, vmcb, Effect::Ipi(icr));
    assert_eq!((next, bench.vcpus[0].kvm.unhalted), (Next::Enter, true));
}
