//! KICK_CPU and SCHED_YIELD.

use super::*;
use crate::lapic::{Delivery, Effect};
use crate::mailbox::State;
use crate::time::Ns;
use trapline_defs::apic::{Icr, offset};

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
    for nobody in [0, 1, 3, 0xff, 1 << 20, 1 << 32 | 2] {
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
