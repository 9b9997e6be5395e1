//! Formulas: what a scenario expects of a number, in terms of its parameters.
//!
//! ```text
//! formula    = [ "==" | "<=" | ">=" ] expression | expression ".." expression
//! expression = term { ("+" | "-") term }
//! term       = factor { ("*" | "/" | "%") factor }
//! factor     = NUMBER | NAME | "(" expression ")"
//! ```
//! A name is a word, or words with `.` and `:` between them. Numbers are unsigned 64-bit, decimal or `0x` hexadecimal, with `_` where they please. A range
//! contains both of its ends. Overflow, a difference below zero and a division by zero are errors,
//! not values: an expectation that cannot be computed must not pass.

mod parser;

use std::fmt;

/// Why a formula cannot be read or computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at column {column} of formula `{text}`")]
pub struct FormulaError {
    /// The formula.
    pub text: String,
    /// Where, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    text: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Equal(Expression),
    AtMost(Expression),
    AtLeast(Expression),
    Within(Expression, Expression),
}

/// A part of a formula and its column, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expression {
    column: usize,
    node: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Number(u64),
    Name(String),
    Binary(char, Box<(Expression, Expression)>),
}

/// What a formula allows, computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Exactly this.
    Equal(u64),
    /// This or less.
    AtMost(u64),
    /// This or more.
    AtLeast(u64),
    /// From the first to the second, both included.
    Within(u64, u64),
}

impl Bound {
    /// Whether a number is allowed.
    pub fn allows(self, number: u64) -> bool {
        match self {
            Self::Equal(n) => number == n,
            Self::AtMost(n) => number <= n,
            Self::AtLeast(n) => number >= n,
            Self::Within(low, high) => (low..=high).contains(&number),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(n) => write!(f, "{n}"),
            Self::AtMost(n) => write!(f, "at most {n}"),
            Self::AtLeast(n) => write!(f, "at least {n}"),
            Self::Within(low, high) => write!(f, "{low} to {high}"),
        }
    }
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// See [`FormulaError`].
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        parser::formula(text)
    }

    /// The formula's text, as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it, in their order.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        match &self.test {
            Test::Equal(e) | Test::AtMost(e) | Test::AtLeast(e) => e.names(&mut names),
            Test::Within(low, high) => {
                low.names(&mut names);
                high.names(&mut names);
            }
        }
        names
    }

    /// Computes it; `lookup` knows the names, and says why it does not.
    ///
    /// # Errors
    /// An unknown name, an overflow, a difference below zero, a division by zero, or a range that
    /// ends before it starts.
    pub fn bound(
        &self,
        lookup: &dyn Fn(&str) -> Result<u64, String>,
    ) -> Result<Bound, FormulaError> {
        let value = |e: &Expression| {
            e.value(lookup).map_err(|(column, message)| FormulaError {
                text: self.text.clone(),
                column,
                message,
            })
        };
        Ok(match &self.test {
            Test::Equal(e) => Bound::Equal(value(e)?),
            Test::AtMost(e) => Bound::AtMost(value(e)?),
            Test::AtLeast(e) => Bound::AtLeast(value(e)?),
            Test::Within(low, high) => {
                let (column, low, high) = (high.column, value(low)?, value(high)?);
                if high < low {
                    let message = format!("the range ends at {high}, before its start at {low}");
                    return Err(FormulaError { text: self.text.clone(), column, message });
                }
                Bound::Within(low, high)
            }
        })
    }
}

impl Expression {
    fn names<'e>(&'e self, names: &mut Vec<&'e str>) {
        match &self.node {
            Node::Number(_) => {}
            Node::Name(name) => names.push(name),
            Node::Binary(_, sides) => {
                sides.0.names(names);
                sides.1.names(names);
            }
        }
    }

    fn value(&self, lookup: &dyn Fn(&str) -> Result<u64, String>) -> Result<u64, (usize, String)> {
        let error = |message: String| (self.column, message);
        match &self.node {
            Node::Number(n) => Ok(*n),
            Node::Name(name) => lookup(name).map_err(error),
            Node::Binary(operator, sides) => {
                let (a, b) = (sides.0.value(lookup)?, sides.1.value(lookup)?);
                match operator {
                    '+' => a.checked_add(b).ok_or_else(|| format!("{a} + {b} overflows")),
                    '-' => a.checked_sub(b).ok_or_else(|| format!("{a} - {b} is below zero")),
                    '*' => a.checked_mul(b).ok_or_else(|| format!("{a} * {b} overflows")),
                    '/' => a.checked_div(b).ok_or_else(|| format!("{a} / {b} divides by zero")),
                    _ => a.checked_rem(b).ok_or_else(|| format!("{a} % {b} divides by zero")),
                }
                .map_err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests;
