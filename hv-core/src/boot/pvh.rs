//! PVH: `qemu -kernel`, under qboot or SeaBIOS. The plan comes through fw_cfg, because the module
//! list that qboot leaves is garbage.

// UNSAFETY: following the loader's pointers.
#![expect(unsafe_code, reason = "reads hvm_start_info")]

use crate::boot::fw_cfg::FwCfg;
use crate::boot::memory_map::MemoryMap;
use crate::boot::{BootFacts, plan_area};
use trapline_abi::plan::FILE_NAME;
use trapline_abi::record::BootPath;

const MAGIC: u32 = 0x336e_c578;
const RAM: u32 = 1;

/// `struct hvm_start_info` (Xen public headers), version 1.
#[derive(Clone, Copy)]
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
    memory_map: u64,
    memory_map_entries: u32,
    _reserved: u32,
}

/// `struct hvm_memmap_table_entry`.
#[derive(Clone, Copy)]
#[repr(C)]
struct MemoryMapEntry {
    address: u64,
    size: u64,
    kind: u32,
    _reserved: u32,
}

/// Reads the start information at `address`.
pub fn read(address: u64) -> BootFacts {
    // SAFETY: the PVH entry gets the address of such a structure in EBX.
    let info = unsafe { *(address as *const StartInfo) };
    assert!(info.magic == MAGIC && info.version >= 1, "no PVH start information");
    // SAFETY: version 1 has that table; the loader built it.
    let entries = unsafe {
        core::slice::from_raw_parts(
            info.memory_map as *const MemoryMapEntry,
            info.memory_map_entries as usize,
        )
    };
    let memory = MemoryMap::new(
        entries.iter().filter(|e| e.kind == RAM).map(|e| e.address..e.address + e.size),
    );
    let plan = match FwCfg::find() {
        Some(mut device) => device.read_file(FILE_NAME, plan_area()),
        None => Err("no fw_cfg device; start QEMU with -fw_cfg name=opt/trapline/plan,file=..."),
    };
    BootFacts { path: BootPath::Pvh, memory, rsdp: info.rsdp, plan }
}
