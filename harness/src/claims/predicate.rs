//! A comparison of two formulas: `a.msr == 2*a.n`, `10*b.exits <= a.exits`.

use crate::formula::{Bound, Formula, FormulaError};

/// The comparisons.
const OPERATORS: [&str; 3] = ["==", "<=", ">="];

/// A comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicate {
    text: String,
    left: Formula,
    right: Formula,
}

/// What a comparison gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Whether it holds.
    pub holds: bool,
    /// Both sides, computed: `128 == 128`, `3 is not 0`.
    pub text: String,
    /// The left side.
    pub measured: u64,
    /// What the right side asks of it: `128`, `<= 5`.
    pub expected: String,
}

impl Predicate {
    /// Reads a comparison.
    ///
    /// # Errors
    /// No comparison, or a side that is no formula.
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        let error =
            |message: &str| FormulaError { text: text.into(), column: 1, message: message.into() };
        let at = OPERATORS
            .iter()
            .filter_map(|operator| text.find(operator))
            .min()
            .ok_or_else(|| error("a claim compares: `==`, `<=` or `>=` is missing"))?;
        let (left, right) = text.split_at(at);
        if left.contains("..") || right.contains("..") {
            return Err(error("a claim compares two numbers: a range is none"));
        }
        let (left, right) = (Formula::parse(left)?, Formula::parse(right)?);
        Ok(Self { text: text.into(), left, right })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it.
    pub fn names(&self) -> Vec<&str> {
        self.left.names().into_iter().chain(self.right.names()).collect()
    }

    /// Computes both sides; `lookup` knows the names, and says why it does not.
    ///
    /// # Errors
    /// A side that cannot be computed.
    pub fn compare(
        &self,
        lookup: &dyn Fn(&str) -> Result<u64, String>,
    ) -> Result<Compared, FormulaError> {
        let (Bound::Equal(left)
        | Bound::AtMost(left)
        | Bound::AtLeast(left)
        | Bound::Within(left, _)) = self.left.bound(lookup)?;
        let right = self.right.bound(lookup)?;
        let holds = right.allows(left);
        let expected = right.to_string();
        let text = match (right, holds) {
            (Bound::AtMost(n), true) => format!("{left} <= {n}"),
            (Bound::AtLeast(n), true) => format!("{left} >= {n}"),
            (bound, true) => format!("{left} == {bound}"),
            (bound, false) => format!("{left} is not {bound}"),
        };
        Ok(Compared { holds, text, measured: left, expected })
    }
}

#[cfg(test)]
mod tests;
