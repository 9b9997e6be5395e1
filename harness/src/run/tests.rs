use super::*;
use crate::result::tests::{environment, run, scenario};
use crate::target::Fate;
use crate::transcript::ScenarioRun;
use crate::verdict::Verdict;

fn report(run: ScenarioRun, fate: Fate) -> Report {
    let ran = vec![crate::target::Ran { run, fate, boot: Some(0) }];
    Report { hello: None, ran, boots: vec![], problems: vec![] }
}

fn judged(reports: &[Report]) -> ScenarioResult {
    let images = Images {
        core: "/nowhere".into(),
        payloads: vec![],
        core_id: "c1".into(),
        payloads_id: "p1".into(),
        rustc: "rustc".into(),
    };
    let qemu = Qemu { path: "/nowhere".into(), version: crate::target::MINIMUM };
    let run = Run {
        qemu: &qemu,
        accel: Accel::Tcg,
        images: &images,
        catalogue: &Catalogue::default(),
        root: Path::new("/"),
        golden: None,
        dir: "/nowhere".into(),
        repeats: reports.len() as u32,
        oracle: false,
    };
    run.result(&[scenario()], reports).scenarios.remove(0)
}

#[test]
fn the_wall_limit_follows_the_budget() {
    let mut scenario = scenario();
    let usual = entry(&scenario);
    assert_eq!(usual.name, "self-ipi::hlt");
    assert!(usual.wall > Duration::from_secs(10) && usual.wall < Duration::from_secs(60));
    scenario.budget.exits *= 10;
    assert!(entry(&scenario).wall > usual.wall);
    scenario.budget.ticks = u64::MAX;
    scenario.budget.exits = u64::MAX;
    let _ = entry(&scenario);
}

#[test]
fn equal_repeats_pass() {
    let same = || report(run(), Fate::Ended);
    assert_eq!(judged(&[same(), same(), same()]).judgement.verdict, Verdict::Pass);
}

#[test]
fn the_first_difference_between_repeats_is_named() {
    let mut other = run();
    other.windows[0].ticks += 1;
    let reports = [run(), run(), other].map(|run| report(run, Fate::Ended));
    let judgement = judged(&reports).judgement;
    assert_eq!(judgement.verdict, Verdict::Fail);
    assert_eq!(
        judgement.reasons,
        [
            "run 3 of 3 differs from run 1: window loop, vCPU 0: length in ticks: run 1 9000, now 9001"
        ]
    );
    assert!(!judgement.only_golden_differs(), "a run that does not repeat must not be blessed");
}

#[test]
fn what_is_not_blessed_must_repeat_too() {
    let mut other = run();
    other.end.as_mut().unwrap().ticks += 1;
    let reports = [run(), other].map(|run| report(run, Fate::Ended));
    let reasons = judged(&reports).judgement.reasons;
    assert_eq!(reasons, ["run 2 of 2 differs from run 1: the length in ticks of the scenario"]);
}

#[test]
fn a_repeat_that_died_could_not_run() {
    let died = report(ScenarioRun { end: None, ..run() }, Fate::Crashed("killed".into()));
    let judgement = judged(&[report(run(), Fate::Ended), died]).judgement;
    assert_eq!(judgement.verdict, Verdict::CouldNotRun);
    assert_eq!(judgement.reasons, ["run 2 of 2 differs from run 1: the target died in it: killed"]);
}

#[test]
fn the_environment_says_what_was_measured_where() {
    let images = Images {
        core: "/nowhere".into(),
        payloads: vec![],
        core_id: "c1".into(),
        payloads_id: "p1".into(),
        rustc: "rustc 1.95.0".into(),
    };
    let version = crate::target::Version(10, 0, 2);
    let qemu = Qemu { path: "/nowhere".into(), version };
    let run = Run {
        qemu: &qemu,
        accel: Accel::Tcg,
        images: &images,
        catalogue: &Catalogue::default(),
        root: Path::new("/"),
        golden: None,
        dir: "/nowhere".into(),
        repeats: 1,
        oracle: false,
    };
    let seen = run.environment(&[]);
    assert_eq!(seen.built, environment().built);
    assert_eq!((seen.class.as_str(), seen.accelerator.as_str()), ("tcg-icount", "tcg"));
    let kvm = Run { accel: Accel::Kvm, ..run }.environment(&[]);
    assert_eq!(kvm.class, "kvm");
}
