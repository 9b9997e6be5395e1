//! The IOAPIC, as KVM 6.12 has it: an 82093AA with 24 pins and no EOI register.
//!
//! It turns lines into [`Message`]s; whoever owns the local APICs delivers them and reports with
//! [`Ioapic::refused`] one that no APIC took. KVM's ways that differ from the data sheet:
//!
//! - An edge on a masked pin is lost: unmasking looks at level-triggered pins only.
//! - Making an entry edge-triggered clears its remote IRR.
//! - Pin 8 (RTC) keeps silent while its last interrupt awaits EOI (corrections, RTC-P), as for a
//!   VMM that asks for line status (QEMU does).
//!
//! Not modelled: after 10 000 EOIs in a row with the line still high KVM waits 10 ms.

mod entry;
mod eoi;
mod pit;
mod rtc;

#[cfg(test)]
mod tests;

use trapline_defs::apic::{RedirectionEntry, ioapic as defs};

use crate::lapic::Message;
use crate::pic::PitSeen;

/// Pins, and with that redirection entries.
pub const PINS: usize = 24;

/// Version 11h, last entry 23.
const VERSION: u32 = 0x0017_0011;

/// The IOAPIC of a machine.
#[derive(Clone, Debug)]
pub struct Ioapic {
    id: u8,
    select: u8,
    entries: [RedirectionEntry; PINS],
    /// Lines that are high, and for level-triggered pins with that their request.
    lines: u32,
    /// Pins that an EOI made send again, but have not yet.
    resend: u32,
    /// The pin of the last message.
    last: u8,
    /// The RTC's vector while its EOI is awaited.
    rtc_vector: Option<u8>,
    /// The PIT wants to know of pin 2's EOIs.
    pub watches_pit: bool,
    /// What happened to pin 2 since the PIT last asked.
    pub pit: PitSeen,
}

impl Default for Ioapic {
    fn default() -> Self {
        Self::new()
    }
}

impl Ioapic {
    /// An IOAPIC after reset: every entry masked.
    pub const fn new() -> Self {
        Self {
            id: 0,
            select: 0,
            entries: [RedirectionEntry::new().with_masked(true); PINS],
            lines: 0,
            resend: 0,
            last: 0,
            rtc_vector: None,
            watches_pit: false,
            pit: PitSeen { ended: false, unmasked: false },
        }
    }

    /// Back to the state after power-on.
    pub const fn reset(&mut self) {
        *self = Self::new();
    }

    /// A read at `offset` of the page, `size` bytes wide. Unknown offsets read 0.
    pub fn read_mmio(&self, offset: u16, size: u8) -> u32 {
        let value = match offset & 0xff {
            defs::SELECT => self.select.into(),
            defs::WINDOW => self.read_selected(),
            _ => 0,
        };
        truncate(value, size)
    }

    /// A write at `offset` of the page. A narrow write of the window writes zeros above it.
    ///
    /// The message is one that the write set free: a level-triggered pin was unmasked while its
    /// line is high. Any write of the window may change [`Ioapic::handled_by`].
    pub fn write_mmio(&mut self, offset: u16, size: u8, value: u32) -> Option<Message> {
        let value = truncate(value, size);
        match offset & 0xff {
            defs::SELECT => {
                self.select = value as u8;
                None
            }
            defs::WINDOW => self.write_selected(value),
            _ => None,
        }
    }

    /// A device drives a line. Only a rising edge, or for a level-triggered pin a high line whose
    /// last interrupt is finished, sends.
    ///
    /// # Panics
    /// If there is no such pin.
    pub fn set_line(&mut self, pin: u8, high: bool) -> Option<Message> {
        let index = usize::from(pin);
        assert!(index < PINS, "the IOAPIC has pins 0 to 23");
        let mask = 1 << pin;
        if !high {
            self.lines &= !mask;
            return None;
        }
        if pin == rtc::PIN && self.rtc_vector.is_some() {
            return None;
        }
        let rose = self.lines & mask == 0;
        self.lines |= mask;
        if !rose && !self.entries[index].level_triggered() {
            return None;
        }
        let message = self.send(index)?;
        if pin == rtc::PIN {
            self.rtc_sent(message);
        }
        Some(message)
    }

    /// No local APIC took the last message: it awaits no EOI.
    pub const fn refused(&mut self) {
        self.entries[self.last as usize].set_remote_irr(false);
        if self.last == rtc::PIN {
            self.rtc_vector = None;
        }
    }

    /// Builds the message of a pin, unless it is masked or awaits an EOI.
    fn send(&mut self, index: usize) -> Option<Message> {
        let entry = &mut self.entries[index];
        let level = entry.level_triggered();
        if entry.masked() || level && entry.remote_irr() {
            return None;
        }
        if level {
            entry.set_remote_irr(true);
        }
        let message = entry::message(*entry);
        self.last = index as u8;
        Some(message)
    }
}

const fn truncate(value: u32, size: u8) -> u32 {
    match size {
        1 => value & 0xff,
        2 => value & 0xffff,
        _ => value,
    }
}
