//! `trapline run`.

use super::progress::Bar;
use super::workspace::Selection;
use super::{Arguments, Format, Status, show};
use anyhow::Context;
use clap::ValueEnum;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;
use trapline::partition::Partition;
use trapline::result::{Part, RunResult, save, save_last};
use trapline::run;
use trapline::suite::Scenario;
use trapline::target::{Accel, Qemu, probe_kvm};
use trapline::verdict::Verdict;

/// QEMU's log of VM exits, in a boot's folder.
const ORACLE_LOG: &str = "oracle.log";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline run\n  \
    trapline run self-ipi tpr\n  \
    trapline run --repeat 3 --output result.json\n  \
    trapline run --partition 2/4 --output part-2.json\n  \
    trapline run --accel kvm --suite suites/ipi.toml")]
pub struct Run {
    #[command(flatten)]
    selection: Selection,
    /// What executes hv-core: tcg is exact and needs no hardware, kvm needs AMD with nested SVM.
    #[arg(long, value_enum, default_value = "tcg")]
    accel: Accelerator,
    /// Run everything that often; every run must give the same, timings included.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Run one part of several only: `2/4` or `slice:2/4`. The scenarios are dealt out in order,
    /// as nextest does it with slice; `trapline merge` makes one result of all parts.
    #[arg(long, value_name = "N/M")]
    partition: Option<Partition>,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Print the tables of every scenario, not only of failed or single ones.
    #[arg(long)]
    tables: bool,
    /// Hold the results to the rules only.
    #[arg(long)]
    no_golden: bool,
    /// Write the result's JSON to that file too.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write QEMU's own log of VM exits to that file (tcg only).
    #[arg(long, value_name = "FILE")]
    trace_log: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Accelerator {
    Tcg,
    Kvm,
}

impl Accelerator {
    pub fn accel(self) -> Accel {
        match self {
            Self::Tcg => Accel::Tcg,
            Self::Kvm => Accel::Kvm,
        }
    }
}

impl Run {
    pub fn run(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let accel = self.accel.accel();
        if self.trace_log.is_some() && accel == Accel::Kvm {
            anyhow::bail!("--trace-log needs --accel tcg: only there QEMU sees the VM exits");
        }
        let root = arguments.root()?;
        let images = arguments.images()?;
        let catalogue = images.catalogue()?;
        let (scenarios, part) = self.part(self.selection.scenarios(&root, &catalogue)?);
        if let Some(part) = part.as_ref().filter(|_| scenarios.is_empty()) {
            let (all, part) = (part.scenarios, part.partition);
            writeln!(std::io::stderr(), "of {all} scenarios part {part} has none")?;
        }
        let qemu = Qemu::find()?;
        let dir = boots_folder(&root)?;
        if accel == Accel::Kvm {
            probe_kvm(&qemu, &images.core, &dir.path().join("probe"))?;
        }
        let golden = root.join("golden");
        let run = run::Run {
            qemu: &qemu,
            accel,
            images: &images,
            catalogue: &catalogue,
            root: &root,
            golden: (!self.no_golden).then_some(golden.as_path()),
            dir: dir.path().into(),
            repeats: self.repeat,
            oracle: self.trace_log.is_some(),
        };
        let bar = Bar::new(scenarios.iter().map(|s| s.full_name()).collect(), self.repeat);
        let started = Instant::now();
        let outcome = run.run(&scenarios, &mut |_, step| bar.step(step));
        bar.clear();
        let seconds = started.elapsed().as_secs_f64();
        let mut outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                // The message says what is kept there.
                let _ = dir.keep();
                return Err(error.into());
            }
        };
        outcome.result.part = part;
        let saved = self.save(&root, &outcome);
        // A result that cannot be saved is still shown: it must not be lost twice.
        self.print(out, &outcome.result, seconds)?;
        let verdict = outcome.result.verdict();
        if verdict == Verdict::CouldNotRun {
            let kept = dir.keep();
            let _ = writeln!(std::io::stderr(), "the boots' files are kept in {}", kept.display());
        }
        saved?;
        Ok(match verdict {
            Verdict::Pass => Status::Held,
            Verdict::Fail => Status::Differed,
            Verdict::CouldNotRun => Status::CouldNotRun,
        })
    }

    /// The scenarios of the wanted part, and which part that is.
    fn part(&self, all: Vec<Scenario>) -> (Vec<Scenario>, Option<Part>) {
        let Some(partition) = self.partition else { return (all, None) };
        let names: Vec<_> = all.iter().map(Scenario::full_name).collect();
        (partition.take(all), Some(Part::new(partition, &names)))
    }

    fn save(&self, root: &Path, outcome: &run::Outcome) -> anyhow::Result<()> {
        if let Some(path) = &self.trace_log {
            trace(path, &outcome.boots)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(path) = &self.output {
            save(path, &outcome.result)?;
        }
        Ok(save_last(root, &outcome.result)?)
    }

    fn print(&self, out: &mut dyn Write, result: &RunResult, seconds: f64) -> std::io::Result<()> {
        match self.format {
            Format::Json => out.write_all(result.to_json().as_bytes()),
            Format::Table => {
                let all: Vec<_> = result.scenarios.iter().collect();
                show::table(out, result, &all, self.tables, Some(seconds))
            }
        }
    }
}

/// Runs the chosen scenarios under TCG and gives what was measured, goldens aside.
pub fn measure(arguments: &Arguments, filters: &[String]) -> anyhow::Result<RunResult> {
    Ok(perform(arguments, filters, |_| Ok(()))?.result)
}

/// The same, of scenarios that `change` may alter before they run, with all that came of it.
pub fn perform(
    arguments: &Arguments,
    filters: &[String],
    change: impl FnOnce(&mut Vec<Scenario>) -> anyhow::Result<()>,
) -> anyhow::Result<run::Outcome> {
    let root = arguments.root()?;
    let images = arguments.images()?;
    let catalogue = images.catalogue()?;
    let selection = Selection { filters: filters.to_vec(), suites: Vec::new() };
    let mut scenarios = selection.scenarios(&root, &catalogue)?;
    change(&mut scenarios)?;
    let qemu = Qemu::find()?;
    let dir = boots_folder(&root)?;
    let run = run::Run {
        qemu: &qemu,
        accel: Accel::Tcg,
        images: &images,
        catalogue: &catalogue,
        root: &root,
        golden: None,
        dir: dir.path().into(),
        repeats: 1,
        oracle: false,
    };
    Ok(run.run(&scenarios, &mut |_, _| {})?)
}

/// A folder for the boots of this run alone; it goes away with it unless something went wrong.
pub fn boots_folder(root: &Path) -> anyhow::Result<TempDir> {
    let folder = root.join(".trapline");
    std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::Builder::new().prefix("boots-").tempdir_in(&folder))
        .with_context(|| format!("cannot make a folder in {}", folder.display()))
}

/// Puts the logs of all boots into one file, in order.
fn trace(path: &Path, boots: &[PathBuf]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    for boot in boots {
        std::io::copy(&mut File::open(boot.join(ORACLE_LOG))?, &mut file)?;
    }
    file.flush()
}
