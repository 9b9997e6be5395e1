use super::*;
use crate::result::tests::result;
use crate::verdict::Judgement;

fn all(_: &str) -> bool {
    true
}

/// A result with as many scenarios as names.
fn named(names: &[&str]) -> RunResult {
    let mut result = result();
    let template = result.scenarios.remove(0);
    for name in names {
        let mut scenario = template.clone();
        scenario.name = (*name).into();
        result.scenarios.push(scenario);
    }
    result
}

fn golden(folder: &Path, name: &str) -> std::path::PathBuf {
    file::path(folder, TCG_ICOUNT, "self-ipi", name)
}

#[test]
fn a_blessed_result_holds_against_its_golden() {
    let folder = tempfile::tempdir().unwrap();
    let result = named(&["a", "b"]);
    let blessed = bless(&result, folder.path(), &all).unwrap();
    assert_eq!(blessed, Blessed { written: 2, unchanged: 0 });
    let snapshot = file::read(&golden(folder.path(), "a")).unwrap();
    assert_eq!(Some(snapshot), result.scenarios[0].snapshot(&result.environment));
    let again = bless(&result, folder.path(), &all).unwrap();
    assert_eq!(again, Blessed { written: 0, unchanged: 2 });
}

#[test]
fn only_what_matches_is_blessed() {
    let folder = tempfile::tempdir().unwrap();
    bless(&named(&["a", "b"]), folder.path(), &|name| name.ends_with("::b")).unwrap();
    assert!(!golden(folder.path(), "a").exists() && golden(folder.path(), "b").exists());
    let error = bless(&named(&["a"]), folder.path(), &|_| false).unwrap_err();
    assert!(matches!(error, BlessError::Nothing));
}

#[test]
fn one_broken_scenario_keeps_all_goldens_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut result = named(&["a", "b"]);
    result.scenarios[1].judgement = Judgement::could_not_run("it died");
    let error = bless(&result, folder.path(), &all).unwrap_err().to_string();
    assert!(error.contains("nothing was blessed:\n  self-ipi::b: it died"), "{error}");
    assert!(!golden(folder.path(), "a").exists());

    let judgement = &mut result.scenarios[1].judgement;
    *judgement = Judgement::default();
    judgement.fail("golden: x".into());
    judgement.golden_differences = 1;
    bless(&result, folder.path(), &all).unwrap();
    let mut result = named(&["a"]);
    result.scenarios[0].judgement.fail("a rule broke".into());
    assert!(matches!(bless(&result, folder.path(), &all), Err(BlessError::Refused(_))));
}

#[test]
fn a_result_that_is_not_exact_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut result = named(&["a"]);
    result.environment.class = "kvm".into();
    let error = bless(&result, folder.path(), &all).unwrap_err().to_string();
    assert!(error.contains("results of kvm are not exact"), "{error}");
}

#[test]
fn a_golden_folder_that_cannot_be_written_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    bless(&named(&["a"]), folder.path(), &all).unwrap();
    let old = std::fs::read_to_string(golden(folder.path(), "a")).unwrap();
    let mut changed = named(&["a", "b"]);
    changed.environment.built.core = "c2".into();
    // The second scenario's folder is a file: unwritable for root too.
    changed.scenarios[1].suite = "other".into();
    std::fs::write(folder.path().join(TCG_ICOUNT).join("other"), "in the way").unwrap();
    let error = bless(&changed, folder.path(), &all).unwrap_err().to_string();
    assert!(error.contains("other/b.snap") && error.contains("nothing was changed"), "{error}");
    assert_eq!(std::fs::read_to_string(golden(folder.path(), "a")).unwrap(), old);
}
