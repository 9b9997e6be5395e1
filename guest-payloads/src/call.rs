//! Payload calls (`trapline_abi::call`), by VMMCALL.
//!
//! The begin and end marks have one VMMCALL each, with a symbol on it: an exit at that address in
//! QEMU's own log is where a window starts or ends. All other calls share a third.

use core::arch::naked_asm;
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
        number = const BASE as u32,
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

/// Any other call: its number, and what goes to RBX, RCX, RDX and RSI. Returns RAX.
#[unsafe(naked)]
extern "C" fn other_call(_number: u64, _rbx: u64, _rcx: u64, _rdx: u64, _rsi: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "mov rax, rdi",
        "mov rbx, rsi",
        "xchg rcx, rdx",
        "mov rsi, r8",
        ".globl trapline_call_other",
        "trapline_call_other:",
        "vmmcall",
        "pop rbx",
        "ret",
    )
}

fn call(call: Call, text: &[u8], third: u64, fourth: u64) -> u64 {
    other_call(call as u64, text.as_ptr() as u64, text.len() as u64, third, fourth)
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
    let answer = other_call(Call::Query as u64, query as u64, 0, 0, 0);
    (answer != UNAVAILABLE).then_some(answer)
}

/// Drops the nested mapping of the page that `thing` lies in, as if it had been swapped out.
pub fn evict<T: ?Sized>(thing: &T) {
    let address = core::ptr::from_ref(thing).cast::<u8>() as u64;
    let answer = other_call(Call::Evict as u64, address, 0, 0, 0);
    assert!(answer == 0, "the target cannot evict a page");
}

/// Sets a field of the laboratory; 0, or [`UNAVAILABLE`].
pub(crate) fn poke(field: u64, value: u64) -> u64 {
    other_call(Call::Poke as u64, field, 0, value, 0)
}

/// Reads a field of the laboratory, or [`UNAVAILABLE`].
pub(crate) fn peek(field: u64) -> u64 {
    other_call(Call::Peek as u64, field, 0, 0, 0)
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
