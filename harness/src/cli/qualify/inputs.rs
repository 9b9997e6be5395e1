//! What `trapline qualify` reads, and refuses, before anything takes time.

use super::Qualify;
use crate::cli::workspace::Selection;
use crate::cli::{Arguments, rules};
use anyhow::ensure;
use jiff::{Timestamp, tz::Offset};
use std::collections::BTreeSet;
use std::path::PathBuf;
use trapline::claims::book as claims;
use trapline::images::Images;
use trapline::payload::Catalogue;
use trapline::rules::{book, sources};
use trapline::suite::Scenario;
use trapline_report::waivers;

/// The waivers of a workspace.
const WAIVERS: &str = "waivers.toml";

/// All that is read before anything runs.
pub struct Inputs {
    pub root: PathBuf,
    pub images: Images,
    pub catalogue: Catalogue,
    pub all: Vec<Scenario>,
    pub chosen: Vec<Scenario>,
    pub rules: Vec<book::Rule>,
    pub tests: Vec<sources::HostTest>,
    pub claims: claims::Book,
    pub waivers: Vec<waivers::Entry>,
}

impl Inputs {
    pub fn read(command: &Qualify, arguments: &Arguments, now: Timestamp) -> anyhow::Result<Self> {
        let root = arguments.root()?;
        let waivers = match &command.waivers {
            Some(path) => waivers::read(path)?,
            None => waivers::read_if_there(&root.join(WAIVERS))?,
        };
        waivers::in_time(&waivers, Offset::UTC.to_datetime(now).date())?;
        let images = arguments.images()?;
        let catalogue = images.catalogue()?;
        let scenarios = |filters: &[String]| {
            let selection = Selection { filters: filters.to_vec(), suites: Vec::new() };
            selection.scenarios(&root, &catalogue)
        };
        let (all, chosen) = (scenarios(&[])?, scenarios(&command.filters)?);
        let rules = book::load(&root.join("rules"))?;
        let claims = claims::load(&root.join("claims"))?;
        let names = all.iter().map(|scenario| scenario.full_name()).collect();
        known_claims(&claims.claims, &names)?;
        waivers::known(
            &waivers,
            &names,
            &rules.iter().map(|rule| rule.id.clone()).collect(),
            &claims.claims.iter().map(|claim| claim.id.clone()).collect(),
        )?;
        let tests = rules::host_tests(&root)?;
        Ok(Self { root, images, catalogue, all, chosen, rules, tests, claims, waivers })
    }
}

/// A claim about a scenario that does not exist is a mistake, not a claim that was not run.
fn known_claims(claims: &[claims::Claim], names: &BTreeSet<String>) -> anyhow::Result<()> {
    let named = claims.iter().flat_map(|claim| claim.scenarios.values());
    for name in named {
        ensure!(names.contains(name), "a claim names the scenario {name}, which is in no suite");
    }
    Ok(())
}
