//! The `trapline` library: suites read, scenarios run, results judged, kept and compared.
//!
//! - [`suite`]: scenarios in TOML, with [`formula`]s for what they must give.
//! - [`payload`], [`images`]: what there is to run.
//! - [`target`], [`transcript`]: hv-core in QEMU, and what it says.
//! - [`run`]: from scenarios to a [`result`], by way of a [`verdict`] on each.
//! - [`table`], [`compare`], [`bless`]: what is done with a result.
//! - [`partition`], [`merge`]: a run in parts, and one result of them.
//! - [`collect`]: a result from what came over a serial line.
//! - [`import`]: what perf printed elsewhere.
//! - [`claims`]: what others measured and said, held against runs.
//! - [`explain`]: what a rule, a claim, an exit or an MSR is.
//! - [`files`]: reading them.
//! - [`rules`]: the conformance rules, and what exercises them.
//! - [`qualify`]: all of it together, as a qualification report.

pub mod bless;
pub mod claims;
pub mod collect;
pub mod compare;
pub mod cost;
pub mod doctor;
pub mod explain;
pub mod files;
pub mod formula;
pub mod images;
pub mod import;
pub mod iso;
pub mod merge;
pub mod oracle;
pub mod partition;
pub mod payload;
pub mod plan;
pub mod qualify;
pub mod result;
pub mod revision;
pub mod rules;
pub mod run;
mod silicon;
pub mod suite;
pub mod table;
pub mod target;
pub mod trace;
pub mod transcript;
pub mod verdict;
