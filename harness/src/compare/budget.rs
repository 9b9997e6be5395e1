//! Budgets: by how much something may become worse.

use crate::suite::Subject;
use std::fmt;
use std::str::FromStr;

/// What is held to a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// All exits of a scenario's windows.
    Exits,
    /// The length of its windows together, in ticks.
    Ticks,
    /// The mean time of each kind of exit.
    Mean,
    /// The exits of one name: `msr`, `npf`.
    Exit(String),
}

/// How much more is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Percent of the old value.
    Percent(f64),
    /// That many.
    Number(u64),
}

/// One limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// On what.
    pub of: Quantity,
    /// How much more.
    pub more: Allowance,
}

/// All limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget(pub Vec<Limit>);

impl Default for Budget {
    /// Nothing may become worse.
    fn default() -> Self {
        let none = |of| Limit { of, more: Allowance::Percent(0.0) };
        Self(vec![none(Quantity::Exits), none(Quantity::Ticks)])
    }
}

impl Allowance {
    /// Whether `new` is more than is allowed.
    pub fn is_exceeded(self, old: f64, new: f64) -> bool {
        let limit = match self {
            // A whole number of exits or ticks is held against a whole part of the old one.
            Self::Percent(percent) => old * (100.0 + percent) / 100.0,
            Self::Number(number) => old + number as f64,
        };
        new > limit
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let limits: Vec<Limit> =
            text.split(',').map(|part| limit(part.trim())).collect::<Result<_, _>>()?;
        for (place, limit) in limits.iter().enumerate() {
            if limits[..place].iter().any(|other| other.of == limit.of) {
                return Err(format!("`{}` has two limits", limit.of));
            }
        }
        Ok(Self(limits))
    }
}

fn limit(text: &str) -> Result<Limit, String> {
    let form = || format!("`{text}` is no limit: write exits=0%, ticks=5%, mean=5% or msr=10");
    let (of, more) = text.split_once('=').ok_or_else(form)?;
    let of = match of.trim() {
        "exits" => Quantity::Exits,
        "ticks" => Quantity::Ticks,
        "mean" => Quantity::Mean,
        name => match Subject::parse(name)? {
            Subject::Code(_) => Quantity::Exit(name.into()),
            _ => return Err(format!("`{name}` has a detail: limits are on whole exits")),
        },
    };
    let more = match more.trim().strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().map_err(|_| form())?;
            if !percent.is_finite() || percent < 0.0 {
                return Err(form());
            }
            Allowance::Percent(percent)
        }
        None if of == Quantity::Mean => return Err(form()),
        None => Allowance::Number(more.trim().parse().map_err(|_| form())?),
    };
    Ok(Limit { of, more })
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exits => "exits",
            Self::Ticks => "ticks",
            Self::Mean => "mean",
            Self::Exit(name) => name,
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.more {
            Allowance::Percent(percent) => write!(f, "{}={percent}%", self.of),
            Allowance::Number(number) => write!(f, "{}={number}", self.of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        let budget: Budget = "exits=0%, ticks=5%,msr=10,mean=2.5%".parse().unwrap();
        let written: Vec<_> = budget.0.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["exits=0%", "ticks=5%", "msr=10", "mean=2.5%"]);
        for (wrong, why) in [
            ("exits", "is no limit"),
            ("exits=-1%", "is no limit"),
            ("exits=nan%", "is no limit"),
            ("exits=many", "is no limit"),
            ("mean=5", "is no limit"),
            ("", "is no limit"),
            ("mrs=1", "did you mean `msr`"),
            ("msr 0x830=1", "limits are on whole exits"),
            ("exits=1,exits=2", "`exits` has two limits"),
        ] {
            let error = wrong.parse::<Budget>().unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_limit_is_exceeded_by_the_first_one_above_it() {
        let percent = Allowance::Percent(5.0);
        assert!(!percent.is_exceeded(100.0, 105.0) && percent.is_exceeded(100.0, 106.0));
        assert!(Allowance::Percent(0.0).is_exceeded(0.0, 1.0), "from nothing to something");
        let three = Allowance::Number(3);
        assert!(!three.is_exceeded(100.0, 103.0) && three.is_exceeded(100.0, 104.0));
    }
}
