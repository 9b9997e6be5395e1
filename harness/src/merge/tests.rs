use super::*;
use crate::partition::Partition;
use crate::result::tests::result;
use crate::result::{Cpu, Part};

/// A result with scenarios of these names.
fn whole(names: &[&str]) -> RunResult {
    let mut whole = result();
    whole.environment.cpu = Some(Cpu {
        brand: "fake".into(),
        signature: 1,
        svm_features: 1,
        asids: 16,
        cores: 1,
        tsc_khz: 1_000_000,
    });
    let template = whole.scenarios.remove(0);
    let named = |name: &&str| ScenarioResult { name: (*name).into(), ..template.clone() };
    whole.scenarios = names.iter().map(named).collect();
    whole
}

fn part(whole: &RunResult, number: u32, of: u32) -> (String, RunResult) {
    let partition = Partition { number, of };
    let names: Vec<_> = whole.scenarios.iter().map(ScenarioResult::full_name).collect();
    let part = RunResult {
        part: Some(Part::new(partition, &names)),
        scenarios: partition.take(whole.scenarios.clone()),
        ..whole.clone()
    };
    (format!("part-{number}.json"), part)
}

#[test]
fn parts_in_any_order_give_the_whole() {
    for count in 0..9 {
        let names: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h", "i"][..count].to_vec();
        let whole = whole(&names);
        for of in 1..5 {
            let parts: Vec<_> = (1..=of).rev().map(|number| part(&whole, number, of)).collect();
            assert_eq!(merge(parts).unwrap(), whole, "{count} in {of}");
        }
    }
}

#[test]
fn a_missing_part_is_named() {
    let whole = whole(&["a", "b", "c"]);
    let error = merge(vec![part(&whole, 1, 4), part(&whole, 3, 4)]).unwrap_err().to_string();
    assert_eq!(error, "of 4 parts some are missing: 2/4, 4/4");
    let error = merge(vec![part(&whole, 2, 2)]).unwrap_err().to_string();
    assert_eq!(error, "of 2 parts one is missing: 1/2");
    assert_eq!(merge(Vec::new()), Err(MergeError::Nothing));
}

#[test]
fn parts_that_are_none_of_one_whole_are_refused() {
    let (abc, abd) = (whole(&["a", "b", "c"]), whole(&["a", "b", "d"]));
    let refused = |files: Vec<_>, wanted: &str| {
        let error = merge(files).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    refused(vec![part(&abc, 1, 2), part(&abd, 2, 2)], "different selections");
    refused(vec![part(&abc, 1, 2), part(&abc, 2, 3)], "one of 2 parts, one of 3");
    refused(vec![part(&abc, 1, 2), ("all.json".into(), abc.clone())], "the other one a whole");
    let mut cut = part(&abc, 1, 2);
    cut.1.scenarios.pop();
    refused(vec![cut, part(&abc, 2, 2)], "part-1.json is part 1/2, which has 2 scenarios");
    let mut other = part(&abc, 1, 2);
    other.0 = "again.json".into();
    let again = vec![part(&abc, 1, 2), other.clone(), part(&abc, 2, 2)];
    assert_eq!(merge(again).unwrap(), abc, "the same part twice is one part");
    other.1.scenarios[0].measured.as_mut().unwrap().windows[0].ticks += 1;
    refused(
        vec![part(&abc, 1, 2), other, part(&abc, 2, 2)],
        "part-1.json and again.json cannot be merged: both are part 1/2, with different content",
    );
}

#[test]
fn results_of_other_machines_and_images_are_refused_by_name() {
    let first = ("a.json".to_owned(), whole(&["a"]));
    let refused = |change: fn(&mut RunResult), wanted: &str| {
        let mut other = ("b.json".to_owned(), whole(&["b"]));
        change(&mut other.1);
        let error = merge(vec![first.clone(), other]).unwrap_err().to_string();
        assert_eq!(error, format!("a.json and b.json cannot be merged: {wanted}"));
    };
    refused(|r| r.environment.built.core = "c2".into(), "hv-core \"c1\" and \"c2\"");
    refused(|r| r.environment.class = "kvm".into(), "class \"tcg-icount\" and \"kvm\"");
    refused(|r| r.repeats = 7, "repeats 1 and 7");
    refused(|r| r.environment.cpu.as_mut().unwrap().tsc_khz += 1, "TSC in kHz 1000000 and 1000001");
}

#[test]
fn whole_results_follow_each_other_and_a_scenario_twice_must_be_the_same() {
    let (ab, bc) = (whole(&["a", "b"]), whole(&["b", "c"]));
    let files = |bc: &RunResult| vec![("1.json".into(), ab.clone()), ("2.json".into(), bc.clone())];
    assert_eq!(merge(files(&bc)).unwrap(), whole(&["a", "b", "c"]));
    let mut other = bc;
    other.scenarios[0].measured.as_mut().unwrap().windows[0].ticks += 1;
    let error = merge(files(&other)).unwrap_err().to_string();
    assert!(error.contains("::b is in 1.json and in 2.json, and differs: window loop"), "{error}");
}

#[test]
fn measured_clocks_may_be_a_thousandth_apart() {
    let kvm = |name: &str, khz: u32| {
        let mut result = whole(&[name]);
        result.environment.class = "kvm".into();
        result.environment.cpu.as_mut().unwrap().tsc_khz = khz;
        (format!("{name}.json"), result)
    };
    assert!(merge(vec![kvm("a", 2_000_000), kvm("b", 2_002_000)]).is_ok());
    assert!(merge(vec![kvm("a", 2_000_000), kvm("b", 2_003_000)]).is_err());
}
