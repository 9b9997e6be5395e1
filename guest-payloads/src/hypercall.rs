//! Hyper-V's hypercalls (TLFS 6.0b 3), through the page that the hypervisor fills for them, or without it.

// UNSAFETY: calls into a page of the hypervisor's code, and instructions with registers of their own.
#![expect(unsafe_code, reason = "the calling convention of hypercalls")]

use crate::cpu::write_msr;
use crate::page::Page;
use crate::synic;
use core::arch::{asm, naked_asm};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

const HYPERCALL: u32 = 0x4000_0001;

/// Input value: arguments are in registers.
pub const FAST: u64 = 1 << 16;
/// HvCallNotifyLongSpinWait.
pub const NOTIFY_LONG_SPIN_WAIT: u64 = 0x08;
/// HvCallSendSyntheticClusterIpi.
pub const SEND_IPI: u64 = 0x0b;
/// HvCallSendSyntheticClusterIpiEx.
pub const SEND_IPI_EX: u64 = 0x15;
/// HvCallPostMessage.
pub const POST_MESSAGE: u64 = 0x5c;
/// HvCallSignalEvent.
pub const SIGNAL_EVENT: u64 = 0x5d;

static CODE: Page = Page::new();
/// `#UD`s that [`step_over_undefined`] stepped over.
static UNDEFINED: AtomicU64 = AtomicU64::new(0);

/// Input value: a variable header of that many words.
pub const fn header(words: u64) -> u64 {
    words << 17
}

/// Says who the guest is, and has the page filled.
pub fn open() {
    synic::identify();
    write_msr(HYPERCALL, CODE.address() | 1);
}

/// The page.
pub fn page() -> &'static Page {
    &CODE
}

/// Calls through the page; the result.
#[inline(always)]
pub fn call(input: u64, first: u64, second: u64) -> u64 {
    let result;
    // SAFETY: the page holds VMMCALL and RET, which change RAX only.
    unsafe {
        asm!("call {}", in(reg) CODE.address(), in("rcx") input, in("rdx") first, in("r8") second,
            inout("rax") 0u64 => result);
    }
    result
}

/// Calls by VMMCALL itself; the result, and how many of the other registers changed.
pub fn call_with_all_registers(input: u64) -> (u64, u64) {
    let result: u64;
    let (mut rcx, mut rdx, mut rsi, mut rdi) = (input, 2u64, 3u64, 4u64);
    let (mut r8, mut r9, mut r10, mut r11) = (5u64, 6u64, 7u64, 8u64);
    // SAFETY: every register that a hypervisor could change is declared.
    unsafe {
        asm!("vmmcall", inout("rax") 0u64 => result, inout("rcx") rcx, inout("rdx") rdx,
            inout("rsi") rsi, inout("rdi") rdi, inout("r8") r8, inout("r9") r9, inout("r10") r10,
            inout("r11") r11, options(nostack));
    }
    let after = [rcx, rdx, rsi, rdi, r8, r9, r10, r11];
    let before = [input, 2, 3, 4, 5, 6, 7, 8];
    let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    (result, changed as u64)
}

/// HvCallSendSyntheticClusterIpiEx with its set in XMM registers: the mask of valid banks, and one bank.
#[inline(never)]
pub fn call_with_xmm(input: u64, first: u64, second: u64, set: [u64; 2]) -> u64 {
    let result;
    // SAFETY: VMMCALL changes RAX only, and the set is sixteen bytes.
    unsafe {
        asm!("movdqu xmm0, [{}]", "vmmcall", in(reg) set.as_ptr(), in("rcx") input, in("rdx") first,
            in("r8") second, inout("rax") 0u64 => result, out("xmm0") _, options(nostack));
    }
    result
}

/// VMCALL, which is Intel's.
#[inline(never)]
pub fn vmcall() {
    // SAFETY: whoever answers it changes RAX at most.
    unsafe { asm!("vmcall", inout("rax") 0u64 => _, in("rcx") 0x7fffu64, options(nostack)) };
}

/// From now on an instruction of three bytes that is `#UD` does nothing, and is counted.
pub fn step_over_undefined() {
    crate::interrupt::gate(6, step);
}

/// How many were.
pub fn undefined() -> u64 {
    UNDEFINED.swap(0, SeqCst)
}

#[unsafe(naked)]
extern "C" fn step() {
    naked_asm!(
        "lock inc qword ptr [rip + {undefined}]",
        "add qword ptr [rsp], 3",
        "iretq",
        undefined = sym UNDEFINED,
    )
}
