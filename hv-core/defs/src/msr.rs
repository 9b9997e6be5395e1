//! MSR numbers.

/// IA32_TSC.
pub const TSC: u32 = 0x10;
/// IA32_APIC_BASE.
pub const APIC_BASE: u32 = 0x1b;
/// IA32_MISC_ENABLE.
pub const MISC_ENABLE: u32 = 0x1a0;
/// IA32_PAT.
pub const PAT: u32 = 0x277;
/// IA32_TSC_DEADLINE.
pub const TSC_DEADLINE: u32 = 0x6e0;
/// The first x2APIC register.
pub const X2APIC_FIRST: u32 = 0x800;
/// The last of the x2APIC range.
pub const X2APIC_LAST: u32 = 0x8ff;
/// The first Hyper-V synthetic MSR.
pub const HYPERV_FIRST: u32 = 0x4000_0000;
/// The last of the Hyper-V range.
pub const HYPERV_LAST: u32 = 0x4000_01ff;
/// KVM's wall clock, the number of old (MSR_KVM_WALL_CLOCK).
pub const KVM_WALL_CLOCK_OLD: u32 = 0x11;
/// KVM's clock of one vCPU, the number of old (MSR_KVM_SYSTEM_TIME).
pub const KVM_SYSTEM_TIME_OLD: u32 = 0x12;
/// KVM's wall clock (MSR_KVM_WALL_CLOCK_NEW).
pub const KVM_WALL_CLOCK: u32 = 0x4b56_4d00;
/// KVM's clock of one vCPU (MSR_KVM_SYSTEM_TIME_NEW).
pub const KVM_SYSTEM_TIME: u32 = 0x4b56_4d01;
/// KVM's steal time (MSR_KVM_STEAL_TIME).
pub const KVM_STEAL_TIME: u32 = 0x4b56_4d03;
/// KVM's host-side halt polling (MSR_KVM_POLL_CONTROL).
pub const KVM_POLL_CONTROL: u32 = 0x4b56_4d05;
/// KVM's PV EOI (MSR_KVM_PV_EOI_EN).
pub const KVM_PV_EOI: u32 = 0x4b56_4d04;
/// EFER.
pub const EFER: u32 = 0xc000_0080;
/// STAR.
pub const STAR: u32 = 0xc000_0081;
/// LSTAR.
pub const LSTAR: u32 = 0xc000_0082;
/// CSTAR.
pub const CSTAR: u32 = 0xc000_0083;
/// SFMASK.
pub const SFMASK: u32 = 0xc000_0084;
/// FS base.
pub const FS_BASE: u32 = 0xc000_0100;
/// GS base.
pub const GS_BASE: u32 = 0xc000_0101;
/// KernelGSBase.
pub const KERNEL_GS_BASE: u32 = 0xc000_0102;
/// TSC_AUX.
pub const TSC_AUX: u32 = 0xc000_0103;
/// VM_CR (APM §15.30.1).
pub const VM_CR: u32 = 0xc001_0114;
/// VM_HSAVE_PA (APM §15.30.4).
pub const VM_HSAVE_PA: u32 = 0xc001_0117;
/// AVIC doorbell (APM §15.29.8.2).
pub const AVIC_DOORBELL: u32 = 0xc001_011b;

/// EFER bits.
pub mod efer {
    /// SYSCALL enable.
    pub const SCE: u64 = 1;
    /// Long mode enable.
    pub const LME: u64 = 1 << 8;
    /// Long mode active.
    pub const LMA: u64 = 1 << 10;
    /// No-execute enable.
    pub const NXE: u64 = 1 << 11;
    /// SVM enable.
    pub const SVME: u64 = 1 << 12;
}
