//! Event words: EVENTINJ and EXITINTINFO (APM §15.20, §15.7.2).

use bitfield_struct::bitfield;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// External or virtual interrupt.
    Interrupt = 0,
    /// NMI.
    Nmi = 2,
    /// Exception.
    Exception = 3,
    /// INT n.
    Software = 4,
    /// 1, 5, 6 and 7: VMRUN refuses them.
    Reserved = 7,
}

impl EventKind {
    const fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::Interrupt,
            2 => Self::Nmi,
            3 => Self::Exception,
            4 => Self::Software,
            _ => Self::Reserved,
        }
    }

    const fn into_bits(self) -> u8 {
        self as u8
    }
}

/// An event to inject, or one whose delivery an exit cut short.
#[bitfield(u64)]
#[derive(PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Event {
    /// IDT vector.
    pub vector: u8,
    /// Kind.
    #[bits(3)]
    pub kind: EventKind,
    /// An error code is pushed.
    pub error_code_valid: bool,
    #[bits(19)]
    _rsvd_30_12: u32,
    /// The word means something. After a completed injection the rest of EXITINTINFO may be stale
    /// (seen under QEMU): look at nothing else while this is clear.
    pub valid: bool,
    /// Error code.
    pub error_code: u32,
}

impl Event {
    /// An external interrupt.
    #[inline]
    pub const fn interrupt(vector: u8) -> Self {
        Self::new().with_vector(vector).with_kind(EventKind::Interrupt).with_valid(true)
    }

    /// An NMI.
    #[inline]
    pub const fn nmi() -> Self {
        Self::new().with_vector(2).with_kind(EventKind::Nmi).with_valid(true)
    }

    /// An exception without an error code.
    #[inline]
    pub const fn exception(vector: u8) -> Self {
        Self::new().with_vector(vector).with_kind(EventKind::Exception).with_valid(true)
    }

    /// `#UD`.
    pub const UD: Self = Self::exception(6);

    /// `#GP(0)`.
    pub const GP: Self = Self::exception(13).with_error_code_valid(true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_manual_s_bits() {
        assert_eq!(Event::interrupt(0x50).into_bits(), 0x8000_0050);
        assert_eq!(Event::nmi().into_bits(), 0x8000_0202);
        assert_eq!(Event::GP.into_bits(), 0x8000_0b0d);
        assert_eq!(Event::from_bits(0x8000_0450).kind(), EventKind::Software);
        assert!(!Event::from_bits(0x60).valid());
    }
}
