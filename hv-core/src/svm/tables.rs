//! What the processor reads for a guest: its nested page tables and permission maps.

use crate::arch::page::{Page, physical};
use crate::guest_memory::GuestRam;
use core::sync::atomic::{AtomicU64, Ordering};
use trapline_abi::boot::GUEST_MEMORY;
use trapline_defs::permission_map::{IOPM_PAGES, MSRPM_PAGES};
use trapline_policy::msr::PASSED_THROUGH;

const ENTRIES: usize = 512;
const PAGE_TABLES: usize = (GUEST_MEMORY >> 21) as usize;
/// Present, writable, user: nested walks are user accesses.
const LEAF: u64 = 7;

#[repr(C, align(4096))]
struct Table([AtomicU64; ENTRIES]);

impl Table {
    const fn empty() -> Self {
        Self([const { AtomicU64::new(0) }; ENTRIES])
    }

    fn set(&self, index: usize, entry: u64) {
        self.0[index].store(entry, Ordering::SeqCst);
    }
}

/// One VM's tables. A guest reaches its RAM and nothing else: whatever has no entry exits.
pub struct VmTables {
    level_4: Table,
    level_3: Table,
    level_2: Table,
    level_1: [Table; PAGE_TABLES],
    /// All ones: every port exits.
    io_map: [Page; IOPM_PAGES],
    msr_map: MsrMap,
}

#[repr(C, align(4096))]
struct MsrMap([u8; MSRPM_PAGES * 4096]);

/// The one VM's tables.
pub static VM_TABLES: VmTables = VmTables {
    level_4: Table::empty(),
    level_3: Table::empty(),
    level_2: Table::empty(),
    level_1: [const { Table::empty() }; PAGE_TABLES],
    io_map: [const { Page::filled(0xff) }; IOPM_PAGES],
    msr_map: MsrMap::new(),
};

impl VmTables {
    /// Maps all of guest RAM by 4 KiB pages.
    pub fn map_all(&self) {
        self.level_4.set(0, physical(&self.level_3) | LEAF);
        self.level_3.set(0, physical(&self.level_2) | LEAF);
        for (index, table) in self.level_1.iter().enumerate() {
            self.level_2.set(index, physical(table) | LEAF);
        }
        for address in (0..GUEST_MEMORY).step_by(4096) {
            self.map(address);
        }
    }

    /// Maps the page at a guest-physical address in RAM.
    pub fn map(&self, address: u64) {
        self.set_leaf(address, (GuestRam::ADDRESS + (address & !0xfff)) | LEAF);
    }

    /// Takes the page's mapping away. The caller flushes the TLB.
    pub fn unmap(&self, address: u64) {
        self.set_leaf(address, 0);
    }

    fn set_leaf(&self, address: u64, entry: u64) {
        let table = (address >> 21) as usize % PAGE_TABLES;
        self.level_1[table].set((address >> 12) as usize % ENTRIES, entry);
    }

    /// Nested CR3.
    pub fn n_cr3(&self) -> u64 {
        physical(&self.level_4)
    }

    /// Physical address of the I/O permission map.
    pub fn io_map(&self) -> u64 {
        physical(&self.io_map)
    }

    /// Physical address of the MSR permission map.
    pub fn msr_map(&self) -> u64 {
        physical(&self.msr_map)
    }
}

impl MsrMap {
    /// Ones, but for the MSRs that the policy passes through.
    const fn new() -> Self {
        let mut map = Self([0xff; MSRPM_PAGES * 4096]);
        let mut i = 0;
        while i < PASSED_THROUGH.len() {
            let msr = PASSED_THROUGH[i];
            // The second of the three ranges (APM §15.11); the policy has no others.
            assert!(msr >= 0xc000_0000 && msr < 0xc000_2000);
            let bit = (msr - 0xc000_0000) as usize * 2;
            map.0[0x800 + bit / 8] &= !(3 << (bit % 8));
            i += 1;
        }
        map
    }
}
