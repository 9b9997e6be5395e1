//! `trapline render`.

use super::{Arguments, Status};
use std::io::Write;
use std::path::{Path, PathBuf};
use trapline::qualify::folder::{self, REPORT};
use trapline_golden::replace::Replacement;
use trapline_report::{schema, store};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline render qualification/report.json --out again\n  \
    trapline render --schema")]
pub struct Render {
    /// The report's data.
    #[arg(value_name = "REPORT.JSON", required_unless_present = "schema")]
    report: Option<PathBuf>,
    /// Where to [default: beside the data].
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the JSON Schema of a report instead.
    #[arg(long, conflicts_with_all = ["report", "out"])]
    schema: bool,
}

impl Render {
    pub fn render(&self, _: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let Some(path) = &self.report else {
            out.write_all(schema::text().as_bytes())?;
            return Ok(Status::Held);
        };
        let report = store::read(path)?;
        let beside = path.parent().unwrap_or(Path::new("."));
        let folder = self.out.as_deref().unwrap_or(beside);
        if self.out.is_some() {
            folder::is_free(folder)?;
        }
        // The data stays as it is; elsewhere it goes along, for the next reader.
        let files = folder::renderings(&report)
            .into_iter()
            .filter(|(name, _)| *name != REPORT || self.out.is_some())
            .map(|(name, text)| (folder.join(name), text));
        let files: Vec<_> = files.collect();
        let names: Vec<_> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        Replacement::stage(files)?.commit()?;
        for name in names {
            writeln!(out, "{name}")?;
        }
        Ok(Status::Held)
    }
}
