use super::*;
use crate::result::tests::result;

fn documents(means: &[(&str, f64)]) -> (tempfile::TempDir, Documents) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tables")).unwrap();
    let mut text = String::new();
    for (name, mean) in means {
        text += &format!(
            "Analyze events for all VMs, all VCPUs:\n\n             VM-EXIT    Samples  Samples%     \
             Time%    Min Time    Max Time         Avg time\n\n{name:>20}         10   100.00%   \
             100.00%      0.00us    900.00us {mean:>9.2}us ( +-   0.10% )\n\n"
        );
    }
    std::fs::write(folder.path().join("tables/t.txt"), text).unwrap();
    let documents = Documents::load(folder.path()).unwrap();
    (folder, documents)
}

fn source(tables: &[&str], asleep: &[&str]) -> Source {
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
    Source {
        source: "000".into(),
        machine: "m".into(),
        tables: words(tables),
        asleep: words(asleep),
    }
}

#[test]
fn a_prediction_is_counts_times_means_and_says_what_is_not_in_it() {
    let (_folder, documents) = documents(&[("msr", 1.0), ("hlt", 500.0)]);
    let costs = Costs::read(&source(&["t.txt/1", "t.txt/2"], &["hlt"]), "T", &documents).unwrap();
    let prediction = costs.predict(&result().scenarios[0]).unwrap();
    // The fixture's scenario: 20 msr, 10 hlt.
    assert_eq!((prediction.exits, prediction.asleep), (20, 10));
    assert_eq!(prediction.nanos, 20_000.0);
    assert_eq!(prediction.text(), "20.0 us for 20 exits (without 10 asleep)");
    let costs = Costs::read(&source(&["t.txt/2"], &[]), "T", &documents).unwrap();
    let text = costs.predict(&result().scenarios[0]).unwrap().text();
    assert_eq!(text, "5000.0 us for 10 exits (without 20 msr of unknown cost)");
}

#[test]
fn tables_of_one_machine_are_weighted_by_their_samples() {
    let (_folder, documents) = documents(&[("msr", 1.0), ("msr", 3.0)]);
    let costs = Costs::read(&source(&["t.txt/1", "t.txt/2"], &[]), "T", &documents).unwrap();
    assert_eq!(costs.exits["msr"], Mean { samples: 20, nanos: 40_000.0 });
    assert_eq!(costs.exits["msr"].nanos(), 2000.0);
}

#[test]
fn a_table_that_is_not_there_is_named() {
    let (_folder, documents) = documents(&[("msr", 1.0)]);
    for (tables, asleep, says) in [
        (&["t.txt/2"][..], &[][..], "`t.txt/2`: t.txt has tables 1 to 1, and no 2"),
        (&["u.txt/1"], &[], "`u.txt/1`: tables/u.txt is not there"),
        (&["t.txt/1"], &["hlt"], "no table of `m` has hlt, to be asleep"),
    ] {
        let error = Costs::read(&source(tables, asleep), "T", &documents).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}
