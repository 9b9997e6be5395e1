//! Figures of the durations of one kind of exit.

use serde::{Deserialize, Serialize};
use trapline_abi::record::Durations;

/// Durations in TSC ticks, from #VMEXIT to the next VMRUN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// How many.
    pub count: u64,
    /// Sum.
    pub sum: u64,
    /// Sum of squares. As text, because it exceeds what JSON numbers hold.
    #[serde(with = "super::text_form::wide")]
    pub sum_squares: u128,
    /// Shortest; 0 when there is none.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// log2 histogram: element `i` counts durations in `2^i .. 2^(i+1)`, 0 and 1 in element 0;
    /// trailing zeros are left out.
    pub histogram: Vec<u32>,
}

impl Stats {
    /// The figures of a record; `None` when the histogram is not whole `u32`s or too long.
    pub(super) fn read(durations: &Durations<'_>) -> Option<Self> {
        let (words, rest) = durations.histogram.as_chunks::<4>();
        (rest.is_empty() && words.len() <= 64).then(|| Self {
            count: durations.count,
            sum: durations.sum,
            sum_squares: durations.sum_squares,
            min: durations.min,
            max: durations.max,
            histogram: words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
        })
    }

    /// Adds another's durations to these.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
        if self.histogram.len() < other.histogram.len() {
            self.histogram.resize(other.histogram.len(), 0);
        }
        for (ours, theirs) in self.histogram.iter_mut().zip(&other.histogram) {
            *ours = ours.saturating_add(*theirs);
        }
    }

    /// The mean in ticks; 0 when there is none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The `+-` column of `perf kvm stat`: the standard error of the mean in percent of the mean
    /// (spec pv-and-formats d). 0 for less than two durations.
    pub fn relative_error(&self) -> f64 {
        if self.count < 2 || self.sum == 0 {
            return 0.0;
        }
        let n = self.count as f64;
        // n * sum of squares - square of sum, in integers: two nearly equal large numbers.
        let square = u128::from(self.sum) * u128::from(self.sum);
        let spread = match self.sum_squares.checked_mul(u128::from(self.count)) {
            Some(product) => product.saturating_sub(square) as f64,
            None => (self.sum_squares as f64 * n - square as f64).max(0.0),
        };
        let variance = spread / n / (n - 1.0);
        100.0 * (variance / n).sqrt() / self.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations: &[u64]) -> Stats {
        let mut stats = Stats {
            count: durations.len() as u64,
            sum: durations.iter().sum(),
            sum_squares: durations.iter().map(|&d| u128::from(d) * u128::from(d)).sum(),
            min: durations.iter().copied().min().unwrap_or(0),
            max: durations.iter().copied().max().unwrap_or(0),
            histogram: Vec::new(),
        };
        for &d in durations {
            let bucket = d.max(1).ilog2() as usize;
            stats.histogram.resize(stats.histogram.len().max(bucket + 1), 0);
            stats.histogram[bucket] += 1;
        }
        stats
    }

    #[test]
    fn mean_and_relative_error_are_those_of_perf() {
        let stats = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert!((stats.mean() - 5.0).abs() < 1e-12);
        // Sample variance 32/7, error of the mean sqrt(32/7/8), of 5.
        let expected = 100.0 * (32.0_f64 / 7.0 / 8.0).sqrt() / 5.0;
        assert!((stats.relative_error() - expected).abs() < 1e-9);
        assert_eq!(of(&[7]).relative_error(), 0.0);
        assert_eq!(of(&[7, 7, 7]).relative_error(), 0.0);
        assert_eq!(of(&[]).relative_error(), 0.0);
    }

    #[test]
    fn huge_sums_neither_overflow_nor_become_negative() {
        let stats = Stats {
            count: u64::MAX,
            sum: u64::MAX,
            sum_squares: u128::MAX,
            min: 1,
            max: u64::MAX,
            histogram: Vec::new(),
        };
        assert!(stats.relative_error() >= 0.0);
    }

    #[test]
    fn merging_is_as_if_measured_together() {
        let (a, b) = ([1, 2, 300], [0, 5000, 7]);
        let mut merged = of(&a);
        merged.merge(&of(&b));
        assert_eq!(merged, of(&[a, b].concat()));
        let mut empty = Stats::default();
        empty.merge(&of(&a));
        assert_eq!(empty, of(&a));
        empty.merge(&Stats::default());
        assert_eq!(empty, of(&a));
    }

    #[test]
    fn a_histogram_that_is_not_whole_words_is_refused() {
        let durations =
            Durations { count: 1, sum: 1, sum_squares: 1, min: 1, max: 1, histogram: &[1, 0, 0] };
        assert_eq!(Stats::read(&durations), None);
        let whole = Durations { histogram: &[1, 0, 0, 0, 0, 1, 0, 0], ..durations };
        assert_eq!(Stats::read(&whole).unwrap().histogram, [1, 256]);
    }

    #[test]
    fn figures_survive_json_exactly() {
        let stats = Stats { sum_squares: u128::MAX, ..of(&[1, 2]) };
        let json = serde_json::to_value(&stats).unwrap();
        assert_eq!(serde_json::from_value::<Stats>(json).unwrap(), stats);
    }
}
