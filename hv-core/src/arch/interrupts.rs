//! The host's IDT.
//!
//! hv-core runs with GIF or IF clear except in four places (`svm::gif::take_pending`,
//! `apic::take_pending`, `apic::wait`, `apic::sleep_in_guest`), and expects three interrupts there: its
//! timer, a kick and a doorbell. Others
//! are what firmware left pending: they are ended and forgotten, and so is an NMI. Exceptions are fatal.

// UNSAFETY: interrupt entry points.
#![expect(unsafe_code, reason = "naked entry points and the IDT")]

use crate::arch::page::Once;
use crate::arch::segments::{IST_DOUBLE_FAULT, IST_INTERRUPT, IST_MACHINE_CHECK, IST_NMI};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU8, AtomicU32};
use x86_64::VirtAddr;
use x86_64::instructions::tables::{lidt, sidt};
use x86_64::structures::DescriptorTablePointer;
use x86_64::structures::idt::{Entry, HandlerFunc, InterruptDescriptorTable};

/// Vector of the host's APIC timer.
pub const TIMER: u8 = 0x41;
/// Vector of kicks from other cores: their only effect is to interrupt.
pub const KICK: u8 = 0x42;
/// Vector of the model's doorbells. In one word of the IRR with the two above.
pub const DOORBELL: u8 = 0x43;
/// Vector of spurious interrupts.
pub const SPURIOUS: u8 = 0xff;

/// 1 when the host's APIC is in x2APIC mode: decides how the timer's handler ends the interrupt.
pub static X2APIC: AtomicU8 = AtomicU8::new(0);

/// How often the timer fired; what waits for it compares.
pub static TIMER_TICKS: AtomicU32 = AtomicU32::new(0);

static IDT: Once<InterruptDescriptorTable> = Once::new(InterruptDescriptorTable::new());

/// Timer: counts and ends the interrupt. It touches no XMM register, so it saves none.
#[unsafe(naked)]
extern "C" fn timer() {
    naked_asm!(
        "lock inc dword ptr [{ticks}]",
        "jmp {end}",
        ticks = sym TIMER_TICKS,
        end = sym unexpected,
    )
}

/// A kick, which has done its work by arriving, or an interrupt that nobody asked for: ends it.
#[unsafe(naked)]
extern "C" fn unexpected() {
    naked_asm!(
        "push rax",
        "push rcx",
        "push rdx",
        "xor eax, eax",
        "cmp byte ptr [{x2apic}], 0",
        "je 2f",
        "xor edx, edx",
        "mov ecx, 0x80b",
        "wrmsr",
        "jmp 3f",
        "2:",
        "mov ecx, 0xfee000b0",
        "mov dword ptr [rcx], eax",
        "3:",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "iretq",
        x2apic = sym X2APIC,
    )
}

/// Spurious interrupts and NMIs need no EOI.
#[unsafe(naked)]
extern "C" fn spurious() {
    naked_asm!("iretq")
}

/// An exception without an error code, or an interrupt that nobody expects.
macro_rules! fatal_entry {
    ($vector:literal) => {{
        #[unsafe(naked)]
        extern "C" fn entry() {
            naked_asm!("push 0", "push {v}", "jmp {f}", v = const $vector, f = sym enter_fatal)
        }
        entry as *const () as u64
    }};
    ($vector:literal with error code) => {{
        #[unsafe(naked)]
        extern "C" fn entry() {
            naked_asm!("push {v}", "jmp {f}", v = const $vector, f = sym enter_fatal)
        }
        entry as *const () as u64
    }};
}

#[unsafe(naked)]
extern "C" fn enter_fatal() {
    naked_asm!("mov rdi, rsp", "and rsp, -16", "call {f}", "ud2", f = sym fatal)
}

#[repr(C)]
struct Frame {
    vector: u64,
    error_code: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
}

extern "C" fn fatal(frame: &Frame) -> ! {
    let cr2 = x86_64::registers::control::Cr2::read_raw();
    panic!(
        "host vector {:#x} error {:#x} rip {:#x} rsp {:#x} rflags {:#x} cr2 {cr2:#x}",
        frame.vector, frame.error_code, frame.rip, frame.rsp, frame.rflags
    )
}

fn set<F>(entry: &mut Entry<F>, handler: u64, ist: u16) {
    // SAFETY: the handlers above keep to the interrupt calling convention; the IST entries exist.
    unsafe {
        (*core::ptr::from_mut(entry).cast::<Entry<HandlerFunc>>())
            .set_handler_addr(VirtAddr::new(handler))
            .set_stack_index(ist);
    }
}

/// Fills the IDT and loads it on the boot core; once.
pub fn load() {
    let idt = IDT.take();
    fill(idt);
    idt.load();
}

/// Loads on another core what the boot core filled and loaded.
pub fn load_again(table: &DescriptorTablePointer) {
    // SAFETY: the boot core's table is static and complete.
    unsafe { lidt(table) };
}

/// What the boot core loaded.
pub fn loaded() -> DescriptorTablePointer {
    sidt()
}

fn fill(idt: &mut InterruptDescriptorTable) {
    let plain = IST_INTERRUPT;
    set(&mut idt.divide_error, fatal_entry!(0), plain);
    set(&mut idt.debug, fatal_entry!(1), plain);
    set(&mut idt.non_maskable_interrupt, spurious as *const () as u64, IST_NMI);
    set(&mut idt.breakpoint, fatal_entry!(3), plain);
    set(&mut idt.overflow, fatal_entry!(4), plain);
    set(&mut idt.bound_range_exceeded, fatal_entry!(5), plain);
    set(&mut idt.invalid_opcode, fatal_entry!(6), plain);
    set(&mut idt.device_not_available, fatal_entry!(7), plain);
    set(&mut idt.double_fault, fatal_entry!(8 with error code), IST_DOUBLE_FAULT);
    set(&mut idt.invalid_tss, fatal_entry!(10 with error code), plain);
    set(&mut idt.segment_not_present, fatal_entry!(11 with error code), plain);
    set(&mut idt.stack_segment_fault, fatal_entry!(12 with error code), plain);
    set(&mut idt.general_protection_fault, fatal_entry!(13 with error code), plain);
    set(&mut idt.page_fault, fatal_entry!(14 with error code), plain);
    set(&mut idt.x87_floating_point, fatal_entry!(16), plain);
    set(&mut idt.alignment_check, fatal_entry!(17 with error code), plain);
    set(&mut idt.machine_check, fatal_entry!(18), IST_MACHINE_CHECK);
    set(&mut idt.simd_floating_point, fatal_entry!(19), plain);
    for vector in 32..=254u8 {
        set(&mut idt[vector], unexpected as *const () as u64, plain);
    }
    set(&mut idt[TIMER], timer as *const () as u64, plain);
    set(&mut idt[SPURIOUS], spurious as *const () as u64, plain);
}
