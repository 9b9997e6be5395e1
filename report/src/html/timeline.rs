//! The time line of one iteration: a lane for each vCPU, and arrows from ICRs to handlers.

use crate::model::{Lane, Timeline};
use maud::{Markup, html};

/// Of the picture, in its own units.
const WIDTH: f64 = 1000.0;
const LANE: f64 = 34.0;
const GAP: f64 = 22.0;
const HEAD: f64 = 16.0;

pub(super) fn draw(timeline: &Timeline) -> Markup {
    let height = HEAD + timeline.lanes.len() as f64 * (LANE + GAP);
    let x = |nanos: u64| nanos as f64 * WIDTH / timeline.nanos.max(1) as f64;
    let top = |lane: usize| HEAD + lane as f64 * (LANE + GAP);
    let place = |vcpu: u16| timeline.lanes.iter().position(|lane| lane.vcpu == vcpu);
    html! {
        // It scrolls on a narrow screen, by keyboard too.
        figure.timeline tabindex="0" {
            figcaption {
                "One iteration, from one " code { (timeline.between) } " to the next: "
                (micros(timeline.nanos))
                ". Of a run in which every trap was told, which makes exits longer."
            }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(words(timeline)) {
                @for (at, lane) in timeline.lanes.iter().enumerate() {
                    text.lane x="0" y=(top(at) + LANE + 13.0) { "vCPU " (lane.vcpu) }
                    @for slice in &lane.slices {
                        @let width = (x(slice.to) - x(slice.from)).max(0.8);
                        rect class=[Some(if slice.exit.is_some() { "exit" } else { "guest" })]
                            x=(format!("{:.1}", x(slice.from))) y=(top(at))
                            width=(format!("{width:.1}")) height=(LANE) {
                            title { (slice.exit.as_deref().unwrap_or("guest")) ", " (micros(slice.to - slice.from)) }
                        }
                        @if let Some(exit) = &slice.exit {
                            // What does not fit is in the title and in the words.
                            @if width > exit.chars().count() as f64 * 8.0 {
                                text.name x=(format!("{:.1}", x(slice.from) + 4.0)) y=(top(at) + LANE / 2.0 + 4.0) { (exit) }
                            }
                        }
                    }
                }
                @for arrow in &timeline.arrows {
                    @if let (Some(from), Some(to)) = (place(arrow.sender), place(arrow.target)) {
                        @let (x1, x2) = (x(arrow.sent), x(arrow.taken));
                        @let (y1, y2) = ends(top(from), top(to), from == to);
                        path.arrow d=(format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}")) {
                            title { "vector " (format!("{:#x}", arrow.vector)) }
                        }
                        path.head d=(format!("M{x2:.1} {y2:.1}l-4 {0}h8z", if y2 > y1 || from == to { -7 } else { 7 })) {}
                    }
                }
            }
        }
    }
}

/// Where an arrow leaves its lane and meets the other one; to itself it goes above its own.
fn ends(from: f64, to: f64, is_own: bool) -> (f64, f64) {
    match (is_own, to > from) {
        (true, _) => (from - 6.0, from),
        (false, true) => (from + LANE, to),
        (false, false) => (from, to + LANE),
    }
}

fn micros(nanos: u64) -> String {
    format!("{:.2} µs", nanos as f64 / 1000.0)
}

/// All of it in words: `vCPU 0: guest 0.10 µs, msr 0x830:W 0.40 µs`.
fn words(timeline: &Timeline) -> String {
    let lane = |lane: &Lane| {
        let slices = lane.slices.iter().map(|slice| {
            let what = slice.exit.as_deref().unwrap_or("guest");
            format!("{what} {}", micros(slice.to - slice.from))
        });
        format!("vCPU {}: {}", lane.vcpu, slices.collect::<Vec<_>>().join(", "))
    };
    let lanes = timeline.lanes.iter().map(lane);
    let arrows = timeline.arrows.iter().map(|arrow| {
        let (vector, from, to) = (arrow.vector, arrow.sender, arrow.target);
        format!("vector {vector:#x} from vCPU {from} to vCPU {to}")
    });
    lanes.chain(arrows).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Arrow, Slice};

    fn timeline() -> Timeline {
        let slice = |from, to, exit: Option<&str>| Slice { from, to, exit: exit.map(Into::into) };
        Timeline {
            between: "msr 0x830:W".into(),
            nanos: 2000,
            lanes: vec![
                Lane {
                    vcpu: 0,
                    slices: vec![slice(0, 500, Some("msr 0x830:W")), slice(500, 2000, None)],
                },
                Lane { vcpu: 1, slices: vec![slice(0, 2000, None)] },
            ],
            arrows: vec![Arrow { vector: 0xb0, sender: 0, sent: 100, target: 1, taken: 900 }],
        }
    }

    #[test]
    fn all_that_is_drawn_is_said_in_words() {
        assert_eq!(
            words(&timeline()),
            "vCPU 0: msr 0x830:W 0.50 µs, guest 1.50 µs; vCPU 1: guest 2.00 µs; vector 0xb0 from vCPU 0 \
             to vCPU 1"
        );
    }

    #[test]
    fn slices_are_to_scale_and_the_arrow_goes_from_lane_to_lane() {
        let svg = draw(&timeline()).into_string();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains(r#"class="exit" x="0.0" y="16" width="250.0""#), "{svg}");
        assert!(svg.contains("M50.0 50.0L450.0 72.0"), "{svg}");
    }
}
