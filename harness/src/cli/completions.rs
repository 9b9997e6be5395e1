//! `trapline completions`.

use super::{Arguments, Status};
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::io::Write;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline completions bash > ~/.local/share/bash-completion/completions/trapline\n  \
    trapline completions zsh > ~/.zfunc/_trapline\n  \
    trapline completions fish > ~/.config/fish/completions/trapline.fish")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub fn print(&self, out: &mut dyn Write) -> anyhow::Result<Status> {
        // Into memory first: the generator ends the program where a pipe is closed.
        let mut script = Vec::new();
        generate(self.shell, &mut Arguments::command(), "trapline", &mut script);
        out.write_all(&script)?;
        Ok(Status::Held)
    }
}
