//! Accesses to the APIC above ring 0 under AVIC (APM vol. 2 §15.11, §15.29.3; AVIC-071, AVIC-072).
#![no_std]
#![no_main]
// UNSAFETY: the way to ring 3 and back.
#![expect(unsafe_code, reason = "segments, page tables and a change of privilege")]

use core::arch::{asm, naked_asm};
use core::cell::UnsafeCell;
use guest_payloads::laboratory::{self as lab, Field};
use guest_payloads::rule::{self, GP, NOTHING, Rule, traps};
use guest_payloads::{interrupt, payload};
use trapline_defs::apic::{DEFAULT_BASE, offset};

payload! {
    about: "Accesses the APIC from ring 3 under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" }
        = "xapic", "The APIC's interface.";
    run: run;
}

fn run(Params { registers }: Params) {
    let x2apic = registers == Registers::X2Apic;
    rule::open(x2apic);
    rule::fresh();
    open_ring_3();
    if x2apic { msrs() } else { stores() }
}

fn stores() {
    let mut rule = Rule::new("AVIC-071 a user's store is a store");
    for (register, value, word) in
        [(offset::TPR, 0x30, NOTHING), (offset::SVR, 0x13f, traps(offset::SVR))]
    {
        let came = in_ring_3(store, DEFAULT_BASE + u64::from(register), 0, value);
        rule.is(word, came).is(value, lab::page(0, register).into());
    }
    rule.is(3, lab::v_tpr());
}

fn msrs() {
    let mut rule = Rule::new("AVIC-072 a user's WRMSR is #GP");
    lab::set_vector(0, offset::ISR, 0x55, true);
    for intercepted in [0, 1] {
        for index in [0x0b, 0x30] {
            lab::poke(Field::WriteIntercept(index), intercepted);
            // EOI, or vector 0 to the sender itself.
            rule.is(GP, in_ring_3(wrmsr, 0, 0x800 + u64::from(index), 0));
            lab::poke(Field::WriteIntercept(index), 0);
        }
    }
    rule.is(1, lab::has(0, offset::ISR, 0x55).into()).is(0, rule::requested());
}

/// What the first instruction of `code` comes to in ring 3. The second one ends the trip: CLI is `#GP`.
fn in_ring_3(code: extern "C" fn(), rdi: u64, rcx: u64, rax: u64) -> u64 {
    let at = code as *const () as u64;
    lab::clear();
    // SAFETY: `open_ring_3` made everything ready, and `code` ends with a fault.
    unsafe { to_user(at, rdi, rcx, rax) };
    // SAFETY: the fault put RIP at the fifth word from the top.
    let rip = unsafe { (*KERNEL_STACK.0.get())[STACK - 5] };
    rule::word(at, rip == at)
}

const STACK: usize = 1024;

#[repr(C, align(16))]
struct Words<const N: usize>(UnsafeCell<[u64; N]>);

// SAFETY: one vCPU.
unsafe impl<const N: usize> Sync for Words<N> {}

static KERNEL_STACK: Words<STACK> = Words(UnsafeCell::new([0; STACK]));
static USER_STACK: Words<64> = Words(UnsafeCell::new([0; 64]));
/// Null; code and data of ring 0; data and code of ring 3; the TSS.
static GDT: Words<7> = Words(UnsafeCell::new([
    0,
    0x00af_9b00_0000_ffff,
    0x00cf_9300_0000_ffff,
    0x00cf_f300_0000_ffff,
    0x00af_fb00_0000_ffff,
    0,
    0,
]));
static TSS: Words<13> = Words(UnsafeCell::new([0; 13]));
/// RSP on the way out.
static LEFT_AT: Words<1> = Words(UnsafeCell::new([0]));

/// Lets ring 3 use every page, and gives it segments and a way back.
fn open_ring_3() {
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
    interrupt::on(13, from_user);
}

/// The GDT's limit where LGDT looks for it: in the two bytes before the base.
const GDT_LIMIT: u64 = (7 * 8 - 1) << 48;

fn from_user() {
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

#[unsafe(naked)]
extern "C" fn store() {
    naked_asm!("mov [rdi], eax", "cli")
}

#[unsafe(naked)]
extern "C" fn wrmsr() {
    naked_asm!("wrmsr", "cli")
}
