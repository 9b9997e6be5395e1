//! What the processor reads for a guest: its nested page tables and permission maps.

use crate::arch::page::{Page, physical};
use crate::guest_memory::GuestRam;
use core::sync::atomic::{AtomicU64, Ordering};
use trapline_abi::boot::GUEST_MEMORY;
use trapline_defs::msr::{X2APIC_FIRST, X2APIC_LAST};
use trapline_defs::permission_map::{IOPM_PAGES, MSRPM_PAGES};
use trapline_policy::msr::{PASSED_THROUGH, x2avic_passes};
use trapline_policy::vm::Permissions;

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
    /// The same with what x2AVIC answers.
    x2avic_map: MsrMap,
    /// What the APIC page's leaf points at; AVIC puts the backing page in its place.
    apic_scratch: Page,
    apic_directory: Table,
    apic_leaves: Table,
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
    msr_map: MsrMap::new(false),
    x2avic_map: MsrMap::new(true),
    apic_scratch: Page::filled(0),
    apic_directory: Table::empty(),
    apic_leaves: Table::empty(),
};

impl VmTables {
    /// Maps all of guest RAM by 4 KiB pages.
    pub fn map_all(&self) {
        self.level_4.set(0, physical(&self.level_3) | LEAF);
        self.level_3.set(0, physical(&self.level_2) | LEAF);
        self.unmap_apic();
        for (index, table) in self.level_1.iter().enumerate() {
            self.level_2.set(index, physical(table) | LEAF);
        }
        for address in (0..GUEST_MEMORY).step_by(4096) {
            self.map(address);
        }
    }

    /// Puts a leaf at the APIC page, FEE0_0000h, for AVIC to take the place of.
    pub fn map_apic(&self) {
        self.apic_leaves.set(0, physical(&self.apic_scratch) | LEAF);
        self.apic_directory.set(0x1f7, physical(&self.apic_leaves) | LEAF);
        self.level_3.set(3, physical(&self.apic_directory) | LEAF);
    }

    /// Takes it away. The caller flushes the TLB.
    pub fn unmap_apic(&self) {
        self.level_3.set(3, 0);
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

    /// Physical addresses of the MSR permission maps.
    pub fn permissions(&self) -> Permissions {
        Permissions { plain: physical(&self.msr_map), x2avic: physical(&self.x2avic_map) }
    }
}

impl MsrMap {
    /// Ones, but for the MSRs that the policy passes through.
    const fn new(x2avic: bool) -> Self {
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
        let mut msr = X2APIC_FIRST;
        while x2avic && msr <= X2APIC_LAST {
            if x2avic_passes(msr) {
                map.0[msr as usize / 4] &= !(3 << (msr % 4 * 2));
            }
            msr += 1;
        }
        map
    }
}
