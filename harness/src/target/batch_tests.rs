use super::super::fake::{self, begin, end};
use super::*;
use tempfile::TempDir;
use trapline_abi::record::Record;

fn names(names: &[&str]) -> Vec<Entry> {
    names.iter().map(|name| fake::entry(name)).collect()
}

fn run(
    folder: &TempDir,
    boots: &[(&[u8], &str)],
    list: &[Entry],
) -> (Result<Report, TargetError>, Vec<Progress>) {
    let qemu = fake::qemu(folder, boots);
    let core = fake::core(folder);
    let batch = Batch {
        qemu: &qemu,
        core: &core,
        accel: Accel::Tcg,
        oracle: false,
        dir: folder.path().to_owned(),
    };
    let mut seen = Vec::new();
    let report = batch.run(list, &|_| Ok(Vec::new()), &mut |progress| seen.push(progress));
    (report, seen)
}

fn fates(report: &Report) -> Vec<&Fate> {
    report.ran.iter().map(|ran| &ran.fate).collect()
}

#[test]
fn a_list_that_goes_well_takes_one_boot() {
    let folder = TempDir::new().unwrap();
    let stream = fake::stream(
        2,
        &[begin(0, "s::a"), end(0), begin(1, "s::b"), end(1), Record::Goodbye { scenarios: 2 }],
    );
    let (report, progress) = run(&folder, &[(&stream, "exit 33")], &names(&["s::a", "s::b"]));
    let report = report.unwrap();
    assert_eq!(fates(&report), [&Fate::Ended, &Fate::Ended]);
    assert_eq!(report.boots.len(), 1);
    assert_eq!(report.problems, [""; 0]);
    use Progress::{Began, Ended};
    assert_eq!(progress, [Began(0), Ended(0), Began(1), Ended(1)]);
}

#[test]
fn the_scenario_that_kills_the_target_is_named_and_the_rest_goes_on_behind_it() {
    let folder = TempDir::new().unwrap();
    let log = |text| Record::Log { level: trapline_abi::record::Level::Info, text };
    let first = fake::stream(4, &[begin(0, "s::a"), end(0), begin(1, "s::b"), log("last words")]);
    let second = fake::stream(
        2,
        &[begin(0, "s::c"), end(0), begin(1, "s::d"), end(1), Record::Goodbye { scenarios: 2 }],
    );
    let list = names(&["s::a", "s::b", "s::c", "s::d"]);
    let (report, progress) = run(&folder, &[(&first, "exit 0"), (&second, "exit 33")], &list);
    let report = report.unwrap();
    let steps: Vec<_> = (0..4).flat_map(|k| [Progress::Began(k), Progress::Ended(k)]).collect();
    assert_eq!(progress, steps);
    assert_eq!(report.ran[0].fate, Fate::Ended);
    let Fate::Crashed(why) = &report.ran[1].fate else { panic!("{:?}", report.ran[1]) };
    assert!(why.contains("triple fault"), "{why}");
    assert_eq!(report.ran[1].run.logs[0].1, "last words");
    assert_eq!([&report.ran[2].fate, &report.ran[3].fate], [&Fate::Ended, &Fate::Ended]);
    assert_eq!(report.ran.iter().map(|ran| ran.boot.unwrap()).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(report.ran.iter().map(|ran| ran.run.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn a_scenario_that_hangs_the_target_is_named() {
    let folder = TempDir::new().unwrap();
    let first = fake::stream(2, &[begin(0, "s::a")]);
    let second = fake::stream(1, &[begin(0, "s::b"), end(0), Record::Goodbye { scenarios: 1 }]);
    let mut list = names(&["s::a", "s::b"]);
    list[0].wall = Duration::from_millis(100);
    let (report, _) = run(&folder, &[(&first, "exec sleep 100"), (&second, "exit 33")], &list);
    let report = report.unwrap();
    assert!(matches!(report.ran[0].fate, Fate::Hung(_)), "{:?}", report.ran[0]);
    assert_eq!(report.ran[1].fate, Fate::Ended);
}

#[test]
fn a_death_between_two_scenarios_is_the_next_ones() {
    let folder = TempDir::new().unwrap();
    let first = fake::stream(2, &[begin(0, "s::a"), end(0)]);
    let list = names(&["s::a", "s::b"]);
    let (report, _) = run(&folder, &[(&first, "kill -9 $$")], &list);
    let report = report.unwrap();
    assert_eq!(report.ran[0].fate, Fate::Ended);
    assert_eq!(report.ran[1].fate, Fate::Crashed("QEMU was killed by signal 9".into()));
    assert_eq!(report.boots.len(), 1);
}

#[test]
fn a_death_after_the_last_scenario_is_not_hidden() {
    let folder = TempDir::new().unwrap();
    let first = fake::stream(1, &[begin(0, "s::a"), end(0)]);
    let (report, _) = run(&folder, &[(&first, "exit 0")], &names(&["s::a"]));
    let report = report.unwrap();
    assert_eq!(report.ran[0].fate, Fate::Ended);
    assert!(report.problems.iter().any(|p| p.contains("after the last scenario")), "{report:?}");
}

#[test]
fn lost_records_damage_the_scenarios_they_belong_to_and_no_other() {
    let folder = TempDir::new().unwrap();
    let records = [
        begin(0, "s::a"),
        Record::Value { vcpu: 0, label: "x", value: 1 },
        end(0),
        begin(1, "s::b"),
        end(1),
        begin(2, "s::c"),
        end(2),
        Record::Goodbye { scenarios: 3 },
    ];
    let stream = fake::stream(3, &records);
    // Frame k of the stream lies between the 2k-th and the next delimiter.
    let frames: Vec<&[u8]> = stream.split_inclusive(|&b| b == 0).collect();
    let without = |lost: &[usize]| -> Vec<u8> {
        let kept = |k: &usize| !lost.contains(&(k / 2));
        (0..frames.len()).filter(kept).flat_map(|k| frames[k].to_vec()).collect()
    };
    let list = names(&["s::a", "s::b", "s::c"]);
    let damaged = |lost: &[usize]| {
        let folder = TempDir::new().unwrap();
        let (report, _) = run(&folder, &[(&without(lost), "exit 33")], &list);
        let fates = report.unwrap().ran.into_iter().map(|ran| matches!(ran.fate, Fate::Damaged(_)));
        fates.collect::<Vec<_>>()
    };
    assert_eq!(damaged(&[]), [false, false, false]);
    assert_eq!(damaged(&[2]), [true, false, false]);
    assert_eq!(damaged(&[3, 4]), [true, true, false]);
    assert_eq!(damaged(&[4, 5]), [false, true, false]);
    assert_eq!(damaged(&[7]), [false, false, true]);
    drop(folder);
}

#[test]
fn a_target_that_never_comes_up_is_an_error_and_not_a_result() {
    let folder = TempDir::new().unwrap();
    let stream = fake::stream(1, &[]);
    let (report, _) = run(&folder, &[(&stream, "exit 0")], &names(&["s::a"]));
    let error = report.unwrap_err().to_string();
    assert!(error.starts_with("hv-core did not come up: the target died"), "{error}");
}

#[test]
fn a_target_that_does_not_come_up_again_loses_no_result() {
    let folder = TempDir::new().unwrap();
    let first = fake::stream(3, &[begin(0, "s::a"), end(0), begin(1, "s::b")]);
    let boots: [(&[u8], &str); 2] = [(&first, "exit 0"), (b"", "echo broken >&2; exit 1")];
    let (report, _) = run(&folder, &boots, &names(&["s::a", "s::b", "s::c"]));
    let report = report.unwrap();
    assert_eq!(report.ran[0].fate, Fate::Ended);
    assert!(matches!(report.ran[1].fate, Fate::Crashed(_)));
    let Fate::NotRun(why) = &report.ran[2].fate else { panic!("{:?}", report.ran[2]) };
    assert!(why.contains("QEMU: broken"), "{why}");
    assert_eq!(report.ran[2].boot, None);
}

#[test]
fn a_disk_that_fills_up_between_two_boots_loses_no_result() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("boot-1")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("boot-1/plan")).unwrap();
    let first = fake::stream(3, &[begin(0, "s::a"), end(0), begin(1, "s::b")]);
    let qemu = fake::qemu(&folder, &[(&first, "exit 0")]);
    let core = fake::core(&folder);
    let dir = folder.path().to_owned();
    let batch = Batch { qemu: &qemu, core: &core, accel: Accel::Tcg, oracle: false, dir };
    let list = names(&["s::a", "s::b", "s::c"]);
    let report = batch.run(&list, &|_| Ok(vec![1]), &mut |_| {}).unwrap();
    assert_eq!(report.ran[0].fate, Fate::Ended);
    assert!(matches!(report.ran[1].fate, Fate::Crashed(_)));
    assert!(matches!(&report.ran[2].fate, Fate::NotRun(why) if why.contains("boot-1/plan")));
}

#[test]
fn an_empty_list_boots_nothing() {
    let folder = TempDir::new().unwrap();
    let (report, _) = run(&folder, &[], &[]);
    assert!(report.unwrap().boots.is_empty());
}

#[test]
fn each_boot_gets_the_plan_of_what_is_left_and_a_plan_error_is_passed_on() {
    let folder = TempDir::new().unwrap();
    let first = fake::stream(3, &[begin(0, "s::a"), end(0), begin(1, "s::b")]);
    let second = fake::stream(1, &[begin(0, "s::c"), end(0), Record::Goodbye { scenarios: 1 }]);
    let qemu = fake::qemu(&folder, &[(&first, "exit 0"), (&second, "exit 33")]);
    let core = fake::core(&folder);
    let dir = folder.path().to_owned();
    let batch =
        Batch { qemu: &qemu, core: &core, accel: Accel::Tcg, oracle: false, dir: dir.clone() };
    let plan = |range: Range<usize>| Ok(format!("{range:?}").into_bytes());
    batch.run(&names(&["s::a", "s::b", "s::c"]), &plan, &mut |_| {}).unwrap();
    assert_eq!(std::fs::read(dir.join("boot-0/plan")).unwrap(), b"0..3");
    assert_eq!(std::fs::read(dir.join("boot-1/plan")).unwrap(), b"2..3");
    let broken = |_| Err("payload `x` is not there".into());
    let error = batch.run(&names(&["s::a"]), &broken, &mut |_| {}).unwrap_err().to_string();
    assert_eq!(error, "payload `x` is not there");
}
