//! AVIC: table entries, limits and exit information (APM §15.29).

use bitfield_struct::bitfield;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bits 51:12, where a VMCB word or a table entry holds a physical address.
pub const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// Bits 11:0 of VMCB 0F8h: the last valid index of the physical table, inclusive.
pub const MAX_INDEX: u64 = 0xfff;
/// The last usable guest APIC id in xAPIC mode; 255 is the broadcast.
pub const XAVIC_LAST_ID: u16 = 254;
/// The largest index that VMRUN accepts in xAPIC mode.
pub const XAVIC_LAST_INDEX: u16 = 255;
/// The largest index in x2APIC mode.
pub const X2AVIC_LAST_INDEX: u16 = 511;
/// The largest index in x2APIC mode with x2AVIC_EXT.
pub const X2AVIC_EXT_LAST_INDEX: u16 = 4095;
/// Fn8000_000A ECX bit 6, x2AVIC_EXT: tables of up to eight pages.
pub const X2AVIC_EXT_BIT: u32 = 1 << 6;
/// The part of a doorbell write (MSR C001_011Bh) that names a host APIC.
pub const DOORBELL_ID: u64 = 0xfff;

/// An entry of the physical APIC id table (Table 15-23). Its index is the guest's APIC id.
#[bitfield(u64)]
#[derive(PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct PhysicalEntry {
    /// The host's APIC id of the core that runs the vCPU; means something while `is_running`.
    #[bits(12)]
    pub host_id: u16,
    /// Page number of the backing page.
    #[bits(40)]
    pub frame: u64,
    #[bits(10)]
    _rsvd_61_52: u16,
    /// A core is assigned to the vCPU. It need not be in guest mode.
    pub is_running: bool,
    /// The entry counts.
    pub valid: bool,
}

impl PhysicalEntry {
    /// Bytes of an entry.
    pub const SIZE: u64 = 8;

    /// Physical address of the backing page.
    #[inline]
    pub const fn page(self) -> u64 {
        self.into_bits() & ADDRESS
    }

    /// A valid entry of a vCPU that no core runs.
    #[inline]
    pub const fn parked(page: u64) -> Self {
        Self::from_bits(page & ADDRESS).with_valid(true)
    }

    /// A valid entry of a vCPU that core `host_id` runs.
    #[inline]
    pub const fn running(page: u64, host_id: u16) -> Self {
        Self::parked(page).with_host_id(host_id & 0xfff).with_is_running(true)
    }
}

/// An entry of the logical APIC id table (Table 15-24). xAPIC mode only.
#[bitfield(u32)]
#[derive(PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct LogicalEntry {
    /// The guest's physical APIC id.
    pub guest_id: u8,
    #[bits(23)]
    _rsvd_30_8: u32,
    /// The entry counts.
    pub valid: bool,
}

impl LogicalEntry {
    /// Bytes of an entry.
    pub const SIZE: u64 = 4;
    /// Entries in use of the cluster model: 15 clusters of four.
    pub const CLUSTERED: u16 = 60;
}

/// Why an IPI was incomplete (Table 15-27). Silicon may report ids that are not named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct FailureId(pub u32);

impl FailureId {
    /// Not a fixed, edge-triggered interrupt. Nothing was posted.
    pub const INVALID_TYPE: Self = Self(0);
    /// At least one target runs on no core. Everything was posted.
    pub const NOT_RUNNING: Self = Self(1);
    /// At least one target does not exist. Nothing was posted.
    pub const INVALID_TARGET: Self = Self(2);
    /// The backing page of a target lies outside physical memory. Nothing was posted.
    pub const INVALID_BACKING_PAGE: Self = Self(3);
    /// The vector is below 16. Nothing was posted.
    pub const INVALID_VECTOR: Self = Self(4);
    /// Not accelerated (Secure AVIC).
    pub const NOT_ACCELERATED: Self = Self(5);
}

/// EXITINFO2 of exit 401h (Table 15-26). EXITINFO1 is the ICR as written.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct IncompleteIpi {
    /// Table index of a target, for the failure ids 1 to 3.
    #[bits(12)]
    pub index: u16,
    #[bits(20)]
    _rsvd_31_12: u32,
    id_bits: u32,
}

impl IncompleteIpi {
    /// Why.
    #[inline]
    pub const fn id(self) -> FailureId {
        FailureId(self.id_bits())
    }

    /// The word of failure `id` at table `index`.
    #[inline]
    pub const fn because(id: FailureId, index: u16) -> Self {
        Self::new().with_id_bits(id.0).with_index(index & 0xfff)
    }
}

/// EXITINFO1 of exit 402h (Table 15-28). EXITINFO2 7:0 is the vector if an EOI was written.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct NoAccel {
    #[bits(4)]
    _rsvd_3_0: u8,
    /// Bits 11:4 of the register's offset.
    pub slot: u8,
    #[bits(20)]
    _rsvd_31_12: u32,
    /// A write.
    pub write: bool,
    #[bits(31)]
    _rsvd_63_33: u32,
}

impl NoAccel {
    /// The word of an access at `offset`.
    #[inline]
    pub const fn at(offset: u16, write: bool) -> Self {
        Self::new().with_slot((offset >> 4) as u8).with_write(write)
    }

    /// The register's offset.
    #[inline]
    pub const fn offset(self) -> u16 {
        (self.slot() as u16) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_manual_s_bits() {
        assert_eq!(PhysicalEntry::parked(0x5000).into_bits(), 1 << 63 | 0x5000);
        assert_eq!(PhysicalEntry::running(0x5000, 0x1ff).into_bits(), 3 << 62 | 0x51ff);
        assert_eq!(PhysicalEntry::from_bits(!0).page(), ADDRESS);
        assert_eq!(PhysicalEntry::from_bits(ADDRESS).frame(), 0xff_ffff_ffff);
        assert_eq!(LogicalEntry::new().with_guest_id(7).with_valid(true).into_bits(), 0x8000_0007);
    }

    #[test]
    fn exit_information_has_the_manual_s_bits() {
        let word = IncompleteIpi::because(FailureId::INVALID_TARGET, 0x1fff);
        assert_eq!(word.into_bits(), 0x0000_0002_0000_0fff);
        assert_eq!((word.id(), word.index()), (FailureId::INVALID_TARGET, 0xfff));
        assert_eq!(NoAccel::at(0x0b0, true).into_bits(), 0x0000_0001_0000_00b0);
        assert_eq!(NoAccel::at(0xff0, false).offset(), 0xff0);
    }
}
