//! Scenarios that were traced for a report: a picture of one iteration each, and files for other tools.

use crate::trace::arrows::arrows;
use crate::trace::iteration::iteration;
use crate::trace::timeline::{self, Track, What, exit_name, tracks};
use crate::trace::{Trace, chrome, perfetto};
use trapline_abi::trace::Event;
use trapline_report::model::{Arrow, Lane, Link, Scenario, Slice, Timeline};

/// The folder of traces, beside the report.
pub const TRACES: &str = "traces";

/// Events of which files are written. More would fill a disk with rounds that are all the same.
const MOST: usize = 4000;

/// A file to be, in the folder of traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Puts what a scenario's vCPUs did into its part of the report; the files that it names.
pub fn add(scenario: &mut Scenario, tsc_khz: u32, events: &[(u16, Event)]) -> Vec<File> {
    let name = scenario.full_name();
    let trace = Trace::new(&name, tsc_khz, events);
    let tracks = tracks(&trace);
    scenario.timeline = timeline(&trace, &tracks);
    if events.is_empty() || events.len() > MOST {
        return Vec::new();
    }
    let arrows = arrows(&trace, &tracks);
    let stem = name.replace("::", ".");
    let files = [
        ("Perfetto trace", "perfetto-trace", perfetto::bytes(&trace, &tracks, &arrows)),
        ("Chrome trace", "json", chrome::json(&trace, &tracks, &arrows).into_bytes()),
    ];
    files
        .into_iter()
        .map(|(title, extension, bytes)| {
            let name = format!("{stem}.{extension}");
            scenario.links.push(Link { title: title.into(), path: format!("{TRACES}/{name}") });
            File { name, bytes }
        })
        .collect()
}

/// One iteration, cut out of the whole.
fn timeline(trace: &Trace, tracks: &[Track]) -> Option<Timeline> {
    let round = iteration(tracks)?;
    let nanos = |ticks: u64| trace.nanos(ticks.clamp(round.from, round.to) - round.from);
    let lane = |(vcpu, track): (usize, &Track)| {
        let last = track.slices.len().saturating_sub(1);
        // The last one went on until the scenario was over.
        let ends = |(at, slice): (usize, &timeline::Slice)| {
            let to = if at == last { u64::MAX } else { slice.to };
            (slice.from, to, slice.what.clone())
        };
        let slices = track.slices.iter().enumerate().map(ends);
        let slices = slices.filter(|(from, to, _)| *from < round.to && *to > round.from);
        let slice = |(from, to, what)| Slice {
            from: nanos(from),
            to: nanos(to),
            exit: match what {
                What::Guest { .. } => None,
                What::Exit(trap) => Some(exit_name(&trap)),
            },
        };
        Lane { vcpu: vcpu as u16, slices: slices.map(slice).collect() }
    };
    let is_inside = |at: u64| (round.from..=round.to).contains(&at);
    let arrows = arrows(trace, tracks).into_iter().filter_map(|arrow| {
        let taken = arrow.taken.filter(|taken| is_inside(*taken) && is_inside(arrow.sent))?;
        Some(Arrow {
            vector: arrow.vector,
            sender: arrow.sender as u16,
            sent: nanos(arrow.sent),
            target: arrow.target as u16,
            taken: nanos(taken),
        })
    });
    Some(Timeline {
        nanos: nanos(round.to),
        lanes: tracks.iter().enumerate().map(lane).collect(),
        arrows: arrows.collect(),
        between: round.between,
    })
}
