//! The memory functions that the compiler calls and that linux-gnu's compiler_builtins leaves to
//! a C library.
//!
//! Naked, so that the compiler cannot turn a copy loop in `memcpy` into a call of `memcpy`. They
//! move eight bytes a step where they can: under icount every repetition is an instruction.

// UNSAFETY: C functions, in assembly. Shared by hv-core and the guest runtime.
#![expect(unsafe_code, reason = "C's memory functions")]

use core::arch::naked_asm;

/// C `memcpy`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memcpy(_to: *mut u8, _from: *const u8, _n: usize) -> *mut u8 {
    naked_asm!(
        "mov rax, rdi",
        "mov rcx, rdx",
        "shr rcx, 3",
        "rep movsq",
        "mov ecx, edx",
        "and ecx, 7",
        "rep movsb",
        "ret",
    )
}

/// C `memmove`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memmove(_to: *mut u8, _from: *const u8, _n: usize) -> *mut u8 {
    naked_asm!(
        "mov r8, rdi",
        "sub r8, rsi",
        "cmp r8, rdx",
        "jae {memcpy}",
        // The destination starts inside the source: backwards.
        "mov rax, rdi",
        "mov rcx, rdx",
        "lea rdi, [rdi + rdx - 1]",
        "lea rsi, [rsi + rdx - 1]",
        "std",
        "rep movsb",
        "cld",
        "ret",
        memcpy = sym memcpy,
    )
}

/// C `memset`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memset(_to: *mut u8, _byte: i32, _n: usize) -> *mut u8 {
    naked_asm!(
        "mov r8, rdi",
        "movzx eax, sil",
        "mov rcx, 0x0101010101010101",
        "imul rax, rcx",
        "mov rcx, rdx",
        "shr rcx, 3",
        "rep stosq",
        "mov ecx, edx",
        "and ecx, 7",
        "rep stosb",
        "mov rax, r8",
        "ret",
    )
}

/// C `memcmp`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memcmp(_a: *const u8, _b: *const u8, _n: usize) -> i32 {
    naked_asm!(
        "xor eax, eax",
        "xor ecx, ecx",
        "2:",
        "cmp rcx, rdx",
        "je 3f",
        "movzx eax, byte ptr [rdi + rcx]",
        "movzx r8d, byte ptr [rsi + rcx]",
        "inc rcx",
        "sub eax, r8d",
        "je 2b",
        "3:",
        "ret",
    )
}

/// C `bcmp`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn bcmp(_a: *const u8, _b: *const u8, _n: usize) -> i32 {
    naked_asm!("jmp {memcmp}", memcmp = sym memcmp)
}

/// C `strlen`; LLVM makes calls of it from loops.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn strlen(_s: *const u8) -> usize {
    naked_asm!(
        "xor eax, eax",
        "2:",
        "cmp byte ptr [rdi + rax], 0",
        "je 3f",
        "inc rax",
        "jmp 2b",
        "3:",
        "ret"
    )
}
