//! Xen's error numbers (Xen, public/errno.h). A hypercall answers their negative.

/// An error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Errno {
    /// EPERM.
    NotPermitted = 1,
    /// ENOENT.
    NoSuchEntity = 2,
    /// ESRCH.
    NoSuchDomain = 3,
    /// EFAULT.
    BadAddress = 14,
    /// EINVAL.
    Invalid = 22,
    /// ENOSPC.
    NoSpace = 28,
    /// ENOSYS.
    NoSuchCall = 38,
}

/// What a hypercall answers.
pub(super) type Answer = Result<u64, Errno>;
