//! KVM's paravirtual interface, from the guest's side (Linux Documentation/virt/kvm/x86).

use crate::{cpu, smp};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trapline_defs::msr::KVM_STEAL_TIME;

/// Feature bits of leaf 4000_0001h EAX, and hints of its EDX.
pub mod feature {
    /// KVM_FEATURE_STEAL_TIME.
    pub const STEAL_TIME: u32 = 1 << 5;
    /// KVM_FEATURE_PV_SEND_IPI.
    pub const PV_IPI: u32 = 1 << 11;
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

/// A structure of steal time: 64 bytes on 64.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct StealTime([AtomicU64; 8]);

static STEAL: [StealTime; smp::MAX_VCPUS] =
    [const { StealTime([const { AtomicU64::new(0) }; 8]) }; smp::MAX_VCPUS];

impl StealTime {
    /// That of a vCPU.
    pub fn of(vcpu: u32) -> &'static Self {
        &STEAL[vcpu as usize]
    }

    /// Asks for that of the vCPU that asks.
    pub fn open() {
        let mine = core::ptr::from_ref(Self::of(smp::number()));
        cpu::write_msr(KVM_STEAL_TIME, mine as u64 | 1);
    }

    /// Nanoseconds in which it could have run and did not.
    pub fn stolen(&self) -> u64 {
        self.0[0].load(SeqCst)
    }

    /// Odd while it is written.
    pub fn version(&self) -> u32 {
        self.0[1].load(SeqCst) as u32
    }

    /// Whether it was interrupted in favor of somebody else, and has not run since.
    pub fn is_preempted(&self) -> bool {
        self.0[2].load(SeqCst) & 1 != 0
    }
}
