//! `trapline compare`.

use super::{Arguments, Status};
use std::io::Write;
use trapline::compare::{Side, compare};

/// Timings differ when they are not equal, or, where another hv-core, payload, compiler or QEMU
/// was measured, when they are more than 10 % apart.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// A result file, `last` or `golden`.
    a: String,
    /// Another one.
    b: String,
    /// Print the tables of equal scenarios too.
    #[arg(long)]
    all: bool,
}

impl Compare {
    pub fn compare(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let needs_root =
            [&self.a, &self.b].iter().any(|side| ["last", "golden"].contains(&side.as_str()));
        let root = if needs_root { arguments.root()? } else { ".".into() };
        let (a, b) = (Side::read(&self.a, &root)?, Side::read(&self.b, &root)?);
        let comparison = compare(&a, &b, self.all);
        out.write_all(comparison.text.as_bytes())?;
        Ok(if comparison.different == 0 { Status::Held } else { Status::Differed })
    }
}
