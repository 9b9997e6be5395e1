//! What it all comes to, first.

use super::mark;
use crate::figures::{count, percent, plural};
use crate::model::{ClaimStanding, Ended, Report, RuleStanding, Standing};
use maud::{Markup, html};

pub(super) fn section(report: &Report) -> Option<Markup> {
    let verdict = &report.verdict;
    let (class, sign) = match verdict.standing {
        Standing::Qualified => ("good", "✓"),
        Standing::QualifiedWithWaivers => ("warn", "◐"),
        Standing::NotQualified => ("bad", "✗"),
    };
    Some(html! {
        div class={ "verdict " (class) } {
            p.word { span.sign aria-hidden="true" { (sign) } (sentence_case(verdict.standing.words())) }
            p { (summary(report)) }
        }
        (list(report, "Reasons", "What stands against it", &verdict.reasons))
        (list(report, "Waived", "What would stand against it, but is accepted", &verdict.waived))
        div.tiles {
            (tile("Scenarios passed", passed(report), report.scenarios.len(), "#scenarios"))
            (tile("Rules held", held(report), report.rules.len(), "#rules"))
            (tile("Claims decided and holding", holding(report), report.claims.len(), "#claims"))
            (tile("Scenarios on modeled silicon", modeled(report), report.scenarios.len(), "#environment"))
        }
        (list(report, "Limits", "What this report does not show", &verdict.limits))
    })
}

fn summary(report: &Report) -> Markup {
    let run = &report.run;
    let times =
        if run.repeats == 1 { String::new() } else { format!(", {} times each", run.repeats) };
    html! {
        @if run.is_whole() { "The whole suite" } @else { "A part of the suite" }
        ", " (plural(report.scenarios.len(), "scenario")) (times) ", with "
        (plural(report.rules.len(), "rule")) " and " (plural(report.claims.len(), "claim"))
        ", on " (report.environment.class) "."
    }
}

fn list(report: &Report, class: &str, head: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            div class={ "why " (class.to_lowercase()) } {
                h3 { (head) }
                ul { @for line in lines { li { (mark::linked(report, line)) } } }
            }
        }
    }
}

fn tile(what: &str, part: usize, whole: usize, link: &str) -> Markup {
    let share = percent(part as u64, whole as u64);
    html! {
        a.tile href=(link) {
            span.figure { (count(part as u64)) span.of { " of " (count(whole as u64)) } }
            svg.gauge viewBox="0 0 100 3" preserveAspectRatio="none" role="img"
                aria-label={ (share) " percent" } {
                rect.track width="100" height="3" {}
                rect.fill width=(share) height="3" {}
            }
            span.what { (what) }
        }
    }
}

fn passed(report: &Report) -> usize {
    report.scenarios.iter().filter(|scenario| scenario.ended == Ended::Pass).count()
}

fn held(report: &Report) -> usize {
    report.rules.iter().filter(|rule| rule.standing() == RuleStanding::Held).count()
}

fn holding(report: &Report) -> usize {
    report.claims.iter().filter(|claim| claim.standing == ClaimStanding::Holds).count()
}

fn modeled(report: &Report) -> usize {
    report.scenarios.iter().filter(|scenario| !scenario.modeled.is_empty()).count()
}

fn sentence_case(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!(super::sentence_case("not qualified"), "Not qualified");
        assert_eq!(super::sentence_case(""), "");
    }
}
