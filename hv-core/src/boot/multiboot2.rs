//! Multiboot2: GRUB, on bare metal or in QEMU. The plan is a boot module.
//!
//! The multiboot2 crate changes often; this is the only file that knows it.

// UNSAFETY: following the loader's pointers.
#![expect(unsafe_code, reason = "reads the boot information and the module")]

use crate::boot::memory_map::MemoryMap;
use crate::boot::{BootFacts, plan_area};
use multiboot2::{BootInformation, BootInformationHeader, MemoryAreaType};
use trapline_abi::plan::FILE_NAME;
use trapline_abi::record::BootPath;

/// Reads the boot information at `address`.
pub fn read(address: u64) -> BootFacts {
    // SAFETY: the Multiboot2 entry gets the address of the boot information in EBX.
    let info = unsafe { BootInformation::load(address as *const BootInformationHeader) }
        .unwrap_or_else(|why| panic!("bad Multiboot2 boot information: {why:?}"));
    let areas = info.memory_map_tag().map_or(&[][..], |tag| tag.memory_areas());
    let memory = MemoryMap::new(
        areas
            .iter()
            .filter(|area| area.typ() == MemoryAreaType::Available)
            .map(|area| area.start_address()..area.end_address()),
    );
    // The tag holds a copy of the RSDP, wherever the original is.
    let rsdp = info
        .rsdp_v2_tag()
        .map(|tag| core::ptr::from_ref(tag).cast::<u8>() as u64 + 8)
        .or_else(|| info.rsdp_v1_tag().map(|tag| core::ptr::from_ref(tag).cast::<u8>() as u64 + 8));
    BootFacts { path: BootPath::Multiboot2, memory, rsdp: rsdp.unwrap_or(0), plan: plan(&info) }
}

/// Copies the module to the plan area; GRUB may have put it anywhere.
fn plan(info: &BootInformation<'_>) -> Result<usize, &'static str> {
    let module = info
        .module_tags()
        .find(|module| {
            module.cmdline().is_ok_and(|line| line.split_whitespace().next() == Some(FILE_NAME))
        })
        .ok_or("no boot module; add `module2 /boot/plan opt/trapline/plan` to the GRUB entry")?;
    let (start, end) = (module.start_address() as usize, module.end_address() as usize);
    let length = end.checked_sub(start).ok_or("the boot module's bounds are reversed")?;
    let area = plan_area();
    if length > area.len() {
        return Err("the boot module is larger than a plan can be");
    }
    // SAFETY: the loader put `length` bytes there. The areas may overlap, which `copy` allows.
    unsafe { core::ptr::copy(start as *const u8, area.as_mut_ptr(), length) };
    Ok(length)
}
