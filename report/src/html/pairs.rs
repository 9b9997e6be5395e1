//! Scenarios that differ in their silicon alone: before and after.

use crate::model::{Report, Scenario};
use std::collections::BTreeMap;

/// The silicon of which nothing is used.
const NOTHING: &str = "none";

/// The same guest without anything and with something.
pub(super) struct Pair<'r> {
    pub before: &'r Scenario,
    pub after: &'r Scenario,
}

/// All pairs, in the order of the scenarios. Negative controls are none: a fault is in them.
pub(super) fn find(report: &Report) -> Vec<Pair<'_>> {
    let whole = report.scenarios.iter().filter(|s| s.seed.is_none() && s.measured.is_some());
    let mut before: BTreeMap<_, &Scenario> = BTreeMap::new();
    for scenario in whole.clone().filter(|scenario| scenario.silicon == NOTHING) {
        before.entry(key(scenario)).or_insert(scenario);
    }
    let after = whole.filter(|scenario| scenario.silicon != NOTHING);
    let pair = |after| Some(Pair { before: before.get(&key(after))?, after });
    after.filter_map(pair).collect()
}

/// All that two scenarios of a pair share.
fn key(scenario: &Scenario) -> impl Ord + '_ {
    let machine = (scenario.vcpus, scenario.cores, &scenario.machine);
    (&scenario.suite, &scenario.payload, &scenario.params, machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_pair_differs_in_nothing_but_silicon() {
        let mut report = sample::report();
        let found = |report: &Report| {
            let pairs = find(report);
            pairs.iter().map(|p| format!("{} {}", p.before.name, p.after.name)).collect::<Vec<_>>()
        };
        assert_eq!(found(&report), ["nothing idle-hlt"]);
        report.scenarios[1].params.insert("n".into(), "7".into());
        assert_eq!(found(&report), [""; 0]);
        let mut report = sample::report();
        report.scenarios[0].seed = Some("hlt-evaluates".into());
        assert_eq!(found(&report), [""; 0]);
    }
}
