//! The exits: every name that tables have, and what causes it.

use trapline_abi::exit;

/// One kind of exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitKind {
    /// The code.
    pub code: u64,
    /// Its name in tables.
    pub name: &'static str,
    /// What causes it.
    pub about: String,
}

impl ExitKind {
    /// Where code and name are from.
    pub fn source(&self) -> &'static str {
        match self.code {
            0x8000_0000..=0x8000_ffff => {
                "GHCB specification (SEV-ES); the name is Linux's SVM_EXIT_REASONS"
            }
            0x403 => "APM2 15.35 (SEV-ES); the name is Linux's SVM_EXIT_REASONS",
            0x401 | 0x402 => "APM2 15.29 (AVIC); the name is Linux's SVM_EXIT_REASONS",
            _ => "APM2 appendix C (SVM exit codes); the name is Linux's SVM_EXIT_REASONS",
        }
    }
}

/// Every exit that has a name, in the order of their codes.
pub fn exit_kinds() -> impl Iterator<Item = ExitKind> {
    exit::names().filter_map(|name| {
        let code = exit::code(name)?;
        Some(ExitKind { code, name, about: about(name, code)? })
    })
}

fn about(name: &str, code: u64) -> Option<String> {
    let register = |prefix: &str| name.strip_prefix(prefix).map(str::to_uppercase);
    let told =
        CAUSES.iter().find(|(known, _)| *known == name).map(|(_, about)| (*about).to_owned());
    told.or_else(|| {
        Some(format!("exception #{}, vector {}", name.strip_suffix(" excp")?, code - 0x40))
    })
    .or_else(|| {
        let written = register("write_").filter(|register| register.ends_with("_TRAP"))?;
        let register = written.trim_end_matches("_TRAP").to_owned();
        Some(format!("the guest wrote {register}: the exit comes after the instruction"))
    })
    .or_else(|| Some(format!("the guest reads {}", register("read_")?)))
    .or_else(|| Some(format!("the guest writes {}", register("write_")?)))
    .or_else(|| {
        let event = name.strip_prefix("vmgexit_")?.replace('_', " ");
        Some(format!("a guest under SEV-ES asks by VMGEXIT for: {event}"))
    })
}

/// What causes those whose name does not say it.
const CAUSES: [(&str, &str); 49] = [
    ("interrupt", "a physical interrupt arrived for the host while the guest ran"),
    ("nmi", "a physical NMI arrived while the guest ran"),
    ("smi", "a physical SMI arrived while the guest ran"),
    ("init", "a physical INIT arrived while the guest ran"),
    (
        "vintr",
        "the guest can take an interrupt now: the window that the hypervisor opened with V_IRQ",
    ),
    ("cr0_sel_write", "the guest writes a bit of CR0 other than TS and MP"),
    ("read_rt", "the guest reads its task register (STR)"),
    ("write_rt", "the guest loads its task register (LTR)"),
    ("rdtsc", "the guest executes RDTSC"),
    ("rdpmc", "the guest executes RDPMC"),
    ("pushf", "the guest executes PUSHF"),
    ("popf", "the guest executes POPF"),
    ("cpuid", "the guest executes CPUID; the detail is the leaf"),
    ("rsm", "the guest executes RSM"),
    ("iret", "the guest executes IRET: a hypervisor learns that an NMI handler ends"),
    ("swint", "the guest executes INT n"),
    ("invd", "the guest executes INVD"),
    ("pause", "the guest executed PAUSE as often as the filter allows: it spins"),
    ("hlt", "the guest executes HLT; the hypervisor blocks the vCPU until an event"),
    ("invlpg", "the guest executes INVLPG"),
    ("invlpga", "the guest executes INVLPGA"),
    ("io", "the guest executes IN or OUT; the detail is the port and the direction"),
    ("msr", "the guest executes RDMSR or WRMSR; the detail is the MSR and the direction"),
    ("task_switch", "the guest switches tasks"),
    ("ferr_freeze", "the processor is frozen by FERR handling"),
    ("shutdown", "the guest caused a triple fault"),
    ("vmrun", "the guest executes VMRUN: nested, or a mistake"),
    ("hypercall", "the guest executes VMMCALL; the detail is the number"),
    ("vmload", "the guest executes VMLOAD"),
    ("vmsave", "the guest executes VMSAVE"),
    ("stgi", "the guest executes STGI"),
    ("clgi", "the guest executes CLGI"),
    ("skinit", "the guest executes SKINIT"),
    ("rdtscp", "the guest executes RDTSCP"),
    ("icebp", "the guest executes ICEBP (INT1)"),
    ("wbinvd", "the guest executes WBINVD or WBNOINVD"),
    ("monitor", "the guest executes MONITOR"),
    ("mwait", "the guest executes MWAIT"),
    ("xsetbv", "the guest executes XSETBV"),
    ("invpcid", "the guest executes INVPCID"),
    ("buslock", "the guest locked the bus"),
    (
        "idle-halt",
        "the guest executes HLT and nothing is pending: Idle HLT, which is silent otherwise",
    ),
    ("npf", "a nested page fault: the xAPIC's or IOAPIC's page, or memory that is not mapped"),
    (
        "avic_incomplete_ipi",
        "AVIC could not deliver an IPI by itself; EXITINFO2 says why and to whom",
    ),
    (
        "avic_unaccelerated_access",
        "the guest used an APIC register that AVIC leaves to the hypervisor",
    ),
    ("vmgexit", "a guest under SEV-ES executes VMGEXIT"),
    ("invalid_guest_state", "VMRUN refused the VMCB: VMEXIT_INVALID"),
    ("write_efer_trap", "the guest wrote EFER: the exit comes after the instruction"),
    ("vmgexit_ap_hlt_loop", "a guest under SEV-ES parks a vCPU until INIT and SIPI"),
];
