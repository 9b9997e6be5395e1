//! A target that stops in the middle of a scenario: as hung as any guest can make it.

use crate::laboratory::Laboratory;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use trapline::plan;
use trapline::suite::{Budget, Scenario};
use trapline::target::{Accel, Batch, Entry, Fate};

/// The QEMU that runs in that folder.
fn process_in(dir: &Path) -> Option<String> {
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let qemu = fs::read_link(entry.path().join("exe")).ok()?;
        let here = fs::read_link(entry.path().join("cwd")).ok()? == dir;
        let qemu = qemu.file_name()?.to_string_lossy().starts_with("qemu");
        (here && qemu).then(|| entry.file_name().to_string_lossy().into_owned())
    })
}

/// Waits until the record stream in that folder names the scenario, and stops its QEMU.
fn stop_in(dir: &Path, scenario: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let stream = fs::read(dir.join("serial")).unwrap_or_default();
        let began = stream.windows(scenario.len()).any(|part| part == scenario.as_bytes());
        if let Some(pid) = process_in(dir).filter(|_| began) {
            return Command::new("kill").args(["-STOP", &pid]).status().unwrap().success();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

#[test]
fn a_stopped_target_is_ended_named_and_started_again_for_the_rest() {
    let laboratory = Laboratory::new();
    let spin = laboratory.scenario("rogue::spin");
    // Long enough to be stopped in.
    let spin = Scenario { budget: Budget { ticks: u64::MAX >> 1, ..spin.budget }, ..spin.clone() };
    let after = laboratory.scenario("tpr::nibble-xapic").clone();
    let scenarios = [after.clone(), spin, Scenario { name: "after".into(), ..after }];
    let wall = Duration::from_secs(3);
    let list = scenarios
        .iter()
        .map(|s| Entry { name: s.full_name(), cores: s.cores, wall })
        .collect::<Vec<_>>();
    let batch = Batch {
        qemu: &laboratory.qemu,
        core: &laboratory.images.core,
        accel: Accel::Tcg,
        oracle: false,
        dir: laboratory.path("batch"),
    };
    let clock = Accel::Tcg.clock();
    let report = std::thread::scope(|scope| {
        let stopper = scope.spawn(|| stop_in(&batch.dir.join("boot-0"), "rogue::spin"));
        let plan = |stretch: std::ops::Range<usize>| {
            Ok(plan::build(&scenarios[stretch], &laboratory.catalogue, clock)?)
        };
        let report = batch.run(&list, &plan, &mut |_| {}).unwrap();
        assert!(stopper.join().unwrap(), "it was not found and stopped");
        report
    });
    let fates: Vec<_> = report.ran.iter().map(|ran| &ran.fate).collect();
    assert_eq!((fates[0], fates[2]), (&Fate::Ended, &Fate::Ended));
    assert!(
        matches!(fates[1], Fate::Hung(why) if why.contains("no progress for 3.0 s")),
        "{fates:?}"
    );
    assert_eq!(report.boots.len(), 2);
    assert_eq!(report.ran[2].run.windows, report.ran[0].run.windows);
    assert_eq!(process_in(&batch.dir.join("boot-0")), None, "the stopped one is gone");
}
