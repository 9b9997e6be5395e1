//! Claims as text.

use super::judge::{Judged, Standing};
use std::fmt::Write;

/// A claim: what is said, what was measured, what of it holds.
pub fn entry(judged: &Judged) -> String {
    let claim = judged.claim;
    let mut text = format!("{} {:<9} {}\n", claim.id, word(judged.standing), claim.statement);
    let mut add = |head: &str, body: &str| {
        if !body.is_empty() {
            let _ = writeln!(text, "       {head}{body}");
        }
    };
    add("source: ", &claim.source);
    add("seed: ", &claim.seed);
    for configuration in &judged.configurations {
        add("", configuration);
    }
    for evidence in &judged.evidence {
        add("", evidence);
    }
    for predicted in &judged.predicted {
        add("predicted, not measured: ", predicted);
    }
    add("note: ", &claim.note);
    add("why: ", claim.recorded.as_deref().unwrap_or_default());
    add("needs: ", claim.open.as_deref().unwrap_or_default());
    text
}

/// How many of each.
pub fn summary(all: &[Judged]) -> String {
    let count = |standing| all.iter().filter(|judged| judged.standing == standing).count();
    let s = if all.len() == 1 { "" } else { "s" };
    let mut text = format!("{} claim{s}: {} hold", all.len(), count(Standing::Holds));
    for (standing, words) in [
        (Standing::Fails, "fail"),
        (Standing::Recorded, "recorded only"),
        (Standing::Open, "open"),
        (Standing::NotRun, "not run"),
    ] {
        if count(standing) > 0 {
            let _ = write!(text, ", {} {words}", count(standing));
        }
    }
    text + "\n"
}

fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Holds => "holds",
        Standing::Fails => "FAILS",
        Standing::Recorded => "recorded",
        Standing::Open => "open",
        Standing::NotRun => "not run",
    }
}
