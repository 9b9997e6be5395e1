//! The cores: bringing them up once, parking them, lending them vCPUs.
//!
//! The boot core runs the show. It starts the others right after boot, when nothing is measured (an
//! INIT costs a whole time slice under icount), and parks them in HLT. For a scenario on more than one
//! core it assigns vCPUs to each, releases them, and takes the vCPUs back when they have parked again.

// UNSAFETY: another core's entry point, and handing blocks between cores.
#![expect(unsafe_code, reason = "starts cores and lends them their blocks")]

use crate::apic::{HostApic, wait};
use crate::arch::page::{Once, Slot, physical};
use crate::arch::{interrupts, segments};
use crate::clock::Clock;
use crate::core_block::{CoreBlock, Home};
use crate::svm::world::CorePages;
use crate::svm::{enable, gif};
use crate::{clock, scenario, vcpus};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use trapline_policy::schedule;
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
static BLOCKS: [Slot<CoreBlock>; MAX_CORES] = [const { Slot::empty() }; MAX_CORES];

/// Host APIC ids by number; published before a core is counted as up.
static IDS: [AtomicU32; MAX_CORES] = [const { AtomicU32::new(0) }; MAX_CORES];
/// The scenario's vCPUs on each core, as bit masks.
static VCPUS: [AtomicU32; MAX_CORES] = [const { AtomicU32::new(0) }; MAX_CORES];
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
    let apic_id = apic.id();
    IDS[number].store(apic_id, SeqCst);
    let pages = PAGES[number].take();
    let host = physical(&pages.host);
    enable::enable(&mut pages.save);
    gif::close();
    // SAFETY: this core's own slot, filled once, before anybody may ask for it.
    unsafe { BLOCKS[number].place(CoreBlock::new(apic, apic_id, clock, host)) };
    UP.fetch_or(1 << number, SeqCst);
}

/// Brings all cores up, the boot core included. SVM is offered. How many there are now.
pub fn bring_up(clock: Clock) -> u32 {
    IDT_BASE.store(interrupts::loaded().base.as_u64(), SeqCst);
    CLOCK.store(u64::from(clock.tsc_khz) << 32 | u64::from(clock.apic_khz), SeqCst);
    open(0, clock);
    vcpus::open(Home::new(core(0)));
    // SAFETY: the page is RAM that nothing uses after boot; the code is position-independent.
    unsafe {
        let (start, end) = (&raw const ap_start, &raw const ap_end);
        let length = end as usize - start as usize;
        core::ptr::copy_nonoverlapping(start, AP_PAGE as *mut u8, length);
    }
    let expected = processors();
    if expected > 1 {
        core(0).apic.start_others((AP_PAGE >> 12) as u8);
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
        scenario::run_core(core(number));
        RUNNING.fetch_and(!(1 << number), SeqCst);
    }
}

/// A core: for itself while it runs, for the boot core while it is parked.
pub fn core(number: usize) -> &'static CoreBlock {
    // SAFETY: filled when the core came up, and never again. RUNNING and RELEASES pass it and the blocks
    // of its vCPUs to and fro: a parked core touches neither, and the boot core leaves those of running
    // cores alone.
    unsafe { BLOCKS[number].share() }
}

/// Shares a scenario's vCPUs out to that many cores, all of them parked.
pub fn assign(cores: u32, vcpus: u32) {
    for (number, mask) in VCPUS.iter().enumerate() {
        let number = number as u32;
        let own = if number < cores { schedule::vcpus_of(number, cores, vcpus) } else { 0 };
        mask.store(own, SeqCst);
        if own != 0 {
            core(number as usize).assign(own);
        }
    }
}

/// Lets a parked core run its block.
pub fn release(apic: &HostApic, number: usize) {
    RUNNING.fetch_or(1 << number, SeqCst);
    RELEASES[number].fetch_add(1, SeqCst);
    apic.kick(IDS[number].load(SeqCst));
}

/// Kicks the cores of the vCPUs in a bit mask, each once.
pub fn kick(apic: &HostApic, mask: u32) {
    for (vcpus, id) in VCPUS.iter().zip(&IDS) {
        if mask & vcpus.load(SeqCst) != 0 {
            apic.kick(id.load(SeqCst));
        }
    }
}

/// Rings the cores of the vCPUs in a bit mask: AVIC's doorbell, as far as it is modeled.
pub fn ring(apic: &HostApic, mask: u32) {
    for (vcpus, id) in VCPUS.iter().zip(&IDS) {
        if mask & vcpus.load(SeqCst) != 0 {
            apic.ring(id.load(SeqCst));
        }
    }
}

/// Whether a core of ours has this APIC id.
pub fn is_host(id: u16) -> bool {
    let up = UP.load(SeqCst);
    let has = |number: &usize| up >> number & 1 != 0;
    (0..MAX_CORES).filter(has).any(|number| IDS[number].load(SeqCst) == u32::from(id))
}

/// Waits until all other cores have parked.
pub fn wait_parked() {
    while RUNNING.load(SeqCst) != 0 {
        core::hint::spin_loop();
    }
}
