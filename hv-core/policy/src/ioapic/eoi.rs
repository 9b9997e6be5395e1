//! EOIs that a local APIC passes on.

use super::{Ioapic, PINS};
use crate::lapic::Message;

impl Ioapic {
    /// The guest ended `vector`; `level` is what its local APIC's TMR said.
    ///
    /// An interrupt that arrived by an edge ends nothing here, whatever the entry says now: so a
    /// level-triggered pin whose vector came again by IPI stays as it is (kvm_ioapic_send_eoi).
    ///
    /// The result is the first pin's message that is sent again because its line is still high.
    /// Several pins can share a vector: call [`Ioapic::next_resend`] until it gives none.
    pub fn eoi(&mut self, vector: u8, level: bool) -> Option<Message> {
        self.rtc_ended(vector);
        self.pit_ended(vector);
        if !level {
            return None;
        }
        for index in 0..PINS {
            let entry = &mut self.entries[index];
            if entry.vector() == vector && entry.level_triggered() {
                entry.set_remote_irr(false);
                self.resend |= self.lines & 1 << index;
            }
        }
        self.next_resend()
    }

    /// The next message that is sent again after an EOI.
    pub fn next_resend(&mut self) -> Option<Message> {
        while self.resend != 0 {
            let index = self.resend.trailing_zeros() as usize;
            self.resend &= self.resend - 1;
            let message = self.send(index);
            if message.is_some() {
                return message;
            }
        }
        None
    }
}
