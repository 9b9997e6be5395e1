//! `trapline bless`, killed half-way: every golden is the old or the new one, whole.

use crate::fixture::{Workspace, frames};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trapline_abi::exit::ExitKey;
use trapline_abi::record::{Durations, Outcome, Record};

const SCENARIOS: u32 = 60;
const KILLS: u32 = 20;

/// The records of all scenarios, each with one window of that many ticks.
fn stream(ticks: u64) -> Vec<u8> {
    let names: Vec<_> = (0..SCENARIOS).map(|number| format!("many::s{number}")).collect();
    let durations = Durations { count: 1, sum: 1, sum_squares: 1, min: 1, max: 1, histogram: &[] };
    let mut records = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let index = index as u32;
        records.extend([
            Record::ScenarioBegin { index, name },
            Record::Window { vcpu: 0, label: "loop", ticks, rows: 1 },
            Record::Exit { key: ExitKey::plain(0x78).0, durations },
            Record::ScenarioEnd { index, outcome: Outcome::Done, detail: "", ticks },
        ]);
    }
    records.push(Record::Goodbye { scenarios: SCENARIOS });
    frames(&records)
}

/// A workspace with many scenarios, a golden of each that says 1000 ticks, and a last result that
/// says 2000.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    fs::remove_file(workspace.path("suites/self-ipi.toml")).unwrap();
    let mut suite = "[suite]\nname = \"many\"\nabout = \"Many.\"\n".to_owned();
    for number in 0..SCENARIOS {
        suite += &format!("[[scenario]]\nname = \"s{number}\"\npayload = \"self-ipi\"\n");
    }
    fs::write(workspace.path("suites/many.toml"), suite).unwrap();
    for ticks in [1000, 2000] {
        workspace.stream(&stream(ticks));
        workspace.trapline(&["run"]).expect(1, &[]);
        if ticks == 1000 {
            workspace.trapline(&["bless"]).expect(0, &["60 goldens written"]);
        }
    }
    workspace
}

fn goldens(workspace: &Workspace) -> BTreeMap<PathBuf, String> {
    let mut texts = workspace.texts("golden");
    texts.retain(|path, _| path.extension().is_some_and(|extension| extension == "snap"));
    texts
}

#[test]
fn a_killed_bless_leaves_every_golden_old_or_new() {
    let workspace = workspace();
    let old = goldens(&workspace);
    let restore = || old.iter().for_each(|(path, text)| fs::write(path, text).unwrap());
    let start = Instant::now();
    workspace.trapline(&["bless"]).expect(0, &["60 goldens written"]);
    let whole = start.elapsed();
    let new = goldens(&workspace);
    assert!(old.iter().zip(&new).all(|(old, new)| old.0 == new.0 && old.1 != new.1));

    let mut moments = BTreeMap::from([("before", 0), ("within", 0), ("after", 0)]);
    for kill in 0..10 * KILLS {
        // More only until one fell into the renames, which are short.
        if kill >= KILLS && moments["within"] > 0 {
            break;
        }
        restore();
        let mut bless = workspace.start(&["bless"]);
        // Spread over the whole of the command, the renames at its end included.
        let moment = whole * (kill * 7 % KILLS + 1) / KILLS;
        std::thread::sleep(moment.saturating_sub(Duration::from_micros(u64::from(kill) * 10)));
        bless.kill().unwrap();
        bless.wait().unwrap();
        let left = goldens(&workspace);
        assert!(left.keys().eq(old.keys()), "killed after {moment:?}");
        for (path, text) in &left {
            let whole = *text == old[path] || *text == new[path];
            assert!(whole, "killed after {moment:?}: {} is torn", path.display());
        }
        let replaced = left.iter().filter(|(path, text)| **text == new[*path]).count();
        let moment = match replaced {
            0 => "before",
            60 => "after",
            _ => "within",
        };
        *moments.get_mut(moment).unwrap() += 1;
    }
    println!("a bless of {whole:.1?}, killed {moments:?} the renames");
    assert!(moments["within"] > 0, "no kill fell into the renames: {moments:?}");

    // What the killed ones left behind is in nobody's way.
    restore();
    workspace.trapline(&["bless"]).expect(0, &["60 goldens written"]);
    workspace.trapline(&["run"]).expect(0, &["60 passed"]);
}
