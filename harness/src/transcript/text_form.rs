//! Numbers that JSON readers other than ours would round, as text.

/// An exit key: `0x` and 16 hexadecimal digits.
pub mod key {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use trapline_abi::exit::ExitKey;

    /// Writes it.
    pub fn serialize<S: Serializer>(key: &ExitKey, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:#018x}", key.0))
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ExitKey, D::Error> {
        let text = String::deserialize(from)?;
        text.strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(ExitKey)
            .ok_or_else(|| D::Error::custom(format_args!("`{text}` is no exit key")))
    }
}

/// A list of exit keys, each as in [`key`](mod@key).
pub mod keys {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use trapline_abi::exit::ExitKey;

    #[derive(Serialize, Deserialize)]
    struct Key(#[serde(with = "super::key")] ExitKey);

    /// Writes it.
    pub fn serialize<S: Serializer>(keys: &[ExitKey], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(keys.iter().map(|&key| Key(key)))
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ExitKey>, D::Error> {
        Ok(Vec::<Key>::deserialize(from)?.into_iter().map(|key| key.0).collect())
    }
}

/// A 128-bit number, decimal.
pub mod wide {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes it.
    pub fn serialize<S: Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom(format_args!("`{text}` is no number")))
    }
}
