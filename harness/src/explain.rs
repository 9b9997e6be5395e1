//! Explanations: what a rule, a claim, an exit or an MSR is, where that is from, and what tests it.

mod exits;
mod msrs;
mod near;

pub use exits::{ExitKind, exit_kinds};
pub use msrs::{MSRS, Msr};

use crate::claims::book::Claim;
use crate::rules::report::{Report, RuleReport};
use crate::suite::{Scenario, Subject, WindowExpect};
use std::fmt::Write;

/// How many tests or scenarios are listed by name.
const LISTED: usize = 12;

/// All that can be explained.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// The rules, with what exercises them.
    pub rules: &'a Report,
    /// The claims.
    pub claims: &'a [Claim],
    /// The scenarios.
    pub scenarios: &'a [Scenario],
}

/// Nothing is called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{term}` is no rule, claim, exit or MSR{hint}")]
pub struct Unknown {
    /// What was asked for.
    pub term: String,
    /// Names that are near.
    pub hint: String,
}

impl Library<'_> {
    /// Everything that is called so, one entry after the other. A number may be an exit's and an
    /// MSR's.
    ///
    /// # Errors
    /// [`Unknown`].
    pub fn explain(&self, term: &str) -> Result<String, Unknown> {
        let word = near::plain(term);
        let is = |name: &str| near::plain(name) == word;
        let mut entries = Vec::new();
        entries.extend(self.rules.rules.iter().filter(|r| is(&r.rule.id)).map(rule));
        entries.extend(self.claims.iter().filter(|claim| is(&claim.id)).map(claim));
        // A table's row has the direction behind the number.
        let number = number(term.split(':').next().unwrap_or_default());
        let exits = exit_kinds().filter(|exit| is(exit.name) || number == Some(exit.code));
        entries.extend(exits.map(|exit| self.exit(&exit)));
        let msrs = MSRS.iter().filter(|msr| {
            is(msr.name) || number.is_some_and(|number| msr.numbers().contains(&number))
        });
        entries.extend(msrs.map(|msr| self.msr(msr, number)));
        if entries.is_empty() {
            let (term, hint) = (term.escape_debug().to_string(), self.hint(term));
            return Err(Unknown { term, hint });
        }
        Ok(entries.join("\n"))
    }

    fn hint(&self, term: &str) -> String {
        let rules = self.rules.rules.iter().map(|rule| rule.rule.id.as_str());
        let claims = self.claims.iter().map(|claim| claim.id.as_str());
        let names = rules.chain(claims).chain(exit_kinds().map(|exit| exit.name));
        near::hint(term, names.chain(MSRS.iter().map(|msr| msr.name)))
    }

    fn exit(&self, exit: &ExitKind) -> String {
        let mut text = match exit.code {
            u64::MAX => format!("exit {}, code -1\n", exit.name),
            code => format!("exit {}, code {code:#x}\n", exit.name),
        };
        field(&mut text, "is", &exit.about);
        field(&mut text, "source", exit.source());
        let counted = |subject: &Subject| match subject {
            Subject::Code(code) | Subject::Detail(code, ..) => *code == exit.code,
            Subject::Ticks | Subject::Exits => false,
        };
        list(&mut text, "counted by", &self.expecting(counted));
        text
    }

    fn msr(&self, msr: &Msr, asked: Option<u64>) -> String {
        let (first, last) = (msr.first, msr.last);
        let range = if first == last { String::new() } else { format!(" to {last:#x}") };
        let mut text = format!("MSR {first:#x}{range}, {}\n", msr.name);
        field(&mut text, "is", msr.about);
        field(&mut text, "source", msr.source);
        let wanted = |number: u32| match asked {
            Some(asked) => u64::from(number) == asked,
            None => (first..=last).contains(&number),
        };
        let counted = |subject: &Subject| match subject {
            Subject::Detail(code, number, _) => *code == trapline_abi::exit::MSR && wanted(*number),
            _ => false,
        };
        list(&mut text, "counted by", &self.expecting(counted));
        text
    }

    /// The scenarios that expect a number of what `of` names.
    fn expecting(&self, of: impl Fn(&Subject) -> bool) -> Vec<String> {
        let expects = |expect: &WindowExpect| expect.rules.keys().any(&of);
        let chosen = self.scenarios.iter().filter(|s| s.expect.windows.values().any(expects));
        chosen.map(Scenario::full_name).collect()
    }
}

/// The number that a term is, if it is one.
fn number(term: &str) -> Option<u64> {
    match term.strip_prefix("0x").or_else(|| term.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        // APM's way: 7Ch.
        None => u64::from_str_radix(term.strip_suffix(['h', 'H'])?, 16).ok(),
    }
}

fn rule(report: &RuleReport) -> String {
    let rule = &report.rule;
    let model = if rule.model_defined { ", model-defined" } else { "" };
    let mut text = format!("rule {} of rules/{}.toml{model}\n", rule.id, rule.set);
    field(&mut text, "says", &rule.statement);
    field(&mut text, "exit", rule.exit.as_deref().unwrap_or_default());
    field(&mut text, "source", &rule.source);
    field(&mut text, "tags", &rule.tags.join(", "));
    let tests: Vec<_> = report.tests.iter().map(|t| format!("{} {}", t.package, t.name)).collect();
    list(&mut text, "host tests", &tests);
    let scenarios: Vec<_> = report.scenarios.iter().map(|cited| cited.name.clone()).collect();
    list(&mut text, "scenarios", &scenarios);
    text
}

fn claim(claim: &Claim) -> String {
    let mut text = format!("claim {}\n", claim.id);
    field(&mut text, "says", &claim.statement);
    field(&mut text, "source", &claim.source);
    field(&mut text, "seed", &claim.seed);
    for (letter, scenario) in &claim.scenarios {
        field(&mut text, "scenario", &format!("{letter} = {scenario}"));
    }
    for holds in &claim.holds {
        field(&mut text, "holds if", holds);
    }
    field(&mut text, "note", &claim.note);
    field(&mut text, "why not", claim.recorded.as_deref().unwrap_or_default());
    field(&mut text, "needs", claim.open.as_deref().unwrap_or_default());
    text
}

/// A line of an entry, unless there is nothing to say.
fn field(text: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(text, "  {name:<11} {value}");
    }
}

/// A name a line, and how many more there are; that there is none is said too.
fn list(text: &mut String, name: &str, names: &[String]) {
    if names.is_empty() {
        field(text, name, "none");
    }
    for (place, listed) in names.iter().take(LISTED).enumerate() {
        field(text, if place == 0 { name } else { "" }, listed);
    }
    if names.len() > LISTED {
        field(text, "", &format!("and {} more", names.len() - LISTED));
    }
}

#[cfg(test)]
mod tests;
