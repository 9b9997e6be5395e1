//! Payloads whose ELF headers are wrong, byte by byte: hv-core refuses or runs each, and what comes
//! behind it gives what it always gives.

use crate::laboratory::{Laboratory, assert_same};
use std::time::Duration;
use trapline::target::{Limits, Start};
use trapline_abi::plan::{Clock, Payload, Plan, Scenario, prefix, write_values};
use trapline_abi::record::Outcome;

/// Payloads of some 60 KiB each that go into one plan.
const AT_ONCE: usize = 200;

/// Copies of the ELF file, each with one other byte in its header or program headers.
fn variants(elf: &[u8]) -> Vec<Vec<u8>> {
    let headers = usize::from(u16::from_le_bytes(elf[56..58].try_into().unwrap()));
    let with = |at: usize, change: u8| {
        let mut variant = elf.to_vec();
        variant[at] ^= change;
        variant
    };
    (0..64 + 56 * headers).flat_map(|at| [with(at, 0x01), with(at, 0xff)]).collect()
}

/// A plan in which the scenario runs with the whole payload, and again behind each variant.
fn plan(name: &str, scenario: Scenario<'_>, whole: &[u8], variants: &[Vec<u8>]) -> Vec<u8> {
    let elves = std::iter::once(whole).chain(variants.iter().map(Vec::as_slice));
    let payloads: Vec<_> = elves.map(|elf| Payload { name, elf }).collect();
    let mut scenarios = vec![scenario];
    for payload in 1..payloads.len() as u32 {
        let broken = Scenario { name: "broken", payload, budget_exits: 5000, ..scenario };
        scenarios.extend([Scenario { budget_ticks: 1_000_000, ..broken }, scenario]);
    }
    let mut values = Vec::new();
    let mut scratch = vec![0; whole.len() + 4096];
    write_values(Clock::Icount, &payloads, &scenarios, &mut scratch, |part| {
        values.extend_from_slice(part);
    })
    .unwrap();
    [&prefix(&values)[..], &values].concat()
}

#[test]
fn a_wrong_byte_in_a_payloads_headers_harms_no_other_scenario() {
    let laboratory = Laboratory::new();
    let control = laboratory.scenario("tpr::nibble-xapic").clone();
    let blob = laboratory.plan(std::slice::from_ref(&control));
    let good = Plan::read(&blob).unwrap();
    let (payload, scenario) = (good.payloads().next().unwrap(), good.scenarios().next().unwrap());
    let (mut refused, mut ran) = (0, 0);
    for (number, variants) in variants(payload.elf).chunks(AT_ONCE).enumerate() {
        let plan = plan(payload.name, scenario, payload.elf, variants);
        let limit = Duration::from_secs(20);
        let limits = Limits { start: limit, scenarios: vec![limit; 1 + 2 * variants.len()] };
        let boot = laboratory.boot(&format!("boot-{number}"), Start::Qboot, false);
        let run = boot.run(&plan, &limits, &mut |_| {}).unwrap();
        let problems = &run.transcript.problems;
        assert!(run.is_good(), "{} {}\n{problems:?}", run.ending, run.stderr);
        let results = &run.transcript.scenarios;
        assert_eq!(results.len(), limits.scenarios.len());
        for (place, result) in results.iter().enumerate() {
            if place % 2 == 0 {
                assert_same(&format!("behind variant {place}"), &results[0], result);
            } else if result.end.as_ref().unwrap().outcome == Outcome::Refused {
                refused += 1;
            } else {
                ran += 1;
            }
        }
    }
    println!("{refused} variants were refused, {ran} ran");
    assert!(refused > 50, "{refused} refused, {ran} ran");
}
