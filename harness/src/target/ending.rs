//! How a QEMU process ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use trapline_abi::debug_exit;

/// isa-debug-exit's code for a written value.
const fn code(value: u32) -> i32 {
    (value << 1 | 1) as i32
}

const GOOD: i32 = code(debug_exit::DONE);
const FAILED: i32 = code(debug_exit::PANIC);
const NO_PLAN: i32 = code(debug_exit::NO_PLAN);
const UNUSABLE: i32 = code(debug_exit::UNUSABLE);

/// How a boot ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// hv-core said it is done.
    Good,
    /// hv-core failed and said so.
    Failed,
    /// hv-core found no plan that it can read.
    NoPlan,
    /// hv-core cannot run on that machine.
    Unusable,
    /// The target reset itself: a triple fault, or a reset through a port.
    Reset,
    /// QEMU gave up by itself.
    Refused,
    /// QEMU ended with a code that nobody here gives.
    Odd(i32),
    /// QEMU was killed.
    Killed(i32),
    /// It made no progress for that long, and was killed for it.
    Silent(Duration),
}

impl Ending {
    /// What a status means.
    pub(super) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(GOOD), _) => Self::Good,
            (Some(FAILED), _) => Self::Failed,
            (Some(NO_PLAN), _) => Self::NoPlan,
            (Some(UNUSABLE), _) => Self::Unusable,
            (Some(0), _) => Self::Reset,
            (Some(1), _) => Self::Refused,
            (Some(code), _) => Self::Odd(code),
            (None, signal) => Self::Killed(signal.unwrap_or(0)),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("the target ended well"),
            Self::Failed => f.write_str("hv-core failed"),
            Self::NoPlan => f.write_str("hv-core got no plan that it can use"),
            Self::Unusable => f.write_str("hv-core cannot run on this machine"),
            Self::Reset => {
                f.write_str("the target died: a triple fault or a reset (QEMU ended with code 0)")
            }
            Self::Refused => f.write_str("QEMU gave up (code 1)"),
            Self::Odd(code) => write!(f, "QEMU ended with the unexpected code {code}"),
            Self::Killed(signal) => write!(f, "QEMU was killed by signal {signal}"),
            Self::Silent(limit) => {
                write!(
                    f,
                    "the target hung: no progress for {:.1} s of wall time",
                    limit.as_secs_f64()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_debug_exit_code_is_a_good_end() {
        let of = |raw| Ending::of(ExitStatus::from_raw(raw));
        assert_eq!(of(33 << 8), Ending::Good);
        assert_eq!(of(35 << 8), Ending::Failed);
        assert_eq!(of(37 << 8), Ending::NoPlan);
        assert_eq!(of(39 << 8), Ending::Unusable);
        assert_eq!(of(0), Ending::Reset);
        assert_eq!(of(1 << 8), Ending::Refused);
        assert_eq!(of(7 << 8), Ending::Odd(7));
        assert_eq!(of(9), Ending::Killed(9));
    }
}
