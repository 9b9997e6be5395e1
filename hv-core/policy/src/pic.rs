//! The pair of 8259 interrupt controllers, as KVM 6.12 has it.
//!
//! The second controller hangs on input 2 of the first. KVM's ways that differ from the data sheet:
//! the special mask mode is stored but masks nothing, single mode and the level bit of ICW1 are
//! ignored (ELCR decides), ICW1 leaves the output line as it is, a poll ends the interrupt it
//! reports, and the interrupt line between the two is pulsed, so that a request of the second
//! stays latched in the first after it is gone (a spurious interrupt 7 of the second then).

mod chip;
mod command;

#[cfg(test)]
mod tests;

use chip::Chip;

/// Input of the first controller where the second hangs.
const CASCADE: u8 = 2;
/// What a controller answers without a request.
const SPURIOUS: u8 = 7;

/// Both controllers.
#[derive(Clone, Debug)]
pub struct Pic {
    first: Chip,
    second: Chip,
    output: bool,
    /// The output rose (KVM_REQ_EVENT for a vCPU whose LINT0 is open; see
    /// [`Lapic::accepts_pic`](crate::lapic::Lapic::accepts_pic)). Taken by the caller.
    pub event_request: bool,
    /// What happened to input 0 since the PIT last asked.
    pub pit: PitSeen,
}

/// What an interrupt controller saw of the PIT's interrupt, for [`crate::pit::Pit`] to take: KVM's ack
/// and mask notifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PitSeen {
    /// It was ended.
    pub ended: bool,
    /// It was unmasked.
    pub unmasked: bool,
}

impl Default for Pic {
    fn default() -> Self {
        Self::new()
    }
}

impl Pic {
    /// The pair after power-on. Nothing is masked and the vectors start at 0.
    pub const fn new() -> Self {
        Self {
            first: Chip::new(0xf8),
            second: Chip::new(0xde),
            output: false,
            event_request: false,
            pit: PitSeen { ended: false, unmasked: false },
        }
    }

    /// Back to the state after power-on.
    pub const fn reset(&mut self) {
        *self = Self::new();
    }

    /// A byte read of 20h, 21h, A0h, A1h, 4D0h or 4D1h. Other ports read all ones.
    pub fn read(&mut self, port: u16) -> u8 {
        match port {
            0x20 | 0x21 => self.read_chip(false, port & 1 != 0),
            0xa0 | 0xa1 => self.read_chip(true, port & 1 != 0),
            0x4d0 => self.first.elcr(),
            0x4d1 => self.second.elcr(),
            _ => 0xff,
        }
    }

    /// A byte write of one of the same ports. Others are ignored.
    pub fn write(&mut self, port: u16, value: u8) {
        let (masked, in_service) = (self.first.imr & 1, self.first.isr & 1);
        self.write_word(port, value);
        self.pit.ended |= in_service & !self.first.isr != 0;
        self.pit.unmasked |= masked & !self.first.imr != 0;
    }

    fn write_word(&mut self, port: u16, value: u8) {
        let changed = match port {
            0x20 => self.first.write_command(value),
            0xa0 => self.second.write_command(value),
            0x21 => self.first.write_data(value),
            0xa1 => self.second.write_data(value),
            0x4d0 => return self.first.set_elcr(value),
            0x4d1 => return self.second.set_elcr(value),
            _ => return,
        };
        if changed {
            self.update();
        }
    }

    /// A device drives one of the 16 lines.
    ///
    /// # Panics
    /// If there is no such line.
    pub fn set_line(&mut self, irq: u8, high: bool) {
        assert!(irq < 16, "the 8259 pair has lines 0 to 15");
        let chip = if irq < 8 { &mut self.first } else { &mut self.second };
        chip.set_line(irq & 7, high);
        self.update();
    }

    /// The line to LINT0: an interrupt waits.
    #[inline]
    pub const fn output(&self) -> bool {
        self.output
    }

    /// The processor takes the interrupt. The result is its vector, a spurious one if none waits.
    pub fn acknowledge(&mut self) -> u8 {
        // KVM drops the output first, so that a second request asks for an evaluation of its own.
        self.output = false;
        let vector = match self.first.request(true) {
            Some(CASCADE) => {
                self.first.acknowledge(CASCADE);
                let irq = self.second.request(false);
                if let Some(irq) = irq {
                    self.second.acknowledge(irq);
                }
                self.second.vector(irq.unwrap_or(SPURIOUS))
            }
            Some(irq) => {
                self.first.acknowledge(irq);
                self.pit.ended |= irq == 0 && self.first.auto_eoi;
                self.first.vector(irq)
            }
            None => self.first.vector(SPURIOUS),
        };
        self.update();
        vector
    }

    fn read_chip(&mut self, second: bool, data: bool) -> u8 {
        let chip = if second { &mut self.second } else { &mut self.first };
        if !chip.take_poll() {
            return chip.read(data);
        }
        let Some(irq) = chip.request(!second) else {
            self.update();
            return SPURIOUS;
        };
        chip.finish(irq);
        if second {
            self.first.finish(CASCADE);
        }
        self.pit.ended |= !second && irq == 0;
        if second || irq != CASCADE {
            self.update();
        }
        0x80 | irq
    }

    /// Passes the second controller's request to the first and drives the output.
    fn update(&mut self) {
        if self.second.request(false).is_some() {
            self.first.set_line(CASCADE, true);
            self.first.set_line(CASCADE, false);
        }
        let output = self.first.request(true).is_some();
        self.event_request |= output && !self.output;
        self.output = output;
    }
}
