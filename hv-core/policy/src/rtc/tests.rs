//! The rules of the chip, as a guest sees them through its ports.

mod flags;
mod ports;
mod time;
mod traffic;

use super::*;

/// A guest with a clock chip: accesses take no time, waiting does.
struct Guest {
    rtc: Rtc,
    now: Ns,
}

const MILLISECOND: u64 = 1_000_000;

impl Guest {
    fn new() -> Self {
        Self { rtc: Rtc::new(Date::START), now: Ns(0) }
    }

    fn read(&mut self, index: u8) -> u8 {
        self.rtc.write(INDEX_PORT, index, self.now);
        self.rtc.read(DATA_PORT, self.now)
    }

    fn write(&mut self, index: u8, value: u8) {
        self.rtc.write(INDEX_PORT, index, self.now);
        self.rtc.write(DATA_PORT, value, self.now);
    }

    /// Waits as a run loop does: from deadline to deadline. Returns the rising edges of IRQ 8.
    fn wait(&mut self, ns: u64) -> u32 {
        let end = self.now.after(ns);
        let mut edges = 0;
        while self.rtc.next_deadline() <= end {
            self.now = self.rtc.next_deadline();
            let before = self.rtc.irq();
            self.rtc.advance(self.now);
            assert!(!before && self.rtc.irq(), "a deadline that is not an edge");
            edges += 1;
        }
        self.now = end;
        self.rtc.advance(end);
        edges
    }

    /// Waits and reads C at each edge; returns how many there were.
    fn serve(&mut self, ns: u64) -> u32 {
        let end = self.now.after(ns);
        let mut ticks = 0;
        while self.rtc.next_deadline() <= end {
            self.now = self.rtc.next_deadline();
            self.rtc.advance(self.now);
            assert_ne!(self.read(C) & IRQF, 0);
            ticks += 1;
        }
        self.now = end;
        self.rtc.advance(end);
        ticks
    }

    fn clock(&mut self) -> [u8; 3] {
        [self.read(4), self.read(2), self.read(0)]
    }

    fn set_clock(&mut self, [hour, minute, second]: [u8; 3]) {
        let b = self.read(B);
        self.write(B, b | SET);
        self.write(4, hour);
        self.write(2, minute);
        self.write(0, second);
        self.write(B, b);
    }
}
