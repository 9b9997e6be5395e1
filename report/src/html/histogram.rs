//! Histograms of exit times, over powers of two.

use crate::figures::{count, nanos};
use crate::model::Stats;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;
use std::ops::Range;

/// The buckets that any of these uses.
pub(super) fn span<'s>(all: impl Iterator<Item = &'s Stats>) -> Range<usize> {
    let mut span: Option<Range<usize>> = None;
    for stats in all {
        let used = |count: &u32| *count > 0;
        let first = stats.histogram.iter().position(used);
        let last = stats.histogram.iter().rposition(used);
        if let (Some(first), Some(last)) = (first, last) {
            let old = span.unwrap_or(first..last + 1);
            span = Some(old.start.min(first)..old.end.max(last + 1));
        }
    }
    span.unwrap_or(0..1)
}

/// One bar a bucket of `span`, the highest as high as the picture.
pub(super) fn draw(stats: &Stats, span: &Range<usize>, tsc_khz: u32) -> Markup {
    let buckets: Vec<_> =
        span.clone().map(|at| stats.histogram.get(at).copied().unwrap_or(0)).collect();
    let highest = buckets.iter().copied().max().unwrap_or(0).max(1);
    let mut path = String::new();
    for (at, &bucket) in buckets.iter().enumerate().filter(|(_, bucket)| **bucket > 0) {
        // What is there at all must be seen.
        let height = (f64::from(bucket) / f64::from(highest) * 20.0).ceil();
        let _ = write!(path, "M{} 20v-{height}h9v{height}z", at * 10);
    }
    let width = buckets.len() * 10;
    let zero = buckets.iter().all(|bucket| *bucket == 0);
    html! {
        @if !zero {
            svg.hist viewBox={ "0 0 " (width) " 20" } style={ "--n:" (buckets.len()) }
                preserveAspectRatio="none" role="img" aria-label=(words(stats, tsc_khz)) {
                path d=(PreEscaped(path)) {}
            }
        }
    }
}

/// `256 to 511 ns: 10; 512 to 1023 ns: 1`.
pub(super) fn words(stats: &Stats, tsc_khz: u32) -> String {
    let used = stats.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    let text = used.map(|(at, n)| format!("{}: {}", interval(at, tsc_khz), count(u64::from(*n))));
    text.collect::<Vec<_>>().join("; ")
}

/// The times that a bucket counts.
pub(super) fn interval(bucket: usize, tsc_khz: u32) -> String {
    let low = if bucket == 0 { 0.0 } else { 2f64.powi(bucket as i32) };
    let high = 2f64.powi(bucket as i32 + 1);
    // Of ticks that are no whole nanoseconds, the nearest.
    let (low, high) = (nanos(low, tsc_khz).round(), nanos(high, tsc_khz).round());
    match low {
        low if low >= 1e6 => format!("{:.1} to {:.1} ms", low / 1e6, high / 1e6),
        low if low >= 1e4 => format!("{:.0} to {:.0} µs", low / 1e3, high / 1e3),
        low if low >= 1e3 => format!("{:.1} to {:.1} µs", low / 1e3, high / 1e3),
        low => format!("{low:.0} to {high:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(histogram: &[u32]) -> Stats {
        Stats { histogram: histogram.into(), ..Stats::default() }
    }

    #[test]
    fn the_span_covers_what_is_used_and_no_more() {
        let (a, b) = (stats(&[0, 0, 3]), stats(&[0, 0, 0, 0, 1, 0]));
        assert_eq!(span([&a, &b].into_iter()), 2..5);
        assert_eq!(span([&a].into_iter()), 2..3);
        assert_eq!(span([].into_iter()), 0..1);
    }

    #[test]
    fn a_single_sample_beside_thousands_is_seen() {
        let svg = draw(&stats(&[0, 4000, 1]), &(1..3), 1_000_000).into_string();
        assert!(svg.contains("M0 20v-20h9v20zM10 20v-1h9v1z"), "{svg}");
        assert!(svg.contains("aria-label=\"2 to 4 ns: 4\u{202f}000; 4 to 8 ns: 1\""), "{svg}");
    }

    #[test]
    fn intervals_have_the_unit_that_fits() {
        assert_eq!(interval(0, 1_000_000), "0 to 2 ns");
        assert_eq!(interval(8, 1_000_000), "256 to 512 ns");
        assert_eq!(interval(10, 1_000_000), "1.0 to 2.0 µs");
        assert_eq!(interval(16, 1_000_000), "66 to 131 µs");
        assert_eq!(interval(20, 1_000_000), "1.0 to 2.1 ms");
        assert_eq!(interval(8, 2_000_000), "128 to 256 ns");
    }
}
