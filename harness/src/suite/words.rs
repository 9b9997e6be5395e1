//! Words of the suite files that stand for values of the plan and of the records.

use trapline_abi::plan::{Policy, Seed};
use trapline_abi::record::Outcome;

/// The policies.
pub(super) const POLICIES: &[(&str, Policy)] = &[
    ("kvm-5.8", Policy::Kvm58),
    ("kvm-5.8-patch1", Policy::Kvm58Patch1),
    ("kvm-5.15", Policy::Kvm515),
    ("kvm-6.12", Policy::Kvm612),
    ("kvm-6.18", Policy::Kvm618),
    ("xen-avic-rfc", Policy::XenAvicRfc),
    ("laboratory", Policy::Laboratory),
    ("xen-4.17", Policy::Xen417),
];

/// The faults that can be put in.
pub(super) const SEEDS: &[(&str, Seed)] = &[
    ("autoeoi-decrement", Seed::AutoEoiDecrement),
    ("hlt-keeps-shadow", Seed::HltKeepsShadow),
    ("hlt-evaluates", Seed::HltEvaluates),
    ("rtc-keeps-c", Seed::RtcKeepsC),
    ("injection-lost", Seed::InjectionLost),
    ("kick-lost", Seed::KickLost),
    ("incomplete-ipi-resent", Seed::IncompleteIpiResent),
    ("block-without-look", Seed::BlockWithoutLook),
    ("pv-ipi-top-lost", Seed::PvIpiTopLost),
    ("eom-ignored", Seed::EomIgnored),
    ("unhalt-lost", Seed::UnhaltLost),
    ("window-ignores-tpr", Seed::WindowIgnoresTpr),
    ("pm-timer-fast", Seed::PmTimerFast),
];

/// The ends of a scenario.
pub(super) const OUTCOMES: &[(&str, Outcome)] = &[
    ("done", Outcome::Done),
    ("time-budget", Outcome::TimeBudget),
    ("exit-budget", Outcome::ExitBudget),
    ("stuck", Outcome::Stuck),
    ("shutdown", Outcome::Shutdown),
    ("bad-memory", Outcome::BadMemory),
    ("unhandled", Outcome::Unhandled),
    ("invalid-guest-state", Outcome::InvalidGuestState),
    ("panic", Outcome::Panic),
    ("refused", Outcome::Refused),
    ("reset", Outcome::Reset),
];

fn word<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, v)| v == value).map_or("unnamed", |(word, _)| word)
}

/// A policy's word.
pub fn policy_word(policy: Policy) -> &'static str {
    word(POLICIES, &policy)
}

/// A seeded fault's word.
pub fn seed_word(seed: Seed) -> &'static str {
    word(SEEDS, &seed)
}

/// An outcome's word.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    word(OUTCOMES, &outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adding a variant makes this fail to compile until the tables above are looked at.
    #[test]
    fn every_value_has_a_word() {
        for &(_, policy) in POLICIES {
            match policy {
                Policy::Kvm58
                | Policy::Kvm58Patch1
                | Policy::Kvm515
                | Policy::Kvm612
                | Policy::Kvm618
                | Policy::XenAvicRfc
                | Policy::Laboratory
                | Policy::Xen417 => {}
            }
        }
        assert_eq!(POLICIES.len(), 8);
        for &(_, seed) in SEEDS {
            match seed {
                Seed::AutoEoiDecrement
                | Seed::HltKeepsShadow
                | Seed::HltEvaluates
                | Seed::RtcKeepsC
                | Seed::InjectionLost
                | Seed::KickLost
                | Seed::IncompleteIpiResent
                | Seed::BlockWithoutLook
                | Seed::PvIpiTopLost
                | Seed::EomIgnored
                | Seed::UnhaltLost
                | Seed::WindowIgnoresTpr
                | Seed::PmTimerFast => {}
            }
        }
        assert_eq!(SEEDS.len(), 13);
        for &(_, outcome) in OUTCOMES {
            match outcome {
                Outcome::Done
                | Outcome::TimeBudget
                | Outcome::ExitBudget
                | Outcome::Stuck
                | Outcome::Shutdown
                | Outcome::BadMemory
                | Outcome::Unhandled
                | Outcome::InvalidGuestState
                | Outcome::Panic
                | Outcome::Refused
                | Outcome::Reset => {}
            }
        }
        assert_eq!(OUTCOMES.len(), 11);
    }
}
