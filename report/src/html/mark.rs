//! Words, signs and links that all sections share.

use crate::model::{ClaimStanding, Ended, Link, Report, RuleStanding};
use maud::{Markup, html};

/// A word with a sign and a colour: never the colour alone.
fn chip(class: &str, sign: &str, word: &str) -> Markup {
    html! { span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } " " (word) } }
}

pub(super) fn ended(ended: Ended, is_waived: bool) -> Markup {
    match ended {
        _ if is_waived => chip("warn", "◐", "waived"),
        Ended::Pass => chip("good", "✓", "pass"),
        Ended::Fail => chip("bad", "✗", "fail"),
        Ended::CouldNotRun => chip("bad", "!", "could not run"),
        Ended::NotRun => chip("dim", "–", "not run"),
    }
}

pub(super) fn rule(standing: RuleStanding, is_waived: bool) -> Markup {
    match standing {
        RuleStanding::Held => chip("good", "✓", "held"),
        RuleStanding::Failed if is_waived => chip("warn", "◐", "waived"),
        RuleStanding::Failed => chip("bad", "✗", "failed"),
        RuleStanding::NotRun => chip("dim", "–", "not run"),
        RuleStanding::Uncovered => chip("dim", "○", "uncovered"),
    }
}

pub(super) fn claim(standing: ClaimStanding, is_waived: bool) -> Markup {
    match standing {
        ClaimStanding::Holds => chip("good", "✓", "holds"),
        ClaimStanding::Fails if is_waived => chip("warn", "◐", "waived"),
        ClaimStanding::Fails => chip("bad", "✗", "fails"),
        ClaimStanding::NotRun => chip("dim", "–", "not run"),
        ClaimStanding::Recorded => chip("dim", "·", "recorded"),
        ClaimStanding::Open => chip("dim", "○", "open"),
    }
}

/// `self-ipi::x2apic-hlt` as an id.
pub(super) fn scenario_id(name: &str) -> String {
    format!("s-{}", name.replace("::", "--"))
}

/// A link to a scenario's details, or its name where there are none.
pub(super) fn scenario_link(report: &Report, name: &str) -> Markup {
    match report.scenario(name) {
        Some(_) => html! { a href={ "#" (scenario_id(name)) } { (name) } },
        None => html! { (name) },
    }
}

/// Text in which rules, claims and scenarios are links to what is said of them.
pub(super) fn linked(report: &Report, text: &str) -> Markup {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(from) = rest.find(is_name) {
        let (between, tail) = rest.split_at(from);
        let (word, tail) = tail.split_at(tail.find(|c| !is_name(c)).unwrap_or(tail.len()));
        // A full stop or a colon behind a name is the sentence's.
        let name = word.trim_end_matches([':', '.']);
        parts.push((between, None));
        parts.push((name, target(report, name)));
        parts.push((&word[name.len()..], None));
        rest = tail;
    }
    html! {
        @for (text, target) in &parts {
            @if let Some(target) = target { a href={ "#" (target) } { (text) } } @else { (text) }
        }
        (rest)
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_:.".contains(c)
}

/// The id of what has that name.
fn target(report: &Report, name: &str) -> Option<String> {
    if name.contains("::") {
        return report.scenario(name).map(|_| scenario_id(name));
    }
    // Most words are none: only those that look like an id are looked up.
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.contains('-') {
        return None;
    }
    let rule = report.rules.iter().any(|rule| rule.id == name).then(|| format!("r-{name}"));
    rule.or_else(|| report.claims.iter().any(|c| c.id == name).then(|| format!("c-{name}")))
}

/// A link to a file beside the report. A path with a scheme is none, and stays text.
pub(super) fn file(link: &Link) -> Markup {
    match link.path.contains(':') {
        true => html! { (link.title) " (" (link.path) ")" },
        false => html! { a href=(link.path) { (link.title) } },
    }
}

/// A commit, as short as people write it.
pub(super) fn short(revision: &str) -> String {
    let (commit, dirty) = match revision.strip_suffix("-dirty") {
        Some(commit) => (commit, " + changes"),
        None => (revision, ""),
    };
    format!("{}{dirty}", commit.chars().take(12).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn names_in_a_text_become_links_and_nothing_else_does() {
        let linked = |text| linked(&sample::report(), text).into_string();
        assert_eq!(
            linked("AVIC-001, CLM-29: self-ipi::nothing."),
            "<a href=\"#r-AVIC-001\">AVIC-001</a>, <a href=\"#c-CLM-29\">CLM-29</a>: \
             <a href=\"#s-self-ipi--nothing\">self-ipi::nothing</a>."
        );
        for text in ["AVIC-0010 XAVIC-001", "self-ipi::other", "§ 15.29: a-b", ""] {
            assert_eq!(linked(text), text);
        }
        assert_eq!(linked("<b>"), "&lt;b&gt;");
    }

    #[test]
    fn only_files_beside_the_report_are_linked() {
        let link = |path: &str| file(&Link { title: "t".into(), path: path.into() }).into_string();
        assert_eq!(link("records/a.bin"), "<a href=\"records/a.bin\">t</a>");
        assert_eq!(link("javascript:x()"), "t (javascript:x())");
    }

    #[test]
    fn revisions_are_short() {
        assert_eq!(short("0123456789abcdef"), "0123456789ab");
        assert_eq!(short("0123456789abcdef-dirty"), "0123456789ab + changes");
    }
}
