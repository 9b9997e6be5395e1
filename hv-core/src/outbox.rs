//! What a core has to say during a scenario, until the scenario is over.
//!
//! Records get their place in the stream only then: numbering them at once would make what a record
//! costs depend on what was said before the scenario, and on the other cores.

use crate::records;
use trapline_abi::record::Record;

const SIZE: usize = 128 << 10;
/// A length in front of each record.
const PREFIX: usize = 2;

/// Encoded records, one after the other.
pub struct Outbox {
    used: usize,
    lost: bool,
    bytes: [u8; SIZE],
}

impl Outbox {
    /// Nothing said yet.
    pub const EMPTY: Self = Self { used: 0, lost: false, bytes: [0; SIZE] };

    /// Keeps a record.
    pub fn put(&mut self, record: &Record<'_>) {
        let free = &mut self.bytes[self.used..];
        let Some((prefix, room)) = free.split_first_chunk_mut::<PREFIX>() else {
            self.lost = true;
            return;
        };
        match trapline_abi::frame::encode_bare(record, room) {
            Some(length) => {
                *prefix = (length as u16).to_le_bytes();
                self.used += PREFIX + length;
            }
            None => self.lost = true,
        }
    }

    /// Hands everything to the stream, in order; whether nothing had to be left out.
    pub fn deliver(&mut self) -> bool {
        let mut rest = &self.bytes[..self.used];
        while let Some((prefix, after)) = rest.split_first_chunk::<PREFIX>() {
            let (bytes, after) = after.split_at(u16::from_le_bytes(*prefix).into());
            if let Some(record) = trapline_abi::frame::decode_bare(bytes) {
                records::put(&record);
            }
            rest = after;
        }
        self.used = 0;
        !core::mem::take(&mut self.lost)
    }
}
