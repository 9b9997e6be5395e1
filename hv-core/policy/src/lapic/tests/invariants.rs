//! Random traffic: nothing panics, and what must always hold does.

use proptest::prelude::*;

use super::*;
use crate::lapic::{Delivery, ErrorReporting, Mode};

#[derive(Clone, Debug)]
enum Step {
    Mmio(u16, u32),
    Msr(u32, u64),
    Base(u64),
    Cr8(u8),
    Accept(u8, bool),
    Inject(bool),
    Deadline(u64),
    Wait(u64),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let value = prop_oneof![any::<u32>(), 0..0x1000u32, Just(0)];
    prop_oneof![
        4 => (0..0x42u16, value.clone()).prop_map(|(slot, value)| Step::Mmio(slot << 4, value)),
        4 => (0x800..0x842u32, value, prop_oneof![Just(0u64), any::<u64>()])
            .prop_map(|(msr, low, high)| Step::Msr(msr, high << 32 | u64::from(low))),
        1 => prop_oneof![any::<u64>(), Just(0xfee0_0800), Just(0xfee0_0c00), Just(0xfee0_0000)]
            .prop_map(Step::Base),
        2 => any::<u8>().prop_map(Step::Cr8),
        6 => any::<(u8, bool)>().prop_map(|(vector, level)| Step::Accept(vector, level)),
        6 => any::<bool>().prop_map(Step::Inject),
        1 => any::<u64>().prop_map(Step::Deadline),
        2 => (0..1u64 << 40).prop_map(Step::Wait),
        1 => Just(Step::Reset),
    ]
}

fn take(apic: &mut Lapic, step: Step, now: &mut Ns) {
    let ppr = apic.ppr();
    let effect = match step {
        Step::Mmio(register, value) => {
            apic.read_mmio(register, *now);
            apic.write_mmio(register, value, *now)
        }
        Step::Msr(msr, value) => {
            let _ = apic.read_msr(msr, *now);
            apic.write_msr(msr, value, *now).unwrap_or(Effect::None)
        }
        Step::Base(value) => {
            let _ = apic.set_base(value, true);
            Effect::None
        }
        Step::Cr8(cr8) => {
            apic.set_tpr(cr8 << 4);
            Effect::None
        }
        Step::Accept(vector, level) => {
            let accepted = apic.accept(vector, level);
            assert!(!accepted || apic.event_request);
            Effect::None
        }
        Step::Inject(auto_eoi) => {
            if let Some(vector) = apic.deliverable() {
                assert!(vector & 0xf0 > ppr);
                apic.acknowledge(vector, auto_eoi);
                assert!(auto_eoi || apic.highest_isr() == Some(vector));
            }
            Effect::None
        }
        Step::Deadline(deadline) => {
            apic.write_tsc_deadline(deadline, *now);
            Effect::None
        }
        Step::Wait(time) => {
            *now = now.after(time);
            apic.advance(*now);
            assert!(apic.next_deadline() > *now);
            Effect::None
        }
        Step::Reset => {
            apic.reset();
            Effect::None
        }
    };
    if let Effect::Ipi(icr) = effect
        && let Delivery::Interrupt { vector, .. } = apic.receive_own(icr)
    {
        assert!(apic.eoi_outstanding(vector));
    }
}

fn highest(words: &[u32; 8]) -> Option<u8> {
    (0..=255u8).rev().find(|vector| words[usize::from(vector >> 5)] >> (vector & 31) & 1 != 0)
}

fn check(apic: &Lapic) {
    let isr = highest(apic.isr());
    assert_eq!(apic.highest_isr(), isr, "the cache agrees with ISR");
    assert_eq!(apic.highest_irr(), highest(apic.irr()), "the hint is never wrongly false");
    let service = isr.unwrap_or(0) & 0xf0;
    let ppr = if apic.tpr() & 0xf0 >= service { apic.tpr() } else { service };
    assert_eq!(apic.ppr(), ppr, "PPR follows TPR and ISR");
    if let Some(vector) = apic.deliverable() {
        assert!(Some(vector) == highest(apic.irr()) && vector >> 4 > ppr >> 4);
        assert!(apic.mode() != Mode::Disabled);
        assert!(!apic.cr8_intercept());
    }
    if apic.pv_eoi_possible() {
        assert!(apic.irr() == &[0; 8] && isr.is_some());
    }
}

proptest! {
    #[test]
    fn random_traffic_keeps_the_invariants(
        steps in prop::collection::vec(step(), 1..200),
        architectural in any::<bool>(),
    ) {
        let mut apic = xapic();
        if architectural {
            apic.set_error_reporting(ErrorReporting::Architectural);
        }
        let mut now = T0;
        for step in steps {
            take(&mut apic, step, &mut now);
            check(&apic);
        }
    }

    /// An evaluation that KVM would skip must not have been needed: if nothing was requested since
    /// the last evaluation, nothing new became deliverable.
    #[test]
    fn no_vector_becomes_deliverable_without_a_request(
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut apic = xapic();
        let mut now = T0;
        for step in steps {
            let quiet = !matches!(step, Step::Base(_));
            apic.event_request = false;
            let before = apic.deliverable();
            take(&mut apic, step, &mut now);
            let after = apic.deliverable();
            if quiet && after.is_some() && after != before && before.is_none() {
                prop_assert!(apic.event_request, "{after:?} appeared silently");
            }
        }
    }
}
