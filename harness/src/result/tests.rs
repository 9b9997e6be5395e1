use super::*;
use crate::payload::tests::catalogue;
use crate::suite::tests::scenarios;
use crate::transcript::{Check, End, Row, ScenarioRun, Stats, Value, Window};
use trapline_abi::exit::{ExitKey, MSR};
use trapline_abi::record::Outcome;

/// A scenario whose expectations hold for [`run`].
pub(crate) const SUITE: &str = r#"
[suite]
name = "self-ipi"
[[scenario]]
name = "hlt"
payload = "self-ipi"
params = { n = 10 }
cite = "row 1"
[scenario.expect]
msr = "2*n"
"msr 0x830:W" = "n"
hlt = "n"
[scenario.expect.values]
ipis = "n"
"#;

pub(crate) fn scenario() -> Scenario {
    scenarios(SUITE, &catalogue()).remove(0)
}

pub(crate) fn stats(count: u64, each: u64) -> Stats {
    let mut histogram = vec![0; each.ilog2() as usize + 1];
    *histogram.last_mut().unwrap() = count as u32;
    let sum_squares = u128::from(count) * u128::from(each) * u128::from(each);
    Stats { count, sum: count * each, sum_squares, min: each, max: each, histogram }
}

pub(crate) fn row(key: ExitKey, count: u64, each: u64) -> Row {
    Row { key, stats: stats(count, each) }
}

/// What [`scenario`] gives when all is well.
pub(crate) fn run() -> ScenarioRun {
    ScenarioRun {
        name: "self-ipi::hlt".into(),
        checks: vec![Check { vcpu: 0, label: "x".into(), expected: 1, actual: 1 }],
        values: vec![Value { vcpu: 0, label: "ipis".into(), value: 10 }],
        windows: vec![Window {
            vcpu: 0,
            label: "loop".into(),
            ticks: 9000,
            rows: vec![
                row(ExitKey::access(MSR, 0x830, true), 10, 400),
                row(ExitKey::plain(0x78), 10, 200),
                row(ExitKey::access(MSR, 0x80b, true), 10, 300),
            ],
            order: [ExitKey::access(MSR, 0x830, true), ExitKey::plain(0x78)]
                .into_iter()
                .chain([ExitKey::access(MSR, 0x80b, true)])
                .cycle()
                .take(9)
                .collect(),
        }],
        end: Some(End { outcome: Outcome::Done, detail: String::new(), ticks: 20_000 }),
        ..ScenarioRun::default()
    }
}

pub(crate) fn environment() -> Environment {
    let built = trapline_golden::snapshot::Built {
        core: "c1".into(),
        payload: "p1".into(),
        qemu: "10.0.2".into(),
        rustc: "rustc 1.95.0".into(),
    };
    Environment {
        class: "tcg-icount".into(),
        accelerator: "tcg".into(),
        cpu: None,
        built,
        revision: Some("abc".into()),
    }
}

pub(crate) fn result() -> RunResult {
    let scenario =
        ScenarioResult::new(&scenario(), Some(Measured::new(&run())), Judgement::default());
    RunResult {
        format: FORMAT,
        environment: environment(),
        repeats: 1,
        part: None,
        scenarios: vec![scenario],
        problems: vec![],
    }
}

#[test]
fn rows_are_sorted_and_named_whatever_order_they_came_in() {
    let measured = Measured::new(&run());
    let names: Vec<_> = measured.windows[0].exits.iter().map(Exit::full_name).collect();
    assert_eq!(names, ["hlt", "msr 0x80b:W", "msr 0x830:W"]);
    let mut other = run();
    other.windows[0].rows.reverse();
    assert_eq!(Measured::new(&other), measured);
}

#[test]
fn exits_without_a_name_stay_apart() {
    let mut run = run();
    run.windows[0].rows = vec![row(ExitKey::plain(0x8c), 1, 1), row(ExitKey::plain(0x8e), 1, 1)];
    let names: Vec<_> = Measured::new(&run).windows[0].exits.iter().map(Exit::full_name).collect();
    assert_eq!(names, ["UNKNOWN 0x8c", "UNKNOWN 0x8e"]);
}

#[test]
fn a_scenario_without_its_end_is_lost() {
    assert_eq!(Measured::new(&ScenarioRun { end: None, ..run() }).outcome, "lost");
}

#[test]
fn a_result_is_saved_and_read_again_and_the_same_run_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    save_last(folder.path(), &result()).unwrap();
    let path = last_path(folder.path());
    assert_eq!(read(&path).unwrap(), result());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), result().to_json());
}

#[test]
fn a_failed_save_keeps_the_old_result() {
    let folder = tempfile::tempdir().unwrap();
    save_last(folder.path(), &result()).unwrap();
    let path = last_path(folder.path());
    let below = path.join("below.json");
    assert!(save(&below, &result()).unwrap_err().to_string().contains("nothing was changed"));
    assert_eq!(read(&path).unwrap(), result());
    let error = save(std::path::Path::new("/dev/full"), &result()).unwrap_err().to_string();
    assert!(error.starts_with("cannot write /dev/full: No space left"), "{error}");
}

#[test]
fn what_is_no_result_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json");
    let error = |text: &str| {
        std::fs::write(&path, text).unwrap();
        read(&path).unwrap_err().to_string()
    };
    assert!(error("{").contains("is no result of this version"));
    assert!(error("{}").contains("missing field `format`"));
    let newer = result().to_json().replace("\"format\": 2", "\"format\": 3");
    assert!(error(&newer).contains("it has format 3, and 2 is the newest known here"));
    let missing = read(&folder.path().join("none.json")).unwrap_err().to_string();
    assert!(missing.contains("run `trapline run` first"), "{missing}");
}

#[test]
fn a_snapshot_has_what_is_blessed_and_nothing_of_the_rest() {
    let snapshot = result().scenarios[0].snapshot(&environment()).unwrap();
    assert_eq!(snapshot.built, environment().built);
    assert_eq!(snapshot.windows[0].exits[2].exit, "msr 0x830:W");
    assert_eq!(snapshot.windows[0].exits[2].figures.sum, 4000);
    assert_eq!(snapshot.values[0].value, 10);
}

#[test]
fn features_are_read_back_from_what_a_result_says_of_its_silicon() {
    let mut result = result();
    let mut features = |silicon: &str| {
        result.scenarios[0].silicon = silicon.into();
        let (modeled, real) = result.scenarios[0].features();
        (modeled.join(" "), real.join(" "))
    };
    assert_eq!(features("none"), (String::new(), String::new()));
    assert_eq!(features("zen4 vnmi=off (modeled: avic, vgif)").0, "avic vgif");
    let both = features("zen5 (modeled: avic, x2avic; real: vgif)");
    assert_eq!(both, ("avic x2avic".into(), "vgif".into()));
    assert_eq!(features("host (real: avic)"), (String::new(), "avic".into()));
}
