//! Figures: how often something happened and how long it took.

use serde::{Deserialize, Serialize};

/// Count and durations of one kind of exit, in TSC ticks from #VMEXIT to the next VMRUN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// How many.
    pub count: u64,
    /// Sum of the durations.
    pub sum: u64,
    /// Sum of their squares.
    #[serde(with = "wide")]
    pub sum_squares: u128,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// log2 histogram: element `i` counts durations in `2^i .. 2^(i+1)`, 0 and 1 both in
    /// element 0; trailing zeros are left out.
    pub histogram: Vec<u32>,
}

/// A 128-bit number as text: JSON readers other than ours would round it.
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
    fn squares_beyond_64_bits_survive_json() {
        let figures = Figures { sum_squares: u128::MAX, ..Default::default() };
        let text = serde_json::to_string(&figures).unwrap();
        assert_eq!(serde_json::from_str::<Figures>(&text).unwrap(), figures);
        let bad = text.replace(&u128::MAX.to_string(), "-1");
        assert!(serde_json::from_str::<Figures>(&bad).is_err());
    }
}
