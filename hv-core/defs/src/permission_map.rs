//! Sizes of the permission maps (APM §15.10.1, §15.11).
//!
//! hv-core fills both with ones: every port and every MSR is intercepted. A guest's only way to a
//! real one is a policy that grants it.

/// I/O permission map: one bit a port, three pages because an access may cross the last port.
pub const IOPM_PAGES: usize = 3;

/// MSR permission map: two bits an MSR (read, write) for three ranges of 2000h MSRs.
pub const MSRPM_PAGES: usize = 2;
