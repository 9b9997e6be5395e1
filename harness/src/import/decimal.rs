//! Decimals, as they were printed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Digits that are read at most: so many fit an `f64` exactly.
const DIGITS: usize = 15;

/// A number without a sign, with the decimal places that were printed. In JSON it is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Decimal {
    digits: u64,
    places: u8,
}

impl Decimal {
    /// Reads `7`, `7.47` or `0.00`; `None` for anything else, and for more than 15 digits.
    pub fn read(text: &str) -> Option<Self> {
        let (whole, part) = match text.split_once('.') {
            Some((whole, part)) if !part.is_empty() => (whole, part),
            Some(_) => return None,
            None => (text, ""),
        };
        let digits = format!("{whole}{part}");
        let plain = !whole.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        (plain && digits.len() <= DIGITS).then_some(())?;
        Some(Self { digits: digits.parse().ok()?, places: part.len() as u8 })
    }

    /// Its value.
    pub fn value(self) -> f64 {
        self.digits as f64 / 10_f64.powi(i32::from(self.places))
    }

    /// The value of one in its last place.
    pub fn step(self) -> f64 {
        10_f64.powi(-i32::from(self.places))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = usize::from(self.places);
        let digits = format!("{:0>width$}", self.digits, width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        f.pad(&if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") })
    }
}

impl TryFrom<String> for Decimal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::read(&text).ok_or_else(|| format!("`{}` is no decimal", text.escape_debug()))
    }
}

impl From<Decimal> for String {
    fn from(decimal: Decimal) -> Self {
        decimal.to_string()
    }
}
