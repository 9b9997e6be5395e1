//! Timers that the host writes, and what else keeps a timer from being armed.

use super::*;
use crate::hyperv::timer::DIRECT;

/// Host writes of CONFIG and COUNT to timer 0 of vCPU 0.
fn restore(bench: &mut Bench, config: u64, count: u64) {
    let now = bench.vm.now;
    bench.vm.timers[0].restore(0, config, now);
    bench.vm.timers[0].restore(1, count, now);
    bench.expire(0);
}

#[test]
fn hv_135_a_count_of_the_hosts_enables_nothing() {
    let mut bench = Bench::new(1);
    let config = ONE_SHOT & !ENABLE | AUTO_ENABLE;
    restore(&mut bench, config, 1000);
    assert_eq!(bench.reads(0), (config, 1000));
    bench.pass_until(2000);
    assert_eq!((bench.interrupt(0), bench.message(0), bench.enabled(0)), (None, None, false));
}

#[test]
fn a_timer_that_ran_goes_on_where_it_is_restored() {
    let mut bench = Bench::new(1);
    restore(&mut bench, ONE_SHOT, 1000);
    bench.pass_until(1000);
    assert_eq!((bench.interrupt(0), bench.message(0)), (Some(VECTOR), Some((0, 1000, 1000))));
}

#[test]
fn hv_155_zeros_of_the_hosts_leave_nothing_to_expire() {
    let mut bench = Bench::new(1);
    restore(&mut bench, 0, 0);
    assert_eq!((bench.deadline(0), bench.reads(0)), (Ns::NEVER, (0, 0)));
    // Nor do they after a timer that ran.
    bench.count(0, 1000);
    bench.config(0, ONE_SHOT | PERIODIC);
    restore(&mut bench, 0, 0);
    assert_eq!(bench.deadline(0), Ns::NEVER);
    bench.pass_until(5000);
    assert_eq!((bench.interrupt(0), bench.message(0)), (None, None));
}

#[test]
fn hv_145_direct_mode_that_cpuid_does_not_offer_is_refused() {
    let mut vm = Vm::new(1);
    vm.partition = Partition::new(HyperV::USUAL.difference(HyperV::STIMER_DIRECT), RAM);
    vm.write(0, STIMER0_CONFIG, ONE_SHOT).unwrap();
    for timer in 0..4 {
        let msr = STIMER0_CONFIG + 2 * timer;
        let before = vm.read(0, msr);
        assert_eq!(vm.write(0, msr, DIRECT | 0x52 << 4 | ENABLE), Err(Gp));
        assert_eq!(vm.read(0, msr), before);
        // The bit means nothing in a count.
        assert_eq!(vm.write(0, msr + 1, DIRECT), Ok(Effect::TimerChanged));
    }
}
