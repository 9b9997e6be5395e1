//! KVM's paravirtual interface, from the guest's side (Linux Documentation/virt/kvm/x86).

mod clock;
mod steal;

use crate::cpu;
use core::arch::naked_asm;

/// Feature bits of leaf 4000_0001h EAX, and hints of its EDX.
pub mod feature {
    /// KVM_FEATURE_CLOCKSOURCE: the clock by the MSRs of old.
    pub const CLOCK_OLD: u32 = 1 << 0;
    /// KVM_FEATURE_CLOCKSOURCE2.
    pub const CLOCK: u32 = 1 << 3;
    /// KVM_FEATURE_STEAL_TIME.
    pub const STEAL_TIME: u32 = 1 << 5;
    /// KVM_FEATURE_PV_EOI.
    pub const PV_EOI: u32 = 1 << 6;
    /// KVM_FEATURE_PV_UNHALT.
    pub const PV_UNHALT: u32 = 1 << 7;
    /// KVM_FEATURE_PV_SEND_IPI.
    pub const PV_IPI: u32 = 1 << 11;
    /// KVM_FEATURE_POLL_CONTROL.
    pub const POLL_CONTROL: u32 = 1 << 12;
    /// KVM_FEATURE_PV_SCHED_YIELD.
    pub const SCHED_YIELD: u32 = 1 << 13;
    /// KVM_HINTS_REALTIME, in EDX.
    pub const HINT_REALTIME: u32 = 1 << 0;
}

/// The calls.
pub mod number {
    /// KVM_HC_KICK_CPU.
    pub const KICK_CPU: u64 = 5;
    /// KVM_HC_SEND_IPI.
    pub const SEND_IPI: u64 = 10;
    /// KVM_HC_SCHED_YIELD.
    pub const SCHED_YIELD: u64 = 11;
}

pub use clock::Clock;
pub use steal::StealTime;

/// What the host offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Leaf base + 1, EAX.
    pub features: u32,
    /// EDX of the same leaf.
    pub hints: u32,
}

impl Offer {
    /// Looks for KVM's signature where a guest looks: other interfaces may be in front of it.
    pub fn find() -> Option<Self> {
        let base = (0x4000_0000..0x4001_0000).step_by(0x100).find(|&base| {
            let [_, ebx, ecx, edx] = cpu::cpuid(base);
            [ebx, ecx, edx] == [0x4b4d_564b, 0x564b_4d56, 0x4d]
        })?;
        let [features, _, _, hints] = cpu::cpuid(base + 1);
        Some(Self { features, hints })
    }

    /// Whether all of these bits are set.
    pub const fn has(self, features: u32) -> bool {
        self.features & features == features
    }
}

/// A hypercall: number, RBX, RCX, RDX, RSI. Returns RAX, an error if it is negative.
#[unsafe(naked)]
extern "C" fn call(_number: u64, _rbx: u64, _rcx: u64, _rdx: u64, _rsi: u64) -> i64 {
    naked_asm!(
        "push rbx",
        "mov rax, rdi",
        "mov rbx, rsi",
        "xchg rcx, rdx",
        "mov rsi, r8",
        "vmmcall",
        "pop rbx",
        "ret",
    )
}

/// A hypercall with those arguments.
pub fn hypercall(number: u64, [a, b, c, d]: [u64; 4]) -> i64 {
    call(number, a, b, c, d)
}

/// Sends `icr`'s interrupt to the APIC ids whose bits are set, counted from `first` on: how many accepted.
pub fn send_ipi(bitmap: u128, first: u32, icr: u64) -> i64 {
    call(number::SEND_IPI, bitmap as u64, (bitmap >> 64) as u64, first.into(), icr)
}

/// Ends a vCPU's halt.
pub fn kick(apic_id: u32) -> i64 {
    call(number::KICK_CPU, 0, apic_id.into(), 0, 0)
}

/// Gives the core to a vCPU that waits for it.
pub fn yield_to(apic_id: u32) -> i64 {
    call(number::SCHED_YIELD, apic_id.into(), 0, 0, 0)
}
