use super::*;
use crate::payload::tests::catalogue;
use crate::result::tests::{SUITE, environment, result, row, run, scenario};
use crate::result::{Measured, ScenarioResult};
use crate::suite::tests::scenarios;
use crate::transcript::{Check, LastExit};
use trapline_abi::exit::{ExitKey, IOIO};

fn reasons(change: impl FnOnce(&mut ScenarioRun)) -> Vec<String> {
    let mut run = run();
    change(&mut run);
    judge(&scenario(), &run, &Fate::Ended).reasons
}

fn with_suite(from: &str, to: &str) -> Judgement {
    assert!(SUITE.contains(from));
    let scenario = scenarios(&SUITE.replacen(from, to, 1), &catalogue()).remove(0);
    judge(&scenario, &run(), &Fate::Ended)
}

#[test]
fn a_run_that_keeps_every_rule_passes() {
    assert_eq!(judge(&scenario(), &run(), &Fate::Ended), Judgement::default());
}

#[test]
fn a_failed_check_is_a_reason_with_both_numbers_and_the_citation() {
    let reasons = reasons(|r| {
        r.checks.push(Check { vcpu: 1, label: "x == 1".into(), expected: 1, actual: 0 });
    });
    assert_eq!(reasons, ["check `x == 1` on vCPU 1: expected 1, seen 0 [row 1]"]);
}

#[test]
fn a_broken_rule_is_a_reason_with_its_formula() {
    let reasons = reasons(|r| r.windows[0].rows[0].stats.count = 11);
    assert_eq!(
        reasons,
        [
            "msr in window `loop` on vCPU 0: expected 20 (`2*n`), seen 21 [row 1]",
            "msr 0x830:W in window `loop` on vCPU 0: expected 10 (`n`), seen 11 [row 1]",
        ]
    );
}

#[test]
fn an_exit_that_no_rule_names_is_a_reason_unless_it_is_allowed() {
    let vintr = ExitKey::plain(0x64);
    let reasons = reasons(|r| r.windows[0].rows.push(row(vintr, 3, 9)));
    assert_eq!(reasons, ["vintr in window `loop` on vCPU 0: no rule allows it, seen 3 [row 1]"]);
    let allowing = SUITE.replacen("hlt = \"n\"", "hlt = \"n\"\nallow = [\"vintr\"]", 1);
    let scenario = scenarios(&allowing, &catalogue()).remove(0);
    let mut run = run();
    run.windows[0].rows.push(row(vintr, 3, 9));
    assert_eq!(judge(&scenario, &run, &Fate::Ended).verdict, Verdict::Pass);
}

#[test]
fn exits_in_another_order_are_a_reason() {
    let round = "order = [\"msr 0x830:W\", \"hlt\", \"msr 0x80b:W\"]\nhlt = \"n\"";
    assert_eq!(with_suite("hlt = \"n\"", round).verdict, Verdict::Pass);
    let other = "order = [\"msr\", \"msr\", \"hlt\"]\nhlt = \"n\"";
    assert_eq!(
        with_suite("hlt = \"n\"", other).reasons,
        ["order in window `loop` on vCPU 0: expected rounds of msr, msr, hlt, seen ... \
             msr 0x830:W, hlt, msr 0x80b:W ... [row 1]"]
    );
}

#[test]
fn allowed_exits_do_not_disturb_the_order() {
    let round =
        "order = [\"msr 0x830:W\", \"hlt\", \"msr 0x80b:W\"]\nallow = [\"interrupt\"]\nhlt = \"n\"";
    let scenario = scenarios(&SUITE.replacen("hlt = \"n\"", round, 1), &catalogue()).remove(0);
    let mut run = run();
    run.windows[0].order.insert(4, ExitKey::plain(0x60));
    assert_eq!(judge(&scenario, &run, &Fate::Ended).verdict, Verdict::Pass);
    run.windows[0].order.insert(4, ExitKey::plain(0x64));
    assert_eq!(judge(&scenario, &run, &Fate::Ended).verdict, Verdict::Fail);
}

#[test]
fn a_row_of_a_code_that_only_has_row_rules_must_be_named() {
    let judgement = with_suite("msr = \"2*n\"\n", "");
    assert_eq!(
        judgement.reasons,
        ["msr 0x80b:W in window `loop` on vCPU 0: no rule allows it, seen 10 [row 1]"]
    );
}

#[test]
fn a_rule_about_all_exits_does_not_allow_them() {
    let judgement = with_suite("hlt = \"n\"", "exits = \"3*n\"");
    assert_eq!(
        judgement.reasons,
        ["hlt in window `loop` on vCPU 0: no rule allows it, seen 10 [row 1]"]
    );
    assert_eq!(with_suite("hlt = \"n\"", "hlt = \"n\"\nexits = \"3*n\"").reasons.len(), 0);
    assert_eq!(with_suite("hlt = \"n\"", "hlt = \"n\"\nexits = \"2*n\"").reasons.len(), 1);
}

#[test]
fn both_directions_of_a_port_are_summed() {
    let suite = SUITE.replacen("hlt = \"n\"", "hlt = \"n\"\n\"io 0x71\" = 5", 1);
    let scenario = scenarios(&suite, &catalogue()).remove(0);
    let mut run = run();
    run.windows[0].rows.push(row(ExitKey::access(IOIO, 0x71, true), 2, 9));
    assert_eq!(
        judge(&scenario, &run, &Fate::Ended).reasons,
        ["io 0x71 in window `loop` on vCPU 0: expected 5, seen 2 [row 1]"]
    );
    run.windows[0].rows.push(row(ExitKey::access(IOIO, 0x71, false), 3, 9));
    assert_eq!(judge(&scenario, &run, &Fate::Ended).verdict, Verdict::Pass);
}

#[test]
fn values_are_held_to_their_rules_and_must_be_there() {
    assert_eq!(
        reasons(|r| r.values[0].value = 9),
        ["value `ipis` on vCPU 0: expected 10 (`n`), seen 9 [row 1]"]
    );
    assert_eq!(reasons(|r| r.values.clear()), ["value `ipis` was never reported [row 1]"]);
}

#[test]
fn windows_must_be_there_and_be_named_when_there_are_several() {
    assert_eq!(reasons(|r| r.windows.clear()), ["there was no window"]);
    let two = |r: &mut ScenarioRun| {
        let mut second = r.windows[0].clone();
        second.label = "warm".into();
        r.windows.push(second);
    };
    assert_eq!(
        reasons(two),
        ["the expectations do not say which of the windows `loop`, `warm` they mean"]
    );
    let suite =
        format!("{SUITE}[scenario.expect.warm]\nmsr = 0\n[scenario.expect.cold]\nhlt = 0\n");
    let scenario = scenarios(&suite, &catalogue()).remove(0);
    let mut run = run();
    two(&mut run);
    assert_eq!(
        judge(&scenario, &run, &Fate::Ended).reasons,
        [
            "there was no window `cold`",
            "msr in window `warm` on vCPU 0: expected 0, seen 20 [row 1]",
            "hlt in window `warm` on vCPU 0: no rule allows it, seen 10 [row 1]",
        ]
    );
}

#[test]
fn a_bad_end_says_where_each_vcpu_was_and_after_which_exits() {
    let reasons = reasons(|r| {
        let end = r.end.as_mut().unwrap();
        (end.outcome, end.detail) = (Outcome::Stuck, "IF=0\n at once".into());
        let last = |i| LastExit { key: ExitKey::plain(0x78), rip: 0x10_0000 + i, at: i };
        r.postmortem.push(Postmortem {
            vcpu: 0,
            rip: 0x10_0009,
            rsp: 0,
            rflags: 2,
            cr2: 0,
            interrupt_shadow: false,
            halted: true,
            tpr: 0,
            ppr: 0,
            irr: vec![0x50],
            isr: vec![],
            last: (0..20).map(last).collect(),
        });
    });
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert!(reason.starts_with(
        "ended with `stuck` (IF=0 at once), expected `done`; vCPU 0 at rip 0x100009, halted"
    ));
    assert!(reason.contains("irr [80]"), "{reason}");
    assert_eq!(reason.matches("hlt at rip").count(), LAST_EXITS);
    assert!(reason.ends_with("hlt at rip 0x100013, tick 19"), "{reason}");
}

#[test]
fn an_expected_bad_end_passes() {
    let bad = SUITE.replacen("msr =", "outcome = \"time-budget\"\nmsr =", 1);
    let scenario = scenarios(&bad, &catalogue()).remove(0);
    let mut run = run();
    assert_eq!(
        judge(&scenario, &run, &Fate::Ended).reasons,
        ["ended with `done`, expected `time-budget`"]
    );
    run.end.as_mut().unwrap().outcome = Outcome::TimeBudget;
    assert_eq!(judge(&scenario, &run, &Fate::Ended).verdict, Verdict::Pass);
}

#[test]
fn what_the_target_did_not_survive_could_not_run() {
    let why = || "QEMU was killed".to_owned();
    for (fate, reason) in [
        (Fate::Crashed(why()), "the target died in it: QEMU was killed"),
        (Fate::Hung(why()), "the target fell silent in it: QEMU was killed"),
        (Fate::Damaged(why()), "its records cannot be trusted: QEMU was killed"),
        (Fate::NotRun(why()), "it was not run: QEMU was killed"),
    ] {
        let judgement = judge(&scenario(), &run(), &fate);
        assert_eq!(judgement.verdict, Verdict::CouldNotRun);
        assert_eq!(judgement.reasons, [reason]);
    }
    let other = ScenarioRun { name: "self-ipi::nop".into(), ..run() };
    let other = judge(&scenario(), &other, &Fate::Ended);
    assert_eq!(other.reasons, ["the records in its place are those of `self-ipi::nop`"]);
    let gone = judge(&scenario(), &ScenarioRun { end: None, ..run() }, &Fate::Ended);
    assert_eq!(gone.verdict, Verdict::CouldNotRun);
}

#[test]
fn what_hv_core_refuses_could_not_run_unless_that_is_expected() {
    let mut refused = run();
    let end = refused.end.as_mut().unwrap();
    (end.outcome, end.detail) = (Outcome::Refused, "no silicon `x`".into());
    let judgement = judge(&scenario(), &refused, &Fate::Ended);
    assert_eq!(judgement.verdict, Verdict::CouldNotRun);
    assert_eq!(judgement.reasons, ["hv-core refused it: no silicon `x`"]);
    let expecting = SUITE.replacen("msr =", "outcome = \"refused\"\nmsr =", 1);
    let scenario = scenarios(&expecting, &catalogue()).remove(0);
    assert_eq!(judge(&scenario, &refused, &Fate::Ended).verdict, Verdict::Pass);
}

#[test]
fn error_lines_fail_and_warnings_are_notes() {
    let mut run = run();
    run.logs = vec![(Level::Warn, "odd".into()), (Level::Error, "bad".into())];
    let judgement = judge(&scenario(), &run, &Fate::Ended);
    assert_eq!((judgement.reasons, judgement.notes), (vec!["bad".into()], vec!["odd".into()]));
}

#[test]
fn a_negative_control_passes_only_when_it_fails_for_its_reason() {
    let control = SUITE.replacen("cite =", "fails = \"hlt in window\"\ncite =", 1);
    let scenario = scenarios(&control, &catalogue()).remove(0);
    let mut run = run();
    assert!(
        judge(&scenario, &run, &Fate::Ended).reasons[0].ends_with("but what failed is: nothing")
    );
    run.windows[0].rows[0].stats.count = 11;
    assert_eq!(judge(&scenario, &run, &Fate::Ended).verdict, Verdict::Fail);
    run.windows[0].rows[1].stats.count = 11;
    assert_eq!(judge(&scenario, &run, &Fate::Ended).verdict, Verdict::Pass);
}

fn held(golden: &std::path::Path, result: &ScenarioResult, class: &str) -> Judgement {
    let mut judgement = Judgement::default();
    let environment = Environment { class: class.into(), ..environment() };
    hold_against_golden(&mut judgement, golden, &environment, result);
    judgement
}

#[test]
fn the_golden_is_held_last_and_its_differences_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let result = &result().scenarios[0];
    let missing = held(folder.path(), result, "tcg-icount");
    assert!(missing.only_golden_differs());
    assert!(missing.reasons[0].contains("run `trapline bless`"), "{:?}", missing.reasons);

    let path = file::path(folder.path(), "tcg-icount", "self-ipi", "hlt");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, file::to_text(&result.snapshot(&environment()).unwrap())).unwrap();
    assert_eq!(held(folder.path(), result, "tcg-icount"), Judgement::default());

    let mut run = run();
    run.windows[0].ticks += 1;
    let other = ScenarioResult { measured: Some(Measured::new(&run)), ..result.clone() };
    let mut differs = held(folder.path(), &other, "tcg-icount");
    assert_eq!(
        differs.reasons,
        ["golden: window loop, vCPU 0: length in ticks: golden 9000, seen 9001"]
    );
    assert!(differs.only_golden_differs());
    differs.fail("something else".into());
    assert!(!differs.only_golden_differs());
    assert_eq!(differs.reasons[0], "something else");

    let kvm = held(folder.path(), &other, "kvm");
    assert_eq!(kvm.verdict, Verdict::Pass);
    assert!(kvm.notes[0].contains("no golden applies to kvm"));
}
