//! Pin 2: the PIT's, whose EOIs it may want to see.

use super::Ioapic;

/// The PIT's pin, as QEMU routes GSI 0.
pub(super) const PIN: usize = 2;

impl Ioapic {
    /// The vector was ended: if it is pin 2's, the PIT may hear of it (KVM's ack notifier).
    pub(super) fn pit_ended(&mut self, vector: u8) {
        self.pit.ended |= self.watches_pit && self.entries[PIN].vector() == vector;
    }
}
