//! The command line: what can be said, and who answers.

mod bless;
mod claims;
mod collect;
mod compare;
mod completions;
mod cost;
mod explain;
mod import;
mod iso;
mod list;
mod man;
mod merge;
mod predict;
mod progress;
mod qualify;
mod render;
mod rules;
mod run;
mod show;
mod trace;
mod workspace;

use clap::{Parser, Subcommand, ValueEnum};
use std::io::Write;
use std::path::PathBuf;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All held.
    Held,
    /// Something differed.
    Differed,
    /// Something could not be run.
    CouldNotRun,
    /// The same, to `git bisect run`.
    CannotBeTested,
}

/// Counts and times every VM exit of small guest programs, and fails when one differs.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 all held, 1 something differed, 2 something could not be run."
)]
pub struct Arguments {
    /// The workspace: where suites/, golden/ and .trapline/ are [default: found from the current
    /// folder upwards, else where this command was built].
    #[arg(long, global = true, value_name = "FOLDER", env = "TRAPLINE_ROOT")]
    root: Option<PathBuf>,
    /// A folder with images to use instead of the built ones: `hv-core` and `payloads/`.
    #[arg(long, global = true, value_name = "FOLDER", env = "TRAPLINE_IMAGES")]
    images: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists scenarios.
    List(list::List),
    /// Runs scenarios, prints their exit tables and says pass or fail.
    Run(run::Run),
    /// Makes one result of several: of the parts of `run --partition`, or of other results.
    ///
    /// Parts give what one run would have given, in its order. Results that were not run alike
    /// (images, QEMU, processor, revision, repeats), a scenario twice with different content, and
    /// missing parts are refused. The exit code is that of the merged result.
    Merge(merge::Merge),
    /// Makes a result of what a machine without QEMU said on its serial line.
    ///
    /// The machine started from an ISO of `trapline iso`. A device is read until hv-core is done; a
    /// file is what another program captured. Records that are missing or damaged are named, and
    /// nothing is written then.
    Collect(collect::Collect),
    /// Prints the last result again.
    Show(show::Show),
    /// Makes goldens of the last result.
    Bless(bless::Bless),
    /// Sets two results, or a result and the goldens, side by side.
    ///
    /// Timings differ when they are not equal, or, where another hv-core, payload, compiler or QEMU
    /// was measured, when they are more than 10 % apart.
    ///
    /// A side may also be one table that perf printed elsewhere, or one scenario, named behind a `#`.
    /// Then counts and mean times are set beside each other, exit by exit, all windows and vCPUs of
    /// a scenario together. Only counts can differ.
    ///
    /// With a budget the question is what became worse, and by how much. Under icount every figure is
    /// exact; elsewhere a mean is worse only where Welch's t-test, of count, sum and sum of squares,
    /// says that it is not by chance.
    Compare(compare::Compare),
    /// Reads what `perf kvm stat report` printed elsewhere.
    Import(import::Import),
    /// Prints what one exit costs, in instructions, and holds it against its limit.
    Cost(cost::Cost),
    /// Lists the conformance rules with the tests and scenarios that exercise them.
    Rules(rules::Rules),
    /// Runs the scenarios of the claims and says which of them hold.
    Claims(claims::Claims),
    /// Predicts what the exits of the last result would have taken on the machines of the claims'
    /// documents, by the means that these print. A prediction is no measurement.
    Predict(predict::Predict),
    /// Runs one scenario with every trap told, and writes what its vCPUs did.
    Trace(trace::Trace),
    /// Runs everything, holds it against rules, claims and waivers, and writes a report.
    ///
    /// The folder gets report.html, which is one file and needs no network, report.json, from which
    /// all others can be made again, junit.xml, results.ktap, kcidb.json and the raw records.
    Qualify(qualify::Qualify),
    /// Makes a report's page and other forms again, from its data alone.
    Render(render::Render),
    /// Says what a rule, a claim, an exit or an MSR is, where that is from, and what tests it.
    Explain(explain::Explain),
    /// Says what is missing on this machine, and what to do about it.
    #[command(after_help = "Examples:\n  trapline doctor")]
    Doctor,
    /// Writes scenarios to a bootable ISO, for machines without QEMU.
    Iso(iso::Iso),
    /// Prints the completions of a shell.
    Completions(completions::Completions),
    /// Writes the manual pages: one of trapline, and one of each command.
    Man(man::Man),
}

/// What a result is printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines and tables for people.
    Table,
    /// The canonical JSON.
    Json,
}

/// Does what the command line says.
///
/// # Errors
/// Whatever keeps the command from being carried out.
pub fn dispatch(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
    match &arguments.command {
        Command::List(list) => list.list(arguments, out),
        Command::Run(run) => run.run(arguments, out),
        Command::Merge(merge) => merge.merge(arguments, out),
        Command::Collect(collect) => collect.collect(arguments, out),
        Command::Show(show) => show.show(arguments, out),
        Command::Bless(bless) => bless.bless(arguments, out),
        Command::Compare(compare) => compare.compare(arguments, out),
        Command::Import(import) => import.import(arguments, out),
        Command::Cost(cost) => cost.run(arguments, out),
        Command::Rules(rules) => rules.list(arguments, out),
        Command::Claims(claims) => claims.judge(arguments, out),
        Command::Predict(predict) => predict.print(arguments, out),
        Command::Trace(trace) => trace.write(arguments, out),
        Command::Qualify(qualify) => qualify.qualify(arguments, out),
        Command::Render(render) => render.render(arguments, out),
        Command::Doctor => Ok(match trapline::doctor::run(out)? {
            true => Status::Held,
            false => Status::CouldNotRun,
        }),
        Command::Explain(explain) => explain.explain(arguments, out),
        Command::Iso(iso) => iso.write(arguments, out),
        Command::Completions(completions) => completions.print(out),
        Command::Man(man) => man.write(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_examples_and_takes_them() {
        let mut seen = 0;
        for command in Arguments::command().get_subcommands() {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.strip_prefix("Examples:\n").unwrap_or_default();
            assert!(!examples.is_empty(), "{name} has no examples");
            for example in examples.lines().take_while(|line| !line.is_empty()) {
                // What follows a redirection or an && is the shell's.
                let line = example.split(" > ").next().and_then(|l| l.split(" && ").next());
                let words: Vec<_> = line.unwrap_or_default().split_whitespace().collect();
                assert_eq!(words.get(..2), Some(&["trapline", name][..]), "{example}");
                if let Err(error) = Arguments::try_parse_from(&words) {
                    panic!("{example}: {error}");
                }
                seen += 1;
            }
        }
        assert!(seen > 30, "{seen}");
    }
}
