//! sched_op (Xen, public/sched.h).

use super::errno::{Answer, Errno};

const YIELD: u64 = 0;
/// As HLT; the caller blocks. Xen looks for events before it steps over the VMMCALL: in the shadow of STI it
/// sleeps on one that is there already. Here it is seen.
pub(super) const BLOCK: u64 = 1;

pub(super) fn op(command: u64) -> Answer {
    match command {
        // Whoever wants the core gets it at the end of the slice.
        YIELD | BLOCK => Ok(0),
        _ => Err(Errno::NoSuchCall),
    }
}
