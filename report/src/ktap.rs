//! `results.ktap`: the Kernel Test Anything Protocol, version 1 (Linux, `Documentation/dev-tools/ktap.rst`).
//!
//! Every suite is a subtest, two spaces further in. A failure that is waived is an expected one; what
//! nothing exercised is skipped.

use crate::cases::{Case, Outcome, Suite, suites};
use crate::model::Report;
use std::fmt::Write;

/// The report as KTAP.
pub fn text(report: &Report) -> String {
    let suites = suites(report);
    let mut text = format!("KTAP version 1\n1..{}\n", suites.len());
    for (number, suite) in suites.iter().enumerate() {
        subtest(&mut text, number + 1, suite);
    }
    text
}

fn subtest(text: &mut String, number: usize, suite: &Suite) {
    let name = word(&suite.name);
    let _ = writeln!(text, "  KTAP version 1\n  # Subtest: {name}\n  1..{}", suite.cases.len());
    for (number, case) in suite.cases.iter().enumerate() {
        self::case(text, number + 1, case);
    }
    let is_bad = |outcome: &Outcome| matches!(outcome, Outcome::Failed | Outcome::Broken);
    let result = if suite.count(is_bad) == 0 { "ok" } else { "not ok" };
    let _ = writeln!(text, "{result} {number} {name}");
}

fn case(text: &mut String, number: usize, case: &Case) {
    for line in case.lines.iter().flat_map(|line| line.lines()) {
        let _ = writeln!(text, "  # {}", plain(line));
    }
    let (result, directive) = match &case.outcome {
        Outcome::Passed => ("ok", String::new()),
        Outcome::Failed => ("not ok", String::new()),
        Outcome::Broken => ("not ok", " # ERROR could not run".into()),
        Outcome::Waived(why) => ("ok", format!(" # XFAIL {}", plain(why))),
        Outcome::Skipped(why) => ("ok", format!(" # SKIP {}", plain(why))),
    };
    let _ = writeln!(text, "  {result} {number} {}{directive}", word(&case.name));
}

/// A name: the sign behind which a directive begins is none of it.
fn word(name: &str) -> String {
    plain(name).replace('#', "_")
}

/// One line without control characters.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn suites_are_subtests_and_reasons_stand_before_their_result() {
        let expected = "\
KTAP version 1
1..3
  KTAP version 1
  # Subtest: self-ipi
  1..2
  ok 1 nothing
  # hlt in window `ipi` on vCPU 0: expected 0, seen 3 [<b>]
  # golden: window ipi, vCPU 0: count of hlt: golden 0, seen 3
  not ok 2 idle-hlt
not ok 1 self-ipi
  KTAP version 1
  # Subtest: rules.avic
  1..2
  ok 1 AVIC-001
  ok 2 AVIC-002 # SKIP nothing exercises it
ok 2 rules.avic
  KTAP version 1
  # Subtest: claims
  1..1
  ok 1 CLM-29
ok 3 claims
";
        assert_eq!(text(&sample::failing()), expected);
    }

    #[test]
    fn a_text_cannot_forge_a_result() {
        let mut report = sample::failing();
        report.scenarios[1].broken = vec!["a\nok 9 forged\rb".into()];
        report.scenarios[1].name = "x # SKIP".into();
        let text = text(&report);
        assert!(text.contains("  # a\n  # ok 9 forged b\n"), "{text}");
        assert!(text.contains("not ok 2 x _ SKIP\n"), "{text}");
    }
}
