//! What others need to know of a vCPU's SynIC: a copy, kept where all vCPUs of the VM see it.
//!
//! A SynIC is its vCPU's own. A sender has to know at once whether there is anybody to send to, so every
//! write of a SynIC's registers leaves a copy in the [`Partition`], under the lock that guards it.
//!
//! [`Partition`]: super::Partition

use super::synic::SINTS;

/// One SynIC, as senders see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// SCONTROL: it takes part at all.
    pub enabled: bool,
    /// The event flags' page, if there is one.
    pub event_page: Option<u64>,
    /// The SINTs' vectors, of those that are unmasked.
    pub vectors: [Option<u8>; SINTS],
}

impl View {
    /// After reset.
    pub(super) const RESET: Self = Self { enabled: true, event_page: None, vectors: [None; SINTS] };

    /// The address of a SINT's 2048 event flags, if there are any (HV-068).
    pub const fn event_flags(&self, sint: usize) -> Option<u64> {
        match self.event_page {
            Some(page) => Some(page + (sint * 256) as u64),
            None => None,
        }
    }
}
