//! `trapline compare`.

use super::{Arguments, Format, Status};
use anyhow::bail;
use std::io::Write;
use std::path::Path;
use trapline::compare::budget::Budget;
use trapline::compare::worse::Worse;
use trapline::compare::{Comparison, Counted, Selector, Side, compare, counts};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline compare golden last\n  \
    trapline compare old.json new.json --budget exits=0%,ticks=5%\n  \
    trapline compare old.json last --budget msr=0,mean=10% --format json\n  \
    trapline compare old.json last --bisect\n  \
    trapline compare exits.txt last#kvm-6.12::icr-sti-hlt\n  \
    trapline compare mail.json#1 mail.json#3\n  \
    trapline compare last#avic::self-ipi-nothing last#avic::self-ipi-x2avic")]
pub struct Compare {
    /// A result file, `last` or `golden`; an import or perf's text; with `#`, a scenario or the
    /// number of a table.
    #[arg(value_name = "OLD")]
    a: String,
    /// Another one.
    #[arg(value_name = "NEW")]
    b: String,
    /// Print the tables of equal scenarios too.
    #[arg(long)]
    all: bool,
    /// Ask only what became worse by more than that: `exits`, `ticks`, `mean` (the time of each kind
    /// of exit) or an exit's name, with percents or, but for mean, a number.
    #[arg(long, value_name = "LIMITS")]
    budget: Option<Budget>,
    /// What to print. JSON is of a budget's comparison; without --budget nothing may become worse.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// End as `git bisect run` wants it: 0 nothing became worse, 1 something did, 125 it cannot be
    /// said. Without --budget nothing may.
    #[arg(long)]
    bisect: bool,
}

impl Compare {
    pub fn compare(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        match self.sides(arguments, out) {
            Ok(Status::CouldNotRun) if self.bisect => Ok(Status::CannotBeTested),
            Err(error) if self.bisect => {
                let _ = writeln!(std::io::stderr(), "error: {error:#}");
                Ok(Status::CannotBeTested)
            }
            status => status,
        }
    }

    fn sides(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let sides = [&self.a, &self.b].map(|name| Selector::read(name));
        let needs_root = sides.iter().any(Selector::is_word);
        let root = if needs_root { arguments.root()? } else { ".".into() };
        let of_budget = self.budget.is_some() || self.bisect || self.format == Format::Json;
        let comparison = match tables(&sides, &root)? {
            Some(_) if of_budget => {
                bail!("--budget, --bisect and --format json take whole results, no single tables")
            }
            Some((a, b)) => counts(&a, &b),
            None if of_budget => return self.worse(&root, out),
            None => self.results(&root)?,
        };
        out.write_all(comparison.text.as_bytes())?;
        Ok(if comparison.different == 0 { Status::Held } else { Status::Differed })
    }

    fn results(&self, root: &Path) -> anyhow::Result<Comparison> {
        let (a, b) = (Side::read(&self.a, root)?, Side::read(&self.b, root)?);
        Ok(compare(&a, &b, self.all))
    }

    fn worse(&self, root: &Path, out: &mut dyn Write) -> anyhow::Result<Status> {
        let (old, new) = (Side::read(&self.a, root)?, Side::read(&self.b, root)?);
        let worse = Worse::new(&old, &new, &self.budget.clone().unwrap_or_default());
        match self.format {
            Format::Table => out.write_all(worse.text(self.all).as_bytes())?,
            Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&worse)?)?,
        }
        out.flush()?;
        if let Some(why) = worse.untestable() {
            bail!("{why}: nothing can be said of all of it");
        }
        Ok(if worse.worse() == 0 { Status::Held } else { Status::Differed })
    }
}
/// Both sides as single tables of the same kind; `None` where two whole results are meant.
fn tables(sides: &[Selector; 2], root: &Path) -> anyhow::Result<Option<(Counted, Counted)>> {
    let [a, b] = sides;
    let of_import = |side: &Selector| -> anyhow::Result<Option<Counted>> {
        let import = Counted::import(side)?;
        Ok(import.map(|import| Counted::of_import(side, &import)).transpose()?)
    };
    let of_run = |side: &Selector, head: &str| Counted::of_run(side, root, head);
    Ok(match (of_import(a)?, of_import(b)?) {
        (Some(a), Some(b)) => {
            if !a.head.eq_ignore_ascii_case(&b.head) {
                anyhow::bail!("A counts {}, B counts {}: name tables of one kind", a.head, b.head);
            }
            Some((a, b))
        }
        (Some(a), None) => {
            let b = of_run(b, &a.head)?;
            Some((a, b))
        }
        (None, Some(b)) => Some((of_run(a, &b.head)?, b)),
        (None, None) if a.part.is_some() || b.part.is_some() => {
            Some((of_run(a, "VM-EXIT")?, of_run(b, "VM-EXIT")?))
        }
        (None, None) => None,
    })
}
