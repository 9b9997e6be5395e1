//! Segment registers as the VMCB holds them (APM Table B-2).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A segment register; GDTR and IDTR use limit and base only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Segment {
    /// Selector.
    pub selector: u16,
    /// Attributes: descriptor bits 55:52 and 47:40.
    pub attributes: u16,
    /// Limit in bytes, expanded.
    pub limit: u32,
    /// Base, linear.
    pub base: u64,
}

const _: () = assert!(size_of::<Segment>() == 16);

impl Segment {
    /// A flat 64-bit code segment of ring 0.
    pub const CODE64: Self = Self { selector: 0x08, attributes: 0x0a9b, limit: u32::MAX, base: 0 };
    /// A flat data segment of ring 0.
    pub const DATA: Self = Self { selector: 0x10, attributes: 0x0c93, limit: u32::MAX, base: 0 };
    /// A busy 64-bit TSS that holds nothing.
    pub const TSS: Self = Self { selector: 0, attributes: 0x008b, limit: 0x67, base: 0 };
    /// A present, empty LDT.
    pub const LDT: Self = Self { selector: 0, attributes: 0x0082, limit: 0, base: 0 };
    /// Whether code of this segment is 64-bit code (descriptor bit 53), in long mode.
    pub const fn is_long(&self) -> bool {
        self.attributes & 1 << 9 != 0
    }

    /// A descriptor table register.
    pub const fn table(base: u64, limit: u16) -> Self {
        Self { selector: 0, attributes: 0, limit: limit as u32, base }
    }
}
