//! Every scenario as a test of its own: booted alone, held to its rules and to its golden.
//!
//! `cargo nextest run -p trapline-suites self-ipi` filters them by name. A golden that differs
//! leaves a `.snap.new` file for `cargo insta review`; `trapline bless` does the same for whole
//! runs. Both write the same files.

use insta::internals::SnapshotContents;
use insta::{Comparator, Settings, Snapshot, assert_snapshot};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use trapline::images::Images;
use trapline::payload::Catalogue;
use trapline::result::RunResult;
use trapline::run::Run;
use trapline::suite::{self, Scenario};
use trapline::table;
use trapline::target::{Accel, Qemu};
use trapline::verdict::Verdict;
use trapline_golden::compare::compare;
use trapline_golden::{TCG_ICOUNT, snapshot};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn trials() -> Result<Vec<Trial>, String> {
    let images = Arc::new(Images::built());
    let catalogue = Arc::new(images.catalogue().map_err(|e| e.to_string())?);
    let folder = [trapline_suites::folder().to_path_buf()];
    let suites = suite::load(&folder, &catalogue).map_err(|e| e.to_string())?;
    let scenarios = suites.into_iter().flat_map(|suite| suite.scenarios);
    let trial = |scenario: Scenario| {
        let (images, catalogue) = (Arc::clone(&images), Arc::clone(&catalogue));
        Trial::test(scenario.full_name(), move || hold(&scenario, &images, &catalogue))
    };
    Ok(scenarios.map(trial).collect())
}

fn hold(scenario: &Scenario, images: &Images, catalogue: &Catalogue) -> Result<(), Failed> {
    let result = run(scenario, images, catalogue)?;
    let seen = &result.scenarios[0];
    if seen.judgement.verdict != Verdict::Pass || !result.problems.is_empty() {
        return Err(explain(&result).into());
    }
    let snapshot = seen.snapshot(&result.environment).ok_or("nothing was measured")?;
    let mut settings = Settings::new();
    let golden = trapline_suites::workspace().join("golden").join(TCG_ICOUNT);
    settings.set_snapshot_path(golden.join(&scenario.suite));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_comparator(Box::new(Held));
    settings.bind(|| assert_snapshot!(scenario.name.as_str(), snapshot.to_text()));
    Ok(())
}

/// Runs one scenario by the rules alone: the golden is insta's part.
fn run(scenario: &Scenario, images: &Images, catalogue: &Catalogue) -> Result<RunResult, Failed> {
    let dir = tempfile::tempdir()?;
    let run = Run {
        qemu: &Qemu::find()?,
        accel: Accel::Tcg,
        images,
        catalogue,
        root: Path::new(trapline_suites::workspace()),
        golden: None,
        dir: dir.path().into(),
        repeats: 1,
        oracle: false,
    };
    Ok(run.run(std::slice::from_ref(scenario), &mut |_, _| {})?.result)
}

fn explain(result: &RunResult) -> String {
    let scenario = &result.scenarios[0];
    let mut text = table::line(scenario, 0);
    if let Some(measured) = &scenario.measured {
        text += &table::tables(&scenario.full_name(), measured, result.environment.tsc_khz());
    }
    text + &result.problems.join("\n")
}

/// Compares as `trapline run` does: counts exactly, timings exactly or with tolerance.
struct Held;

impl Comparator for Held {
    fn matches(&self, reference: &Snapshot, test: &Snapshot) -> bool {
        let [Some(golden), Some(seen)] = [reference, test].map(read) else { return false };
        let comparison = compare(&golden, &seen);
        for difference in &comparison.differences {
            eprintln!("golden: {difference}");
        }
        comparison.holds()
    }

    fn dyn_clone(&self) -> Box<dyn Comparator> {
        Box::new(Self)
    }
}

fn read(snapshot: &Snapshot) -> Option<snapshot::Snapshot> {
    match snapshot.contents() {
        SnapshotContents::Text(text) => snapshot::Snapshot::from_text(&text.to_string()).ok(),
        SnapshotContents::Binary(_) => None,
    }
}
