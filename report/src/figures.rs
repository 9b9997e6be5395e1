//! Numbers as people read them.

/// `1 010 317`, with spaces that do not break.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Ticks as nanoseconds.
pub(crate) fn nanos(ticks: f64, tsc_khz: u32) -> f64 {
    ticks * 1_000_000.0 / f64::from(tsc_khz.max(1))
}

/// Ticks as microseconds, to ten nanoseconds.
pub(crate) fn micros(ticks: f64, tsc_khz: u32) -> String {
    format!("{:.2}", nanos(ticks, tsc_khz) / 1000.0)
}

/// A share in percent, to a hundredth; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
    format!("{share:.2}")
}

/// `42.3 s`, `3 min 12 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms / 60_000 {
        0 => format!("{:.1} s", ms as f64 / 1000.0),
        minutes => format!("{minutes} min {} s", ms % 60_000 / 1000),
    }
}

/// `430 scenarios`, `1 scenario`.
pub(crate) fn plural(n: usize, what: &str) -> String {
    format!("{} {what}{}", count(n as u64), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_from_the_right() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1\u{202f}000");
        assert_eq!(count(1_010_317), "1\u{202f}010\u{202f}317");
    }

    #[test]
    fn times_and_shares() {
        assert_eq!(micros(1010.0, 1_000_000), "1.01");
        assert_eq!(micros(1000.0, 2_000_000), "0.50");
        assert_eq!(percent(1, 3), "33.33");
        assert_eq!(percent(0, 0), "0.00");
        assert_eq!(duration(42_300), "42.3 s");
        assert_eq!(duration(192_999), "3 min 12 s");
        assert_eq!(plural(1, "rule"), "1 rule");
    }
}
