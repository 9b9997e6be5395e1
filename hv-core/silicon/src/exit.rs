//! What becomes of something the guest did.

use trapline_defs::avic::{FailureId, IncompleteIpi, NoAccel};
use trapline_defs::exit_code::ExitCode;

/// Where RIP is at an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rip {
    /// At the instruction, which did nothing ("fault").
    At,
    /// Behind the instruction, which is complete ("trap").
    After,
}

/// An architectural exit, as the described processor reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// EXITCODE.
    pub code: ExitCode,
    /// EXITINFO1.
    pub info_1: u64,
    /// EXITINFO2.
    pub info_2: u64,
    /// Where RIP is.
    pub rip: Rip,
}

impl Exit {
    /// An instruction intercept without information.
    #[inline]
    pub const fn intercept(code: ExitCode) -> Self {
        Self { code, info_1: 0, info_2: 0, rip: Rip::At }
    }

    /// Exit 402h of an access at `offset`.
    #[inline]
    pub(crate) const fn no_accel(offset: u16, write: bool, rip: Rip) -> Self {
        let info_1 = NoAccel::at(offset, write).into_bits();
        Self { code: ExitCode::AVIC_NOACCEL, info_1, info_2: 0, rip }
    }

    /// Exit 401h of the ICR `high`:`low`, both as written.
    #[inline]
    pub(crate) const fn incomplete_ipi(low: u32, high: u32, id: FailureId, index: u16) -> Self {
        Self {
            code: ExitCode::AVIC_INCOMPLETE_IPI,
            info_1: (high as u64) << 32 | low as u64,
            info_2: IncompleteIpi::because(id, index).into_bits(),
            rip: Rip::After,
        }
    }

    /// Whether nRIP (VMCB 0C8h) holds the next instruction's address. Only instruction intercepts
    /// save it (APM §15.7.1); for 401h and 402h it is 0 and must not be used (AVH-008).
    pub const fn saves_next_rip(&self) -> bool {
        matches!(self.code, ExitCode::HLT | ExitCode::IDLE_HLT | ExitCode::MSR)
            || matches!(self.code, ExitCode::STGI | ExitCode::CLGI | ExitCode::WRITE_CR8)
    }
}

impl<T> Outcome<T> {
    /// The same, without the value that was read.
    #[inline]
    pub fn without_value(self) -> Outcome {
        match self {
            Self::Absorbed(_) => Outcome::Absorbed(()),
            Self::Exit(exit) => Outcome::Exit(exit),
            Self::Gp => Outcome::Gp,
            Self::Physical => Outcome::Physical,
            Self::Undefined => Outcome::Undefined,
        }
    }
}

/// What becomes of a guest's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome<T = ()> {
    /// Done, no exit. The instruction retires with this result.
    Absorbed(T),
    /// The hypervisor sees this exit.
    Exit(Exit),
    /// The guest gets `#GP(0)`; no exit unless `#GP` is intercepted.
    Gp,
    /// Not virtualized: the access goes to whatever is behind it (for an x2APIC MSR, the physical
    /// APIC).
    Physical,
    /// The manual does not say. A test case that gets here is wrong, and says so.
    Undefined,
}
