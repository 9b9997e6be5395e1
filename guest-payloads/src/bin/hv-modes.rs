//! Hyper-V's hypercalls outside of 64-bit code at ring 0 (TLFS 6.0b 3.7; spec hyperv.md 7.1).
#![no_std]
#![no_main]
// UNSAFETY: code for other modes of the processor.
#![expect(unsafe_code, reason = "code for ring 3, 32-bit mode and real mode")]

use core::arch::{global_asm, naked_asm};
use core::sync::atomic::{AtomicU8, Ordering::SeqCst};
use guest_payloads::count::Count;
use guest_payloads::hypercall::{self, FAST, SEND_IPI};
use guest_payloads::rule::Rule;
use guest_payloads::{apic, cpu, interrupt, payload, user};

payload! {
    about: "Makes hypercalls in ring 3, in 32-bit code and in real mode.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const UNDEFINED: u64 = 6;
/// Input value: a repetition.
const REPEATED: u64 = 1 << 32;

static CAME: Count = Count::new();

fn handler() {
    CAME.add();
    apic::eoi();
}

fn came() -> u64 {
    cpu::sti_nop();
    cpu::cli();
    let came = CAME.get();
    CAME.set(0);
    came
}

fn run(_: Params) {
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR, handler);
    hypercall::open();
    user::open();
    let fault = user::run(vmmcall, 0, FAST | SEND_IPI, 0);
    let mut rule = Rule::new("HV-200 VMMCALL in ring 3");
    rule.is(UNDEFINED, fault.vector).is(0, fault.behind).is(0, came());
    drop(rule);
    in_32_bit_code();
    in_real_mode();
}

#[unsafe(naked)]
extern "C" fn vmmcall() {
    naked_asm!("vmmcall", "cli")
}

fn in_32_bit_code() {
    let mut rule = Rule::new("HV-209 pairs of registers in 32-bit code");
    let vector = u64::from(VECTOR);
    for (input, status, interrupts) in [
        (FAST | SEND_IPI, 0, 1),
        (REPEATED | FAST | SEND_IPI, 3, 0),
        (1 << 63 | FAST | SEND_IPI, 3, 0),
        (0x7fff, 2, 0),
    ] {
        rule.is(status, call_32(input, vector, 1)).is(interrupts, came());
    }
    // Upper half of the first argument: it has to be 0.
    rule.is(3, call_32(FAST | SEND_IPI, 1 << 32 | vector, 1)).is(0, came());
    // Upper half of the mask: a vCPU that is not there.
    rule.is(0, call_32(FAST | SEND_IPI, vector, 1 << 32)).is(0, came());
}

/// VMMCALL in 32-bit code: EDX:EAX, EBX:ECX and EDI:ESI are the arguments, and EDX:EAX the result.
#[unsafe(naked)]
extern "C" fn call_32(_input: u64, _first: u64, _second: u64) -> u64 {
    naked_asm!(
        "push rbx",
        // Where the 32-bit code returns to: two words of four bytes.
        "lea rax, [rip + 2f]",
        "sub rsp, 8",
        "mov [rsp], eax",
        "mov dword ptr [rsp + 4], 8",
        // Where it is: two words of eight bytes.
        "push {code32}",
        "lea rax, [rip + 3f]",
        "push rax",
        "mov rax, rdi",
        "mov rcx, rsi",
        "mov rbx, rsi",
        "mov rsi, rdx",
        "mov rdi, rdx",
        "mov rdx, rax",
        "mov eax, eax",
        "mov ecx, ecx",
        "mov esi, esi",
        "shr rdx, 32",
        "shr rbx, 32",
        "shr rdi, 32",
        "retfq",
        // VMMCALL; RET FAR.
        "3:",
        ".byte 0x0f, 0x01, 0xd9, 0xcb",
        "2:",
        "shl rdx, 32",
        "mov eax, eax",
        "or rax, rdx",
        "pop rbx",
        "ret",
        code32 = const user::CODE32,
    )
}

/// Where a vCPU starts in real mode: behind the runtime's own page for that.
const PAGE: u64 = 0x9000;
/// In that page: 1 if VMMCALL was `#UD`, 2 if it was not.
const RESULT: u64 = 0x7f0;
/// ICR: everybody but the sender, assert; INIT and SIPI.
const OTHERS: u64 = 3 << 18 | 1 << 14;
const INIT: u64 = 5 << 8;
const STARTUP: u64 = 6 << 8;

fn in_real_mode() {
    // SAFETY: the page is RAM that nothing else uses.
    let result = unsafe {
        let (first, end) = (&raw const hv_modes_real, &raw const hv_modes_real_end);
        core::ptr::copy_nonoverlapping(first, PAGE as *mut u8, end as usize - first as usize);
        AtomicU8::from_ptr((PAGE + RESULT) as *mut u8)
    };
    result.store(0, SeqCst);
    apic::command(0, OTHERS | INIT);
    apic::command(0, OTHERS | STARTUP | PAGE >> 12);
    cpu::wait_until(|| result.load(SeqCst) != 0);
    Rule::new("HV-201 VMMCALL in real mode").is(1, result.load(SeqCst).into()).is(0, came());
}

// An IPI to the first vCPU, with the handler of `#UD` in the table at address 0.
global_asm!(
    ".pushsection .rodata.hv_modes, \"a\"",
    ".code16",
    "hv_modes_real:",
    "cli",
    "xorw %ax, %ax",
    "movw %ax, %ds",
    "movw $(hv_modes_undefined - hv_modes_real), 0x18",
    "movw %cs, 0x1a",
    "movw %cs, %ax",
    "movw %ax, %ds",
    "movw %ax, %ss",
    "movw $0x7e0, %sp",
    "movl ${input}, %eax",
    "xorl %edx, %edx",
    "movl ${vector}, %ecx",
    "xorl %ebx, %ebx",
    "movl $1, %esi",
    "xorl %edi, %edi",
    "vmmcall",
    "movb $2, {result}",
    "2:",
    "hlt",
    "jmp 2b",
    "hv_modes_undefined:",
    "movb $1, {result}",
    "3:",
    "hlt",
    "jmp 3b",
    "hv_modes_real_end:",
    ".code64",
    ".popsection",
    input = const (FAST | SEND_IPI) as u32,
    vector = const VECTOR as u32,
    result = const RESULT,
    options(att_syntax),
);

unsafe extern "C" {
    static hv_modes_real: u8;
    static hv_modes_real_end: u8;
}
