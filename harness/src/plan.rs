//! Plans: scenarios turned into the one blob that hv-core takes.

use crate::payload::Catalogue;
use crate::suite::Scenario;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trapline_abi::plan::{self as abi, Clock, MAX_PLAN};

/// What a value needs besides a payload's bytes, at most.
const SCRATCH: usize = 64 << 10;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A payload's file is not there, or not any more.
    #[error("cannot read payload {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A scenario names a payload that the catalogue does not have.
    #[error("scenario {scenario} names the unknown payload `{payload}`")]
    UnknownPayload {
        /// The scenario.
        scenario: String,
        /// The payload.
        payload: String,
    },
    /// It is larger than hv-core has memory for.
    #[error("the plan has {0} bytes, {MAX_PLAN} are allowed: run fewer scenarios at once")]
    TooLarge(usize),
    /// The encoding failed.
    #[error("cannot encode the plan: {0}")]
    Encoding(postcard::Error),
}

/// Builds the plan that runs `scenarios` in that order, with the payloads that they use.
///
/// # Errors
/// See [`PlanError`].
pub fn build(
    scenarios: &[Scenario],
    catalogue: &Catalogue,
    clock: Clock,
) -> Result<Vec<u8>, PlanError> {
    let images = images(scenarios, catalogue)?;
    let place: BTreeMap<_, _> = images.keys().enumerate().map(|(i, name)| (name, i)).collect();
    let payloads: Vec<_> = images.iter().map(|(name, elf)| abi::Payload { name, elf }).collect();
    let names: Vec<String> = scenarios.iter().map(Scenario::full_name).collect();
    let params: Vec<Vec<u8>> = scenarios.iter().map(|s| s.params.to_bytes()).collect();
    let entries: Vec<_> = scenarios
        .iter()
        .zip(names.iter().zip(&params))
        .map(|(scenario, (name, params))| abi::Scenario {
            name,
            payload: place[&scenario.payload] as u32,
            params,
            vcpus: scenario.vcpus,
            cores: scenario.cores,
            machine: scenario.machine,
            silicon: &scenario.silicon,
            policy: scenario.policy,
            module: scenario.module,
            seed: scenario.seed,
            trace: scenario.trace,
            budget_ticks: scenario.budget.ticks,
            budget_exits: scenario.budget.exits,
        })
        .collect();
    let largest = images.values().map(Vec::len).max().unwrap_or_default();
    let mut scratch = vec![0; largest + SCRATCH];
    let mut values = Vec::new();
    abi::write_values(clock, &payloads, &entries, &mut scratch, |bytes| {
        values.extend_from_slice(bytes);
    })
    .map_err(PlanError::Encoding)?;
    let blob = [&abi::prefix(&values)[..], &values].concat();
    if blob.len() > MAX_PLAN { Err(PlanError::TooLarge(blob.len())) } else { Ok(blob) }
}

fn images(
    scenarios: &[Scenario],
    catalogue: &Catalogue,
) -> Result<BTreeMap<String, Vec<u8>>, PlanError> {
    let mut images = BTreeMap::new();
    for scenario in scenarios {
        let name = &scenario.payload;
        if images.contains_key(name) {
            continue;
        }
        let payload = catalogue.get(name).ok_or_else(|| PlanError::UnknownPayload {
            scenario: scenario.full_name(),
            payload: name.clone(),
        })?;
        let elf = std::fs::read(&payload.path)
            .map_err(|source| PlanError::Unreadable { path: payload.path.clone(), source })?;
        images.insert(name.clone(), elf);
    }
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Payload;
    use crate::payload::tests::elf;
    use crate::suite::tests::scenarios;
    use trapline_abi::descriptor::SECTION;

    const SUITE: &str = "[suite]\nname = \"s\"\n\
        [[scenario]]\nname = \"b\"\npayload = \"second\"\nparams = { n = 7 }\n\
        [[scenario]]\nname = \"a\"\npayload = \"first\"\nparams = { w = \"y\" }\n\
        machine = { hyperv = true }\nseed = \"rtc-keeps-c\"\nbudget = { ticks = 5, exits = 6 }\n";

    fn catalogue(folder: &std::path::Path) -> Catalogue {
        let payload = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, elf(SECTION, text)).unwrap();
            Payload::read(name, &path).unwrap()
        };
        let first = payload("first", "param n number 3 N.\nparam w choice x|y x W.");
        [first, payload("second", "param n number 3 N."), payload("third", "about x")]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_plan_holds_the_scenarios_in_order_and_only_the_payloads_they_need() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = catalogue(folder.path());
        let scenarios = scenarios(SUITE, &catalogue);
        let blob = build(&scenarios, &catalogue, Clock::Icount).unwrap();
        let plan = abi::Plan::read(&blob).unwrap();
        assert_eq!(plan.head.clock, Clock::Icount);
        let payloads: Vec<_> = plan.payloads().map(|p| p.name).collect();
        assert_eq!(payloads, ["first", "second"]);
        let read: Vec<_> = plan.scenarios().collect();
        assert_eq!((read[0].name, read[0].payload), ("s::b", 1));
        assert_eq!(read[0].params, 7u64.to_le_bytes());
        assert_eq!((read[1].name, read[1].payload), ("s::a", 0));
        assert_eq!(read[1].params, [3u64.to_le_bytes(), 1u64.to_le_bytes()].concat());
        assert!(!read[1].machine.hyperv.is_empty() && read[0].machine.hyperv.is_empty());
        assert_eq!(read[1].seed, Some(abi::Seed::RtcKeepsC));
        assert_eq!((read[1].budget_ticks, read[1].budget_exits), (5, 6));
    }

    #[test]
    fn a_payload_that_went_away_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = catalogue(folder.path());
        let scenarios = scenarios(SUITE, &catalogue);
        drop(folder);
        let error = build(&scenarios, &catalogue, Clock::Icount).unwrap_err().to_string();
        assert!(error.contains("cannot read payload"), "{error}");
        let error = build(&scenarios, &Catalogue::default(), Clock::Icount).unwrap_err();
        assert_eq!(error.to_string(), "scenario s::b names the unknown payload `second`");
    }

    #[test]
    fn an_oversized_plan_is_refused_before_it_is_written_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = catalogue(folder.path());
        let scenarios = scenarios(SUITE, &catalogue);
        std::fs::write(folder.path().join("first"), vec![0; MAX_PLAN]).unwrap();
        let error = build(&scenarios, &catalogue, Clock::Icount).unwrap_err();
        assert!(matches!(error, PlanError::TooLarge(_)), "{error}");
    }
}
