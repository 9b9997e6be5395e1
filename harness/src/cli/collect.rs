//! `trapline collect`.

use super::workspace::Selection;
use super::{Arguments, Status, show};
use anyhow::Context;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trapline::collect::{self, Collected, line};
use trapline::result::{save, save_last};
use trapline::revision;
use trapline::suite::Scenario;
use trapline::verdict::Verdict;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline collect --serial /dev/ttyUSB0 --output board.json\n  \
    trapline collect --serial capture.bin\n  \
    trapline collect --serial capture.bin self-ipi tpr")]
pub struct Collect {
    /// What the ISO was made of: the same filters and suites as those of `trapline iso`. Without
    /// filters the names in the capture decide.
    #[command(flatten)]
    selection: Selection,
    /// A serial device, which is set to 115200 bits per second, or a file with what came over one.
    #[arg(long, value_name = "DEVICE|FILE")]
    serial: PathBuf,
    /// How long a device may be silent, in seconds; the wait for its start too.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = clap::value_parser!(u64).range(1..))]
    silence: u64,
    /// Keep what came from a device in that file, byte by byte.
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Behind the line is QEMU with `-icount shift=0`, from an ISO of `iso --icount`: the goldens
    /// apply.
    #[arg(long)]
    icount: bool,
    /// Hold the results to the rules only.
    #[arg(long)]
    no_golden: bool,
    /// Keep what is whole of a capture that lost records; the others could not run.
    #[arg(long)]
    damaged: bool,
    /// Write the result's JSON to that file too.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the tables of every scenario, not only of failed or single ones.
    #[arg(long)]
    tables: bool,
}

impl Collect {
    pub fn collect(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let root = arguments.root()?;
        let catalogue = arguments.images()?.catalogue()?;
        let suites = self.selection.load(&root, &catalogue)?;
        let known: Vec<Scenario> = suites.into_iter().flat_map(|suite| suite.scenarios).collect();
        let wanted = match self.selection.filters.is_empty() {
            true => None,
            false => Some(self.selection.scenarios(&root, &catalogue)?),
        };
        let bytes = self.bytes()?;
        let golden = root.join("golden");
        let name = self.serial.display().to_string();
        let collect = collect::Collect {
            name: &name,
            known: &known,
            wanted: wanted.as_deref(),
            icount: self.icount,
            golden: (!self.no_golden).then_some(golden.as_path()),
            revision: revision::of(&root),
        };
        let Collected { result, lost } = collect.judge(&bytes)?;
        let scenarios: Vec<_> = result.scenarios.iter().collect();
        show::table(out, &result, &scenarios, self.tables, None)?;
        if !lost.is_empty() && !self.damaged {
            out.flush()?;
            let lost = lost.join("\n  ");
            anyhow::bail!(
                "{name} is not whole, and no result was written (--damaged keeps what is whole):\
                 \n  {lost}"
            );
        }
        if let Some(path) = &self.output {
            save(path, &result)?;
        }
        save_last(&root, &result)?;
        Ok(match result.verdict() {
            Verdict::Pass => Status::Held,
            Verdict::Fail => Status::Differed,
            Verdict::CouldNotRun => Status::CouldNotRun,
        })
    }

    /// What came over the line.
    fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        let path = &self.serial;
        let cannot = || format!("cannot read {}", path.display());
        if path.metadata().with_context(cannot)?.is_file() {
            return std::fs::read(path).with_context(cannot);
        }
        let line = line::open(path).with_context(cannot)?;
        let mut told = Told::default();
        let (bytes, end) = line::listen(line, Duration::from_secs(self.silence), &mut |decoder| {
            told.look(decoder.so_far().scenarios.len(), decoder.running().map(|r| r.name.as_str()));
        })
        .with_context(cannot)?;
        if let Some(capture) = &self.capture {
            keep(capture, &bytes)?;
        }
        let count = bytes.len();
        match end {
            line::End::Goodbye => {}
            line::End::HungUp => told.say(&format!("the other end hung up after {count} bytes")),
            line::End::Silent(limit) => {
                let seconds = limit.as_secs();
                told.say(&format!("nothing came for {seconds} s, after {count} bytes"));
            }
        }
        Ok(bytes)
    }
}

fn keep(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// What a person at a terminal was told: a board takes its time.
#[derive(Default)]
struct Told {
    scenarios: usize,
}

impl Told {
    fn look(&mut self, scenarios: usize, running: Option<&str>) {
        if scenarios > self.scenarios && std::io::stderr().is_terminal() {
            self.scenarios = scenarios;
            self.say(&format!("{scenarios}: {}", running.unwrap_or_default()));
        }
    }

    fn say(&self, what: &str) {
        let _ = writeln!(std::io::stderr(), "{what}");
    }
}
