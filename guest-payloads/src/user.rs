//! Ring 3, for a few instructions.

// UNSAFETY: the way to ring 3 and back.
#![expect(unsafe_code, reason = "segments, page tables and a change of privilege")]

use crate::interrupt;
use core::arch::{asm, naked_asm};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Selector of 32-bit code of ring 0, once [`open`] was called.
pub const CODE32: u64 = 0x38;

/// How a trip ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// The fault's vector.
    pub vector: u64,
    /// How far behind the start of the code it was raised.
    pub behind: u64,
}

static FAULT: AtomicU64 = AtomicU64::new(0);

/// Runs `code` in ring 3 with these registers, RDX 0, until it faults.
pub fn run(code: extern "C" fn(), rdi: u64, rcx: u64, rax: u64) -> Came {
    let at = code as *const () as u64;
    // SAFETY: `open` made everything ready, and `code` ends with a fault.
    unsafe { to_user(at, rdi, rcx, rax) };
    // SAFETY: the fault put RIP at the fifth word from the top.
    let rip = unsafe { (*KERNEL_STACK.0.get())[STACK - 5] };
    Came { vector: FAULT.load(Relaxed), behind: rip.wrapping_sub(at) }
}

const STACK: usize = 1024;

#[repr(C, align(16))]
struct Words<const N: usize>(UnsafeCell<[u64; N]>);

// SAFETY: one vCPU.
unsafe impl<const N: usize> Sync for Words<N> {}

static KERNEL_STACK: Words<STACK> = Words(UnsafeCell::new([0; STACK]));
static USER_STACK: Words<64> = Words(UnsafeCell::new([0; 64]));
/// Null; code and data of ring 0; data and code of ring 3; the TSS; 32-bit code of ring 0.
static GDT: Words<8> = Words(UnsafeCell::new([
    0,
    0x00af_9b00_0000_ffff,
    0x00cf_9300_0000_ffff,
    0x00cf_f300_0000_ffff,
    0x00af_fb00_0000_ffff,
    0,
    0,
    0x00cf_9b00_0000_ffff,
]));
static TSS: Words<13> = Words(UnsafeCell::new([0; 13]));
/// RSP on the way out.
static LEFT_AT: Words<1> = Words(UnsafeCell::new([0]));

/// Lets ring 3 use every page, and gives it segments and a way back: `#GP` and `#UD`.
pub fn open() {
    const USER: u64 = 1 << 2;
    let tables = trapline_abi::boot::PAGE_TABLES;
    // Four tables, and one for each 2 MiB of RAM.
    let words = (4 + (trapline_abi::boot::GUEST_MEMORY >> 21)) * 512;
    for index in 0..words {
        let entry = (tables + index * 8) as *mut u64;
        // SAFETY: the loader's page tables; what they map stays mapped.
        unsafe {
            if *entry & 1 != 0 {
                *entry |= USER;
            }
        }
    }
    let (stack, tss) = (KERNEL_STACK.0.get() as u64 + STACK as u64 * 8, TSS.0.get() as u64);
    let gdt = [GDT_LIMIT, GDT.0.get() as u64];
    // SAFETY: nothing uses any of it before LGDT and LTR; CS and SS name the same segments as before.
    unsafe {
        // RSP0 is at offset 4.
        (*TSS.0.get())[0] = stack << 32;
        (*TSS.0.get())[1] = stack >> 32;
        (*GDT.0.get())[5] = 0x67 | (tss & 0xff_ffff) << 16 | 0x89 << 40 | (tss >> 24 & 0xff) << 56;
        (*GDT.0.get())[6] = tss >> 32;
        asm!(
            "lgdt [{gdt}]",
            "mov {scratch:e}, 0x28",
            "ltr {scratch:x}",
            "mov {scratch}, cr3",
            "mov cr3, {scratch}",
            gdt = in(reg) (&raw const gdt).cast::<u8>().add(6),
            scratch = out(reg) _,
        );
    }
    interrupt::on(13, || from_user(13));
    interrupt::on(6, || from_user(6));
}

/// The GDT's limit where LGDT looks for it: in the two bytes before the base.
const GDT_LIMIT: u64 = (8 * 8 - 1) << 48;

fn from_user(vector: u64) {
    FAULT.store(vector, Relaxed);
    // SAFETY: only faults of ring 3 come here, and `to_user` is what they return from.
    unsafe { back() }
}

#[unsafe(naked)]
unsafe extern "C" fn to_user(_code: u64, _rdi: u64, _rcx: u64, _rax: u64) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rip + {left}], rsp",
        "lea r8, [rip + {stack} + 512]",
        "push 0x1b",
        "push r8",
        "push 2",
        "push 0x23",
        "push rdi",
        "mov rdi, rsi",
        "mov rax, rcx",
        "mov rcx, rdx",
        "xor edx, edx",
        "iretq",
        left = sym LEFT_AT,
        stack = sym USER_STACK,
    )
}

#[unsafe(naked)]
unsafe extern "C" fn back() -> ! {
    naked_asm!(
        "mov eax, 0x10",
        "mov ss, eax",
        "mov rsp, [rip + {left}]",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
        left = sym LEFT_AT,
    )
}
