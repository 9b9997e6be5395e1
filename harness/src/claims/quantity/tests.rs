use super::*;
use crate::result::tests::{result, row, run};
use crate::transcript::Value;
use crate::verdict::Judgement;
use trapline_abi::exit::{ExitKey, IOIO};

fn of(name: &str) -> Result<u64, String> {
    number(name, &result().scenarios[0])
}

#[test]
fn names_mean_counts_times_and_parameters() {
    for (name, expected) in [
        ("msr", 20),
        ("msr.0x830:W", 10),
        ("msr.0x80b", 10),
        ("msr.0x8", 0),
        ("hlt", 10),
        ("hlt.time", 2000),
        ("vintr", 0),
        ("idle_halt", 0),
        ("exits", 30),
        ("time", 9000),
        ("ticks", 9000),
        ("n", 10),
        ("0.msr", 20),
        ("1.msr", 0),
        ("1.exits", 0),
    ] {
        assert_eq!(of(name), Ok(expected), "{name}");
    }
}

#[test]
fn a_port_is_one_port_in_both_directions() {
    let mut run = run();
    run.windows[0].rows = vec![
        row(ExitKey::access(IOIO, 0x70, true), 3, 1),
        row(ExitKey::access(IOIO, 0x71, true), 5, 1),
        row(ExitKey::access(IOIO, 0x71, false), 7, 1),
        row(ExitKey::access(IOIO, 0x710, false), 11, 1),
    ];
    let mut scenario = result().scenarios.remove(0);
    scenario.measured = Some(Measured::new(&run));
    for (name, expected) in [("io", 26), ("io.0x71", 12), ("io.0x71:PIN", 7), ("io.0x70", 3)] {
        assert_eq!(number(name, &scenario), Ok(expected), "{name}");
    }
}

#[test]
fn what_a_payload_reported_is_named_like_a_parameter() {
    let mut run = run();
    let value = |label: &str, value| Value { vcpu: 0, label: label.into(), value };
    run.values = vec![value("features", 0x5c), value("n", 3)];
    let mut scenario = result().scenarios.remove(0);
    scenario.measured = Some(Measured::new(&run));
    assert_eq!(number("features", &scenario), Ok(0x5c));
    assert_eq!(number("n", &scenario), Ok(10), "a parameter comes first");
}

#[test]
fn what_means_nothing_is_refused() {
    assert!(
        of("mrs")
            .unwrap_err()
            .contains("`mrs` is no exit, no parameter and no value of self-ipi::hlt")
    );
    assert!(of("").is_err() && of("0.").is_err());
    let mut scenario = result().scenarios.remove(0);
    scenario.params.insert("wait".into(), "spin".into());
    assert!(number("wait", &scenario).unwrap_err().contains("no number"));
    scenario.measured = None;
    scenario.judgement = Judgement::could_not_run("x");
    assert!(number("msr", &scenario).is_err());
}
