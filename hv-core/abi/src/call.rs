//! Payload calls: how a payload talks to what runs it.
//!
//! Under hv-core a call is one VMMCALL with the number in RAX and arguments in RBX, RCX, RDX and
//! RSI; the answer comes back in RAX. Calls are marks: they are trapped, but never counted in a
//! window. The numbers start far from those of the KVM, Xen and Hyper-V hypercalls, which use RAX
//! or RCX in their own ranges, so a payload can exercise those and still be heard.

/// The first number of the payload calls: "TRL" and a zero byte.
pub const BASE: u64 = 0x5452_4c00;

/// The CPUID leaf that says "hv-core is here, use VMMCALL": EBX, ECX, EDX spell
/// [`SIGNATURE`], EAX is [`crate::PROTOCOL`]. It lies in the hypervisor range, above every
/// place where guests look for KVM, Xen or Hyper-V.
pub const CPUID_LEAF: u32 = 0x4000_ff00;

/// See [`CPUID_LEAF`].
pub const SIGNATURE: [u8; 12] = *b"TraplineHv01";

/// A payload call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Call {
    /// A window begins. RBX, RCX: address and length of its label.
    Begin = BASE,
    /// The window ends.
    End,
    /// Two numbers are compared. RBX, RCX: label; RDX expected; RSI actual.
    Check,
    /// A number is reported. RBX, RCX: label; RDX the number.
    Value,
    /// A line for people. RBX, RCX: the line.
    Log,
    /// The payload is done.
    Done,
    /// The payload panicked. RBX, RCX: the message.
    Panic,
    /// Asks for a fact about the machine that a guest cannot see: RBX a [`Query`]. The answer is
    /// [`UNAVAILABLE`] where the target cannot know it.
    Query,
    /// Drops the nested mapping of the page at RBX (a guest-physical address), so that its next
    /// use costs a nested page fault, as a swapped-out page would. Answers 0, or [`UNAVAILABLE`].
    Evict,
    /// Sets a [`crate::laboratory::Field`], RBX, to RDX. Answers 0, or [`UNAVAILABLE`].
    Poke,
    /// Reads a [`crate::laboratory::Field`], RBX. Answers it, or [`UNAVAILABLE`].
    Peek,
}

impl Call {
    /// The call with that number.
    pub const fn from_number(number: u64) -> Option<Self> {
        const ALL: [Call; 11] = [
            Call::Begin,
            Call::End,
            Call::Check,
            Call::Value,
            Call::Log,
            Call::Done,
            Call::Panic,
            Call::Query,
            Call::Evict,
            Call::Poke,
            Call::Peek,
        ];
        let index = number.wrapping_sub(BASE);
        if index < ALL.len() as u64 { Some(ALL[index as usize]) } else { None }
    }
}

/// A fact that only the hypervisor side knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Query {
    /// vCPUs that use AutoEOI: the per-VM count of the HYPERV inhibit (spec hyperv.md 4.2).
    AutoEoiCount = 1,
    /// The APICv inhibit reasons that are set, as KVM's bit mask.
    ApicvInhibits = 2,
    /// Interrupts that were injected so far, re-injections included.
    Injections = 3,
}

impl Query {
    /// The query with that number.
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::AutoEoiCount),
            2 => Some(Self::ApicvInhibits),
            3 => Some(Self::Injections),
            _ => None,
        }
    }
}

/// The answer of a call that the target cannot serve.
pub const UNAVAILABLE: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for n in 0..11 {
            assert_eq!(Call::from_number(BASE + n).unwrap() as u64, BASE + n);
        }
        assert_eq!(Call::from_number(BASE + 11), None);
        assert_eq!(Call::from_number(0), None);
    }
}
