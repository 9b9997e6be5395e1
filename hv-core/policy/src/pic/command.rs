//! The command words of an 8259: ICW1-4 and OCW1-3.

use super::chip::Chip;

/// Which initialization word the data port expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Initialization {
    next: Word,
    four_words: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// None: the data port is the mask.
    Mask,
    Base,
    Cascade,
    Mode,
}

impl Initialization {
    pub(super) const DONE: Self = Self { next: Word::Mask, four_words: false };
}

impl Chip {
    /// A write of the command port. True if the request may have changed; ICW1 and OCW3 are taken
    /// without looking.
    pub(super) fn write_command(&mut self, value: u8) -> bool {
        if value & 0x10 != 0 {
            let four_words = value & 1 != 0;
            self.initialization = Initialization { next: Word::Base, four_words };
            self.start_over(four_words);
            return false;
        }
        if value & 0x08 != 0 {
            if value & 0x04 != 0 {
                self.poll = true;
            }
            if value & 0x02 != 0 {
                self.read_isr = value & 1 != 0;
            }
            if value & 0x40 != 0 {
                self.special_mask = value & 0x20 != 0;
            }
            return false;
        }
        self.write_eoi(value >> 5, value & 7)
    }

    /// OCW2.
    fn write_eoi(&mut self, command: u8, line: u8) -> bool {
        match command {
            0 | 4 => {
                self.rotate_on_auto_eoi = command == 4;
                return false;
            }
            1 | 5 => {
                let Some(irq) = self.in_service() else { return false };
                if command == 5 {
                    self.rotate_below(irq);
                }
                self.isr &= !(1 << irq);
            }
            3 => self.isr &= !(1 << line),
            6 => self.rotate_below(line),
            7 => {
                self.rotate_below(line);
                self.isr &= !(1 << line);
            }
            _ => return false,
        }
        true
    }

    /// A write of the data port: the mask (OCW1), or ICW2-4 after ICW1. True if the request may
    /// have changed.
    pub(super) fn write_data(&mut self, value: u8) -> bool {
        let four_words = self.initialization.four_words;
        self.initialization.next = match self.initialization.next {
            Word::Mask => {
                self.imr = value;
                return true;
            }
            Word::Base => {
                self.base = value & 0xf8;
                Word::Cascade
            }
            Word::Cascade if four_words => Word::Mode,
            Word::Cascade => Word::Mask,
            Word::Mode => {
                self.special_fully_nested = value & 0x10 != 0;
                self.auto_eoi = value & 0x02 != 0;
                Word::Mask
            }
        };
        false
    }
}
