//! Partitions: a selection of scenarios cut into parts that are run apart.
//!
//! The rule is that of nextest's `slice:N/M`: the scenarios of the selection are dealt out in their
//! order, one to each part in turn, so that part N has those at the places N, N + M, N + 2M and so
//! on. A long suite is thereby spread over all parts, and [`crate::merge`] can restore the order.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One part of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Its number, from 1.
    pub number: u32,
    /// How many parts there are.
    pub of: u32,
}

impl Partition {
    /// The part's items, in order.
    pub fn take<T>(self, all: Vec<T>) -> Vec<T> {
        let (skip, step) = (self.number as usize - 1, self.of as usize);
        all.into_iter().skip(skip).step_by(step).collect()
    }

    /// How many of that many items the part has.
    pub fn share(self, all: usize) -> usize {
        let (skip, step) = (self.number as usize - 1, self.of as usize);
        all.saturating_sub(skip).div_ceil(step)
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is no partition: write N/M or slice:N/M, N from 1 to M");
        let numbers = match text.split_once(':') {
            Some(("slice", numbers)) => numbers,
            Some(("hash" | "count", _)) => {
                return Err("scenarios are dealt out in order: write slice:N/M".into());
            }
            Some(_) => return Err(form()),
            None => text,
        };
        let (number, of) = numbers.split_once('/').ok_or_else(form)?;
        let number: u32 = number.parse().map_err(|_| form())?;
        let of: u32 = of.parse().map_err(|_| form())?;
        if (1..=of).contains(&number) { Ok(Self { number, of }) } else { Err(form()) }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_have_every_item_once_and_as_many_as_announced() {
        for all in 0..20u32 {
            for of in 1..6 {
                let mut seen = Vec::new();
                for number in 1..=of {
                    let part = Partition { number, of };
                    let taken = part.take((0..all).collect());
                    assert_eq!(taken.len(), part.share(all as usize), "{part} of {all}");
                    assert!(taken.iter().all(|item| item % of == number - 1));
                    seen.extend(taken);
                }
                seen.sort_unstable();
                assert_eq!(seen, (0..all).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_partition_is_written_with_or_without_its_rule() {
        let part = Partition { number: 2, of: 4 };
        assert_eq!("2/4".parse(), Ok(part));
        assert_eq!("slice:2/4".parse(), Ok(part));
        assert_eq!(part.to_string(), "2/4");
        for wrong in ["0/4", "5/4", "4", "a/b", "-1/4", "first:1/4", "1/0", ""] {
            let error = wrong.parse::<Partition>().unwrap_err();
            assert!(error.contains("write N/M or slice:N/M"), "{wrong}: {error}");
        }
        let error = "hash:1/4".parse::<Partition>().unwrap_err();
        assert_eq!(error, "scenarios are dealt out in order: write slice:N/M");
    }
}
