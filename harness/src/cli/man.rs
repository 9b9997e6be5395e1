//! `trapline man`.

use super::{Arguments, Status};
use anyhow::Context;
use clap::CommandFactory;
use std::io::Write;
use std::path::PathBuf;
use trapline_golden::replace::Replacement;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline man --out ~/.local/share/man/man1\n  \
    trapline man --out man && man man/trapline-run.1")]
pub struct Man {
    /// The folder to write them to; made if it does not exist.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

impl Man {
    pub fn write(&self, out: &mut dyn Write) -> anyhow::Result<Status> {
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        let mut pages = vec![(self.out.join("trapline.1"), page(command.clone())?)];
        for sub in command.get_subcommands() {
            let name = format!("trapline-{}", sub.get_name());
            let page = page(sub.clone().display_name(name.clone()))?;
            pages.push((self.out.join(format!("{name}.1")), page));
        }
        let count = pages.len();
        // All of them or none, as with goldens.
        Replacement::stage(pages)?.commit()?;
        writeln!(out, "{count} pages in {}", self.out.display())?;
        Ok(Status::Held)
    }
}

fn page(command: clap::Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).context("cannot make a page")?;
    String::from_utf8(page).context("a page is no text")
}
