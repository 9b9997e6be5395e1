//! The indirect registers, above all the redirection table.

use trapline_defs::apic::{RedirectionEntry, ioapic as defs};

use super::{Ioapic, PINS, VERSION};
use crate::lapic::{Lapic, Message, Vectors};

impl Ioapic {
    /// The entry of a pin.
    pub fn entry(&self, pin: u8) -> Option<RedirectionEntry> {
        self.entries.get(usize::from(pin)).copied()
    }

    pub(super) fn read_selected(&self) -> u32 {
        match self.select {
            defs::VERSION => VERSION,
            defs::ID | defs::ARBITRATION => u32::from(self.id) << 24,
            _ => match self.selected_entry() {
                Some(index) if self.high_half() => (self.entries[index].into_bits() >> 32) as u32,
                Some(index) => self.entries[index].into_bits() as u32,
                None => u32::MAX,
            },
        }
    }

    pub(super) fn write_selected(&mut self, value: u32) -> Option<Message> {
        if self.select == defs::ID {
            self.id = (value >> 24) as u8 & 0xf;
        }
        let index = self.selected_entry()?;
        let old = self.entries[index];
        let bits = if self.high_half() {
            old.into_bits() & 0xffff_ffff | u64::from(value) << 32
        } else {
            old.into_bits() & !0xffff_ffff | u64::from(value)
        };
        let mut entry = RedirectionEntry::from_bits(bits).with_busy(old.busy());
        // Guests use a detour through edge mode as an EOI for IOAPICs without an EOI register.
        entry.set_remote_irr(old.remote_irr() && entry.level_triggered());
        self.pit.unmasked |= index == super::pit::PIN && old.masked() && !entry.masked();
        self.entries[index] = entry;
        if entry.level_triggered() && self.lines >> index & 1 != 0 {
            return self.send(index);
        }
        None
    }

    /// The vectors of which the IOAPIC wants to see a local APIC's EOI: those of level-triggered
    /// pins, of the RTC's and of a PIT's that makes up for lost ticks, masked or not. KVM's PV EOI depends on it.
    ///
    /// For [`Lapic::set_ioapic_handled`], after a write here and after [`Lapic::map_changed`].
    pub fn handled_by(&self, apic: &Lapic) -> Vectors {
        let mut handled = Vectors::EMPTY;
        if let Some(vector) = self.rtc_vector {
            handled.insert(vector);
        }
        for (index, &entry) in self.entries.iter().enumerate() {
            let watched = entry.level_triggered()
                || index == usize::from(super::rtc::PIN)
                || index == super::pit::PIN && self.watches_pit;
            if watched
                && (apic.matches_device(entry.destination().into(), entry.logical())
                    || apic.eoi_outstanding(entry.vector()))
            {
                handled.insert(entry.vector());
            }
        }
        handled
    }

    fn selected_entry(&self) -> Option<usize> {
        let index = usize::from(self.select.checked_sub(defs::ENTRIES)? >> 1);
        (index < PINS).then_some(index)
    }

    const fn high_half(&self) -> bool {
        self.select & 1 != 0
    }
}

pub(super) fn message(entry: RedirectionEntry) -> Message {
    Message {
        destination: entry.destination().into(),
        logical: entry.logical(),
        mode: entry.delivery_mode(),
        vector: entry.vector(),
        level: entry.level_triggered(),
    }
}
