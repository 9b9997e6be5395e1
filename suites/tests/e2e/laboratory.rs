//! The default suite, the images and QEMU, with a folder for boots.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use trapline::images::Images;
use trapline::payload::Catalogue;
use trapline::plan;
use trapline::suite::{self, Scenario};
use trapline::target::{Accel, Boot, BootRun, Limits, Qemu, Start};
use trapline::transcript::ScenarioRun;

/// What no boot and no scenario takes, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(100);

pub struct Laboratory {
    pub images: Images,
    pub catalogue: Catalogue,
    /// The default suite: every scenario of every suite file.
    pub scenarios: Vec<Scenario>,
    pub qemu: Qemu,
    dir: TempDir,
}

impl Laboratory {
    pub fn new() -> Self {
        let images = Images::built();
        let catalogue = images.catalogue().unwrap();
        let folder = [trapline_suites::folder().to_path_buf()];
        let suites = suite::load(&folder, &catalogue).unwrap();
        let scenarios: Vec<_> = suites.into_iter().flat_map(|suite| suite.scenarios).collect();
        assert!(scenarios.len() >= 40, "the default suite has {} scenarios", scenarios.len());
        let (qemu, dir) = (Qemu::find().unwrap(), tempfile::tempdir().unwrap());
        Self { images, catalogue, scenarios, qemu, dir }
    }

    /// The scenario of that full name.
    pub fn scenario(&self, name: &str) -> &Scenario {
        let named = self.scenarios.iter().find(|scenario| scenario.full_name() == name);
        named.unwrap_or_else(|| panic!("the default suite has no {name}"))
    }

    /// The scenarios of all suites but `rogue`, whose windows are the matter, without the long ones: by
    /// the number of cores of their boots.
    pub fn tame(&self) -> Vec<Vec<Scenario>> {
        by_cores(self.scenarios.iter().filter(|s| s.suite != "rogue" && !is_long(s)))
    }

    /// Those that run for long, or those that do not, likewise.
    pub fn by_length(&self, long: bool) -> Vec<Vec<Scenario>> {
        by_cores(self.scenarios.iter().filter(|scenario| is_long(scenario) == long))
    }

    /// One in so many of them.
    pub fn every(&self, step: usize) -> Vec<Vec<Scenario>> {
        let tame = self.scenarios.iter().filter(|s| s.suite != "rogue" && !is_long(s));
        by_cores(tame.step_by(step))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn plan(&self, scenarios: &[Scenario]) -> Vec<u8> {
        plan::build(scenarios, &self.catalogue, Accel::Tcg.clock()).unwrap()
    }

    /// One boot in a folder of that name, under qboot; it must end well, with every scenario.
    pub fn run(&self, name: &str, scenarios: &[Scenario]) -> BootRun {
        self.run_as(name, scenarios, Start::Qboot, false)
    }

    /// The same, with the start and QEMU's log of VM exits as asked.
    pub fn run_as(
        &self,
        name: &str,
        scenarios: &[Scenario],
        start: Start,
        oracle: bool,
    ) -> BootRun {
        let cores = scenarios.iter().map(|scenario| scenario.cores).max().unwrap_or(1);
        let boot = Boot { cores, ..self.boot(name, start, oracle) };
        let limits = Limits { start: LIMIT, scenarios: vec![LIMIT; scenarios.len()] };
        let run = boot.run(&self.plan(scenarios), &limits, &mut |_| {}).unwrap();
        let problems = &run.transcript.problems;
        assert!(run.is_good(), "{name}: {} {}\n{problems:?}", run.ending, run.stderr);
        let ended: Vec<_> = run.transcript.scenarios.iter().map(|run| run.name.clone()).collect();
        let asked: Vec<_> = scenarios.iter().map(Scenario::full_name).collect();
        assert_eq!(ended, asked, "{name}");
        assert!(run.transcript.scenarios.iter().all(|run| run.end.is_some()), "{name}");
        run
    }

    pub fn boot(&self, name: &str, start: Start, oracle: bool) -> Boot<'_> {
        Boot {
            qemu: &self.qemu,
            core: &self.images.core,
            accel: Accel::Tcg,
            start,
            cores: 1,
            oracle,
            dir: self.path(name),
        }
    }
}

/// The record stream of a boot, byte for byte.
pub fn bytes(run: &BootRun) -> Vec<u8> {
    std::fs::read(run.dir.join("serial")).unwrap()
}

/// Some of the scenarios take as much time as all others together: what is repeated ten times for those
/// is repeated three times for these.
/// A tenth of the scenarios takes more time than all others together.
fn is_long(scenario: &Scenario) -> bool {
    if scenario.params.get("n").is_some_and(|n| n.value >= 10_000) {
        return true;
    }
    let long = ["10000-hops", "at-random", "ring-16", "storm-16", "erratum", "negative"];
    let spins = scenario.cores < scenario.vcpus && scenario.name.contains("spin");
    spins || scenario.vcpus > 1 && long.iter().any(|part| scenario.name.contains(part))
}

fn by_cores<'s>(scenarios: impl Iterator<Item = &'s Scenario>) -> Vec<Vec<Scenario>> {
    let mut groups = BTreeMap::<u16, Vec<Scenario>>::new();
    for scenario in scenarios {
        groups.entry(scenario.cores).or_default().push(scenario.clone());
    }
    groups.into_values().collect()
}

/// What a scenario gave, without its place in the plan.
pub fn placeless(run: &ScenarioRun) -> ScenarioRun {
    ScenarioRun { index: 0, ..run.clone() }
}

/// Says of two results of one scenario where they part; long results are no help as a whole.
#[track_caller]
pub fn assert_same(what: &str, one: &ScenarioRun, other: &ScenarioRun) {
    let (one, other) = (placeless(one), placeless(other));
    if one != other {
        let (left, right) = (format!("{one:#?}"), format!("{other:#?}"));
        let parted = left.lines().zip(right.lines()).enumerate().find(|(_, (a, b))| a != b);
        panic!("{what}: {} differs: {parted:?}", one.name);
    }
}
