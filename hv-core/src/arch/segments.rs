//! The host's GDT and TSS.

// UNSAFETY: loading descriptor tables.
#![expect(unsafe_code, reason = "lgdt, ltr and segment loads")]

use crate::arch::page::{Once, physical};
use crate::cores::MAX_CORES;
use x86_64::VirtAddr;
use x86_64::instructions::segmentation::{CS, DS, ES, SS, Segment};
use x86_64::instructions::tables::load_tss;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable};
use x86_64::structures::tss::TaskStateSegment;

/// IST entry of ordinary interrupts.
pub const IST_INTERRUPT: u16 = 0;
/// IST entry of `#DF`.
pub const IST_DOUBLE_FAULT: u16 = 1;
/// IST entry of NMI.
pub const IST_NMI: u16 = 2;
/// IST entry of `#MC`.
pub const IST_MACHINE_CHECK: u16 = 3;

const STACK: usize = 8192;

#[repr(C, align(16))]
struct Stack([u8; STACK]);

/// What one core needs of segments. Every vector runs on an IST stack, because the precompiled
/// core library uses the red zone of the interrupted stack.
pub struct Segments {
    gdt: GlobalDescriptorTable,
    tss: TaskStateSegment,
    stacks: [Stack; 4],
}

static CORES: [Once<Segments>; MAX_CORES] = [const {
    Once::new(Segments {
        gdt: GlobalDescriptorTable::new(),
        tss: TaskStateSegment::new(),
        stacks: [const { Stack([0; STACK]) }; 4],
    })
}; MAX_CORES];

/// Loads the segments of core `number`; once each.
pub fn load_core(number: usize) {
    load(CORES[number].take());
}

fn load(segments: &'static mut Segments) {
    for (entry, stack) in segments.stacks.iter().enumerate() {
        segments.tss.interrupt_stack_table[entry] = VirtAddr::new(physical(stack) + STACK as u64);
    }
    let code = segments.gdt.append(Descriptor::kernel_code_segment());
    let data = segments.gdt.append(Descriptor::kernel_data_segment());
    let tss = segments.gdt.append(Descriptor::tss_segment(&segments.tss));
    segments.gdt.load();
    // SAFETY: the selectors are of the table just loaded. SS must be reloaded too: its old selector
    // would point at another descriptor, and the next IRET would fault.
    unsafe {
        CS::set_reg(code);
        SS::set_reg(data);
        DS::set_reg(data);
        ES::set_reg(data);
        load_tss(tss);
    }
}
