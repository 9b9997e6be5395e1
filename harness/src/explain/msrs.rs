//! The MSRs that payloads, policies and tables name.

/// An MSR, or a row of equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Msr {
    /// The number of the first.
    pub first: u32,
    /// The number of the last.
    pub last: u32,
    /// The name in its source.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Where that is from.
    pub source: &'static str,
}

impl Msr {
    /// Its numbers.
    pub fn numbers(&self) -> std::ops::RangeInclusive<u64> {
        self.first.into()..=self.last.into()
    }
}

const APM: &str = "APM2 appendix A (MSRs)";
const X2: &str = "APM2 chapter 16 (x2APIC registers)";
const SVM: &str = "APM2 15.30 (SVM-related MSRs)";
const TLFS: &str = "Hyper-V TLFS";
const KVM: &str = "Linux, Documentation/virt/kvm/x86/msr.rst";

const fn one(number: u32, name: &'static str, about: &'static str, source: &'static str) -> Msr {
    Msr { first: number, last: number, name, about, source }
}

const fn row(
    first: u32,
    last: u32,
    name: &'static str,
    about: &'static str,
    source: &'static str,
) -> Msr {
    Msr { first, last, name, about, source }
}

/// All of them, by number.
pub const MSRS: [Msr; 73] = [
    one(0x10, "TSC", "the time stamp counter", APM),
    one(0x11, "MSR_KVM_WALL_CLOCK", "KVM's wall clock, the number of old", KVM),
    one(0x12, "MSR_KVM_SYSTEM_TIME", "KVM's clock of one vCPU, the number of old", KVM),
    one(
        0x1b,
        "APIC_BASE",
        "address of the APIC's page, its mode, and who is the first processor",
        APM,
    ),
    one(0x1a0, "MISC_ENABLE", "of Intel; KVM keeps it and Windows reads it", "Intel SDM vol. 4"),
    one(0x277, "PAT", "memory types of page tables", APM),
    one(
        0x6e0,
        "TSC_DEADLINE",
        "the TSC at which the APIC timer fires",
        "Intel SDM vol. 3, TSC-deadline mode",
    ),
    one(0x802, "X2APIC_ID", "the APIC's id, 32 bits, read-only", X2),
    one(0x803, "X2APIC_VERSION", "version and number of LVT entries", X2),
    one(0x808, "X2APIC_TPR", "the task priority; CR8 is its upper half", X2),
    one(0x80a, "X2APIC_PPR", "the processor priority, read-only", X2),
    one(0x80b, "X2APIC_EOI", "a write of 0 ends the highest interrupt in service", X2),
    one(0x80d, "X2APIC_LDR", "the logical id, read-only, made of the id", X2),
    one(0x80f, "X2APIC_SVR", "spurious vector, and the APIC's software enable", X2),
    row(0x810, 0x817, "X2APIC_ISR", "interrupts in service, 32 a register", X2),
    row(0x818, 0x81f, "X2APIC_TMR", "which of them are level-triggered", X2),
    row(0x820, 0x827, "X2APIC_IRR", "interrupts that are requested", X2),
    one(0x828, "X2APIC_ESR", "errors; a write latches them", X2),
    one(0x830, "X2APIC_ICR", "the interrupt command: one 64-bit write sends an IPI", X2),
    one(0x832, "X2APIC_LVT_TIMER", "vector and mode of the APIC timer", X2),
    one(0x833, "X2APIC_LVT_THERMAL", "vector of the thermal sensor", X2),
    one(0x834, "X2APIC_LVT_PERFORMANCE", "vector of the performance counters", X2),
    one(0x835, "X2APIC_LVT_LINT0", "what pin LINT0 does", X2),
    one(0x836, "X2APIC_LVT_LINT1", "what pin LINT1 does", X2),
    one(0x837, "X2APIC_LVT_ERROR", "vector for errors", X2),
    one(0x838, "X2APIC_TIMER_INITIAL", "a write starts the APIC timer", X2),
    one(0x839, "X2APIC_TIMER_CURRENT", "what is left of the APIC timer, read-only", X2),
    one(0x83e, "X2APIC_TIMER_DIVIDE", "how the APIC timer's clock is divided", X2),
    one(0x83f, "X2APIC_SELF_IPI", "a write sends that vector to oneself", X2),
    one(0x4000_0000, "HV_X64_MSR_GUEST_OS_ID", "who the guest is; hypercalls need it", TLFS),
    one(0x4000_0001, "HV_X64_MSR_HYPERCALL", "where the hypercall page is", TLFS),
    one(0x4000_0002, "HV_X64_MSR_VP_INDEX", "the vCPU's index, read-only", TLFS),
    one(0x4000_0003, "HV_X64_MSR_RESET", "a write of 1 resets the machine", TLFS),
    one(0x4000_0010, "HV_X64_MSR_VP_RUNTIME", "how long the vCPU ran, in 100 ns", TLFS),
    one(0x4000_0020, "HV_X64_MSR_TIME_REF_COUNT", "the reference time, in 100 ns", TLFS),
    one(
        0x4000_0021,
        "HV_X64_MSR_REFERENCE_TSC",
        "where the page for reference time by TSC is",
        TLFS,
    ),
    one(0x4000_0022, "HV_X64_MSR_TSC_FREQUENCY", "the TSC's frequency in Hz", TLFS),
    one(0x4000_0023, "HV_X64_MSR_APIC_FREQUENCY", "the APIC timer's frequency in Hz", TLFS),
    one(0x4000_0070, "HV_X64_MSR_EOI", "EOI without the APIC's page", TLFS),
    one(0x4000_0071, "HV_X64_MSR_ICR", "ICR without the APIC's page", TLFS),
    one(0x4000_0072, "HV_X64_MSR_TPR", "TPR without the APIC's page", TLFS),
    one(
        0x4000_0073,
        "HV_X64_MSR_VP_ASSIST_PAGE",
        "where the assist page is: EOI without an exit",
        TLFS,
    ),
    one(0x4000_0080, "HV_X64_MSR_SCONTROL", "turns the synthetic interrupt controller on", TLFS),
    one(0x4000_0081, "HV_X64_MSR_SVERSION", "the controller's version, read-only", TLFS),
    one(0x4000_0082, "HV_X64_MSR_SIEFP", "where the page of event flags is", TLFS),
    one(0x4000_0083, "HV_X64_MSR_SIMP", "where the page of messages is", TLFS),
    one(0x4000_0084, "HV_X64_MSR_EOM", "the guest took a message; the next may come", TLFS),
    row(0x4000_0090, 0x4000_009f, "HV_X64_MSR_SINT", "vector, mask and AutoEOI of a source", TLFS),
    one(0x4000_00b0, "HV_X64_MSR_STIMER0_CONFIG", "how synthetic timer 0 works", TLFS),
    one(0x4000_00b1, "HV_X64_MSR_STIMER0_COUNT", "when it expires, or how often", TLFS),
    one(0x4000_00b2, "HV_X64_MSR_STIMER1_CONFIG", "how synthetic timer 1 works", TLFS),
    one(0x4000_00b3, "HV_X64_MSR_STIMER1_COUNT", "when it expires, or how often", TLFS),
    one(0x4000_00b4, "HV_X64_MSR_STIMER2_CONFIG", "how synthetic timer 2 works", TLFS),
    one(0x4000_00b5, "HV_X64_MSR_STIMER2_COUNT", "when it expires, or how often", TLFS),
    one(0x4000_00b6, "HV_X64_MSR_STIMER3_CONFIG", "how synthetic timer 3 works", TLFS),
    one(0x4000_00b7, "HV_X64_MSR_STIMER3_COUNT", "when it expires, or how often", TLFS),
    one(0x4b56_4d00, "MSR_KVM_WALL_CLOCK_NEW", "KVM's wall clock", KVM),
    one(0x4b56_4d01, "MSR_KVM_SYSTEM_TIME_NEW", "KVM's clock of one vCPU", KVM),
    one(0x4b56_4d03, "MSR_KVM_STEAL_TIME", "how long the vCPU waited for a core", KVM),
    one(0x4b56_4d04, "MSR_KVM_PV_EOI_EN", "where the bit for an EOI without an exit is", KVM),
    one(0x4b56_4d05, "MSR_KVM_POLL_CONTROL", "whether the host polls when the vCPU halts", KVM),
    one(0xc000_0080, "EFER", "long mode, NX, SYSCALL and SVM", APM),
    one(0xc000_0081, "STAR", "segments of SYSCALL and SYSRET", APM),
    one(0xc000_0082, "LSTAR", "where SYSCALL goes in 64-bit mode", APM),
    one(0xc000_0083, "CSTAR", "where SYSCALL goes in compatibility mode", APM),
    one(0xc000_0084, "SFMASK", "which flags SYSCALL clears", APM),
    one(0xc000_0100, "FS_BASE", "the base of FS", APM),
    one(0xc000_0101, "GS_BASE", "the base of GS", APM),
    one(0xc000_0102, "KERNEL_GS_BASE", "what SWAPGS exchanges with GS_BASE", APM),
    one(0xc000_0103, "TSC_AUX", "what RDTSCP gives beside the TSC", APM),
    one(0xc001_0114, "VM_CR", "whether firmware locked SVM", SVM),
    one(0xc001_0117, "VM_HSAVE_PA", "where VMRUN saves the host's state", SVM),
    one(
        0xc001_011b,
        "AVIC_DOORBELL",
        "a write makes another core look for interrupts",
        "APM2 15.29.8 (AVIC)",
    ),
];
