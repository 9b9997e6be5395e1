use super::*;
use proptest::prelude::*;
use trapline_abi::exit;
use trapline_abi::record::{BootPath, Durations, Level, Outcome};

const HELLO: Record<'static> = Record::Hello {
    protocol: trapline_abi::PROTOCOL,
    boot: BootPath::Pvh,
    signature: 0x60fb1,
    brand: "a processor",
    asids: 16,
    svm_features: 0x10001,
    tsc_khz: 1_000_000,
    cores: 1,
    scenarios: 2,
};

fn frames(records: &[Record<'_>]) -> Vec<Vec<u8>> {
    let mut buffer = [0; frame::MAX_FRAME];
    let encode = |(i, record): (usize, &Record<'_>)| {
        frame::encode(i as u32, record, &mut buffer).unwrap().to_vec()
    };
    records.iter().enumerate().map(encode).collect()
}

/// Two scenarios, the second of which ends badly: every kind of record occurs.
fn records() -> Vec<Record<'static>> {
    let durations = Durations {
        count: 3,
        sum: 450,
        sum_squares: 67_500,
        min: 150,
        max: 150,
        histogram: &[
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3,
            0, 0, 0,
        ],
    };
    let key = ExitKey::access(exit::MSR, 0x830, true).0;
    vec![
        HELLO,
        Record::Log { level: Level::Info, text: "booted" },
        Record::ScenarioBegin { index: 0, name: "s::good" },
        Record::Log { level: Level::Warn, text: "a line" },
        Record::Check { vcpu: 0, label: "x", expected: 1, actual: 1 },
        Record::Value { vcpu: 0, label: "n", value: 3 },
        Record::Window { vcpu: 0, label: "loop", ticks: 900, rows: 2 },
        Record::Exit { key, durations },
        Record::Exit { key: ExitKey::plain(0x78).0, durations },
        Record::Traps { vcpu: 0, code: exit::MSR, count: 3 },
        Record::ScenarioEnd { index: 0, outcome: Outcome::Done, detail: "", ticks: 1000 },
        Record::ScenarioBegin { index: 1, name: "s::bad" },
        Record::Postmortem {
            vcpu: 0,
            rip: 0x10_0000,
            rsp: 0x20_0000,
            rflags: 2,
            cr2: 0,
            interrupt_shadow: false,
            halted: true,
            tpr: 0,
            ppr: 0,
            irr: &[0, 0, 0, 0, 1],
            isr: &[],
            last: 1,
        },
        Record::Last { key, rip: 0x10_0020, at: 77 },
        Record::ScenarioEnd { index: 1, outcome: Outcome::Stuck, detail: "all halted", ticks: 80 },
        Record::Goodbye { scenarios: 2 },
    ]
}

fn faults(transcript: &Transcript) -> Vec<String> {
    transcript.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_stream_is_complete_and_says_everything() {
    let transcript = Transcript::decode(&frames(&records()).concat());
    assert_eq!(faults(&transcript), [""; 0]);
    assert!(transcript.complete);
    assert_eq!(transcript.hello.as_ref().unwrap().brand, "a processor");
    assert_eq!(transcript.logs, [(Level::Info, "booted".to_owned())]);
    let [good, bad] = &transcript.scenarios[..] else { panic!("two scenarios") };
    assert_eq!((good.index, good.name.as_str()), (0, "s::good"));
    assert_eq!(good.logs, [(Level::Warn, "a line".to_owned())]);
    assert!(good.checks[0].holds());
    assert_eq!(good.values[0].value, 3);
    assert_eq!(good.windows[0].rows.len(), 2);
    assert_eq!(good.windows[0].rows[0].stats.histogram[7], 3);
    assert_eq!(good.traps, [Trap { vcpu: 0, code: exit::MSR, count: 3 }]);
    assert_eq!(good.end.as_ref().unwrap().outcome, Outcome::Done);
    assert_eq!(bad.postmortem[0].irr, [32]);
    assert_eq!(bad.postmortem[0].last[0].at, 77);
    assert_eq!(bad.end.as_ref().unwrap().detail, "all halted");
}

#[test]
fn a_transcript_survives_json() {
    let transcript = Transcript::decode(&frames(&records()).concat());
    let json = serde_json::to_string(&transcript).unwrap();
    assert_eq!(serde_json::from_str::<Transcript>(&json).unwrap(), transcript);
}

#[test]
fn text_around_frames_is_kept_and_costs_no_record() {
    let frames = frames(&records());
    let mut stream = b"GRUB loading.\r\n".to_vec();
    stream.extend(frames[..3].concat());
    stream.extend(b"stray");
    stream.extend(frames[3..].concat());
    let transcript = Transcript::decode(&stream);
    assert!(transcript.complete);
    assert_eq!(
        faults(&transcript),
        [
            r#"before the first scenario: text on the record line: "GRUB loading.\r\n""#,
            r#"in `s::good`: text on the record line: "stray""#,
        ]
    );
}

#[test]
fn a_lost_frame_names_the_scenario_and_the_number() {
    let frames = frames(&records());
    let lost = |at: std::ops::Range<usize>| {
        let kept = [&frames[..at.start], &frames[at.end..]].concat();
        Transcript::decode(&kept.concat())
    };
    assert_eq!(faults(&lost(4..6)), ["in `s::good`: 2 records are missing"]);
    assert_eq!(faults(&lost(13..14)), ["in `s::bad`: a record is missing"]);
    // The end of the first and the beginning of the second: both are named.
    let transcript = lost(10..12);
    assert!(!transcript.complete);
    let faults = faults(&transcript);
    assert_eq!(faults[0], "in `s::good`: 2 records are missing");
    assert!(faults.contains(&"in `s::good`: the end of scenario 1 is in another's place".into()));
    assert_eq!(transcript.scenarios.len(), 1);
    assert_eq!(transcript.scenarios[0].end, None);
}

#[test]
fn a_corrupt_frame_names_its_scenario() {
    let mut frames = frames(&records());
    frames[5][3] ^= 0x80;
    let transcript = Transcript::decode(&frames.concat());
    let problem = &transcript.problems[0];
    assert_eq!(problem.scenario(), Some("s::good"));
    assert!(matches!(problem.fault, Fault::CorruptFrame { .. }), "{problem}");
    assert!(!transcript.complete);
}

#[test]
fn a_torn_stream_says_where_it_stops() {
    let stream = frames(&records()[..8]).concat();
    let transcript = Transcript::decode(&stream[..stream.len() - 5]);
    let faults = faults(&transcript);
    assert!(faults[0].starts_with("in `s::good`: the record stream stops "), "{}", faults[0]);
    assert_eq!(
        faults.last().unwrap(),
        "in `s::good`: the record stream ends before hv-core said goodbye"
    );
}

#[test]
fn a_target_that_started_over_is_noticed() {
    let frames = frames(&records());
    let stream = [&frames[..5], &frames[..]].concat().concat();
    let transcript = Transcript::decode(&stream);
    assert!(!transcript.complete);
    assert_eq!(transcript.problems[0].fault, Fault::StartedOver);
}

#[test]
fn rows_that_a_table_announced_must_come() {
    let mut few = records();
    few.remove(8);
    let transcript = Transcript::decode(&frames(&few).concat());
    assert_eq!(faults(&transcript), ["in `s::good`: 1 rows of a table are missing"]);
    let mut many = records();
    many.insert(8, many[8]);
    let transcript = Transcript::decode(&frames(&many).concat());
    assert_eq!(faults(&transcript), ["in `s::good`: a table has more rows than announced"]);
}

#[test]
fn a_failure_of_hv_core_is_its_own_problem() {
    let mut records = records()[..4].to_vec();
    records.push(Record::Panic { text: "assertion failed" });
    let transcript = Transcript::decode(&frames(&records).concat());
    assert_eq!(transcript.panic(), Some("assertion failed"));
    assert_eq!(faults(&transcript)[0], "in `s::good`: hv-core failed: assertion failed");
}

#[test]
fn another_protocol_is_refused() {
    let Record::Hello { boot, signature, brand, asids, svm_features, tsc_khz, cores, .. } = HELLO
    else {
        panic!("hello")
    };
    let hello = Record::Hello {
        protocol: 99,
        boot,
        signature,
        brand,
        asids,
        svm_features,
        tsc_khz,
        cores,
        scenarios: 0,
    };
    let transcript =
        Transcript::decode(&frames(&[hello, Record::Goodbye { scenarios: 0 }]).concat());
    assert_eq!(transcript.problems[0].fault, Fault::Protocol(99));
    assert!(!transcript.complete);
}

#[test]
fn endless_bytes_without_a_delimiter_are_given_up() {
    let transcript = Transcript::decode(&vec![0xaa; 3 * MAX_PIECE + 5]);
    assert_eq!(transcript.problems.len(), 3 + 2);
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_transcript(cuts in prop::collection::vec(1usize..90, 1..80)) {
        let stream = frames(&records()).concat();
        let mut decoder = Decoder::default();
        let mut rest = &stream[..];
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            decoder.push(now);
            rest = later;
        }
        decoder.push(rest);
        prop_assert_eq!(decoder.finish(), Transcript::decode(&stream));
    }

    #[test]
    fn a_cut_stream_is_never_complete(cut in 0usize..10_000) {
        let stream = frames(&records()).concat();
        let cut = cut % stream.len();
        let transcript = Transcript::decode(&stream[..cut]);
        prop_assert!(!transcript.complete);
        prop_assert!(transcript.problems.iter().any(Problem::is_loss));
    }

    #[test]
    fn a_damaged_stream_is_complete_only_when_nothing_was_lost(
        hits in prop::collection::vec((0usize..10_000, any::<u8>()), 1..12),
        cut in prop::option::of((0usize..10_000, 1usize..60)),
    ) {
        let whole = frames(&records()).concat();
        let mut stream = whole.clone();
        for (at, with) in hits {
            let at = at % stream.len();
            stream[at] ^= with;
        }
        if let Some((at, len)) = cut {
            let at = at % stream.len();
            let end = (at + len).min(stream.len());
            stream.drain(at..end);
        }
        let transcript = Transcript::decode(&stream);
        let good = Transcript::decode(&whole);
        if transcript.complete {
            prop_assert_eq!(transcript.scenarios, good.scenarios);
            prop_assert_eq!(transcript.hello, good.hello);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_are_never_complete(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(!Transcript::decode(&bytes).complete);
    }
}
