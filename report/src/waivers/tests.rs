use super::file::parse;
use super::*;
use crate::model::{Standing, WaiverState};
use crate::sample;
use std::collections::BTreeSet;

const ONE: &str = r#"
[[waiver]]
scenario = "self-ipi::idle-hlt"
environment = "tcg-icount"
reason = "known"
owner = "me"
expires = 2027-01-31
"#;

fn wrong(text: &str) -> String {
    parse(text).unwrap_err()
}

#[test]
fn a_waiver_excuses_its_subject_where_it_applies() {
    let mut report = sample::failing();
    apply(&parse(ONE).unwrap(), &mut report).unwrap();
    assert_eq!(report.verdict.standing, Standing::QualifiedWithWaivers);
    assert_eq!(report.waivers[0].state, WaiverState::Applies);
    let elsewhere = parse(&ONE.replace("tcg-icount", "kvm")).unwrap();
    apply(&elsewhere, &mut report).unwrap();
    assert_eq!(report.verdict.standing, Standing::NotQualified);
    assert_eq!(report.waivers[0].state, WaiverState::OtherEnvironment);
}

#[test]
fn a_waiver_of_what_holds_is_an_error_and_changes_nothing() {
    let mut report = sample::report();
    for subject in
        [r#"scenario = "self-ipi::idle-hlt""#, r#"rule = "AVIC-001""#, r#"claim = "CLM-29""#]
    {
        let text = ONE.replace(r#"scenario = "self-ipi::idle-hlt""#, subject);
        let error = apply(&parse(&text).unwrap(), &mut report).unwrap_err().to_string();
        assert!(error.contains("is not used: nothing of it failed in tcg-icount"), "{error}");
    }
    assert_eq!(report, sample::report());
}

#[test]
fn a_waiver_of_what_was_left_out_is_kept_for_the_whole_run() {
    let mut report = sample::report();
    report.scenarios.pop();
    apply(&parse(ONE).unwrap(), &mut report).unwrap();
    assert_eq!(report.waivers[0].state, WaiverState::NotRun);
}

#[test]
fn the_last_day_still_counts() {
    let entries = parse(ONE).unwrap();
    in_time(&entries, jiff::civil::date(2027, 1, 31)).unwrap();
    let error = in_time(&entries, jiff::civil::date(2027, 2, 1)).unwrap_err().to_string();
    assert_eq!(
        error,
        "the waiver of scenario self-ipi::idle-hlt expired on 2027-01-31: mend the failure, or let \
         me decide anew"
    );
}

#[test]
fn a_waiver_of_nothing_is_an_error() {
    let entries = parse(ONE).unwrap();
    let none = BTreeSet::new();
    let error = known(&entries, &none, &none, &none).unwrap_err().to_string();
    assert!(error.contains("names nothing that there is"), "{error}");
    let there = BTreeSet::from(["self-ipi::idle-hlt".to_owned()]);
    known(&entries, &there, &none, &none).unwrap();
    assert!(known(&entries, &none, &there, &none).is_err(), "a rule is no scenario");
}

#[test]
fn what_is_no_waiver_is_refused_with_the_reason() {
    assert!(wrong(&ONE.replace("owner = \"me\"", "")).contains("missing field `owner`"));
    assert!(wrong(&ONE.replace("\"me\"", "\" \"")).contains("needs `owner`"));
    assert!(wrong(&ONE.replace("2027-01-31", "2027-01-31T00:00:00Z")).contains("write `expires"));
    assert!(wrong(&ONE.replace("2027-01-31", "2027-02-31")).contains("invalid"));
    assert!(wrong(&ONE.replace("scenario =", "rule = \"A-1\"\nscenario =")).contains("of one"));
    assert!(wrong(&ONE.replace("scenario", "scenari")).contains("unknown field `scenari`"));
    assert!(wrong(&ONE.repeat(2)).contains("waived twice"));
    assert_eq!(parse("").unwrap(), []);
}
