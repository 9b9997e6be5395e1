//! Welch's t-test: whether two means differ by more than chance, from count, sum and sum of squares.
//!
//! It takes two samples of different size and variance and asks how likely so large a difference of
//! means would be if there were none. It says nothing of samples of one.

use trapline_golden::figures::Figures;

/// A difference is called significant below this likelihood.
pub const LEVEL: f64 = 0.05;

/// What the test gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The difference of the means, B less A, in its standard errors.
    pub t: f64,
    /// Degrees of freedom, after Welch and Satterthwaite.
    pub df: f64,
    /// How likely a difference as large, to either side, is by chance.
    pub p: f64,
}

impl Welch {
    /// Tests two samples; `None` where one has fewer than two values.
    pub fn test(a: &Figures, b: &Figures) -> Option<Self> {
        let ((mean_a, square_a), (mean_b, square_b)) = (mean_and_error(a)?, mean_and_error(b)?);
        let error = square_a + square_b;
        let difference = mean_b - mean_a;
        if error == 0.0 {
            // Two constants: equal, or different beyond doubt.
            let (t, p) = if difference == 0.0 { (0.0, 1.0) } else { (f64::INFINITY, 0.0) };
            return Some(Self { t: t * difference.signum(), df: f64::INFINITY, p });
        }
        let of = |square: f64, count: u64| square * square / (count as f64 - 1.0);
        let df = error * error / (of(square_a, a.count) + of(square_b, b.count));
        let t = difference / error.sqrt();
        Some(Self { t, df, p: two_sided(t, df) })
    }

    /// Whether chance is no likely explanation.
    pub fn is_significant(&self) -> bool {
        self.p < LEVEL
    }
}

/// The mean, and the square of its standard error.
fn mean_and_error(figures: &Figures) -> Option<(f64, f64)> {
    let Figures { count, sum, sum_squares, .. } = *figures;
    if count < 2 {
        return None;
    }
    let n = count as f64;
    // In whole numbers, because the two terms are nearly equal; they fit but for absurd figures.
    let spread = u128::from(count)
        .checked_mul(sum_squares)
        .zip(u128::from(sum).checked_mul(u128::from(sum)))
        .map_or_else(
            || n * sum_squares as f64 - sum as f64 * sum as f64,
            |(squares, square)| squares.saturating_sub(square) as f64,
        );
    let variance = spread / (n * (n - 1.0));
    Some((sum as f64 / n, variance / n))
}

/// Student's distribution: how likely |t| or more is.
fn two_sided(t: f64, df: f64) -> f64 {
    incomplete_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The regularized incomplete beta function, by its continued fraction (Lentz's way).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on one side of the mean; the other side is its mirror image.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    const TINY: f64 = 1e-300;
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..1000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / not_zero(1.0 + term * d);
            c = not_zero(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() < 1e-14 * fraction.abs() {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function: shifted upwards, then Stirling's series.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 15.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[u64]) -> Figures {
        Figures {
            count: values.len() as u64,
            sum: values.iter().sum(),
            sum_squares: values.iter().map(|v| u128::from(*v) * u128::from(*v)).sum(),
            min: 0,
            max: 0,
            histogram: Vec::new(),
        }
    }

    #[test]
    fn the_tables_of_students_distribution_come_out() {
        // Critical values at 5 %, both sides, and two others.
        for (t, df, p) in [
            (12.7062, 1.0, 0.05),
            (4.30265, 2.0, 0.05),
            (2.228139, 10.0, 0.05),
            (2.042272, 30.0, 0.05),
            (1.959964, 1e8, 0.05),
            (3.169273, 10.0, 0.01),
            (0.699812, 10.0, 0.5),
        ] {
            assert!((two_sided(t, df) - p).abs() < 1e-5, "{t} {df}: {}", two_sided(t, df));
        }
        assert_eq!(two_sided(0.0, 5.0), 1.0);
    }

    #[test]
    fn two_samples_are_told_apart_by_their_spread() {
        // Means 15 and 20, variances 2.5 and 10: t = 5 / sqrt(2.5), df = 2.5^2 / (1/16 + 1) = 5.88.
        let (a, b) = (figures(&[13, 14, 15, 16, 17]), figures(&[16, 18, 20, 22, 24]));
        let welch = Welch::test(&a, &b).unwrap();
        assert!((welch.t - 3.162_278).abs() < 1e-6, "{welch:?}");
        assert!((welch.df - 5.882_353).abs() < 1e-6, "{welch:?}");
        assert!(welch.is_significant() && welch.p > 0.01, "{welch:?}");
        assert_eq!(Welch::test(&b, &a).unwrap().t, -welch.t);
        let wide = figures(&[0, 0, 0, 0, 100]);
        assert!(!Welch::test(&a, &wide).unwrap().is_significant());
    }

    #[test]
    fn constants_differ_beyond_doubt_and_one_value_says_nothing() {
        let (a, b) = (figures(&[7, 7, 7]), figures(&[8, 8]));
        assert_eq!(Welch::test(&a, &a).unwrap().p, 1.0);
        let welch = Welch::test(&a, &b).unwrap();
        assert_eq!((welch.t, welch.p), (f64::INFINITY, 0.0));
        assert_eq!(Welch::test(&figures(&[7]), &b), None);
    }
}
