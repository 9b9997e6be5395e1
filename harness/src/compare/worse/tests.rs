use super::*;
use crate::result::RunResult;
use crate::result::tests::result;

fn side(class: &str, change: impl FnOnce(&mut RunResult)) -> Side {
    let mut result = result();
    result.environment.class = class.into();
    change(&mut result);
    Side::of("r.json", &result)
}

/// The suite's window: 10 `hlt` of 200 ticks each, 20 `msr` accesses, 9000 ticks.
fn changed(hlts: u64, ticks: u64) -> impl FnOnce(&mut RunResult) {
    move |result| {
        let window = &mut result.scenarios[0].measured.as_mut().unwrap().windows[0];
        window.exits[0].stats.count = hlts;
        window.ticks = ticks;
    }
}

fn worse(new: &Side, budget: &str) -> Vec<String> {
    let old = side("tcg-icount", |_| ());
    let mut worse = Worse::new(&old, new, &budget.parse().unwrap());
    assert_eq!(worse.untestable(), None);
    worse.scenarios.remove(0).worse
}

#[test]
fn only_what_is_more_than_the_budget_is_worse() {
    let new = side("tcg-icount", changed(11, 9450));
    assert_eq!(worse(&new, "exits=1,ticks=5%"), [""; 0]);
    assert_eq!(worse(&new, "exits=0%"), ["exits: 30 -> 31, +3.33 %, exits=0% allowed"]);
    assert_eq!(worse(&new, "hlt=0"), ["hlt: 10 -> 11, +10.00 %, hlt=0 allowed"]);
    assert_eq!(worse(&new, "msr=0"), [""; 0]);
    assert_eq!(worse(&new, "ticks=4.9%"), ["ticks: 9000 -> 9450, +5.00 %, ticks=4.9% allowed"]);
    let better = side("tcg-icount", changed(9, 8000));
    assert_eq!(worse(&better, "exits=0%,ticks=0%,mean=50%"), [""; 0]);
}

#[test]
fn another_ending_is_worse_whatever_the_budget_is() {
    let new = side("tcg-icount", |result| {
        result.scenarios[0].measured.as_mut().unwrap().outcome = "shutdown".into();
    });
    assert_eq!(worse(&new, "exits=100%"), ["ended with shutdown, and with done before"]);
}

#[test]
fn under_icount_means_are_exact_and_elsewhere_they_are_tested() {
    let slower = |result: &mut RunResult| {
        let stats = &mut result.scenarios[0].measured.as_mut().unwrap().windows[0].exits[0].stats;
        // Ten of 220 ticks in the mean, but they scatter from 0 to 2200.
        (stats.sum, stats.sum_squares) = (2200, 2200 * 2200);
    };
    let mean: Budget = "mean=5%".parse().unwrap();
    let of = |class: &str| {
        let worse = Worse::new(&side(class, |_| ()), &side(class, slower), &mean);
        (worse.significance.clone(), worse.scenarios[0].clone())
    };
    let (how, exact) = of("tcg-icount");
    assert!(how.starts_with("exact"), "{how}");
    assert_eq!(exact.worse, ["mean of hlt: 200 -> 220, +10.00 %, mean=5% allowed"]);
    let (how, tested) = of("kvm");
    assert!(how.contains("Welch's t-test at 0.05"), "{how}");
    assert_eq!(tested.worse, [""; 0], "by chance");
    let hlt = &tested.rows[0];
    assert_eq!((hlt.exit.as_str(), hlt.significant), ("hlt", Some(false)));
    assert!(hlt.welch.unwrap().1 > 0.9, "{hlt:?}");
}

#[test]
fn what_cannot_be_compared_is_no_success() {
    let budget = Budget::default();
    let old = side("tcg-icount", |_| ());
    let none = side("tcg-icount", |result| result.scenarios.clear());
    let gone = Worse::new(&old, &none, &budget);
    assert_eq!(gone.untestable().unwrap(), "r.json has no result of self-ipi::hlt (1 missing)");
    let lost = side("tcg-icount", |result| {
        result.scenarios[0].judgement.verdict = crate::verdict::Verdict::CouldNotRun;
    });
    assert!(Worse::new(&old, &lost, &budget).untestable().is_some());
    let empty = Worse::new(&none, &none, &budget);
    assert!(empty.untestable().unwrap().contains("no scenario in common"));
    let more = Worse::new(&none, &old, &budget);
    assert_eq!(more.added, ["self-ipi::hlt"]);
}
