//! Qualification: results, rules and claims turned into a report, and its files written.
//!
//! - [`host`]: the machine below QEMU.
//! - [`host_tests`]: running hv-core's own tests, which are half of the rules' evidence.
//! - [`scenarios`], [`evidence`]: this library's types as the report's.
//! - [`traced`]: pictures and files of what vCPUs did.
//! - [`folder`]: the files of a report, all of them or none.
//!
//! What a report says and looks like is the business of `trapline-report`.

mod evidence;
pub mod folder;
pub mod host;
pub mod host_tests;
mod scenarios;
pub mod traced;

use crate::claims::judge::Judged;
use crate::result::RunResult;
use crate::rules::report::Report as Rules;
use crate::suite::Scenario;
use std::path::Path;
use trapline_report::judge::judge;
use trapline_report::model::{
    Build, Environment, Generator, Host, Kind, Link, Qemu, Report, Run, Standing, TargetCpu,
    VERSION, Verdict,
};

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// When, how long, how much.
    pub run: &'a Run,
    /// The machine below QEMU.
    pub host: &'a Host,
    /// QEMU's arguments.
    pub arguments: &'a [String],
    /// The chosen scenarios, in the order of the result.
    pub scenarios: &'a [Scenario],
    /// What they gave.
    pub result: &'a RunResult,
    /// The folder of the goldens.
    pub golden: &'a Path,
    /// The rules with their evidence.
    pub rules: &'a Rules,
    /// The claims.
    pub claims: &'a [Judged<'a>],
    /// Files beside the report.
    pub artifacts: &'a [Link],
}

/// The report, with its verdict, before any waiver.
pub fn report(parts: Parts<'_>) -> Report {
    let environment = &parts.result.environment;
    let mut report = Report {
        kind: Kind::Qualification,
        version: VERSION,
        generator: Generator {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
        },
        run: parts.run.clone(),
        environment: Environment {
            class: environment.class.clone(),
            accelerator: environment.accelerator.clone(),
            cpu: environment.cpu.as_ref().map(|cpu| TargetCpu {
                brand: cpu.brand.clone(),
                signature: cpu.signature,
                svm_features: cpu.svm_features,
                asids: cpu.asids,
                cores: cpu.cores,
                tsc_khz: cpu.tsc_khz,
            }),
            qemu: Qemu {
                version: environment.built.qemu.clone(),
                arguments: parts.arguments.to_vec(),
            },
            build: Build {
                core: environment.built.core.clone(),
                payloads: environment.built.payload.clone(),
                rustc: environment.built.rustc.clone(),
                revision: environment.revision.clone(),
            },
            host: parts.host.clone(),
        },
        verdict: Verdict {
            standing: Standing::NotQualified,
            reasons: Vec::new(),
            waived: Vec::new(),
            limits: Vec::new(),
        },
        scenarios: scenarios::all(parts.scenarios, parts.result, parts.golden),
        rules: evidence::rules(parts.rules),
        unknown_rules: evidence::unknown(parts.rules),
        claims: parts.claims.iter().map(evidence::claim).collect(),
        waivers: Vec::new(),
        problems: parts.result.problems.clone(),
        artifacts: parts.artifacts.to_vec(),
    };
    report.verdict = judge(&report);
    report
}
