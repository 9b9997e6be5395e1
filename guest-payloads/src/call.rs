//! Payload calls (`trapline_abi::call`), by VMMCALL.
//!
//! The begin and end marks have one VMMCALL each, with a symbol on it: an exit at that address in
//! QEMU's own log is where a window starts or ends.

// UNSAFETY: VMMCALL.
#![expect(unsafe_code, reason = "calls out of the guest")]

use core::arch::{asm, naked_asm};
use trapline_abi::call::{BASE, Call, Query, UNAVAILABLE};

#[unsafe(naked)]
extern "C" fn begin_mark(_label: *const u8, _length: usize) {
    naked_asm!(
        "push rbx",
        "mov rbx, rdi",
        "mov rcx, rsi",
        "mov eax, {number}",
        ".globl trapline_call_begin",
        "trapline_call_begin:",
        "vmmcall",
        "pop rbx",
        "ret",
        number = const BASE as u32 + 0,
    )
}

#[unsafe(naked)]
extern "C" fn end_mark() {
    naked_asm!(
        "mov eax, {number}",
        ".globl trapline_call_end",
        "trapline_call_end:",
        "vmmcall",
        "ret",
        number = const BASE as u32 + 1,
    )
}

/// Any other call.
fn call(call: Call, text: &[u8], third: u64, fourth: u64) -> u64 {
    let (address, mut answer) = (text.as_ptr(), call as u64);
    // SAFETY: hv-core reads the text and changes RAX only. RBX is LLVM's own, hence the exchange.
    unsafe {
        asm!(
            "xchg rbx, {address}",
            "vmmcall",
            "xchg rbx, {address}",
            address = inout(reg) address => _,
            inout("rax") answer,
            in("rcx") text.len(),
            in("rdx") third,
            in("rsi") fourth,
            options(nostack),
        );
    }
    answer
}

/// A window begins: from here on exits are counted under `label`.
#[inline(always)]
pub fn begin(label: &str) {
    begin_mark(label.as_ptr(), label.len());
}

/// The window ends.
#[inline(always)]
pub fn end() {
    end_mark();
}

/// Compares what a rule says with what was seen.
pub fn check(label: &str, expected: u64, actual: u64) {
    call(Call::Check, label.as_bytes(), expected, actual);
}

/// Reports a number.
pub fn value(label: &str, value: u64) {
    call(Call::Value, label.as_bytes(), value, 0);
}

/// A line for people.
pub fn log(line: &str) {
    call(Call::Log, line.as_bytes(), 0, 0);
}

/// A fact that a guest cannot see, if the target can.
pub fn query(query: Query) -> Option<u64> {
    let address = query as u64 as *const u8;
    let mut answer = Call::Query as u64;
    // SAFETY: as for `call`; RBX holds the query's number.
    unsafe {
        asm!(
            "xchg rbx, {address}",
            "vmmcall",
            "xchg rbx, {address}",
            address = inout(reg) address => _,
            inout("rax") answer,
            options(nostack),
        );
    }
    (answer != UNAVAILABLE).then_some(answer)
}

/// Drops the nested mapping of the page that `thing` lies in, as if it had been swapped out.
pub fn evict<T: ?Sized>(thing: &T) {
    let address = core::ptr::from_ref(thing).cast::<u8>();
    let mut answer = Call::Evict as u64;
    // SAFETY: as for `call`; RBX holds the page's address, and its contents stay.
    unsafe {
        asm!(
            "xchg rbx, {address}",
            "vmmcall",
            "xchg rbx, {address}",
            address = inout(reg) address => _,
            inout("rax") answer,
            options(nostack),
        );
    }
    assert!(answer == 0, "the target cannot evict a page");
}

/// The payload is done.
pub fn done() -> ! {
    call(Call::Done, &[], 0, 0);
    unreachable!("the target went on behind the end")
}

/// The payload failed.
pub fn panic(message: &[u8]) -> ! {
    loop {
        call(Call::Panic, message, 0, 0);
    }
}
