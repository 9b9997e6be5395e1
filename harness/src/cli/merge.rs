//! `trapline merge`.

use super::{Arguments, Status, show};
use anyhow::bail;
use std::io::Write;
use std::path::PathBuf;
use trapline::merge::merge;
use trapline::result::{read, save, save_last};
use trapline::verdict::Verdict;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline merge part-1.json part-2.json part-3.json part-4.json -o result.json\n  \
    trapline merge --last part-*.json -o result.json")]
pub struct Merge {
    /// Result files, in any order.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Make it the last result too, for show, compare, bless and the others.
    #[arg(long)]
    last: bool,
    /// Print the tables of every scenario, not only of failed or single ones.
    #[arg(long)]
    tables: bool,
}

impl Merge {
    pub fn merge(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let real = |path: &PathBuf| path.canonicalize().ok();
        let output = real(&self.output);
        if output.is_some() && self.files.iter().any(|file| real(file) == output) {
            bail!("{} is one of the results to merge: name another -o", self.output.display());
        }
        let root = self.last.then(|| arguments.root()).transpose()?;
        let mut results = Vec::new();
        for file in &self.files {
            results.push((file.display().to_string(), read(file)?));
        }
        let merged = merge(results)?;
        save(&self.output, &merged)?;
        if let Some(root) = root {
            save_last(&root, &merged)?;
        }
        let scenarios: Vec<_> = merged.scenarios.iter().collect();
        show::table(out, &merged, &scenarios, self.tables, None)?;
        Ok(match merged.verdict() {
            Verdict::Pass => Status::Held,
            Verdict::Fail => Status::Differed,
            Verdict::CouldNotRun => Status::CouldNotRun,
        })
    }
}
