//! Pin 8: the RTC's lost-tick bookkeeping.
//!
//! Windows keeps time by counting RTC interrupts, so a VMM wants to know which ticks were lost. KVM
//! answers by watching the EOI of the RTC's vector and dropping edges that come before it.

use trapline_defs::apic::DeliveryMode;

use super::Ioapic;
use crate::lapic::Message;

/// The RTC's pin (GSI 8).
pub(super) const PIN: u8 = 8;

impl Ioapic {
    /// The RTC's vector while its EOI is awaited.
    ///
    /// Under AVIC the EOI of an edge is invisible. KVM then catches up just before the next edge:
    /// if the local APIC has no [`EOI outstanding`](crate::lapic::Lapic::eoi_outstanding) for this
    /// vector, the caller ends the wait with [`Ioapic::rtc_ended`].
    pub const fn rtc_awaits(&self) -> Option<u8> {
        self.rtc_vector
    }

    /// The vector was ended: if it is the RTC's, the pin may send again.
    pub fn rtc_ended(&mut self, vector: u8) {
        if self.rtc_vector == Some(vector) {
            self.rtc_vector = None;
        }
    }

    /// The line rose and sent. What an EOI or a write of the entry sends again is not waited for: only a
    /// change of the line comes with line status.
    pub(super) fn rtc_sent(&mut self, message: Message) {
        if matches!(message.mode, DeliveryMode::Fixed | DeliveryMode::LowestPriority) {
            self.rtc_vector = Some(message.vector);
        }
    }
}
