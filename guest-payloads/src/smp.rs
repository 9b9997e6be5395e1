//! Further vCPUs: started by INIT and SIPI, as any guest must.

// UNSAFETY: code that starts in real mode, and its stacks.
#![expect(unsafe_code, reason = "another vCPU's entry point")]

use crate::{apic, cpu, interrupt};
use core::arch::global_asm;
use core::cell::UnsafeCell;
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};
use trapline_abi::boot::PAGE_TABLES;
use trapline_defs::apic::offset;

/// vCPUs that the runtime has stacks for.
pub const MAX_VCPUS: usize = trapline_abi::plan::MAX_VCPUS as usize;

/// The page where the others start: behind the loader's page tables.
const START_PAGE: u64 = 0x8000;
const STACK: usize = 8192;

/// ICR: everybody but the sender, assert; NMI, INIT and SIPI (APM vol. 2 §16.5).
const OTHERS: u64 = 3 << 18 | 1 << 14;
const NMI: u64 = 4 << 8;
const INIT: u64 = 5 << 8;
const STARTUP: u64 = 6 << 8;

#[repr(C, align(4096))]
struct Stacks(UnsafeCell<[[u8; STACK]; MAX_VCPUS]>);

// SAFETY: each stack is one vCPU's; nobody reads them from here.
unsafe impl Sync for Stacks {}

static STACKS: Stacks = Stacks(UnsafeCell::new([[0; STACK]; MAX_VCPUS]));
static VCPUS: AtomicU32 = AtomicU32::new(1);
static ARRIVED: AtomicU32 = AtomicU32::new(0);
/// APIC ids by stack: stacks are given out in the order of arrival.
static NUMBERS: [AtomicU32; MAX_VCPUS] = [const { AtomicU32::new(0) }; MAX_VCPUS];
static ENTRY: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

// Real mode to 64-bit mode in one go: PAE, LME and the loader's page tables first, then paging and
// protection at once (APM vol. 2 §14.6 allows it); the GDT is its own until the runtime loads one.
global_asm!(
    ".pushsection .rodata.start_page, \"a\"",
    ".code16",
    "trapline_start_page:",
    "cli",
    "cld",
    "movw %cs, %ax",
    "movw %ax, %ds",
    "movl $0x620, %eax",
    "movl %eax, %cr4",
    "movl ${page_tables}, %eax",
    "movl %eax, %cr3",
    "movl $0xc0000080, %ecx",
    "xorl %edx, %edx",
    "movl $0x100, %eax",
    "wrmsr",
    "lgdtl (trapline_start_gdtr - trapline_start_page)",
    "movl $0x80010033, %eax",
    "movl %eax, %cr0",
    "ljmpl $8, $(trapline_start_long - trapline_start_page + {page})",
    ".code64",
    "trapline_start_long:",
    "movl $16, %eax",
    "movl %eax, %ds",
    "movl %eax, %es",
    "movl %eax, %ss",
    "movl $1, %eax",
    "lock xaddl %eax, trapline_start_count(%rip)",
    "incl %eax",
    "imull ${stack}, %eax, %eax",
    "movabsq ${stacks}, %rsp",
    "addq %rax, %rsp",
    "xorl %ebp, %ebp",
    "movabsq ${main}, %rax",
    "call *%rax",
    "ud2",
    ".balign 8",
    "trapline_start_count:",
    ".long 0",
    ".balign 8",
    "trapline_start_gdt:",
    ".quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff",
    "trapline_start_gdtr:",
    ".word 23",
    ".long trapline_start_gdt - trapline_start_page + {page}",
    "trapline_start_end:",
    ".popsection",
    page = const START_PAGE,
    page_tables = const PAGE_TABLES,
    stack = const STACK,
    stacks = sym STACKS,
    main = sym main,
    options(att_syntax),
);

unsafe extern "C" {
    static trapline_start_page: u8;
    static trapline_start_end: u8;
}

/// How many vCPUs the machine has.
pub fn vcpus() -> u32 {
    VCPUS.load(SeqCst)
}

/// The runtime's, before the payload runs.
#[cfg_attr(not(feature = "image"), expect(dead_code, reason = "called by the entry point"))]
pub(crate) fn set_vcpus(vcpus: u32) {
    VCPUS.store(vcpus, SeqCst);
}

/// Starts all other vCPUs at `entry`, which gets the vCPU's number (its APIC id), with the APIC on
/// in the mode of the caller's and interrupts off. Returns when all of them have come that far. A
/// vCPU whose `entry` returns halts for good. Called again, it starts them anew.
pub fn start(entry: fn(u32)) {
    let others = vcpus() - 1;
    assert!(vcpus() as usize <= MAX_VCPUS, "there are no stacks for so many vCPUs");
    let before = ARRIVED.load(SeqCst);
    ENTRY.store(entry as *mut (), SeqCst);
    // SAFETY: the page is RAM that nothing else uses: vCPUs that went through it before have left it.
    unsafe {
        let (first, end) = (&raw const trapline_start_page, &raw const trapline_start_end);
        let length = end as usize - first as usize;
        core::ptr::copy_nonoverlapping(first, START_PAGE as *mut u8, length);
    }
    apic::command(0, OTHERS | INIT);
    apic::command(0, OTHERS | STARTUP | START_PAGE >> 12);
    cpu::wait_until(|| ARRIVED.load(SeqCst) - before >= others);
}

extern "C" fn main() -> ! {
    interrupt::load_tables();
    apic::open_again();
    let number = apic::id();
    if let Some(place) = stack() {
        NUMBERS[place].store(number, SeqCst);
    }
    // SAFETY: only `start` stores there, before any vCPU comes here.
    let entry = unsafe { transmute::<*mut (), fn(u32)>(ENTRY.load(SeqCst)) };
    ARRIVED.fetch_add(1, SeqCst);
    entry(number);
    loop {
        cpu::cli();
        cpu::hlt();
    }
}

/// Which of the stacks this is running on; the first vCPU's is none of them.
fn stack() -> Option<usize> {
    let here = 0u8;
    let place = (&raw const here as usize).checked_sub(&raw const STACKS as usize)? / STACK;
    (place < MAX_VCPUS).then_some(place)
}

/// The number of the vCPU that this runs on, without an exit.
pub fn number() -> u32 {
    stack().map_or(0, |place| NUMBERS[place].load(SeqCst))
}

/// Sends `vector` to one vCPU.
#[inline(always)]
pub fn send(to: u32, vector: u8) {
    apic::command(to, 1 << 14 | u64::from(vector));
}

/// Sends an NMI to one vCPU, which may be the sender: the shorthand for oneself is for fixed interrupts
/// only (APM vol. 2 §16.5).
#[inline(always)]
pub fn send_nmi(to: u32) {
    apic::command(to, NMI | 1 << 14);
}

/// Sends `vector` to everybody else.
#[inline(always)]
pub fn send_to_others(vector: u8) {
    apic::command(0, OTHERS | u64::from(vector));
}

/// Makes the vCPU's logical id one bit, by its number: x2APIC has it so from reset (APM vol. 2 §16.16),
/// xAPIC's flat model lets software choose.
pub fn take_logical_id() {
    if !apic::is_x2apic() {
        apic::write(offset::LDR, 1 << (24 + number()));
    }
}

/// Sends `vector` to the vCPUs of a mask, one bit each, by logical destination: of numbers below 16 in
/// x2APIC mode, which is one cluster, and below 8 in xAPIC mode.
#[inline(always)]
pub fn send_to_mask(mask: u32, vector: u8) {
    apic::command(mask, 1 << 14 | 1 << 11 | u64::from(vector));
}

/// Waits `ticks` of the TSC.
pub fn rest(ticks: u64) {
    let start = cpu::tsc();
    cpu::wait_until(|| cpu::tsc() - start >= ticks);
}
