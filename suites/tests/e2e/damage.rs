//! Real record streams, damaged on their way.

use crate::laboratory::{Laboratory, bytes};
use trapline::transcript::{Problem, Transcript};

/// The stream of a boot with a good and a bad end, and what it says.
fn stream() -> (Vec<u8>, Transcript) {
    let laboratory = Laboratory::new();
    let scenarios = ["self-ipi::x2apic-icr-hlt", "rogue::triple-fault", "tpr::nibble-xapic"]
        .map(|name| laboratory.scenario(name).clone());
    let run = laboratory.run("whole", &scenarios);
    (bytes(&run), run.transcript)
}

/// Every scenario that no problem is reported in or beside says what it said in the whole stream.
fn assert_the_rest_is_whole(what: &str, damaged: &Transcript, whole: &Transcript) {
    assert!(!damaged.complete, "{what}: taken for whole");
    assert!(damaged.problems.iter().any(Problem::is_loss), "{what}: no loss reported");
    for run in damaged.scenarios.iter().filter(|run| run.end.is_some()) {
        let hit = damaged.problems.iter().any(|problem| problem.scenario() == Some(&run.name));
        let same = whole.scenario(run.index) == Some(run);
        assert!(hit || same, "{what}: {} differs and nothing says so", run.name);
    }
}

#[test]
fn a_changed_byte_anywhere_is_reported_and_falsifies_nothing() {
    let (stream, whole) = stream();
    for at in 0..stream.len() {
        // The zeros at both ends of a frame delimit: one of a pair may go without loss.
        if stream[at] == 0 {
            continue;
        }
        let mut damaged = stream.clone();
        damaged[at] ^= 0x20;
        if damaged[at] == 0 {
            damaged[at] = 0x55;
        }
        assert_the_rest_is_whole(&format!("byte {at}"), &Transcript::decode(&damaged), &whole);
    }
}

#[test]
fn a_stream_cut_anywhere_is_reported_and_falsifies_nothing() {
    let (stream, whole) = stream();
    // Without its very last byte, a delimiter, the last frame is torn as well.
    for end in 0..stream.len() {
        let damaged = Transcript::decode(&stream[..end]);
        assert_the_rest_is_whole(&format!("cut at {end}"), &damaged, &whole);
    }
}
