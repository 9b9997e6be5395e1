//! What AVIC's processors read: backing pages and both tables (APM vol. 2 §15.29.5).
//!
//! They are ordinary memory that many cores write at once, so every word is atomic. hv-core maps
//! memory one to one: the address of a page is its physical address.

use crate::lapic::Vectors;
use crate::vm::MAX_VCPUS;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::SeqCst};
use trapline_defs::apic::offset;
use trapline_defs::avic::{LogicalEntry, PhysicalEntry};

/// A backing page: an APIC's registers in xAPIC layout.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct BackingPage([AtomicU32; 1024]);

/// The physical table: one page of entries by APIC id.
#[derive(Debug)]
#[repr(C, align(4096))]
struct PhysicalTable([AtomicU64; 512]);

/// The logical table: one page, of which 60 entries are used.
#[derive(Debug)]
#[repr(C, align(4096))]
struct LogicalTable([AtomicU32; 1024]);

/// A leaf is there.
pub const LEAF_PRESENT: u8 = 1;
/// It can be written.
pub const LEAF_WRITABLE: u8 = 2;

/// A VM's tables.
#[derive(Debug)]
pub struct Tables {
    physical: PhysicalTable,
    logical: LogicalTable,
    pages: [BackingPage; MAX_VCPUS],
    active: [AtomicBool; MAX_VCPUS],
    permitted: AtomicBool,
    /// How often that changed, and up to which change each vCPU has acted on it.
    changes: AtomicU32,
    acted: [AtomicU32; MAX_VCPUS],
    leaf: AtomicU8,
}

/// The physical address of something in hv-core's one-to-one map.
fn address<T>(thing: &T) -> u64 {
    core::ptr::from_ref(thing) as u64
}

impl BackingPage {
    const fn empty() -> Self {
        Self([const { AtomicU32::new(0) }; 1024])
    }

    /// A register.
    #[inline]
    pub fn load(&self, register: u16) -> u32 {
        self.0[usize::from(register >> 2) % 1024].load(SeqCst)
    }

    /// Sets a register.
    #[inline]
    pub fn store(&self, register: u16, value: u32) {
        self.0[usize::from(register >> 2) % 1024].store(value, SeqCst);
    }

    fn word(&self, bank: u16, vector: u8) -> &AtomicU32 {
        &self.0[usize::from(bank >> 2) + usize::from(vector >> 5) * 4]
    }

    /// Sets a vector of a bank (ISR, TMR, IRR).
    pub fn set(&self, bank: u16, vector: u8) {
        self.word(bank, vector).fetch_or(1 << (vector & 31), SeqCst);
    }

    /// Clears a vector of a bank; whether it was set.
    pub fn clear(&self, bank: u16, vector: u8) -> bool {
        let bit = 1 << (vector & 31);
        self.word(bank, vector).fetch_and(!bit, SeqCst) & bit != 0
    }

    /// A whole bank.
    pub fn vectors(&self, bank: u16) -> Vectors {
        Vectors(core::array::from_fn(|n| self.0[usize::from(bank >> 2) + n * 4].load(SeqCst)))
    }

    /// Takes a bank out, leaving it empty.
    pub fn take(&self, bank: u16) -> Vectors {
        Vectors(core::array::from_fn(|n| self.0[usize::from(bank >> 2) + n * 4].swap(0, SeqCst)))
    }

    /// The vector that could be taken if IF and shadow permit: what a hypervisor has to ask before
    /// it blocks a vCPU (AVH-012, AVH-025). The TPR of the page is in step with V_TPR at that time.
    pub fn deliverable(&self) -> Option<u8> {
        let tpr = self.load(offset::TPR) as u8 & 0xf0;
        let service = self.vectors(offset::ISR).highest().unwrap_or(0) & 0xf0;
        let floor = if tpr > service { tpr } else { service };
        self.vectors(offset::IRR).highest().filter(|&vector| vector & 0xf0 > floor)
    }
}

impl Default for Tables {
    fn default() -> Self {
        Self::new()
    }
}

impl Tables {
    /// Tables of a VM that has no vCPU yet.
    pub const fn new() -> Self {
        Self {
            physical: PhysicalTable([const { AtomicU64::new(0) }; 512]),
            logical: LogicalTable([const { AtomicU32::new(0) }; 1024]),
            pages: [const { BackingPage::empty() }; MAX_VCPUS],
            active: [const { AtomicBool::new(false) }; MAX_VCPUS],
            permitted: AtomicBool::new(false),
            changes: AtomicU32::new(0),
            acted: [const { AtomicU32::new(0) }; MAX_VCPUS],
            leaf: AtomicU8::new(0),
        }
    }

    /// Makes them ready for a new VM of so many vCPUs: each has a valid entry before any of them
    /// runs, or a broadcast would silently miss it (AVH-015).
    pub fn reset(&self, vcpus: u32) {
        for word in &self.physical.0 {
            word.store(0, SeqCst);
        }
        for word in &self.logical.0 {
            word.store(0, SeqCst);
        }
        for word in self.pages.iter().flat_map(|page| &page.0) {
            word.store(0, SeqCst);
        }
        for flag in self.active.iter().chain([&self.permitted]) {
            flag.store(false, SeqCst);
        }
        for count in self.acted.iter().chain([&self.changes]) {
            count.store(0, SeqCst);
        }
        self.leaf.store(0, SeqCst);
        for vcpu in 0..vcpus {
            self.set_entry(vcpu, PhysicalEntry::parked(address(self.page(vcpu))));
        }
    }

    /// A vCPU's backing page.
    #[inline]
    pub fn page(&self, vcpu: u32) -> &BackingPage {
        &self.pages[vcpu as usize % MAX_VCPUS]
    }

    /// VMCB 0E0h of a vCPU.
    pub fn backing_page(&self, vcpu: u32) -> u64 {
        address(self.page(vcpu))
    }

    /// VMCB 0F0h.
    pub fn logical_table(&self) -> u64 {
        address(&self.logical)
    }

    /// VMCB 0F8h without the last index.
    pub fn physical_table(&self) -> u64 {
        address(&self.physical)
    }

    /// The entry of a vCPU.
    pub fn entry(&self, vcpu: u32) -> PhysicalEntry {
        PhysicalEntry::from_bits(self.physical.0[vcpu as usize % 512].load(SeqCst))
    }

    /// Sets a vCPU's entry, all of it in one store (AVH-013).
    pub fn set_entry(&self, vcpu: u32, entry: PhysicalEntry) {
        self.physical.0[vcpu as usize % 512].store(entry.into_bits(), SeqCst);
    }

    /// An entry of the logical table.
    pub fn logical_entry(&self, index: u16) -> LogicalEntry {
        LogicalEntry::from_bits(self.logical.0[usize::from(index) % 1024].load(SeqCst))
    }

    /// Sets an entry of the logical table.
    pub fn set_logical_entry(&self, index: u16, entry: LogicalEntry) {
        self.logical.0[usize::from(index) % 1024].store(entry.into_bits(), SeqCst);
    }

    /// Whether AVIC is on for a vCPU.
    #[inline]
    pub fn is_active(&self, vcpu: u32) -> bool {
        self.active[vcpu as usize % MAX_VCPUS].load(SeqCst)
    }

    pub(super) fn set_active(&self, vcpu: u32, active: bool) {
        self.active[vcpu as usize % MAX_VCPUS].store(active, SeqCst);
    }

    /// Whether no inhibit reason stands.
    pub fn permitted(&self) -> bool {
        self.permitted.load(SeqCst)
    }

    pub(super) fn set_permitted(&self, permitted: bool) {
        self.permitted.store(permitted, SeqCst);
        self.changes.fetch_add(1, SeqCst);
    }

    /// Whether a vCPU has acted on the last change of that.
    pub(super) fn has_acted(&self, vcpu: u32) -> bool {
        self.acted[vcpu as usize % MAX_VCPUS].load(SeqCst) == self.changes.load(SeqCst)
    }

    /// A vCPU is about to act on the last change. One that comes later will be announced to it.
    pub(super) fn acts(&self, vcpu: u32) {
        self.acted[vcpu as usize % MAX_VCPUS].store(self.changes.load(SeqCst), SeqCst);
    }

    /// The nested page tables' leaf at the APIC page: 0 none, otherwise [`LEAF_PRESENT`], with
    /// [`LEAF_WRITABLE`] or without.
    #[inline]
    pub fn leaf(&self) -> u8 {
        self.leaf.load(SeqCst)
    }

    /// The nested page tables get such a leaf at the APIC page.
    pub fn set_leaf(&self, leaf: u8) {
        self.leaf.store(leaf, SeqCst);
    }

    /// Whether an address is that of a backing page or a table.
    pub fn contains(&self, at: u64) -> bool {
        at & 0xfff == 0 && (address(self)..address(self) + size_of::<Self>() as u64).contains(&at)
    }
}
