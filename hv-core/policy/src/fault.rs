//! Faults that a policy gives back to the guest.

/// The access is answered with `#GP(0)`: RIP stays on the instruction and nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gp;
