//! One line per scenario, and the line at the end.

use crate::result::{Measured, RunResult, ScenarioResult};
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The silicon of which a line says nothing.
const NOTHING: &str = "none";

/// A scenario in one line, with the silicon that it ran on where there was any, and a line for each
/// reason and note.
pub fn line(scenario: &ScenarioResult, width: usize) -> String {
    let judgement = &scenario.judgement;
    let word = match judgement.verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::CouldNotRun => "LOST",
    };
    let mut text = format!("{word} {:<width$}", scenario.full_name());
    if let Some(measured) = &scenario.measured {
        text += &format!("  {}", counts(measured));
    }
    if scenario.silicon != NOTHING {
        text += &format!(" [{}]", scenario.profile());
    }
    let mut text = text.trim_end().to_owned() + "\n";
    for reason in &judgement.reasons {
        let _ = writeln!(text, "     {reason}");
    }
    for note in &judgement.notes {
        let _ = writeln!(text, "     note: {note}");
    }
    text
}

/// `msr 200, hlt 100, vintr 100; 61800 ticks`: all windows together.
fn counts(measured: &Measured) -> String {
    let mut counts = BTreeMap::<&str, u64>::new();
    for exit in measured.windows.iter().flat_map(|window| &window.exits) {
        *counts.entry(&exit.exit).or_default() += exit.stats.count;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let ticks: u64 = measured.windows.iter().map(|window| window.ticks).sum();
    match (measured.windows.is_empty(), counts.is_empty()) {
        (true, _) => format!("no window; {}", measured.outcome),
        (false, true) => format!("no exits; {ticks} ticks"),
        (false, false) => format!("{}; {ticks} ticks", counts.join(", ")),
    }
}

/// The last lines: how many of each verdict, in how long, on what; how many results are the model's,
/// not a processor's; and what to do when only goldens differ.
pub fn summary(result: &RunResult, seconds: Option<f64>) -> String {
    let count = |v| result.scenarios.iter().filter(|s| s.judgement.verdict == v).count();
    let mut text = String::new();
    for problem in &result.problems {
        let _ = writeln!(text, "the target: {problem}");
    }
    let (passed, failed, lost) =
        (count(Verdict::Pass), count(Verdict::Fail), count(Verdict::CouldNotRun));
    let total = result.scenarios.len();
    let _ = write!(text, "{total} scenario{}: {passed} passed", if total == 1 { "" } else { "s" });
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    if lost > 0 {
        let _ = write!(text, ", {lost} could not run");
    }
    if result.repeats > 1 {
        let _ = write!(text, ", {} times each", result.repeats);
    }
    if let Some(seconds) = seconds {
        let _ = write!(text, " in {seconds:.1} s");
    }
    let environment = &result.environment;
    let _ = writeln!(text, " ({}, QEMU {})", environment.class, environment.built.qemu);
    let modeled = result.scenarios.iter().filter(|s| s.is_modeled()).count();
    if modeled > 0 {
        let _ = writeln!(
            text,
            "{modeled} of them on silicon that hv-core modeled, named in brackets: `show --tables` \
             lists its features"
        );
    }
    let golden = result.scenarios.iter().filter(|s| s.judgement.only_golden_differs()).count();
    if golden > 0 {
        let _ = writeln!(
            text,
            "{golden} of them broke no rule, only the golden differs or is missing: if that is \
             meant, run `trapline bless`"
        );
    }
    text
}
