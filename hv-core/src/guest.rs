//! A guest before its first entry: its memory, and its VMCB.

use crate::guest_memory::GuestRam;
use crate::svm::tables::VmTables;
use hv_core::acpi;
use hv_core::payload::Payload;
use trapline_abi::boot::{BOOT_PAGE, BootPage, GUEST_MEMORY, MAGIC, MAX_PARAMS, PAGE_TABLES};
use trapline_abi::plan::Scenario;
use trapline_defs::intercept::{Word3, Word4, Word5};
use trapline_defs::msr::efer;
use trapline_defs::segment::Segment;
use trapline_defs::vmcb::{NestedControl, TlbControl, Vmcb};
use zerocopy::IntoBytes;

const PRESENT_WRITABLE: u64 = 3;
const UNCACHED: u64 = 1 << 4;
const LARGE: u64 = 1 << 7;

/// Fills guest memory: payload, boot page, ACPI's tables, page tables.
pub fn load(memory: &mut GuestRam, payload: &Payload<'_>, scenario: &Scenario<'_>, tsc_khz: u32) {
    memory.clear();
    for segment in payload.segments() {
        // The payload was checked to fit.
        memory.write(segment.address, segment.bytes);
    }
    let mut params = [0; MAX_PARAMS];
    for (param, bytes) in params.iter_mut().zip(scenario.params.chunks_exact(8)) {
        *param = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    let page = BootPage {
        magic: MAGIC,
        protocol: trapline_abi::PROTOCOL,
        vcpus: u32::from(scenario.vcpus),
        memory: GUEST_MEMORY,
        tsc_khz: u64::from(tsc_khz),
        params,
    };
    memory.write(BOOT_PAGE, page.as_bytes());
    memory.write(acpi::ADDRESS, &acpi::tables(&scenario.machine));
    page_tables(memory);
}

/// Identity: RAM by 4 KiB pages but for the first, which catches null pointers; the IOAPIC and
/// APIC pages, uncached, by a 2 MiB page each.
fn page_tables(memory: &mut GuestRam) {
    let table = |n: u64| PAGE_TABLES + n * 0x1000;
    let mut put = |table: u64, index: u64, value: u64| {
        memory.write(table + index * 8, &value.to_le_bytes());
    };
    let (level_4, level_3, low, high, first) = (table(0), table(1), table(2), table(3), table(4));
    put(level_4, 0, level_3 | PRESENT_WRITABLE);
    put(level_3, 0, low | PRESENT_WRITABLE);
    put(level_3, 3, high | PRESENT_WRITABLE);
    for index in 0..GUEST_MEMORY >> 21 {
        let level_1 = first + index * 0x1000;
        put(low, index, level_1 | PRESENT_WRITABLE);
        for page in 0..512 {
            let address = index << 21 | page << 12;
            if address != 0 {
                put(level_1, page, address | PRESENT_WRITABLE);
            }
        }
    }
    for address in [0xfec0_0000u64, 0xfee0_0000] {
        put(high, address >> 21 & 511, address | PRESENT_WRITABLE | UNCACHED | LARGE);
    }
}

/// Where a SIPI starts a vCPU: in real mode at `vector << 12` (APM vol. 2 §14.1.1, §15.27.8). Its
/// control registers are let go: the way to 64-bit mode is the guest's own, and leads nowhere else.
pub fn start_at(vmcb: &mut Vmcb, vector: u8) {
    let code = Segment {
        selector: u16::from(vector) << 8,
        attributes: 0x9b,
        limit: 0xffff,
        base: u64::from(vector) << 12,
    };
    let data = Segment { selector: 0, attributes: 0x93, limit: 0xffff, base: 0 };
    vmcb.control.intercept_cr &= !(1 << 4 | 1 << (16 + 4));
    vmcb.control.intercept_3.remove(Word3::CR0_SEL_WRITE);
    let save = &mut vmcb.save;
    save.cs = code;
    for segment in [&mut save.ds, &mut save.es, &mut save.ss, &mut save.fs, &mut save.gs] {
        *segment = data;
    }
    save.gdtr = Segment::table(0, 0xffff);
    save.idtr = Segment::table(0, 0xffff);
    // ET; caches on, as hv-core has them.
    save.cr0 = 0x10;
    save.cr3 = 0;
    save.cr4 = 0;
    save.efer = efer::SVME;
    save.rip = 0;
    save.rsp = 0;
    save.rflags = 2;
}

/// A VMCB from which VMRUN enters the payload: 64-bit mode, interrupts off, and everything that
/// could reach beyond the guest intercepted.
pub fn reset_vmcb(vmcb: &mut Vmcb, tables: &VmTables, entry: u64) {
    *vmcb = Vmcb::zeroed();
    let control = &mut vmcb.control;
    // CR4 both ways as KVM; CR8 writes until the first evaluation (rule CR8-1). CR3 is the guest's
    // own under nested paging. No debug register exists twice, so none is let through.
    control.intercept_cr = 1 << 4 | 1 << (16 + 4) | 1 << (16 + 8);
    control.intercept_dr = u32::MAX;
    // #DB, #UD, #AC and #MC, as KVM.
    control.intercept_exceptions = 1 << 1 | 1 << 6 | 1 << 17 | 1 << 18;
    control.intercept_3 = Word3::INTR
        | Word3::NMI
        | Word3::SMI
        | Word3::INIT
        | Word3::CR0_SEL_WRITE
        | Word3::RDPMC
        | Word3::CPUID
        | Word3::INVD
        | Word3::HLT
        | Word3::INVLPGA
        | Word3::IOIO
        | Word3::MSR
        | Word3::TASK_SWITCH
        | Word3::FERR_FREEZE
        | Word3::SHUTDOWN;
    control.intercept_4 = Word4::VMRUN
        | Word4::VMMCALL
        | Word4::VMLOAD
        | Word4::VMSAVE
        | Word4::STGI
        | Word4::CLGI
        | Word4::SKINIT
        | Word4::RDTSCP
        | Word4::WBINVD
        | Word4::MONITOR
        | Word4::MWAIT
        | Word4::MWAIT_CONDITIONAL
        | Word4::XSETBV
        | Word4::RDPRU;
    control.intercept_5 =
        Word5::INVLPGB | Word5::INVLPGB_ILLEGAL | Word5::INVPCID | Word5::MCOMMIT | Word5::TLBSYNC;
    control.iopm_base = tables.io_map();
    control.msrpm_base = tables.permissions().plain;
    // One VM at a time: its ASID is flushed when the next one starts.
    control.asid = 1;
    control.tlb_control = TlbControl::FLUSH_ALL;
    control.v_intr.set_v_intr_masking(true);
    control.nested_control = NestedControl::NP_ENABLE;
    control.n_cr3 = tables.n_cr3();

    let save = &mut vmcb.save;
    save.cs = Segment::CODE64;
    for segment in [&mut save.ds, &mut save.es, &mut save.ss, &mut save.fs, &mut save.gs] {
        *segment = Segment::DATA;
    }
    save.tr = Segment::TSS;
    save.ldtr = Segment::LDT;
    // No tables until the payload loads its own: an early exception is a triple fault.
    save.gdtr = Segment::table(0, 0);
    save.idtr = Segment::table(0, 0);
    save.efer = efer::LME | efer::LMA | efer::SVME;
    // PG, WP, NE, ET, MP, PE.
    save.cr0 = 0x8001_0033;
    save.cr3 = PAGE_TABLES;
    // PAE, OSFXSR, OSXMMEXCPT.
    save.cr4 = 0x620;
    save.dr6 = 0xffff_0ff0;
    save.dr7 = 0x400;
    save.rflags = 2;
    save.rip = entry;
    // The payload brings its own stack.
    save.rsp = 0;
    save.g_pat = 0x0007_0406_0007_0406;
}
