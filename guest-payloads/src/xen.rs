//! Xen's guest interface: hypercalls through its page, and event channels of two levels (Xen,
//! public/xen.h).

// UNSAFETY: calls into a page that the hypervisor filled.
#![expect(unsafe_code, reason = "hypercalls are calls into their page")]

use crate::cpu;
use crate::page::Page;
use crate::smp;
use core::arch::asm;

/// "XenVMMXenVMM", as EBX, ECX and EDX have it.
const SIGNATURE: [u32; 3] = [0x566e_6558, 0x6558_4d4d, 0x4d4d_566e];
const FIRST_LEAF: u32 = 0x4000_0000;
const LAST_LEAF: u32 = 0x4001_0000;
const STEP: u32 = 0x100;

const MEMORY_OP: u64 = 12;
const SCHED_OP: u64 = 29;
const EVENT_CHANNEL_OP: u64 = 32;
const HVM_OP: u64 = 34;
const DOMID_SELF: u64 = 0x7ff0;

/// Code that runs, and is written by whoever answers the calls.
static CALLS: Page = Page::new();
static SHARED_INFO: Page = Page::new();

/// Where the leaves are, if there is such an interface.
pub fn leaves() -> Option<u32> {
    let mut bases = (FIRST_LEAF..LAST_LEAF).step_by(STEP as usize);
    bases.find(|&base| cpu::cpuid(base)[1..] == SIGNATURE)
}

/// Has the hypercall page written.
pub fn open(leaves: u32) {
    let [_, msr, ..] = cpu::cpuid(leaves + 2);
    cpu::write_msr(msr, CALLS.address());
}

/// A hypercall; below 0 it is an error.
#[inline(always)]
pub fn hypercall(number: u64, first: u64, second: u64) -> i64 {
    let entry = CALLS.address() + number * 32;
    let answer;
    // SAFETY: `open` had the page written; a slot returns by RET, with RAX changed and nothing else that
    // is not given up here.
    unsafe {
        asm!(
            "call {entry}",
            entry = in(reg) entry,
            inout("rdi") first => _,
            inout("rsi") second => _,
            lateout("rax") answer,
        );
    }
    answer
}

/// Calls the hypercall page of Hyper-V's interface, which may stand beside Xen's, with that input value.
pub fn hypercall_of_hyperv(page: &Page, input: u64) -> u64 {
    let answer;
    // SAFETY: the payload had the page written. It returns by RET, with RAX changed; EAX comes in as 0,
    // so that what the code makes of it is all there is.
    unsafe {
        asm!(
            "call {entry}",
            entry = in(reg) page.address(),
            inout("rax") 0u64 => answer,
            in("rcx") input,
            in("rdx") 0u64,
            in("r8") 0u64,
        );
    }
    answer
}

/// A hypercall whose second argument is a structure.
#[inline(always)]
fn with<T>(number: u64, command: u64, argument: &mut T) -> i64 {
    hypercall(number, command, core::ptr::from_mut(argument) as u64)
}

/// Puts the shared info page where the runtime has room for it; what Xen answers.
pub fn map_shared_info() -> i64 {
    let mut argument = [DOMID_SELF, 0, SHARED_INFO.address() >> 12];
    with(MEMORY_OP, 7, &mut argument)
}

/// Has a vCPU told of its events by a vector of its local APIC.
pub fn set_upcall_vector(vcpu: u32, vector: u8) -> i64 {
    let mut argument = [vcpu, u32::from(vector)];
    with(HVM_OP, 23, &mut argument)
}

/// Has all vCPUs told by a vector from beside their local APICs.
pub fn set_callback_vector(vector: u8) -> i64 {
    let mut argument = [DOMID_SELF, 2 << 56 | u64::from(vector)];
    with(HVM_OP, 0, &mut argument)
}

/// A new port whose events are a vCPU's; an error below 0.
pub fn bind_ipi(vcpu: u32) -> i64 {
    let mut argument = [vcpu, 0];
    let answer = with(EVENT_CHANNEL_OP, 7, &mut argument);
    if answer < 0 { answer } else { i64::from(argument[1]) }
}

/// Sends an event.
#[inline(always)]
pub fn send(port: u32) -> i64 {
    let mut argument = port;
    with(EVENT_CHANNEL_OP, 4, &mut argument)
}

/// Blocks until an event can be delivered, as STI and HLT do: the VMMCALL, which a guest may execute
/// itself, is in the shadow of the STI, so nothing is let in before it. An event that is there already is
/// too much for Xen 4.17: it looks while the shadow is still set, and sleeps until the next one.
#[inline(always)]
pub fn sti_block() -> i64 {
    let answer;
    // SAFETY: the hypercall changes RAX only; the IDT is loaded.
    unsafe {
        asm!("sti", "vmmcall", inout("rax") SCHED_OP => answer, in("rdi") 1u64, in("rsi") 0u64);
    }
    answer
}

/// Takes the events of this vCPU, in the order that loses none: flag, selector, port. How many ports had
/// one.
#[inline(always)]
pub fn take_events() -> u32 {
    let part = smp::number() as usize * 64;
    SHARED_INFO.take(part, 0xff);
    let mut words = SHARED_INFO.take(part + 8, u64::MAX);
    let mut ports = 0;
    while words != 0 {
        let word = words.trailing_zeros() as usize;
        words &= words - 1;
        ports += SHARED_INFO.take(2048 + word * 8, u64::MAX).count_ones();
    }
    ports
}
