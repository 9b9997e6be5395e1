//! One 8259: requests, priorities and service.

use super::CASCADE;
use super::command::Initialization;

/// One of the two controllers.
#[derive(Clone, Debug)]
pub(super) struct Chip {
    /// Lines that may be level-triggered.
    elcr_writable: u8,
    elcr: u8,
    /// Lines as they were, for edges.
    lines: u8,
    pub(super) irr: u8,
    pub(super) imr: u8,
    pub(super) isr: u8,
    /// The line of highest priority.
    pub(super) top: u8,
    pub(super) base: u8,
    pub(super) read_isr: bool,
    pub(super) poll: bool,
    /// Stored only, as in KVM.
    pub(super) special_mask: bool,
    pub(super) auto_eoi: bool,
    pub(super) rotate_on_auto_eoi: bool,
    pub(super) special_fully_nested: bool,
    pub(super) initialization: Initialization,
}

impl Chip {
    pub(super) const fn new(elcr_writable: u8) -> Self {
        Self {
            elcr_writable,
            elcr: 0,
            lines: 0,
            irr: 0,
            imr: 0,
            isr: 0,
            top: 0,
            base: 0,
            read_isr: false,
            poll: false,
            special_mask: false,
            auto_eoi: false,
            rotate_on_auto_eoi: false,
            special_fully_nested: false,
            initialization: Initialization::DONE,
        }
    }

    pub(super) const fn elcr(&self) -> u8 {
        self.elcr
    }

    pub(super) const fn set_elcr(&mut self, value: u8) {
        self.elcr = value & self.elcr_writable;
    }

    pub(super) const fn vector(&self, irq: u8) -> u8 {
        self.base.wrapping_add(irq)
    }

    pub(super) const fn read(&self, data: bool) -> u8 {
        match (data, self.read_isr) {
            (true, _) => self.imr,
            (false, true) => self.isr,
            (false, false) => self.irr,
        }
    }

    /// Whether the next read is a poll; it is so once.
    pub(super) const fn take_poll(&mut self) -> bool {
        let poll = self.poll;
        self.poll = false;
        poll
    }

    pub(super) const fn set_line(&mut self, irq: u8, high: bool) {
        let mask = 1 << irq;
        if high {
            if self.elcr & mask != 0 || self.lines & mask == 0 {
                self.irr |= mask;
            }
            self.lines |= mask;
        } else {
            self.lines &= !mask;
            if self.elcr & mask != 0 {
                self.irr &= !mask;
            }
        }
    }

    /// The line to serve next: open, requested and above everything in service.
    ///
    /// In special fully nested mode the first controller does not count the second as in service.
    pub(super) const fn request(&self, first: bool) -> Option<u8> {
        let rank = self.rank(self.irr & !self.imr);
        let mut service = self.isr;
        if first && self.special_fully_nested {
            service &= !(1 << CASCADE);
        }
        if rank < self.rank(service) { Some(self.line(rank)) } else { None }
    }

    /// The line of highest priority that is in service.
    pub(super) const fn in_service(&self) -> Option<u8> {
        if self.isr == 0 { None } else { Some(self.line(self.rank(self.isr))) }
    }

    /// The processor takes the line's interrupt.
    pub(super) const fn acknowledge(&mut self, irq: u8) {
        let mask = 1 << irq;
        self.isr |= mask;
        if self.elcr & mask == 0 {
            self.irr &= !mask;
        }
        if self.auto_eoi {
            if self.rotate_on_auto_eoi {
                self.rotate_below(irq);
            }
            self.isr &= !mask;
        }
    }

    /// A poll ends what it reports.
    pub(super) const fn finish(&mut self, irq: u8) {
        self.irr &= !(1 << irq);
        self.isr &= !(1 << irq);
    }

    /// Makes the line the one of lowest priority.
    pub(super) const fn rotate_below(&mut self, irq: u8) {
        self.top = (irq + 1) & 7;
    }

    /// ICW1: forgets edges and masks. KVM also takes lines with a waiting edge out of service.
    pub(super) const fn start_over(&mut self, four_words: bool) {
        let edges = self.irr & !self.elcr;
        self.lines = 0;
        self.irr &= self.elcr;
        self.isr &= !edges;
        self.imr = 0;
        self.top = 0;
        self.special_mask = false;
        self.read_isr = false;
        if !four_words {
            self.special_fully_nested = false;
            self.auto_eoi = false;
        }
    }

    /// Distance of the best line of a set from the top; 8 for none.
    const fn rank(&self, lines: u8) -> u32 {
        lines.rotate_right(self.top as u32).trailing_zeros()
    }

    const fn line(&self, rank: u32) -> u8 {
        (rank as u8 + self.top) & 7
    }
}
