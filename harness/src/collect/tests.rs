use super::*;
use crate::images::Images;
use crate::payload::tests::catalogue;
use crate::result::tests::SUITE;
use crate::suite::tests::scenarios;
use crate::verdict::Verdict;
use trapline_abi::exit::{ExitKey, MSR};
use trapline_abi::frame;
use trapline_abi::record::{BootPath, Durations, Outcome, Record};

fn capture(protocol: u32, scenarios: u32, records: &[Record<'_>]) -> Vec<u8> {
    let hello = Record::Hello {
        protocol,
        boot: BootPath::Multiboot2,
        signature: 0x80_0f12,
        brand: "a board",
        asids: 16,
        svm_features: 1,
        tsc_khz: 2_994_373,
        cores: 1,
        scenarios,
    };
    let mut buffer = [0; frame::MAX_FRAME];
    let label = label::lines(&Images {
        core: "hv-core".into(),
        payloads: Vec::new(),
        core_id: "c7".into(),
        payloads_id: "p7".into(),
        rustc: "rustc 1.95.0".into(),
    });
    let mut bytes = format!("BIOS says hello\r\n{}\r\n", label.join("\r\n")).into_bytes();
    for (sequence, record) in std::iter::once(&hello).chain(records).enumerate() {
        bytes.extend_from_slice(frame::encode(sequence as u32, record, &mut buffer).unwrap());
    }
    bytes
}

fn good() -> Vec<u8> {
    let durations = |count| Durations {
        count,
        sum: count * 300,
        sum_squares: u128::from(count) * 90_000,
        min: 300,
        max: 300,
        histogram: &[],
    };
    let exit = |key: ExitKey| Record::Exit { key: key.0, durations: durations(10) };
    capture(
        PROTOCOL,
        1,
        &[
            Record::ScenarioBegin { index: 0, name: "self-ipi::hlt" },
            Record::Value { vcpu: 0, label: "ipis", value: 10 },
            Record::Window { vcpu: 0, label: "loop", ticks: 9000, rows: 3 },
            exit(ExitKey::plain(0x78)),
            exit(ExitKey::access(MSR, 0x80b, true)),
            exit(ExitKey::access(MSR, 0x830, true)),
            Record::ScenarioEnd { index: 0, outcome: Outcome::Done, detail: "", ticks: 20_000 },
            Record::Goodbye { scenarios: 1 },
        ],
    )
}

fn judge(bytes: &[u8]) -> Result<Collected, CollectError> {
    let known = scenarios(SUITE, &catalogue());
    Collect {
        name: "line",
        known: &known,
        wanted: None,
        icount: false,
        golden: None,
        revision: None,
    }
    .judge(bytes)
}

#[test]
fn a_whole_capture_is_judged_by_the_rules_and_names_its_images() {
    let Collected { result, lost } = judge(&good()).unwrap();
    assert_eq!(lost, [""; 0]);
    assert_eq!(result.verdict(), Verdict::Pass, "{:?}", result.scenarios[0].judgement);
    let built = &result.environment.built;
    assert_eq!((built.core.as_str(), built.payload.as_str()), ("c7", "p7"));
    assert_eq!((built.rustc.as_str(), built.qemu.as_str()), ("rustc 1.95.0", "none"));
    assert_eq!(result.environment.class, METAL);
    assert_eq!(result.environment.tsc_khz(), 2_994_373);
}

#[test]
fn every_byte_of_the_records_that_is_lost_or_changed_is_noticed() {
    let good = good();
    let records = good.iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    for at in records..good.len() {
        let mut lacking = good.clone();
        lacking.remove(at);
        let mut changed = good.clone();
        changed[at] ^= 0x20;
        for (how, bytes) in [("lost", lacking), ("changed", changed), ("cut", good[..at].into())] {
            match judge(&bytes) {
                // What a lone delimiter of a frame is worth: two of them are as good as one.
                Ok(collected) if collected.lost.is_empty() => {
                    assert_eq!(collected.result, judge(&good).unwrap().result, "{how} at {at}");
                    assert_eq!((how, good[at]), ("lost", 0), "{how} at {at}");
                }
                Ok(collected) => {
                    assert_eq!(collected.result.verdict(), Verdict::CouldNotRun, "{how} at {at}");
                }
                Err(CollectError::NoRecords { .. }) => assert!(how != "lost" || at < records + 80),
                Err(error) => panic!("{how} at {at}: {error}"),
            }
        }
    }
}

#[test]
fn what_is_no_capture_of_these_suites_is_named() {
    let error = |bytes: &[u8]| judge(bytes).unwrap_err().to_string();
    assert_eq!(error(b""), "line holds no record of hv-core, but 0 bytes");
    assert_eq!(
        error(b"login: "),
        "line holds no record of hv-core, but 7 bytes, from \"login:\" on"
    );
    let newer = capture(PROTOCOL + 1, 0, &[Record::Goodbye { scenarios: 0 }]);
    assert!(error(&newer).contains(&format!("speaks protocol {}", PROTOCOL + 1)), "{newer:?}");
    let begin = |name| [Record::ScenarioBegin { index: 0, name }];
    let near = error(&capture(PROTOCOL, 1, &begin("self-ipi::halt")));
    assert!(near.ends_with("do not have (they have `self-ipi::hlt`)"), "{near}");
    let far = error(&capture(PROTOCOL, 1, &begin("zzz::b")));
    assert!(far.ends_with(": name its suite with --suite"), "{far}");
}

#[test]
fn a_scenario_whose_every_record_is_lost_is_missed() {
    let records = [Record::Goodbye { scenarios: 1 }];
    let Collected { result, lost } = judge(&capture(PROTOCOL, 1, &records)).unwrap();
    assert!(lost.contains(&"the plan has 1 scenarios, 0 came".to_owned()), "{lost:?}");
    assert_eq!(result.verdict(), Verdict::CouldNotRun);
}

#[test]
fn scenarios_that_were_asked_for_must_be_those_of_the_capture() {
    let known = scenarios(SUITE, &catalogue());
    let mut other = known.clone();
    other[0].name = "nop".into();
    let collect = |wanted: &[Scenario]| {
        Collect {
            name: "line",
            known: &known,
            wanted: Some(wanted),
            icount: false,
            golden: None,
            revision: None,
        }
        .judge(&good())
    };
    assert!(collect(&known).unwrap().lost.is_empty());
    let error = collect(&other).unwrap_err().to_string();
    assert!(error.contains("number 1 is `self-ipi::hlt`, `self-ipi::nop` was asked"), "{error}");
    let two = [known[0].clone(), other[0].clone()];
    let error = collect(&two).unwrap_err().to_string();
    assert!(error.contains("its plan has 1 scenarios, 2 were asked for"), "{error}");
}
