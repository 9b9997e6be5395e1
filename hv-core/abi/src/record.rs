//! Records: everything hv-core says, in the order it says it.
//!
//! ```text
//! Hello
//!   ScenarioBegin
//!     Silicon                                 unless it is refused
//!     Log* Check* Value*                      while the payload runs, outside windows
//!     Window, then its Exit*, then Order      after each window's end
//!     Traps*                                  all traps of the scenario by code
//!     Postmortem, Last*                       only when it did not end well
//!   ScenarioEnd
//! Goodbye
//! ```
//! The encoding is positional: variants and fields are only ever appended, and any change raises
//! [`crate::PROTOCOL`]. No record carries an absolute time stamp: times are relative to the
//! scenario's start, or durations, in TSC ticks.

use serde::{Deserialize, Serialize};

/// How loud a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// For people.
    Info,
    /// Something that a reader of the result should know.
    Warn,
    /// Something that makes the result worthless.
    Error,
}

/// How hv-core came to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BootPath {
    /// `qemu -kernel`, through the PVH note.
    Pvh,
    /// GRUB, through the Multiboot2 header.
    Multiboot2,
}

/// How a scenario ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The payload said it is done. Whether its checks held is another matter.
    Done,
    /// The guest-time budget ran out.
    TimeBudget,
    /// The exit budget ran out.
    ExitBudget,
    /// Every vCPU is halted and nothing can ever wake one.
    Stuck,
    /// The guest shut down (triple fault, exit 7Fh).
    Shutdown,
    /// The guest touched memory that it does not have.
    BadMemory,
    /// An exit that the policy has no answer to.
    Unhandled,
    /// VMRUN refused the VMCB (VMEXIT_INVALID).
    InvalidGuestState,
    /// The payload panicked.
    Panic,
    /// The plan's entry cannot be run: bad ELF, unknown policy, missing feature.
    Refused,
    /// The guest asked for a reset of its VM, which no scenario has.
    Reset,
}

/// Figures of the durations of one kind of exit, in TSC ticks from #VMEXIT to the next VMRUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations<'a> {
    /// How many.
    pub count: u64,
    /// Sum.
    pub sum: u64,
    /// Sum of squares.
    pub sum_squares: u128,
    /// Shortest.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// log2 histogram: element `i`, a little-endian `u32`, counts durations in `2^i .. 2^(i+1)`
    /// (0 and 1 both in element 0); trailing zero elements are left out.
    pub histogram: &'a [u8],
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record<'a> {
    /// The first record of a boot.
    Hello {
        /// [`crate::PROTOCOL`].
        protocol: u32,
        /// How hv-core was started.
        boot: BootPath,
        /// CPUID Fn0000_0001 EAX of the processor hv-core runs on.
        signature: u32,
        /// CPUID Fn8000_0002..4, without trailing zeros.
        brand: &'a str,
        /// CPUID Fn8000_000A EBX: number of ASIDs.
        asids: u32,
        /// CPUID Fn8000_000A EDX: SVM features of that processor.
        svm_features: u32,
        /// TSC frequency in kHz.
        tsc_khz: u32,
        /// Cores that hv-core can use.
        cores: u32,
        /// Scenarios in the plan.
        scenarios: u32,
    },
    /// A line for people.
    Log {
        /// How loud.
        level: Level,
        /// The line, without its end.
        text: &'a str,
    },
    /// A scenario starts.
    ScenarioBegin {
        /// Its place in the plan, from 0.
        index: u32,
        /// Its name.
        name: &'a str,
    },
    /// The payload compared two numbers.
    Check {
        /// vCPU that reported it.
        vcpu: u16,
        /// What was compared.
        label: &'a str,
        /// What the rule says.
        expected: u64,
        /// What was seen.
        actual: u64,
    },
    /// The payload reports a number.
    Value {
        /// vCPU that reported it.
        vcpu: u16,
        /// Its name.
        label: &'a str,
        /// The number.
        value: u64,
    },
    /// A window has ended; its exits follow.
    Window {
        /// vCPU whose window it is.
        vcpu: u16,
        /// Its name, as the payload gave it.
        label: &'a str,
        /// TSC ticks from the return of the begin mark to the exit of the end mark.
        ticks: u64,
        /// How many [`Record::Exit`] records follow.
        rows: u32,
    },
    /// One row of a window's table.
    Exit {
        /// An [`crate::exit::ExitKey`].
        key: u64,
        /// Its figures.
        durations: Durations<'a>,
    },
    /// All traps of the scenario with one code, windows, marks and the rest together.
    Traps {
        /// vCPU that took them.
        vcpu: u16,
        /// The exit code.
        code: u64,
        /// How many.
        count: u64,
    },
    /// Where a vCPU was when its scenario ended badly.
    Postmortem {
        /// The vCPU.
        vcpu: u16,
        /// Guest RIP.
        rip: u64,
        /// Guest RSP.
        rsp: u64,
        /// Guest RFLAGS.
        rflags: u64,
        /// Guest CR2.
        cr2: u64,
        /// Interrupt shadow (VMCB 068h).
        interrupt_shadow: bool,
        /// Whether it was halted.
        halted: bool,
        /// Local APIC TPR and PPR.
        tpr: u8,
        /// See `tpr`.
        ppr: u8,
        /// Local APIC IRR, 32 bytes, vector 0 first.
        irr: &'a [u8],
        /// Local APIC ISR, likewise.
        isr: &'a [u8],
        /// How many [`Record::Last`] records follow, oldest first.
        last: u32,
    },
    /// One of the last exits before a bad end.
    Last {
        /// An [`crate::exit::ExitKey`].
        key: u64,
        /// Guest RIP at the exit.
        rip: u64,
        /// When, in TSC ticks since the scenario's start.
        at: u64,
    },
    /// A scenario is over.
    ScenarioEnd {
        /// Its place in the plan.
        index: u32,
        /// How.
        outcome: Outcome,
        /// What there is to say about it: empty when it is [`Outcome::Done`].
        detail: &'a str,
        /// TSC ticks from the scenario's start.
        ticks: u64,
    },
    /// The last record of a boot.
    Goodbye {
        /// Scenarios that were run.
        scenarios: u32,
    },
    /// hv-core itself failed; nothing of it can be trusted from here on.
    Panic {
        /// Where and why.
        text: &'a str,
    },
    /// In which order the exits of the window that was reported last came.
    Order {
        /// vCPU whose window it is.
        vcpu: u16,
        /// The last exits of the window, at most 64, oldest first: little-endian
        /// [`crate::exit::ExitKey`]s.
        keys: &'a [u8],
    },
    /// The silicon that the scenario is about to run on, right after its begin. One bit a feature, in
    /// the order AVIC, x2AVIC, Idle HLT, VNMI, vGIF.
    Silicon {
        /// Features that hv-core models.
        modeled: u8,
        /// Features that the processor itself has, and that are used.
        real: u8,
    },
    /// A part of what a traced vCPU did; parts follow each other.
    Trace {
        /// The vCPU.
        vcpu: u16,
        /// Whole [`crate::trace::Event`]s.
        events: &'a [u8],
    },
}
