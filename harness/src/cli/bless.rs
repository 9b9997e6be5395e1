//! `trapline bless`.

use super::workspace::matches;
use super::{Arguments, Status};
use std::io::Write;
use trapline::bless::bless;
use trapline::result::{last_path, read};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline bless\n  \
    trapline bless self-ipi::xapic-hlt")]
pub struct Bless {
    /// Only scenarios whose `suite::name` contains one of these.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
}

impl Bless {
    pub fn bless(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let root = arguments.root()?;
        let result = read(&last_path(&root))?;
        let selects = |name: &str| matches(&self.filters, name);
        let blessed = bless(&result, &root.join("golden"), &selects)?;
        writeln!(
            out,
            "{} goldens written, {} already said the same",
            blessed.written, blessed.unchanged
        )?;
        Ok(Status::Held)
    }
}
