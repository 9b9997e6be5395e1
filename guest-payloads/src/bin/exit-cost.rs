//! What one exit costs: the same loop with and without the instruction that exits.
#![no_std]
#![no_main]

use guest_payloads::{apic, call, cpu, interrupt, payload, repeat};
use trapline_defs::msr::EFER;

payload! {
    about: "Repeats one exiting instruction; window loop is the same loop without it.";
    number n = 200, "How many repetitions.";
    choice op: Op {
        Cpuid = "cpuid", Vmmcall = "vmmcall", Rdmsr = "rdmsr", Wrmsr = "wrmsr", In = "in",
        Out = "out", Cr8 = "cr8", Hlt = "hlt",
    } = "cpuid", "The instruction.";
    run: run;
}

/// A hypercall number that nobody serves.
const UNKNOWN_HYPERCALL: u32 = 0x7777;
/// The port of POST codes: harmless everywhere.
const POST: u32 = 0x80;
const VECTOR: u8 = 0xb0;

fn run(Params { n, op }: Params) {
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR, apic::eoi);
    apic::settle(VECTOR);
    if op == Op::Hlt {
        return halt(n);
    }
    call::begin("loop");
    repeat!(n, "nop", "nop");
    call::end();
    let efer = cpu::read_msr(EFER);
    call::begin("op");
    match op {
        Op::Cpuid => cpuid(n),
        Op::Vmmcall => repeat!(n, "mov eax, {a:e}", "vmmcall", a = UNKNOWN_HYPERCALL),
        Op::Rdmsr => repeat!(n, "mov ecx, {a:e}", "rdmsr", a = EFER),
        Op::Wrmsr => {
            repeat!(n, "mov ecx, {a:e}\nmov rax, {b}\nxor edx, edx", "wrmsr", a = EFER, b = efer);
        }
        Op::In => repeat!(n, "mov edx, {a:e}", "in al, dx", a = POST),
        Op::Out => repeat!(n, "mov edx, {a:e}", "out dx, al", a = POST),
        Op::Cr8 => repeat!(n, "xor eax, eax", "mov cr8, rax"),
        Op::Hlt => {}
    }
    call::end();
}

/// CPUID changes RBX, which LLVM keeps for itself.
fn cpuid(n: u64) {
    repeat!(n, "xor eax, eax\nmov {b}, rbx", "cpuid\nmov rbx, {b}", b = 0u64);
}

/// HLT with an interrupt that waits behind STI: the only HLT that comes back by itself.
fn halt(n: u64) {
    call::begin("op");
    for _ in 0..n {
        cpu::cli();
        apic::self_ipi(VECTOR);
        cpu::sti_hlt();
    }
    call::end();
}
