//! `trapline compare`.

use super::{Arguments, Status};
use std::io::Write;
use std::path::Path;
use trapline::compare::{Comparison, Counted, Selector, Side, compare, counts};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline compare golden last\n  \
    trapline compare exits.txt last#kvm-6.12::icr-sti-hlt\n  \
    trapline compare mail.json#1 mail.json#3\n  \
    trapline compare last#avic::self-ipi-nothing last#avic::self-ipi-x2avic")]
pub struct Compare {
    /// A result file, `last` or `golden`; an import or perf's text; with `#`, a scenario or the
    /// number of a table.
    a: String,
    /// Another one.
    b: String,
    /// Print the tables of equal scenarios too.
    #[arg(long)]
    all: bool,
}

impl Compare {
    pub fn compare(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let sides = [&self.a, &self.b].map(|name| Selector::read(name));
        let needs_root = sides.iter().any(Selector::is_word);
        let root = if needs_root { arguments.root()? } else { ".".into() };
        let comparison = match tables(&sides, &root)? {
            Some((a, b)) => counts(&a, &b),
            None => self.results(&root)?,
        };
        out.write_all(comparison.text.as_bytes())?;
        Ok(if comparison.different == 0 { Status::Held } else { Status::Differed })
    }

    fn results(&self, root: &Path) -> anyhow::Result<Comparison> {
        let (a, b) = (Side::read(&self.a, root)?, Side::read(&self.b, root)?);
        Ok(compare(&a, &b, self.all))
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
