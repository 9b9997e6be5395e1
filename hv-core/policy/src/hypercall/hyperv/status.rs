//! What a hypercall comes to (TLFS 6.0b, appendix B).

/// A status; it is the low word of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// HV_STATUS_SUCCESS.
    Success = 0,
    /// HV_STATUS_INVALID_HYPERCALL_CODE: there is no such call.
    Code = 2,
    /// HV_STATUS_INVALID_HYPERCALL_INPUT: the input value, or what KVM takes for the same.
    Input = 3,
    /// HV_STATUS_INVALID_ALIGNMENT.
    Alignment = 4,
    /// HV_STATUS_INVALID_PARAMETER.
    Parameter = 5,
    /// HV_STATUS_ACCESS_DENIED: CPUID does not offer the call.
    Denied = 6,
    /// HV_STATUS_INVALID_PORT_ID.
    Port = 0x11,
    /// HV_STATUS_INVALID_CONNECTION_ID.
    Connection = 0x12,
    /// HV_STATUS_INSUFFICIENT_BUFFERS.
    Buffers = 0x13,
    /// HV_STATUS_INVALID_SYNIC_STATE.
    Synic = 0x18,
}
