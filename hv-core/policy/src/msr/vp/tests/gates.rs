//! What CPUID offers, RESET and VP_RUNTIME.

use super::*;
use crate::handle::{Next, Stop};

const ALL: [u32; 6] = [RESET, VP_RUNTIME, EOI, ICR, TPR, VP_ASSIST_PAGE];

fn faults(bench: &mut Bench, msr: u32) -> [bool; 2] {
    [bench.read_msr(0, msr).is_none(), bench.write_msr(0, msr, 0).is_none()]
}

#[test]
fn hv_006_197_each_switch_offers_its_own_msrs() {
    let switches = [
        (HyperV::empty(), &[][..]),
        (HyperV::RESET, &[RESET]),
        (HyperV::RUNTIME, &[VP_RUNTIME]),
        (HyperV::VAPIC, &[EOI, ICR, TPR, VP_ASSIST_PAGE]),
        // A recommendation offers nothing.
        (HyperV::AVIC, &[]),
    ];
    for (switch, offered) in switches {
        let hyperv = HyperV::USUAL | switch;
        let mut bench = Bench::of(&machine(hyperv), 1, NO_AVIC, None);
        let privileges = bench.vcpus[0].cpuid.get(0x4000_0003, 0).eax;
        for (bit, msr) in [(0, VP_RUNTIME), (4, EOI), (4, VP_ASSIST_PAGE), (7, RESET)] {
            assert_eq!(privileges >> bit & 1 != 0, offered.contains(&msr), "bit {bit}");
        }
        for msr in ALL {
            let expected =
                if offered.contains(&msr) { [msr == EOI, msr == VP_RUNTIME] } else { [true; 2] };
            assert_eq!(faults(&mut bench, msr), expected, "{msr:#x} with {hyperv:?}");
        }
    }
}

/// The reset itself is that of [`crate::hyperv`]'s parts, which other tests ask for.
#[test]
fn hv_035_only_a_one_written_to_reset_asks_for_a_reset() {
    let mut bench = plain();
    for value in [0, 2, 1 << 32] {
        assert_eq!(bench.write_msr(0, RESET, value), Some(Next::Enter), "{value:#x}");
        assert_eq!(bench.read_msr(0, RESET), Some(0));
    }
    assert_eq!(bench.write_msr(0, RESET, 1), Some(Next::Stop(Stop::Reset)));
}

#[test]
fn hv_023_vp_runtime_is_read_only_and_counts_while_the_vcpu_has_its_core() {
    let mut bench = plain();
    assert_eq!(bench.write_msr(0, VP_RUNTIME, 0), None);
    let runtime = &mut bench.vcpus[0].runtime;
    runtime.start(Ns(1_000));
    assert_eq!(runtime.at(Ns(3_000)), 20);
    runtime.stop(Ns(5_000));
    assert_eq!(runtime.at(Ns(9_000)), 40);
    // Twice is once.
    runtime.stop(Ns(9_000));
    runtime.start(Ns(10_000));
    runtime.start(Ns(10_500));
    assert_eq!(runtime.at(Ns(11_000)), 50);
}
