//! The `trapline` command.
//!
//! Exit codes: 0, all held; 1, something differed; 2, something could not be run, read or written
//! (a wrong command line too). `compare --bisect` ends with 125 instead of 2.

mod cli;

use clap::Parser;
use cli::{Arguments, Status};
use std::io::{self, Write};
use std::process::ExitCode;

/// What `git bisect run` takes for a commit that is neither good nor bad.
const CANNOT_BE_TESTED: u8 = 125;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // To `git bisect run` a wrong command line is a bad commit, unless it is told otherwise.
        Err(error) if error.use_stderr() && std::env::args().any(|word| word == "--bisect") => {
            let _ = error.print();
            return ExitCode::from(CANNOT_BE_TESTED);
        }
        Err(error) => error.exit(),
    };
    let mut out = io::stdout().lock();
    let status = cli::dispatch(&arguments, &mut out).and_then(|status| {
        out.flush()?;
        Ok(status)
    });
    match status {
        Ok(Status::Held) => ExitCode::SUCCESS,
        Ok(Status::Differed) => ExitCode::from(1),
        Ok(Status::CouldNotRun) => ExitCode::from(2),
        Ok(Status::CannotBeTested) => ExitCode::from(CANNOT_BE_TESTED),
        // `trapline show | head`: the reader has seen enough, and nobody would read a message.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(2),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
