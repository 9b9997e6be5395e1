//! What belongs to a vCPU stays its own where several share a core: registers and translations.
#![no_std]
#![no_main]
// UNSAFETY: page tables and registers.
#![expect(unsafe_code, reason = "changes what the vCPU's addresses and registers mean")]

use core::arch::asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::{call, cpu, payload, smp};

payload! {
    about: "Each vCPU looks again and again whether its XMM register, CR2, GS base and a page that is mapped \
        for it alone are still what it put there.";
    number n = 200, "How often each looks.";
    number spin = 2000, "Rounds of a loop between putting and looking.";
    run: run;
}

const KERNEL_GS_BASE: u32 = 0xc000_0102;

#[repr(C, align(4096))]
struct Table(UnsafeCell<[u64; 512]>);

// SAFETY: each vCPU touches its own, but for `WINDOW`, which nobody reaches by its own mapping.
unsafe impl Sync for Table {}

impl Table {
    const fn new() -> Self {
        Self(UnsafeCell::new([0; 512]))
    }

    fn address(&self) -> u64 {
        self.0.get() as u64
    }

    fn put(&self, index: u64, value: u64) {
        // SAFETY: an index is of 9 bits, and the table is the caller's own.
        unsafe { self.0.get().cast::<u64>().add(index as usize & 511).write_volatile(value) };
    }
}

/// Where each vCPU sees a page of its own.
static WINDOW: Table = Table::new();
/// The four levels of a vCPU's page tables, and that page.
static OWN: [[Table; 5]; smp::MAX_VCPUS] = [const { [const { Table::new() }; 5] }; smp::MAX_VCPUS];

static N: AtomicU64 = AtomicU64::new(0);
static SPIN: AtomicU64 = AtomicU64::new(0);
static FINISHED: AtomicU64 = AtomicU64::new(0);
static WRONG: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Page tables like the ones in use, but for the window.
fn own_tables(number: u32) {
    const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
    let own = &OWN[number as usize];
    let mut old: u64;
    // SAFETY: reads CR3.
    unsafe { asm!("mov {}, cr3", out(reg) old, options(nomem, nostack)) };
    let window = WINDOW.address();
    for (level, table) in own[..4].iter().enumerate() {
        let shift = 39 - 9 * level as u32;
        let through = window >> shift & 511;
        let from = (old & ADDRESS) as *const u64;
        for index in 0..512 {
            // SAFETY: a table of the loader's, which maps memory one to one.
            table.put(index, unsafe { from.add(index as usize).read_volatile() });
        }
        // SAFETY: as above.
        let entry = unsafe { from.add(through as usize).read_volatile() };
        table.put(through, own[level + 1].address() | entry & !ADDRESS);
        old = entry;
    }
    // SAFETY: all as before but the window, which nothing else uses.
    unsafe { asm!("mov cr3, {}", in(reg) own[0].address(), options(nostack)) };
}

fn look(number: u32) {
    own_tables(number);
    let mark = 0x1111_1111_0000_0000 * (u64::from(number) + 1);
    OWN[number as usize][4].put(0, mark);
    cpu::write_msr(KERNEL_GS_BASE, mark >> 20);
    call::begin("vcpu");
    for round in 0..N.load(SeqCst) {
        let put = mark + round;
        let (xmm, cr2): (u64, u64);
        // SAFETY: CR2 is the page fault handler's, and there are no page faults.
        unsafe {
            asm!(
                "movq {x}, {put}",
                "mov cr2, {put}",
                "2:",
                "dec {spin}",
                "jnz 2b",
                "movq {xmm}, {x}",
                "mov {cr2}, cr2",
                x = out(xmm_reg) _,
                put = in(reg) put,
                spin = inout(reg) SPIN.load(SeqCst).max(1) => _,
                xmm = lateout(reg) xmm,
                cr2 = lateout(reg) cr2,
                options(nostack),
            );
        }
        // SAFETY: the window is mapped.
        let page = unsafe { (WINDOW.address() as *const u64).read_volatile() };
        let wrong = [xmm != put, cr2 != put, page != mark];
        for (count, wrong) in WRONG.iter().zip(wrong) {
            count.fetch_add(u64::from(wrong), SeqCst);
        }
    }
    call::end();
    WRONG[3].fetch_add(u64::from(cpu::read_msr(KERNEL_GS_BASE) != mark >> 20), SeqCst);
    FINISHED.fetch_add(1, SeqCst);
}

fn run(params: Params) {
    let vcpus = u64::from(smp::vcpus());
    N.store(params.n, SeqCst);
    SPIN.store(params.spin, SeqCst);
    smp::start(look);
    look(0);
    cpu::wait_until(|| FINISHED.load(SeqCst) == vcpus);
    for (what, wrong) in ["XMM", "CR2", "page", "GS base"].iter().zip(&WRONG) {
        call::check(what, 0, wrong.load(SeqCst));
    }
}
