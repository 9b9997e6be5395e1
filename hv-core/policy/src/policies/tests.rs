use super::of;
use crate::avic::features::{Features, Offered};
use crate::hyperv::{self, DecrementRule, Synic, Timers};
use crate::inhibit::{Inhibits, Reason};
use crate::policies::Release;
use crate::time::Ns;
use trapline_abi::machine::HyperV;
use trapline_abi::plan::{Module, Policy};

const ZEN4: Offered = Offered {
    avic: true,
    avic_hidden: false,
    x2avic: true,
    idle_hlt: false,
    vnmi: true,
    family_17h: false,
};

fn has(release: &Release, reason: Reason) -> bool {
    release.reasons & reason.bit() != 0
}

/// The columns of 3.2 of the corrections: 5.15, 6.0, 6.3, 6.15, 6.17.
#[test]
fn features_come_with_their_releases() {
    let on = |policy| Features::of(policy, Module::DEFAULT, ZEN4);
    for old in [Policy::Kvm58, Policy::Kvm58Patch1, Policy::Kvm515] {
        let features = on(old);
        assert!(features.avic && !features.x2avic && !features.vnmi, "{old:?}");
        assert!(has(of(old), Reason::X2Apic) && !has(of(old), Reason::LogicalIdAliased));
        assert!(!has(of(old), Reason::ApicIdModified) && !has(of(old), Reason::ApicBaseModified));
        assert!(of(old).drops_invalid_targets, "{old:?}");
    }
    for new in [Policy::Kvm612, Policy::Kvm618] {
        let features = on(new);
        assert!(features.avic && features.x2avic && features.vnmi, "{new:?}");
        assert!(!has(of(new), Reason::X2Apic) && has(of(new), Reason::LogicalIdAliased));
        assert!(!of(new).drops_invalid_targets, "{new:?}");
    }
}

#[test]
fn a_hidden_avic_is_forced_by_kvm_from_5_18_on() {
    let zen3 = Offered { avic: false, avic_hidden: true, ..ZEN4 };
    let forced = Module { force_avic: true, ..Module::DEFAULT };
    let is_used = |policy, module| Features::of(policy, module, zen3).avic;
    assert!(is_used(Policy::Kvm612, forced) && !is_used(Policy::Kvm612, Module::DEFAULT));
    assert!(!is_used(Policy::Kvm515, forced) && !is_used(Policy::XenAvicRfc, forced));
}

/// On, then off again: what is left of the HYPERV inhibit, and the count.
fn after_auto_eoi(policy: Policy) -> (bool, bool, u32) {
    let mut partition = hyperv::Partition::new(HyperV::USUAL, 4 << 20);
    partition.follow(of(policy));
    let mut inhibits = Inhibits::new(0);
    let mut synic = Synic::new(0);
    let mut timers = Timers::new(hyperv::ReferenceClock::new(1_000_000));
    let mut write = |partition: &mut _, inhibits: &mut _, value| {
        let sint = hyperv::SINT0;
        hyperv::write_msr(partition, &mut synic, &mut timers, inhibits, sint, value, Ns(0))
            .unwrap();
    };
    write(&mut partition, &mut inhibits, 1 << 17 | 0xb0);
    let on = inhibits.has(Reason::Hyperv);
    write(&mut partition, &mut inhibits, 0xb0);
    (on, inhibits.has(Reason::Hyperv), partition.auto_eoi_users())
}

#[test]
fn hv_106_auto_eoi_is_counted_as_the_release_does() {
    // 5.8: the SynIC inhibits by itself, and this changes nothing.
    assert_eq!(after_auto_eoi(Policy::Kvm58), (false, false, 0));
    // The posted patch: on, and never off.
    assert_eq!(after_auto_eoi(Policy::Kvm58Patch1), (true, true, 1));
    assert_eq!(after_auto_eoi(Policy::Kvm515), (true, false, 0));
    assert_eq!(after_auto_eoi(Policy::Kvm612), (true, false, 0));
}

/// The fault can be seeded under any policy.
#[test]
fn a_seeded_rule_stays() {
    let mut partition = hyperv::Partition::new(HyperV::USUAL, 4 << 20);
    partition.decrement = DecrementRule::IncrementConditionAgain;
    partition.follow(of(Policy::Kvm612));
    assert_eq!(partition.decrement, DecrementRule::IncrementConditionAgain);
}
