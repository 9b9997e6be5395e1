//! `trapline trace`.

use super::{Arguments, Status, run, show};
use anyhow::bail;
use std::io::Write;
use std::path::PathBuf;
use trapline::suite::Scenario;
use trapline::trace::timeline::{Track, What, tracks};
use trapline::trace::{self, arrows::arrows, chrome, ftrace, perfetto};
use trapline::verdict::Verdict;
use trapline_golden::replace::Replacement;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline trace self-ipi::x2apic-icr-hlt\n  \
    trapline trace ipi::x2apic-hlt --out traces\n\n\
    The .json file opens in chrome://tracing, it and the .perfetto-trace file in ui.perfetto.dev.")]
pub struct Trace {
    /// The scenario: its whole name, or a part that no other one has.
    scenario: String,
    /// The folder to write to [default: .trapline/traces].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Trace {
    pub fn write(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let filter = std::slice::from_ref(&self.scenario);
        let outcome = run::perform(arguments, filter, |scenarios| {
            only(scenarios, &self.scenario)?.trace = true;
            Ok(())
        })?;
        let [scenario] = &outcome.result.scenarios[..] else { bail!("nothing was run") };
        let events = outcome.events.first().map(Vec::as_slice).unwrap_or_default();
        let name = scenario.full_name();
        if events.is_empty() {
            show::table(out, &outcome.result, &[scenario], false, None)?;
            bail!("{name} told nothing");
        }
        let trace = trace::Trace::new(&name, outcome.result.environment.tsc_khz(), events);
        let tracks = tracks(&trace);
        let arrows = arrows(&trace, &tracks);
        let folder = match &self.out {
            Some(folder) => folder.clone(),
            None => arguments.root()?.join(".trapline/traces"),
        };
        let stem = name.replace("::", ".");
        let json = chrome::json(&trace, &tracks, &arrows);
        let protobuf = perfetto::bytes(&trace, &tracks, &arrows);
        let text = ftrace::text(&trace);
        let files = [
            ("json", json.as_bytes(), "trace events for chrome://tracing and ui.perfetto.dev"),
            ("perfetto-trace", &protobuf[..], "the same as Perfetto's protobuf"),
            ("ftrace.txt", text.as_bytes(), "KVM's tracepoints as ftrace prints them"),
        ];
        writeln!(out, "{name}: silicon {}; policy {}", scenario.silicon, scenario.policy)?;
        for (vcpu, track) in tracks.iter().enumerate() {
            let received = arrows.iter().filter(|arrow| arrow.target == vcpu).count();
            writeln!(out, "{}", line(&trace, vcpu, track, received))?;
        }
        writeln!(out)?;
        let path = |extension: &str| folder.join(format!("{stem}.{extension}"));
        Replacement::stage(files.map(|(extension, bytes, _)| (path(extension), bytes)))?
            .commit()?;
        for (extension, _, what) in files {
            writeln!(out, "{}: {what}", path(extension).display())?;
        }
        for (level, text) in scenario.measured.iter().flat_map(|measured| &measured.logs) {
            writeln!(out, "{level:?}: {text}")?;
        }
        let passed = scenario.judgement.verdict == Verdict::Pass;
        if !passed {
            // A trace of what went wrong is what one wants then; but it must not look well.
            show::table(out, &outcome.result, &[scenario], false, None)?;
        }
        Ok(if passed { Status::Held } else { Status::Differed })
    }
}

/// The one scenario that is meant; the others go.
fn only<'s>(scenarios: &'s mut Vec<Scenario>, name: &str) -> anyhow::Result<&'s mut Scenario> {
    if scenarios.iter().any(|scenario| scenario.full_name() == name) {
        scenarios.retain(|scenario| scenario.full_name() == name);
    }
    match &mut scenarios[..] {
        [scenario] => Ok(scenario),
        several => {
            let names: Vec<_> = several.iter().take(10).map(|s| s.full_name()).collect();
            let (all, names) = (several.len(), names.join("\n  "));
            bail!("`{name}` could be {all} scenarios: name one\n  {names}")
        }
    }
}

/// `vCPU 0: 301 exits, 97.1 % of 123.4 us in the guest; 100 IPIs taken`.
fn line(trace: &trace::Trace, vcpu: usize, track: &Track, received: usize) -> String {
    let (mut guest, mut whole, mut absorbed) = (0, 0, 0);
    for slice in &track.slices {
        let ticks = slice.to - slice.from;
        whole += ticks;
        if let What::Guest { absorbed: traps } = slice.what {
            guest += ticks;
            absorbed += traps;
        }
    }
    let mut text = format!(
        "vCPU {vcpu}: {} exits, {:.1} % of {:.1} us in the guest; {received} IPIs taken",
        track.exits(),
        guest as f64 * 100.0 / whole.max(1) as f64,
        trace.nanos(whole) as f64 / 1000.0
    );
    if absorbed > 0 {
        text += &format!("; {absorbed} traps were the modeled processor's own");
    }
    text
}
