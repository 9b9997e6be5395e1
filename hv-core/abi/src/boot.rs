//! The boot page: what a payload finds when it starts.
//!
//! A payload is an ELF64 executable that is entered in 64-bit mode with interrupts off, paging on
//! and guest-physical memory identity-mapped (the first page and everything behind
//! [`BootPage::memory`] excepted; the IOAPIC and APIC pages are mapped uncached). RDI holds the
//! address of this page. It brings its own stack, GDT and IDT.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Where the boot page lies in guest-physical memory.
pub const BOOT_PAGE: u64 = 0x1000;

/// Where the loader's page tables lie; the payload may replace them.
pub const PAGE_TABLES: u64 = 0x2000;

/// Where payload ELFs are linked, in guest-physical memory.
pub const PAYLOAD_BASE: u64 = 0x10_0000;

/// Guest memory per VM, in bytes.
pub const GUEST_MEMORY: u64 = 4 << 20;

/// How many parameters a payload can have.
pub const MAX_PARAMS: usize = 24;

/// "TRPLBOOT".
pub const MAGIC: u64 = u64::from_le_bytes(*b"TRPLBOOT");

/// The page's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct BootPage {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`crate::PROTOCOL`].
    pub protocol: u32,
    /// How many vCPUs the machine has.
    pub vcpus: u32,
    /// Guest memory in bytes, from address 0.
    pub memory: u64,
    /// TSC frequency in kHz.
    pub tsc_khz: u64,
    /// Parameters, in the order of the payload's descriptor.
    pub params: [u64; MAX_PARAMS],
}
