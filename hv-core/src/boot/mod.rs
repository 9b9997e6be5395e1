//! How hv-core starts: from two loaders to one set of facts.

// UNSAFETY: the entry assembly, and the addresses that loaders hand over.
#![expect(unsafe_code, reason = "the entry point, and reading what the loader left in memory")]

mod fw_cfg;
mod memory_map;
mod multiboot2;
mod pvh;

use crate::{arch, debug_exit, phase, records, suite};
use core::sync::atomic::{AtomicU32, Ordering};
use hv_core::madt;
use memory_map::{GUEST_AREA, MemoryMap, PLAN_AREA};
use trapline_abi::debug_exit::{NO_PLAN, UNUSABLE};
use trapline_abi::plan::MAX_PLAN;
use trapline_abi::record::{BootPath, Level};

core::arch::global_asm!(
    include_str!("long_mode.s"),
    include_str!("entry.s"),
    include_str!("ap.s"),
    options(att_syntax, raw)
);

pub use memory_map::GUEST_AREA as GUEST_MEMORY_ADDRESS;

/// What a loader has to say.
struct BootFacts {
    path: BootPath,
    memory: MemoryMap,
    /// Physical address of ACPI's RSDP; 0 if unknown.
    rsdp: u64,
    /// Bytes of the plan in the plan area, or why there is none.
    plan: Result<usize, &'static str>,
}

/// Called by `entry.s` on the boot core, once.
#[unsafe(no_mangle)]
extern "C" fn hv_main(path: u64, info: u64) -> ! {
    records::open();
    arch::segments::load_core(0);
    arch::interrupts::load();
    phase::mask_pics();
    let facts = match path {
        1 => pvh::read(info),
        2 => multiboot2::read(info),
        _ => panic!("started by a loader that speaks neither PVH nor Multiboot2"),
    };
    if let Err(missing) = facts.memory.require() {
        records::log(Level::Error, format_args!("not enough memory: {missing}"));
        records::drain();
        debug_exit::end(UNUSABLE);
    }
    let processors = madt::processors(&LowMemory, facts.rsdp).unwrap_or(1);
    PROCESSORS.store(processors, Ordering::Relaxed);
    let plan = match facts.plan {
        // SAFETY: the loader's code copied that many bytes there, and nothing writes there again.
        Ok(length) => unsafe { core::slice::from_raw_parts(PLAN_AREA as *const u8, length) },
        Err(why) => {
            records::log(Level::Error, format_args!("no plan: {why}"));
            records::drain();
            debug_exit::end(NO_PLAN);
        }
    };
    suite::run(facts.path, plan)
}

static PROCESSORS: AtomicU32 = AtomicU32::new(1);

/// Processors that firmware reports.
pub fn processors() -> u32 {
    PROCESSORS.load(Ordering::Relaxed)
}

/// Memory below 4 GiB, which is identity-mapped: where firmware's tables lie.
struct LowMemory;

impl madt::Memory for LowMemory {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        let end = address.checked_add(length as u64)?;
        if address == 0 || end > 1 << 32 {
            return None;
        }
        // SAFETY: mapped, and firmware's tables do not change any more. What is not memory reads as
        // ones and is no table.
        Some(unsafe { core::slice::from_raw_parts(address as *const u8, length) })
    }
}

/// The plan area's bytes, for the loaders to fill.
fn plan_area() -> &'static mut [u8] {
    const { assert!(PLAN_AREA + MAX_PLAN as u64 <= GUEST_AREA) }
    // SAFETY: the area is RAM (`MemoryMap::require` checks before it is read), belongs to nothing
    // else, and is filled once, before `hv_main` reads it.
    unsafe { core::slice::from_raw_parts_mut(PLAN_AREA as *mut u8, MAX_PLAN) }
}
