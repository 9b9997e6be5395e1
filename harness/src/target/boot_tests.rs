use super::super::fake;
use super::*;
use tempfile::TempDir;
use trapline_abi::record::{Level, Record};

fn run(folder: &TempDir, boots: &[(&[u8], &str)], start: Duration) -> BootRun {
    let qemu = fake::qemu(folder, boots);
    let core = fake::core(folder);
    boot(&qemu, &core, folder)
        .run(b"", &Limits { start, scenarios: vec![start] }, &mut |_| {})
        .unwrap()
}

fn boot<'a>(qemu: &'a Qemu, core: &'a Path, folder: &TempDir) -> Boot<'a> {
    let dir = folder.path().join("boot-0");
    Boot { qemu, core, accel: Accel::Tcg, start: Start::Qboot, cores: 1, oracle: false, dir }
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_good_boot_is_good_and_its_files_are_kept() {
    let folder = TempDir::new().unwrap();
    let stream = fake::stream(0, &[Record::Goodbye { scenarios: 0 }]);
    let run = run(&folder, &[(&stream, "exit 33")], LONG);
    assert!(run.is_good(), "{run:?}");
    assert!(run.dir.join("plan").exists() && run.dir.join("serial").exists());
}

#[test]
fn a_complete_stream_with_code_zero_is_no_good_boot() {
    let folder = TempDir::new().unwrap();
    let stream = fake::stream(0, &[Record::Goodbye { scenarios: 0 }]);
    let run = run(&folder, &[(&stream, "exit 0")], LONG);
    assert!(run.transcript.complete);
    assert_eq!(run.ending, Ending::Reset);
    assert!(!run.is_good());
}

#[test]
fn a_killed_qemu_says_the_signal() {
    let folder = TempDir::new().unwrap();
    let stream = fake::stream(1, &[fake::begin(0, "s::x")]);
    let run = run(&folder, &[(&stream, "kill -9 $$")], LONG);
    assert_eq!(run.ending, Ending::Killed(9));
    assert!(!run.transcript.complete);
}

#[test]
fn silence_ends_the_process() {
    let folder = TempDir::new().unwrap();
    let started = Instant::now();
    let run = run(&folder, &[(b"", "exec sleep 100")], Duration::from_millis(150));
    assert_eq!(run.ending, Ending::Silent(Duration::from_millis(150)));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn endless_talk_within_a_scenario_is_no_sign_of_life() {
    let folder = TempDir::new().unwrap();
    let stream = fake::stream(1, &[fake::begin(0, "s::x")]);
    let talk = "while :; do printf '\\000talk\\000' >> serial; sleep 0.02; done";
    let run = run(&folder, &[(&stream, talk)], Duration::from_millis(300));
    assert_eq!(run.ending, Ending::Silent(Duration::from_millis(300)));
    assert!(run.transcript.problems.iter().any(|p| p.scenario() == Some("s::x")));
}

#[test]
fn what_qemu_prints_explains_a_failed_start() {
    let folder = TempDir::new().unwrap();
    let print = "echo \"qemu: warning: TCG doesn't support requested feature: x\" >&2\n\
                 echo 'qemu: could not load PC BIOS' >&2\nexit 1";
    let error = run(&folder, &[(b"", print)], LONG).into_error().to_string();
    assert!(error.starts_with("hv-core did not come up: QEMU gave up (code 1)"), "{error}");
    assert!(error.contains("QEMU: qemu: could not load PC BIOS"), "{error}");
    assert!(!error.contains("TCG doesn't support"), "{error}");
}

#[test]
fn what_hv_core_says_of_a_corrupt_plan_is_shown() {
    let folder = TempDir::new().unwrap();
    let records = [
        Record::Log { level: Level::Error, text: "the plan's CRC is wrong: it is corrupt" },
        Record::Log { level: Level::Error, text: "there is nothing to run" },
    ];
    let stream = fake::stream(0, &records);
    let error = run(&folder, &[(&stream, "exit 37")], LONG).into_error().to_string();
    assert!(error.starts_with("hv-core did not come up: hv-core got no plan"), "{error}");
    assert!(error.contains("hv-core: the plan's CRC is wrong"), "{error}");
}

#[test]
fn a_full_disk_is_named_and_a_device_is_not_read_for_ever() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("boot-0")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("boot-0/serial")).unwrap();
    let stream = fake::stream(0, &[Record::Goodbye { scenarios: 0 }]);
    let run = run(&folder, &[(&stream, "exit 33")], LONG);
    assert!(!run.is_good());
    let error = run.into_error().to_string();
    assert!(error.contains("disk may be full"), "{error}");
}

#[test]
fn a_full_disk_at_the_plan_is_an_error_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("boot-0")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("boot-0/plan")).unwrap();
    let qemu = fake::qemu(&folder, &[(b"", "touch ran")]);
    let core = fake::core(&folder);
    let limits = Limits { start: LONG, scenarios: Vec::new() };
    let boot = boot(&qemu, &core, &folder);
    let error = boot.run(b"plan", &limits, &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("cannot write") && error.contains("boot-0/plan"), "{error}");
    assert!(!folder.path().join("boot-0/ran").exists());
}

#[test]
fn a_missing_image_is_named() {
    let folder = TempDir::new().unwrap();
    let qemu = fake::qemu(&folder, &[]);
    let boot = boot(&qemu, Path::new("/no/such/image"), &folder);
    let limits = Limits { start: LONG, scenarios: Vec::new() };
    let error = boot.run(b"", &limits, &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("cannot find `/no/such/image`"), "{error}");
}

#[test]
fn records_of_an_earlier_boot_are_never_taken_for_this_ones() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("boot-0")).unwrap();
    let old = fake::stream(0, &[Record::Goodbye { scenarios: 0 }]);
    std::fs::write(folder.path().join("boot-0/serial"), old).unwrap();
    let run = run(&folder, &[(b"", "exit 33")], LONG);
    assert_eq!(run.transcript.hello, None);
}
