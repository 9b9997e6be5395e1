//! Design section 5: under icount everything repeats, byte for byte and tick for tick.

use crate::laboratory::{Laboratory, assert_same, bytes};
use std::sync::Mutex;
use trapline::suite::Scenario;

/// How many QEMUs run at once: other load must not change a byte, so two are a sharper test.
const AT_ONCE: usize = 2;

/// Does the jobs, some at once; the first that fails fails the test.
fn at_once<T: Sync>(jobs: &[T], work: impl Fn(usize, &T) + Sync) {
    let next = Mutex::new(0..jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(job) = next.lock().unwrap().next() else { break };
                    work(job, &jobs[job]);
                }
            });
        }
    });
}

/// How many runs of everything are compared; `TRAPLINE_RUNS` says another number.
const RUNS: usize = 4;

#[test]
fn runs_of_the_default_suite_give_the_same_bytes() {
    let runs = std::env::var("TRAPLINE_RUNS").map(|runs| runs.parse().unwrap());
    same_bytes(runs.unwrap_or(RUNS), &Laboratory::new(), false);
}

#[test]
fn three_runs_of_its_long_scenarios_give_the_same_bytes() {
    same_bytes(3, &Laboratory::new(), true);
}

fn same_bytes(times: usize, laboratory: &Laboratory, long: bool) {
    let streams = Mutex::new(vec![Vec::new(); times]);
    at_once(&vec![(); times], |number, ()| {
        let mut stream = Vec::new();
        for (group, scenarios) in laboratory.by_length(long).iter().enumerate() {
            let run = laboratory.run(&format!("run-{number}-{group}"), scenarios);
            stream.extend(bytes(&run));
        }
        streams.lock().unwrap()[number] = stream;
    });
    let streams = streams.into_inner().unwrap();
    for (number, stream) in streams.iter().enumerate() {
        let (first, length) = (&streams[0], streams[0].len());
        let part = first.iter().zip(stream).position(|(a, b)| a != b);
        assert_eq!(part, None, "run {number} parts from run 0 at this byte of {length}");
        assert_eq!(stream.len(), length, "run {number}");
    }
}

#[test]
fn a_scenario_alone_in_its_boot_gives_what_it_gives_in_the_suite() {
    let laboratory = Laboratory::new();
    // Each one is run alone as a test of its own, and held against a golden of a whole run. What goldens do
    // not hold is compared of these.
    for (group, scenarios) in laboratory.every(5).iter().enumerate() {
        let suite = laboratory.run(&format!("suite-{group}"), scenarios).transcript;
        at_once(scenarios, |number, scenario| {
            let name = format!("alone-{group}-{number}");
            let alone = laboratory.run(&name, std::slice::from_ref(scenario)).transcript;
            assert_same("alone", &suite.scenarios[number], &alone.scenarios[0]);
        });
    }
}

#[test]
fn the_suite_backwards_gives_the_same_results() {
    let laboratory = Laboratory::new();
    for (group, scenarios) in laboratory.by_length(false).into_iter().enumerate() {
        let backwards: Vec<Scenario> = scenarios.iter().rev().cloned().collect();
        let orders = [scenarios, backwards];
        let results = Mutex::new([const { Vec::new() }; 2]);
        at_once(&orders, |number, scenarios| {
            let run = laboratory.run(&format!("order-{group}-{number}"), scenarios);
            results.lock().unwrap()[number] = run.transcript.scenarios;
        });
        let [forwards, backwards] = results.into_inner().unwrap();
        for (one, other) in forwards.iter().zip(backwards.iter().rev()) {
            assert_same("backwards", one, other);
        }
    }
}

#[test]
fn the_same_scenario_gives_the_same_however_often_it_ran_in_the_boot() {
    let laboratory = Laboratory::new();
    let twelve = [
        "apic-timer::one-shot-hlt",
        "apic-timer::deadline-hlt",
        "exit-cost::cpuid",
        "rogue::triple-fault",
        "rogue::wild-msrs",
        "rtc-hammer::service-until-clear-rate3",
        "self-ipi::x2apic-icr-hlt",
        "self-ipi::xapic-nop",
        "self-ipi::x2apic-icr-hlt-cold",
        "synic-autoeoi::shared",
        "tpr::cr8-hlt",
        "tpr::nibble-xapic",
    ];
    let once = twelve.iter().map(|name| laboratory.scenario(name).clone());
    let often: Vec<_> = once.cycle().take(3 * twelve.len()).collect();
    let results = laboratory.run("often", &often).transcript.scenarios;
    for later in results[twelve.len()..].chunks(twelve.len()) {
        for (first, again) in results.iter().zip(later) {
            assert_same("again", first, again);
        }
    }
}

#[test]
fn qemus_log_of_exits_changes_no_tick() {
    let laboratory = Laboratory::new();
    at_once(&laboratory.tame(), |group, scenarios| {
        let quiet = laboratory.run(&format!("quiet-{group}"), scenarios);
        let start = trapline::target::Start::Qboot;
        let logged = laboratory.run_as(&format!("logged-{group}"), scenarios, start, true);
        for (one, other) in quiet.transcript.scenarios.iter().zip(&logged.transcript.scenarios) {
            assert_same("logged", one, other);
        }
    });
}
