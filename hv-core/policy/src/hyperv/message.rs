//! Messages: what a sender leaves in a vCPU's message page.
//!
//! The page has a slot of 256 bytes for each SINT, with one message or none (TLFS 6.0b, SynIC).

/// Bytes of a slot.
pub const SLOT_SIZE: usize = 256;
/// The most bytes a message carries.
pub const MAX_PAYLOAD: usize = 240;

const TYPE: core::ops::Range<usize> = 0..4;
const PAYLOAD_SIZE: usize = 4;
const FLAGS: usize = 5;
const RESERVED: core::ops::Range<usize> = 6..8;
const ORIGIN: core::ops::Range<usize> = 8..16;
const PAYLOAD: usize = 16;

/// Flag: another message waits for the slot.
const PENDING: u8 = 1;

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    kind: u32,
    origin: u64,
    payload: &'a [u8],
}

/// Whether a slot took a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It did.
    Stored,
    /// It still holds another one, which now says that more are waiting.
    Busy,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// There is no message page. The sender keeps the message (HV-064).
    NoPage,
    /// The slot is full. The sender keeps the message until the next EOM (HV-057).
    Busy,
    /// Stored in the slot of a masked SINT, without an interrupt (HV-053).
    Masked,
    /// Stored; the vCPU's own APIC takes a fixed, edge-triggered interrupt (HV-055).
    Interrupt {
        /// Its vector.
        vector: u8,
    },
}

/// Whether a slot holds a message.
pub fn is_full(slot: &[u8; SLOT_SIZE]) -> bool {
    slot[TYPE] != [0; 4]
}

impl<'a> Message<'a> {
    /// A message of that type, which is not 0, with at most [`MAX_PAYLOAD`] bytes.
    pub const fn new(kind: u32, origin: u64, payload: &'a [u8]) -> Option<Self> {
        if kind == 0 || payload.len() > MAX_PAYLOAD {
            return None;
        }
        Some(Self { kind, origin, payload })
    }

    /// Bytes of its payload.
    pub const fn size(&self) -> usize {
        self.payload.len()
    }

    /// Puts the message into a slot, unless that is full (HV-056, HV-057).
    pub fn post(&self, slot: &mut [u8; SLOT_SIZE]) -> Posted {
        if is_full(slot) {
            slot[FLAGS] |= PENDING;
            return Posted::Busy;
        }
        slot[PAYLOAD..PAYLOAD + self.payload.len()].copy_from_slice(self.payload);
        slot[PAYLOAD_SIZE] = self.payload.len() as u8;
        slot[FLAGS] = 0;
        slot[RESERVED].fill(0);
        slot[ORIGIN].copy_from_slice(&self.origin.to_le_bytes());
        // The type is what the guest polls.
        slot[TYPE].copy_from_slice(&self.kind.to_le_bytes());
        Posted::Stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hv_056_the_layout_of_a_slot() {
        let mut slot = [0; SLOT_SIZE];
        slot[6] = 9;
        let message = Message::new(0x8000_0010, 0x1122_3344_5566_7788, &[1, 2, 3]).unwrap();
        assert_eq!(message.post(&mut slot), Posted::Stored);
        let header = [0x10, 0, 0, 0x80, 3, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11];
        assert_eq!(slot[..16], header);
        assert_eq!(slot[16..20], [1, 2, 3, 0]);
    }

    #[test]
    fn hv_057_a_full_slot_keeps_its_message_and_says_that_more_wait() {
        let mut slot = [0; SLOT_SIZE];
        Message::new(1, 7, &[0xaa; MAX_PAYLOAD]).unwrap().post(&mut slot);
        let mut before = slot;
        let second = Message::new(2, 8, &[0xbb; 16]).unwrap();
        assert_eq!(second.post(&mut slot), Posted::Busy);
        before[5] = 1;
        assert_eq!(slot, before);
        slot[..4].fill(0);
        assert_eq!(second.post(&mut slot), Posted::Stored);
        assert_eq!((slot[0], slot[5], slot[16]), (2, 0, 0xbb));
    }

    #[test]
    fn a_message_without_type_or_too_long_does_not_exist() {
        assert_eq!(Message::new(0, 1, &[]), None);
        assert_eq!(Message::new(1, 1, &[0; MAX_PAYLOAD + 1]), None);
    }
}
