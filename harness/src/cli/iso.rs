//! `trapline iso`.

use super::workspace::Selection;
use super::{Arguments, Status};
use std::io::Write;
use std::path::PathBuf;
use trapline::collect::label;
use trapline::{iso, plan};
use trapline_abi::plan::Clock;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline iso\n  \
    trapline iso self-ipi tpr -o ipis.iso\n  \
    trapline iso --suite suites/ipi.toml --output ipi.iso")]
pub struct Iso {
    #[command(flatten)]
    selection: Selection,
    /// The file to write.
    #[arg(long, short, value_name = "FILE", default_value = "trapline.iso")]
    output: PathBuf,
    /// The ISO is for QEMU with `-icount shift=0`: a tick is a nanosecond there, and need not be
    /// measured.
    #[arg(long)]
    icount: bool,
}

impl Iso {
    pub fn write(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let images = arguments.images()?;
        let catalogue = images.catalogue()?;
        let scenarios = self.selection.scenarios(&arguments.root()?, &catalogue)?;
        let clock = if self.icount { Clock::Icount } else { Clock::Measure };
        let plan = plan::build(&scenarios, &catalogue, clock)?;
        iso::make(&images.core, &plan, &label::lines(&images), &self.output)?;
        writeln!(out, "{} with {} scenarios", self.output.display(), scenarios.len())?;
        Ok(Status::Held)
    }
}
