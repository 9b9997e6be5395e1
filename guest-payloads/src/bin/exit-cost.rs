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
        Out = "out", Cr8 = "cr8", Hlt = "hlt", X2ApicEoi = "x2apic-eoi", XApicEoi = "xapic-eoi",
        XApicRead = "xapic-read", XApicWrite = "xapic-write", SelfIpi = "self-ipi",
        Interrupt = "interrupt",
    } = "cpuid", "The instruction.";
    run: run;
}

/// A hypercall number that nobody serves.
const UNKNOWN_HYPERCALL: u32 = 0x7777;
/// The port of POST codes: harmless everywhere.
const POST: u32 = 0x80;
/// MSR 80Bh.
const X2APIC_EOI: u32 = 0x80b;
/// MSR 830h.
const X2APIC_ICR: u32 = 0x830;
/// A fixed interrupt to oneself.
const TO_SELF: u32 = 1 << 18 | VECTOR as u32;
/// EOI is at 0B0h, TPR at 080h.
const XAPIC_PAGE: u64 = 0xfee0_0000;
const VECTOR: u8 = 0xb0;

/// Window `loop` with a NOP in the instruction's place, then window `op` with the instruction.
macro_rules! measure {
    ($n:expr, $before:literal, $op:literal, $after:literal $(, $name:ident = $value:expr)*) => {{
        call::begin("loop");
        repeat!($n, $before, "nop", $after $(, $name = $value)*);
        call::end();
        call::begin("op");
        repeat!($n, $before, $op, $after $(, $name = $value)*);
        call::end();
    }};
}

fn run(Params { n, op }: Params) {
    let xapic = matches!(op, Op::XApicEoi | Op::XApicRead | Op::XApicWrite);
    apic::open(if xapic { apic::Mode::XApic } else { apic::Mode::X2Apic });
    interrupt::on(VECTOR, apic::eoi);
    apic::settle(VECTOR);
    if op == Op::Hlt {
        return halt(n);
    }
    let efer = cpu::read_msr(EFER);
    match op {
        // CPUID changes RBX, which LLVM keeps for itself.
        Op::Cpuid => measure!(n, "xor eax, eax\nmov {b}, rbx", "cpuid", "mov rbx, {b}", b = 0u64),
        Op::Vmmcall => measure!(n, "mov eax, {a:e}", "vmmcall", "", a = UNKNOWN_HYPERCALL),
        Op::Rdmsr => measure!(n, "mov ecx, {a:e}", "rdmsr", "", a = EFER),
        Op::Wrmsr => {
            measure!(
                n,
                "mov ecx, {a:e}\nmov rax, {b}\nxor edx, edx",
                "wrmsr",
                "",
                a = EFER,
                b = efer
            );
        }
        Op::In => measure!(n, "mov edx, {a:e}", "in al, dx", "", a = POST),
        Op::Out => measure!(n, "mov edx, {a:e}", "out dx, al", "", a = POST),
        Op::Cr8 => measure!(n, "xor eax, eax", "mov cr8, rax", ""),
        Op::X2ApicEoi => {
            measure!(n, "mov ecx, {a:e}\nxor eax, eax\nxor edx, edx", "wrmsr", "", a = X2APIC_EOI);
        }
        Op::XApicEoi => {
            measure!(n, "xor eax, eax\nmov rdx, {a}", "mov [rdx], eax", "", a = XAPIC_PAGE + 0xb0)
        }
        Op::XApicRead => measure!(n, "mov rdx, {a}", "mov eax, [rdx]", "", a = XAPIC_PAGE + 0x80),
        Op::XApicWrite => {
            measure!(n, "xor eax, eax\nmov rdx, {a}", "mov [rdx], eax", "", a = XAPIC_PAGE + 0x80)
        }
        // Interrupts are off: the vector waits from the first time on.
        Op::SelfIpi => {
            measure!(
                n,
                "mov ecx, {a:e}\nmov eax, {b:e}\nxor edx, edx",
                "wrmsr",
                "",
                a = X2APIC_ICR,
                b = TO_SELF
            );
        }
        Op::Interrupt => interrupt_and_eoi(n),
        Op::Hlt => {}
    }
}

/// A self-IPI that is delivered, and its EOI, against an INT of the same vector: the handler, which does
/// nothing, is taken off.
fn interrupt_and_eoi(n: u64) {
    interrupt::on(VECTOR, || {});
    cpu::sti();
    call::begin("loop");
    for _ in 0..n {
        cpu::software_interrupt::<VECTOR>();
    }
    call::end();
    call::begin("op");
    for _ in 0..n {
        cpu::write_msr(X2APIC_ICR, TO_SELF.into());
        cpu::write_msr(X2APIC_EOI, 0);
    }
    call::end();
    cpu::cli();
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
