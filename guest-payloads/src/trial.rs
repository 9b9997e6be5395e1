//! What the laboratory's payloads share: one stimulus after the other on the payload's own vCPU, and what
//! came of each, as one word that a check can show.

use crate::laboratory::{self as lab, Field, Part, control, v_intr};
use crate::{apic, call, cpu, interrupt};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use trapline_abi::call::Call;
use trapline_defs::apic::offset;

/// No exit, for [`outcome`].
pub const NONE: u64 = 0;

/// Vectors that were taken, the last one in the low byte.
static TAKEN: AtomicU64 = AtomicU64::new(0);
/// Where the first of them came.
static CAME_AT: AtomicU64 = AtomicU64::new(0);
static ENDS: AtomicBool = AtomicBool::new(false);
static X2APIC: AtomicBool = AtomicBool::new(false);

fn note(vector: u8, rip: u64) {
    if TAKEN.load(Relaxed) == 0 {
        CAME_AT.store(rip, Relaxed);
    }
    TAKEN.store(TAKEN.load(Relaxed) << 8 | u64::from(vector), Relaxed);
    if ENDS.load(Relaxed) && vector >= 16 {
        apic::eoi();
    }
}

/// Turns the APIC on and AVIC for it; interrupts stay off.
pub fn prepare(x2apic: bool) {
    apic::open(if x2apic { apic::Mode::X2Apic } else { apic::Mode::XApic });
    take_over(x2apic);
}

/// As [`prepare`], with the APIC on.
pub fn take_over(x2apic: bool) {
    prepare_handlers();
    X2APIC.store(x2apic, Relaxed);
    lab::take_over(x2apic);
    fresh();
}

/// What is taken is noted.
pub fn prepare_handlers() {
    interrupt::on_any(note);
}

/// Undoes what a trial left: AVIC on with an empty page, nothing pending, all priorities 0.
pub fn fresh() {
    let mode = if X2APIC.load(Relaxed) { v_intr::X2AVIC } else { 0 };
    lab::set_control(control::V_INTR, v_intr::MASKING | v_intr::AVIC | mode);
    for bank in [offset::ISR, offset::TMR, offset::IRR] {
        for word in 0..8 {
            lab::set_page(0, bank + word * 16, 0);
        }
    }
    for register in [offset::TPR, offset::PPR, offset::EOI] {
        lab::set_page(0, register, 0);
    }
    lab::set_control(control::SHADOW, 0);
    forget();
}

/// As [`fresh`], but without AVIC.
pub fn fresh_without_avic() {
    fresh();
    lab::set_control(control::V_INTR, v_intr::MASKING);
    forget();
}

/// Forgets exits and what was taken; handlers end nothing.
pub fn forget() {
    ENDS.store(false, Relaxed);
    TAKEN.store(0, Relaxed);
    CAME_AT.store(0, Relaxed);
    lab::clear();
}

/// From here on handlers write EOI.
pub fn end_each() {
    ENDS.store(true, Relaxed);
}

/// Vectors that were taken, a byte each, the last one lowest.
pub fn taken() -> u64 {
    TAKEN.load(Relaxed)
}

/// Where the first of them interrupted.
pub fn came_at() -> u64 {
    CAME_AT.load(Relaxed)
}

/// Requests a vector: IRR, then VMRUN.
pub fn request(vector: u8) {
    lab::set_vector(0, offset::IRR, vector, true);
}

/// Puts a vector in service; nobody tells the processor.
pub fn serve(vector: u8) {
    lab::set_vector(0, offset::ISR, vector, true);
}

/// The highest vector of a bank, 0 if there is none.
pub fn top(bank: u16) -> u64 {
    let word = |n: u16| lab::page(0, bank + n * 16);
    let top = (0..8).rev().find(|&n| word(n) != 0);
    top.map_or(0, |n| u64::from(n) * 32 + u64::from(31 - word(n).leading_zeros()))
}

/// Interrupts on for a moment: what was taken since the trial began.
pub fn open() -> u64 {
    cpu::sti_nop();
    cpu::cli();
    taken()
}

/// What exits there were: how many, above the code of the first; [`NONE`] or [`one`].
pub fn outcome() -> u64 {
    let first = lab::exit(0).code;
    lab::exits() << 32 | first & 0xffff_ffff
}

/// One exit, for [`outcome`].
pub const fn one(code: u64) -> u64 {
    1 << 32 | code & 0xffff_ffff
}

/// A part of the first exit.
pub fn part(part: Part) -> u64 {
    if lab::exits() == 0 { u64::MAX } else { lab::peek(Field::Exit(0, part)) }
}

/// Sets a field in the hope that VMRUN refuses it: what [`outcome`] says.
pub fn set_and_see(field: Field, value: u64) -> u64 {
    lab::clear();
    lab::poke(field, value);
    outcome()
}

/// Checks what the manual leaves open: on the model, which documents its choice. What silicon does is
/// reported.
pub fn chosen(label: &str, expected: u64, actual: u64) {
    if lab::is_modeled() {
        call::check(label, expected, actual);
    } else {
        call::value(label, actual);
    }
}

/// Sets a field while interrupts are on: VMRUN with IF=1 and no shadow, two NOPs behind it. Where the first
/// of them is.
pub fn enter_open(field: Field, value: u64) -> u64 {
    enter_with_interrupts(field.to_word(), value)
}

#[unsafe(naked)]
extern "C" fn enter_with_interrupts(_field: u64, _value: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "mov rbx, rdi",
        "mov rdx, rsi",
        "xor ecx, ecx",
        "mov eax, {poke}",
        "sti",
        "vmmcall",
        "2:",
        "nop",
        "nop",
        "cli",
        "lea rax, [rip + 2b]",
        "pop rbx",
        "ret",
        poke = const Call::Poke as u32,
    )
}

/// STI; HLT; NOP; CLI. Where HLT is.
#[unsafe(naked)]
pub extern "C" fn sti_hlt() -> u64 {
    naked_asm!("sti", "2:", "hlt", "nop", "cli", "lea rax, [rip + 2b]", "ret")
}

/// CLI; HLT; NOP. Where HLT is.
#[unsafe(naked)]
pub extern "C" fn cli_hlt() -> u64 {
    naked_asm!("cli", "2:", "hlt", "nop", "lea rax, [rip + 2b]", "ret")
}

/// IRET to the next instruction.
#[unsafe(naked)]
pub extern "C" fn iret() {
    naked_asm!(
        "mov rax, rsp",
        "push 16",
        "push rax",
        "pushfq",
        "push 8",
        "lea rax, [rip + 2f]",
        "push rax",
        "iretq",
        "2:",
        "nop",
        "ret",
    )
}

/// STGI; NOP, with interrupts on.
#[unsafe(naked)]
pub extern "C" fn stgi_open() {
    naked_asm!("sti", "nop", "stgi", "nop", "cli", "ret")
}

/// STGI.
#[unsafe(naked)]
pub extern "C" fn stgi() {
    naked_asm!("stgi", "nop", "ret")
}

/// CLGI.
#[unsafe(naked)]
pub extern "C" fn clgi() {
    naked_asm!("clgi", "nop", "ret")
}
