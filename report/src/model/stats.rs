//! Figures of the durations of one kind of exit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many, how long, in ticks from #VMEXIT to the next VMRUN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// How many.
    pub count: u64,
    /// Sum.
    pub sum: u64,
    /// Sum of squares. As text, because it exceeds what JSON numbers hold.
    #[serde(with = "wide")]
    #[schemars(with = "String", regex(pattern = r"^[0-9]+$"))]
    pub sum_squares: u128,
    /// Shortest; 0 when there is none.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// log2 histogram: element `i` counts durations in `2^i .. 2^(i+1)`, 0 and 1 in element 0;
    /// trailing zeros are left out.
    #[schemars(length(max = 64))]
    pub histogram: Vec<u32>,
}

impl Stats {
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

    /// The `+-` column of `perf kvm stat`: the standard error of the mean in percent of the mean. 0
    /// for less than two durations.
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

/// A 128-bit number as text.
mod wide {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom(format_args!("`{text}` is no number")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_the_mean_is_perfs() {
        // 2 4 4 4 5 5 7 9: sample variance 32/7, error of the mean sqrt(32/7/8), of 5.
        let stats = Stats { count: 8, sum: 40, sum_squares: 232, ..Stats::default() };
        let expected = 100.0 * (32.0_f64 / 7.0 / 8.0).sqrt() / 5.0;
        assert!((stats.relative_error() - expected).abs() < 1e-9);
        assert_eq!(Stats { count: 1, ..stats }.relative_error(), 0.0);
    }

    #[test]
    fn merging_keeps_the_extremes_and_adds_the_rest() {
        let of = |n: u64, histogram: &[u32]| Stats {
            count: 1,
            sum: n,
            sum_squares: u128::from(n * n),
            min: n,
            max: n,
            histogram: histogram.into(),
        };
        let mut sum = Stats::default();
        sum.merge(&of(3, &[0, 1]));
        sum.merge(&of(1, &[1]));
        let expected =
            Stats { count: 2, sum: 4, sum_squares: 10, min: 1, max: 3, histogram: vec![1, 1] };
        assert_eq!(sum, expected);
        sum.merge(&Stats::default());
        assert_eq!(sum, expected);
    }
}
