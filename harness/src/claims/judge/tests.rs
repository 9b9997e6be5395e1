use super::*;
use crate::claims::table;
use crate::result::tests::result;
use std::collections::BTreeMap;

fn claim(holds: &[&str]) -> Claim {
    Claim {
        id: "CLM-01".into(),
        statement: "Less is more".into(),
        source: "A letter".into(),
        seed: "1 against 2".into(),
        scenarios: BTreeMap::from([("a".into(), "self-ipi::hlt".into())]),
        holds: holds.iter().map(|text| (*text).into()).collect(),
        tables: BTreeMap::new(),
        printed: BTreeMap::new(),
        order: BTreeMap::new(),
        note: String::new(),
        recorded: None,
        open: None,
    }
}

#[test]
fn a_claim_holds_with_its_numbers() {
    let claim = claim(&["a.msr == 2*a.n", "a.vintr == 0"]);
    let judged = judge(&claim, &Book::default(), Some(&result()));
    assert_eq!(judged.standing, Standing::Holds);
    let expected = "\
CLM-01 holds     Less is more
       source: A letter
       seed: 1 against 2
       a = self-ipi::hlt: silicon none; policy kvm-6.12
       a.msr == 2*a.n: 20 == 20
       a.vintr == 0: 0 == 0
";
    assert_eq!(table::entry(&judged), expected);
    assert_eq!(table::summary(&[judged]), "1 claim: 1 hold\n");
}

#[test]
fn one_comparison_that_does_not_hold_is_enough() {
    let claim = claim(&["a.msr == 2*a.n", "a.hlt == 0"]);
    let judged = judge(&claim, &Book::default(), Some(&result()));
    assert_eq!(judged.standing, Standing::Fails);
    assert_eq!(judged.evidence, ["a.msr == 2*a.n: 20 == 20", "a.hlt == 0: 10 is not 0"]);
    let compared = |what: &str, expected: &str, measured: &str, holds| Compared {
        what: what.into(),
        expected: expected.into(),
        measured: measured.into(),
        holds,
    };
    assert_eq!(
        judged.compared,
        [compared("a.msr == 2*a.n", "20", "20", true), compared("a.hlt == 0", "0", "10", false)]
    );
}

#[test]
fn a_name_that_means_nothing_fails_the_claim() {
    let claim = claim(&["a.mrs == 0"]);
    assert_eq!(judge(&claim, &Book::default(), Some(&result())).standing, Standing::Fails);
}

#[test]
fn a_scenario_that_did_not_pass_proves_nothing() {
    let mut result = result();
    result.scenarios[0].judgement.fail("a rule".into());
    let claim = claim(&["a.msr == 2*a.n"]);
    let judged = judge(&claim, &Book::default(), Some(&result));
    assert_eq!(judged.standing, Standing::Fails);
    assert_eq!(judged.evidence[0], "self-ipi::hlt did not pass: a rule");
}

#[test]
fn a_scenario_that_did_not_run_leaves_the_claim_undecided() {
    let claim = claim(&["a.msr == 2*a.n"]);
    let judged = judge(&claim, &Book::default(), None);
    assert_eq!(judged.standing, Standing::NotRun);
    assert!(table::summary(&[judged]).contains("0 hold, 1 not run"));
}

#[test]
fn an_order_is_rounds_and_the_hosts_own_interrupts_do_not_count() {
    let mut claim = claim(&[]);
    let round = ["msr 0x830:W", "hlt", "msr 0x80b:W"].map(String::from).to_vec();
    claim.order.insert("a".into(), round.clone());
    let mut result = result();
    assert_eq!(judge(&claim, &Book::default(), Some(&result)).standing, Standing::Holds);

    let order = |result: &mut crate::result::RunResult, change: &dyn Fn(&mut Vec<String>)| {
        change(&mut result.scenarios[0].measured.as_mut().unwrap().windows[0].order);
    };
    order(&mut result, &|order| order.insert(1, "interrupt".into()));
    assert_eq!(judge(&claim, &Book::default(), Some(&result)).standing, Standing::Holds);
    order(&mut result, &|order| order.swap(5, 6));
    assert_eq!(judge(&claim, &Book::default(), Some(&result)).standing, Standing::Fails);
    order(&mut result, &|order| order.truncate(1));
    assert_eq!(
        judge(&claim, &Book::default(), Some(&result)).standing,
        Standing::Fails,
        "no whole round"
    );
}

#[test]
fn what_is_recorded_or_open_is_neither_held_nor_failed() {
    let (mut recorded, mut open) = (claim(&[]), claim(&[]));
    recorded.recorded = Some("only silicon knows".into());
    open.open = Some("a policy".into());
    let judged = [&recorded, &open].map(|claim| judge(claim, &Book::default(), None));
    assert_eq!(judged.clone().map(|j| j.standing), [Standing::Recorded, Standing::Open]);
    assert_eq!(table::summary(&judged), "2 claims: 0 hold, 1 recorded only, 1 open\n");
    assert!(table::entry(&judged[0]).contains("why: only silicon knows"));
    assert!(table::entry(&judged[1]).contains("needs: a policy"));
}
