//! The cores: bringing them up once, parking them, lending them vCPUs.
//!
//! The boot core runs the show. It starts the others right after boot, when nothing is measured (an
//! INIT costs a whole time slice under icount), and parks them in HLT. For a scenario with more than
//! one vCPU it places a block for each core, releases them, and takes the blocks back when they have
//! parked again.

// UNSAFETY: another core's entry point, and handing blocks between cores.
#![expect(unsafe_code, reason = "starts cores and lends them their blocks")]

use crate::apic::{HostApic, wait};
use crate::arch::page::{Once, Slot};
use crate::arch::{interrupts, segments};
use crate::clock::Clock;
use crate::outbox::Outbox;
use crate::svm::world::{CorePages, claim};
use crate::svm::{enable, gif};
use crate::vcpu_block::VcpuBlock;
use crate::{clock, scenario};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use hv_core::account::Account;
use x86_64::VirtAddr;
use x86_64::structures::DescriptorTablePointer;

/// Cores that hv-core can use.
pub const MAX_CORES: usize = trapline_abi::plan::MAX_VCPUS as usize;
// `boot/ap.s` has a stack for each.
const _: () = assert!(MAX_CORES == 16);

/// The page of low memory where the others start (`boot/ap.s`).
const AP_PAGE: u64 = 0x8000;

unsafe extern "C" {
    static ap_start: u8;
    static ap_end: u8;
}

/// What each core has, by number.
static PAGES: [Once<CorePages>; MAX_CORES] = [const { Once::new(CorePages::ZERO) }; MAX_CORES];
static ACCOUNTS: [Once<Account>; MAX_CORES] = [const { Once::new(Account::ZERO) }; MAX_CORES];
static OUTBOXES: [Once<Outbox>; MAX_CORES] = [const { Once::new(Outbox::EMPTY) }; MAX_CORES];
static BLOCKS: [Slot<VcpuBlock>; MAX_CORES] = [const { Slot::empty() }; MAX_CORES];

/// Host APIC ids by number; published before a core is counted as up.
static IDS: [AtomicU32; MAX_CORES] = [const { AtomicU32::new(0) }; MAX_CORES];
/// Cores that are up, as a bit mask.
static UP: AtomicU32 = AtomicU32::new(0);
/// How often each core was released; it runs when this is more than it has seen.
static RELEASES: [AtomicU32; MAX_CORES] = [const { AtomicU32::new(0) }; MAX_CORES];
/// Cores that run, as a bit mask.
static RUNNING: AtomicU32 = AtomicU32::new(0);
/// The boot core's IDT.
static IDT_BASE: AtomicU64 = AtomicU64::new(0);

/// Makes a core ready for SVM, and its block.
fn open(number: usize, clock: Clock) {
    let apic = HostApic::open();
    IDS[number].store(apic.id(), SeqCst);
    let (world, save) = claim(PAGES[number].take());
    enable::enable(save);
    gif::close();
    let block =
        scenario::idle_block(world, apic, clock, ACCOUNTS[number].take(), OUTBOXES[number].take());
    // SAFETY: this core's own slot, filled once, before anybody may ask for it.
    unsafe { BLOCKS[number].place(block) };
    UP.fetch_or(1 << number, SeqCst);
}

/// Brings all cores up, the boot core included. SVM is offered. How many there are now.
pub fn bring_up(clock: Clock) -> u32 {
    IDT_BASE.store(interrupts::loaded().base.as_u64(), SeqCst);
    CLOCK.store(u64::from(clock.tsc_khz) << 32 | u64::from(clock.apic_khz), SeqCst);
    open(0, clock);
    // SAFETY: the page is RAM that nothing uses after boot; the code is position-independent.
    unsafe {
        let (start, end) = (&raw const ap_start, &raw const ap_end);
        let length = end as usize - start as usize;
        core::ptr::copy_nonoverlapping(start, AP_PAGE as *mut u8, length);
    }
    let expected = processors();
    if expected > 1 {
        block(0).apic.start_others((AP_PAGE >> 12) as u8);
        // Two seconds are enough for any machine; a core that is later is not used.
        let patience = clock::now() + u64::from(clock.tsc_khz) * 2000;
        while UP.load(SeqCst).count_ones() < expected && clock::now() < patience {
            core::hint::spin_loop();
        }
    }
    UP.load(SeqCst).trailing_ones()
}

/// Both frequencies, for the other cores.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Processors that firmware reports, at most [`MAX_CORES`].
fn processors() -> u32 {
    crate::boot::processors().clamp(1, MAX_CORES as u32)
}

/// Where the other cores arrive, in 64-bit mode on a stack of their own.
#[unsafe(no_mangle)]
extern "C" fn hv_ap_main(number: u64) -> ! {
    let number = number as usize;
    if number >= MAX_CORES {
        loop {
            x86_64::instructions::hlt();
        }
    }
    segments::load_core(number);
    let base = VirtAddr::new(IDT_BASE.load(SeqCst));
    interrupts::load_again(&DescriptorTablePointer { limit: 4095, base });
    let clock = CLOCK.load(SeqCst);
    open(number, Clock { tsc_khz: (clock >> 32) as u32, apic_khz: clock as u32 });
    let mut seen = 0;
    loop {
        gif::open();
        while RELEASES[number].load(SeqCst) == seen {
            wait();
        }
        gif::close();
        seen += 1;
        scenario::run_core(block(number));
        RUNNING.fetch_and(!(1 << number), SeqCst);
    }
}

/// The block of a core: for itself while it runs, for the boot core while it is parked.
pub fn block(number: usize) -> &'static mut VcpuBlock {
    // SAFETY: filled when the core came up. RUNNING and RELEASES pass it to and fro: a parked core
    // does not touch its block, and the boot core leaves those of running cores alone.
    unsafe { BLOCKS[number].get() }
}

/// Lets a parked core run its block.
pub fn release(apic: &HostApic, number: usize) {
    RUNNING.fetch_or(1 << number, SeqCst);
    RELEASES[number].fetch_add(1, SeqCst);
    apic.kick(IDS[number].load(SeqCst));
}

/// Kicks the cores in a bit mask of vCPUs; vCPU and core have the same number.
pub fn kick(apic: &HostApic, mask: u32) {
    for (number, id) in IDS.iter().enumerate() {
        if mask >> number & 1 != 0 {
            apic.kick(id.load(SeqCst));
        }
    }
}

/// Waits until all other cores have parked.
pub fn wait_parked() {
    while RUNNING.load(SeqCst) != 0 {
        core::hint::spin_loop();
    }
}
