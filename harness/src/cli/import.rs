//! `trapline import`.

use super::{Arguments, Format, Status};
use std::io::Write;
use std::path::PathBuf;
use trapline::import;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline import perf mail.txt\n  \
    trapline import perf mail.txt --output mail.json")]
pub struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, clap::Subcommand)]
enum From {
    /// Reads every table of `perf kvm stat report` in a text.
    ///
    /// Lines may be wrapped, quoted or cut, as mail leaves them, and other text may stand between
    /// the tables. Figures that contradict each other are warnings. A line that cannot be read is an
    /// error, with its number, and then nothing is written.
    Perf(Perf),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    perf kvm stat report > exits.txt 2>&1; trapline import perf exits.txt\n  \
    trapline import perf mail.txt --output mail.json\n  \
    trapline compare mail.json#1 last#avic::self-ipi-x2avic")]
struct Perf {
    /// The text, or `-` for standard input.
    file: PathBuf,
    /// Save the tables as JSON, for `compare`. What exists is replaced only if it is an import.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output even if it is no import.
    #[arg(long, requires = "output")]
    force: bool,
    /// What to print where there is no output.
    #[arg(long, value_enum, default_value = "table", conflicts_with = "output")]
    format: Format,
}

impl Import {
    pub fn import(&self, _: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let From::Perf(perf) = &self.from;
        perf.import(out)?;
        Ok(Status::Held)
    }
}

impl Perf {
    fn import(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let import = import::load(&self.file)?;
        let Some(output) = &self.output else {
            match self.format {
                Format::Table => out.write_all(import::text(&import).as_bytes())?,
                Format::Json => out.write_all(import.to_json().as_bytes())?,
            }
            return Ok(());
        };
        import::save(output, &import, self.force)?;
        let tables = import.tables.len() + import.drawn.len();
        let plural = if tables == 1 { "" } else { "s" };
        out.write_all(import::warnings(&import).as_bytes())?;
        writeln!(out, "{} with {tables} table{plural}", output.display())?;
        Ok(())
    }
}
