//! What can be wrong with a stream of records.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where it fell.
    pub place: Place,
    /// What it is.
    pub fault: Fault,
}

/// A place in a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// Before the first scenario began.
    BeforeScenarios,
    /// While that scenario ran.
    In {
        /// Its place in the plan.
        index: u32,
        /// Its name.
        name: String,
    },
    /// After that scenario ended and before the next began.
    After(String),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Text that is no frame: firmware, GRUB, or someone else's panic. Harmless by itself; if it
    /// was a frame once, a gap says so too.
    StrayText(String),
    /// A frame whose check or shape is wrong.
    CorruptFrame {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The stream stops within a frame.
    TornFrame {
        /// The bytes of it that arrived.
        bytes: usize,
    },
    /// Records are missing: their sequence numbers never came.
    Gap {
        /// How many.
        records: u32,
    },
    /// The sequence numbers go back: the target started over.
    StartedOver,
    /// A record where the protocol has none.
    OutOfPlace(String),
    /// The image speaks another protocol.
    Protocol(u32),
    /// hv-core failed and said why.
    Panic(String),
    /// The stream ends without Goodbye.
    NoGoodbye,
}

impl Problem {
    /// The scenario it fell into.
    pub fn scenario(&self) -> Option<&str> {
        match &self.place {
            Place::In { name, .. } => Some(name),
            Place::BeforeScenarios | Place::After(_) => None,
        }
    }

    /// Whether records were lost or cannot be trusted because of it.
    pub fn is_loss(&self) -> bool {
        !matches!(self.fault, Fault::StrayText(_))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::BeforeScenarios => write!(f, "before the first scenario: {}", self.fault),
            Place::In { name, .. } => write!(f, "in `{name}`: {}", self.fault),
            Place::After(name) => write!(f, "after `{name}`: {}", self.fault),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StrayText(text) => write!(f, "text on the record line: {text:?}"),
            Self::CorruptFrame { bytes } => write!(f, "a record frame of {bytes} bytes is corrupt"),
            Self::TornFrame { bytes } => {
                write!(f, "the record stream stops {bytes} bytes into a frame")
            }
            Self::Gap { records: 1 } => f.write_str("a record is missing"),
            Self::Gap { records } => write!(f, "{records} records are missing"),
            Self::StartedOver => f.write_str("the record numbers go back: the target started over"),
            Self::OutOfPlace(what) => f.write_str(what),
            Self::Protocol(version) => write!(
                f,
                "the image speaks protocol {version}, this trapline speaks {}: rebuild both",
                trapline_abi::PROTOCOL
            ),
            Self::Panic(text) => write!(f, "hv-core failed: {text}"),
            Self::NoGoodbye => f.write_str("the record stream ends before hv-core said goodbye"),
        }
    }
}
