//! hv-core's own tests, run with nextest.

use crate::rules::sources::HostTest;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// nextest's code for tests that failed: they ran, and its report says which.
const SOME_FAILED: i32 = 100;

/// Why the tests did not run.
#[derive(Debug, thiserror::Error)]
pub enum HostTestsError {
    /// Cargo cannot be started.
    #[error("cannot start cargo for the host tests: {0}; or leave them out with --host-tests last")]
    NoCargo(std::io::Error),
    /// They could not be built, or nextest is not there.
    #[error(
        "the host tests could not be run: cargo nextest ended with {0}, its message is above; \
         ci/setup test installs nextest, and --host-tests last leaves them out"
    )]
    NotRun(String),
}

/// Runs the tests of the packages that these tests are in, as `ci/test` does. Cargo and nextest
/// report on standard error; what they found is in nextest's own report.
///
/// # Errors
/// When they could not be run. Tests that fail are no error.
pub fn run(root: &Path, tests: &[HostTest]) -> Result<(), HostTestsError> {
    let packages: BTreeSet<_> = tests.iter().map(|test| test.package.as_str()).collect();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["nextest", "run", "--locked", "--profile", "ci"]);
    cargo.args(["--status-level", "fail", "--final-status-level", "none"]);
    cargo.args(packages.into_iter().flat_map(|package| ["--package", package]));
    // Standard output is the command's own.
    cargo.stdin(Stdio::null()).stdout(Stdio::null());
    let status = cargo.status().map_err(HostTestsError::NoCargo)?;
    match status.code() {
        Some(0 | SOME_FAILED) => Ok(()),
        _ => Err(HostTestsError::NotRun(status.to_string())),
    }
}
