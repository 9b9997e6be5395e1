//! Instructions.

// UNSAFETY: privileged instructions.
#![expect(unsafe_code, reason = "the instructions that payloads are about")]

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

/// RDMSR.
#[inline(always)]
pub fn read_msr(msr: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register of the guest's own machine; a fault is reported.
    unsafe { asm!("rdmsr", in("ecx") msr, out("eax") low, out("edx") high, options(nostack)) };
    u64::from(high) << 32 | u64::from(low)
}

/// WRMSR.
#[inline(always)]
pub fn write_msr(msr: u32, value: u64) {
    let (low, high) = (value as u32, (value >> 32) as u32);
    // SAFETY: as for `read_msr`. A payload that moves its own ground away is a result.
    unsafe { asm!("wrmsr", in("ecx") msr, in("eax") low, in("edx") high, options(nostack)) };
}

/// CPUID.
#[inline(always)]
pub fn cpuid(leaf: u32) -> [u32; 4] {
    let answer = core::arch::x86_64::__cpuid(leaf);
    [answer.eax, answer.ebx, answer.ecx, answer.edx]
}

/// VMMCALL with that RAX; returns RAX.
#[inline(always)]
pub fn vmmcall(number: u64) -> u64 {
    let mut rax = number;
    // SAFETY: hypercalls with these numbers change RAX only.
    unsafe { asm!("vmmcall", inout("rax") rax, options(nostack)) };
    rax
}

/// IN, one byte.
#[inline(always)]
pub fn read_port(port: u16) -> u8 {
    let value;
    // SAFETY: a port of the guest's own machine.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack)) };
    value
}

/// IN, two bytes.
#[inline(always)]
pub fn read_port_16(port: u16) -> u16 {
    let value;
    // SAFETY: as for `read_port`.
    unsafe { asm!("in ax, dx", in("dx") port, out("ax") value, options(nomem, nostack)) };
    value
}

/// IN, four bytes.
#[inline(always)]
pub fn read_port_32(port: u16) -> u32 {
    let value;
    // SAFETY: as for `read_port`.
    unsafe { asm!("in eax, dx", in("dx") port, out("eax") value, options(nomem, nostack)) };
    value
}

/// OUT, one byte.
#[inline(always)]
pub fn write_port(port: u16, value: u8) {
    // SAFETY: a port of the guest's own machine.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack)) };
}

/// Reads a register in memory by MOV, as drivers do. A compiler may fold a volatile read into TEST or CMP,
/// which a hypervisor need not emulate.
///
/// # Safety
/// The address is that of a mapped device, and reading there touches no memory.
#[inline(always)]
pub unsafe fn read_memory(address: u64) -> u32 {
    let value;
    // SAFETY: the caller's promise.
    unsafe { asm!("mov {:e}, [{}]", out(reg) value, in(reg) address, options(nostack)) };
    value
}

/// INT `VECTOR`.
#[inline(always)]
pub fn software_interrupt<const VECTOR: u8>() {
    // SAFETY: the payload has a handler for it.
    unsafe { asm!("int {v}", v = const VECTOR) };
}

/// Reads eight bytes of a device by one MOV.
#[inline(always)]
pub fn read_wide(address: u64) -> u64 {
    let value;
    // SAFETY: as for `read_msr`; no memory of ours is a device.
    unsafe { asm!("mov {}, [{}]", out(reg) value, in(reg) address, options(nostack)) };
    value
}

/// MOV to CR8.
#[inline(always)]
pub fn write_cr8(value: u64) {
    // SAFETY: changes which interrupts are taken.
    unsafe { asm!("mov cr8, {}", in(reg) value, options(nostack)) };
}

/// MOV from CR8.
#[inline(always)]
pub fn read_cr8() -> u64 {
    let value;
    // SAFETY: no effect.
    unsafe { asm!("mov {}, cr8", out(reg) value, options(nomem, nostack)) };
    value
}

/// RDTSC.
#[inline(always)]
pub fn tsc() -> u64 {
    // SAFETY: no effect.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// What the loader says of the TSC.
static TSC_KHZ: AtomicU64 = AtomicU64::new(0);

/// How fast the TSC is.
pub fn tsc_khz() -> u64 {
    TSC_KHZ.load(Ordering::Relaxed)
}

/// Says how fast it is.
#[cfg(feature = "image")]
pub(crate) fn set_tsc_khz(khz: u64) {
    TSC_KHZ.store(khz, Ordering::Relaxed);
}

/// CLI.
#[inline(always)]
pub fn cli() {
    // SAFETY: changes which interrupts are taken.
    unsafe { asm!("cli", options(nostack)) };
}

/// STI; the next instruction is in its shadow.
#[inline(always)]
pub fn sti() {
    // SAFETY: the IDT is loaded.
    unsafe { asm!("sti", options(nostack)) };
}

/// STI; NOP.
#[inline(always)]
pub fn sti_nop() {
    // SAFETY: as for `sti`.
    unsafe { asm!("sti", "nop", options(nostack)) };
}

/// STI; HLT, which Linux calls safe_halt.
#[inline(always)]
pub fn sti_hlt() {
    // SAFETY: as for `sti`.
    unsafe { asm!("sti", "hlt", options(nostack)) };
}

/// HLT.
#[inline(always)]
pub fn hlt() {
    // SAFETY: no effect on memory.
    unsafe { asm!("hlt", options(nostack)) };
}

/// INVLPG.
#[inline(always)]
pub fn flush(address: u64) {
    // SAFETY: no effect but on the TLB.
    unsafe { asm!("invlpg [{}]", in(reg) address, options(nostack)) };
}

/// PAUSE.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}

/// Spins until something has come true.
#[inline(always)]
pub fn wait_until(what: impl Fn() -> bool) {
    while !what() {
        pause();
    }
}

/// RFLAGS.
#[inline(always)]
pub fn flags() -> u64 {
    let flags;
    // SAFETY: pushes and pops one word.
    unsafe { asm!("pushfq", "pop {}", out(reg) flags) };
    flags
}

/// Repeats an instruction `n` times, between instructions that set it up and clean up after it, in a
/// loop that is the same for every one, so that two windows differ in the instruction alone.
#[macro_export]
macro_rules! repeat {
    ($n:expr, $before:literal, $op:literal, $after:literal $(, $name:ident = $value:expr)*) => {{
        #[expect(unsafe_code, reason = "the measured instructions")]
        // SAFETY: all registers that the sequences use are declared; they touch no memory of ours.
        unsafe {
            core::arch::asm!(
                "2:",
                $before,
                $op,
                $after,
                "dec {counter}",
                "jnz 2b",
                counter = inout(reg) $n => _,
                $($name = in(reg) $value,)*
                out("rax") _,
                out("rcx") _,
                out("rdx") _,
                options(nostack),
            );
        }
    }};
}
