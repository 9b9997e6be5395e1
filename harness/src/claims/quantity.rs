//! What a name in a claim means: a number that a scenario measured or reported, or a parameter of it.
//!
//! ```text
//! exits           all exits of all windows
//! time            ticks from #VMEXIT to the next VMRUN, of all of them
//! ticks           the windows' length
//! hlt, idle_halt  exits of one kind, by the name that `perf kvm stat` gives it
//! io.0x70         of one port, register or MSR, in both directions; io.0x70:POUT, msr.0x830:W in one
//! hlt.time        ticks of one kind
//! 1.hlt           of vCPU 1 alone: before any of these
//! n               the parameter n
//! features        the value that the payload reported under that name, if no parameter has it
//! ```

use crate::result::{Exit, Measured, MeasuredWindow, ScenarioResult};
use trapline_abi::exit;

/// The number that a name means in a scenario.
///
/// # Errors
/// A name that is none, and a scenario that was not measured.
pub fn number(name: &str, scenario: &ScenarioResult) -> Result<u64, String> {
    let measured = scenario.measured.as_ref().ok_or("it was not measured")?;
    let (vcpu, rest) = match name.split_once('.') {
        Some((vcpu, rest)) if let Ok(vcpu) = vcpu.parse::<u16>() => (Some(vcpu), rest),
        _ => (None, name),
    };
    let windows = || windows(measured, vcpu);
    match rest {
        "ticks" => return Ok(windows().map(|window| window.ticks).sum()),
        "exits" => return Ok(sum(windows(), "", false)),
        "time" => return Ok(sum(windows(), "", true)),
        _ => {}
    }
    let (subject, is_time) = match rest.strip_suffix(".time") {
        Some(subject) => (subject, true),
        None => (rest, false),
    };
    let word = subject.split('.').next().unwrap_or_default();
    if let Some(exit) = exit_name(word) {
        let detail = subject.strip_prefix(word).unwrap_or_default().trim_start_matches('.');
        let subject = if detail.is_empty() { exit } else { format!("{exit} {detail}") };
        return Ok(sum(windows(), &subject, is_time));
    }
    let Some(text) = scenario.params.get(name) else {
        let value = measured.values.iter().find(|value| value.label == name);
        return value.map(|value| value.value).ok_or_else(|| {
            let of = scenario.full_name();
            format!("`{name}` is no exit, no parameter and no value of {of}")
        });
    };
    text.parse().map_err(|_| format!("the parameter {name} is `{text}`, and no number"))
}

fn windows(measured: &Measured, vcpu: Option<u16>) -> impl Iterator<Item = &MeasuredWindow> {
    measured.windows.iter().filter(move |window| vcpu.is_none_or(|vcpu| window.vcpu == vcpu))
}

/// `hlt`; `idle-halt` by `idle_halt`, as a formula takes a hyphen for a minus.
fn exit_name(word: &str) -> Option<String> {
    [word.to_owned(), word.replace('_', "-")].into_iter().find(|name| exit::code(name).is_some())
}

/// How many exits are a subject's, or how many ticks they took; of all exits without one.
fn sum<'w>(windows: impl Iterator<Item = &'w MeasuredWindow>, subject: &str, is_time: bool) -> u64 {
    let exits = windows.flat_map(|window| &window.exits).filter(|exit| is_of(exit, subject));
    exits.map(|exit| if is_time { exit.stats.sum } else { exit.stats.count }).sum()
}

/// `io`, `io 0x70` and `io 0x70:POUT` are all of the last of them.
fn is_of(exit: &Exit, subject: &str) -> bool {
    let name = exit.full_name();
    let rest = name.strip_prefix(subject);
    subject.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
}

#[cfg(test)]
mod tests;
