//! One channel: its count, its mode, and what of it is read and written byte by byte.

use super::HZ;
use crate::time::Ns;

const NS_PER_S: u128 = 1_000_000_000;

/// Which byte of a count is read or written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bytes {
    Low,
    High,
    /// Low, then high.
    Both,
    /// High, after low.
    Rest,
}

impl Bytes {
    /// Bits 5:4 of a control word that is none to latch.
    const fn of(control: u8) -> Self {
        match control >> 4 & 3 {
            1 => Self::Low,
            2 => Self::High,
            _ => Self::Both,
        }
    }

    /// Takes the next byte of a count, and says which one follows.
    const fn take(self, count: u16) -> (u8, Self) {
        match self {
            Self::Low => (count as u8, Self::Low),
            Self::High => ((count >> 8) as u8, Self::High),
            Self::Both => (count as u8, Self::Rest),
            Self::Rest => ((count >> 8) as u8, Self::Both),
        }
    }
}

/// A channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// 1 to 10000h.
    count: u32,
    /// Before the first control word: none of the six.
    mode: u8,
    control: u8,
    gate: bool,
    loaded: Ns,
    access: Bytes,
    reads: Bytes,
    writes: Bytes,
    low: u8,
    /// What a latch command kept, and which bytes of it are still to be read.
    latched: Option<(u16, Bytes)>,
    status: Option<u8>,
}

impl Channel {
    /// After power-on: the largest count, no mode.
    pub(super) const fn new(gate: bool) -> Self {
        Self {
            count: 0x1_0000,
            mode: 0xff,
            control: 0,
            gate,
            loaded: Ns(0),
            access: Bytes::Low,
            reads: Bytes::Low,
            writes: Bytes::Low,
            low: 0,
            latched: None,
            status: None,
        }
    }

    pub(super) const fn mode(&self) -> u8 {
        self.mode
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    pub(super) const fn gate(&self) -> bool {
        self.gate
    }

    pub(super) const fn elapsed(&self, now: Ns) -> u64 {
        now.since(self.loaded)
    }

    /// Modes 1, 2, 3 and 5 start again when the gate rises.
    pub(super) fn set_gate(&mut self, high: bool, now: Ns) {
        if high && !self.gate && matches!(self.mode, 1 | 2 | 3 | 5) {
            self.loaded = now;
        }
        self.gate = high;
    }

    /// A control word for this channel, `elapsed` ns into its count.
    pub(super) fn control(&mut self, word: u8, elapsed: u64) {
        if word & 0x30 == 0 {
            return self.latch_count(elapsed);
        }
        self.access = Bytes::of(word);
        (self.reads, self.writes) = (self.access, self.access);
        let mode = word >> 1 & 7;
        self.mode = if mode > 5 { mode - 4 } else { mode };
        // Bits 5:4 and 0 as a status has them.
        self.control = word & 0x31;
    }

    /// Keeps the count for the next reads, unless one is kept already.
    pub(super) fn latch_count(&mut self, elapsed: u64) {
        if self.latched.is_none() {
            self.latched = Some((self.value(elapsed), self.access));
        }
    }

    /// Keeps the status for the next read, unless one is kept already.
    pub(super) fn latch_status(&mut self, elapsed: u64) {
        if self.status.is_none() {
            let out = u8::from(self.out(elapsed)) << 7;
            self.status = Some(out | self.control | self.mode << 1);
        }
    }

    /// A byte: of the status that was latched, else of the count that was, else of the running one.
    pub(super) fn read(&mut self, elapsed: u64) -> u8 {
        if let Some(status) = self.status.take() {
            return status;
        }
        if let Some((count, bytes)) = self.latched {
            let (byte, next) = bytes.take(count);
            // Of two bytes the high one follows, and then nothing.
            self.latched = (next == Bytes::Rest).then_some((count, Bytes::High));
            return byte;
        }
        let (byte, next) = self.reads.take(self.value(elapsed));
        self.reads = next;
        byte
    }

    /// A byte of a new count: whether it is complete, and starts.
    pub(super) fn write(&mut self, byte: u8, now: Ns) -> bool {
        let count = match self.writes {
            Bytes::Low => u16::from(byte),
            Bytes::High => u16::from(byte) << 8,
            Bytes::Both => {
                self.low = byte;
                self.writes = Bytes::Rest;
                return false;
            }
            Bytes::Rest => {
                self.writes = Bytes::Both;
                u16::from_le_bytes([self.low, byte])
            }
        };
        self.count = if count == 0 { 0x1_0000 } else { count.into() };
        self.loaded = now;
        true
    }

    /// Clocks in `elapsed` ns.
    fn clocks(elapsed: u64) -> u64 {
        (u128::from(elapsed) * u128::from(HZ) / NS_PER_S) as u64
    }

    /// The running count.
    fn value(&self, elapsed: u64) -> u16 {
        let (clocks, count) = (Self::clocks(elapsed), u64::from(self.count));
        let value = match self.mode {
            // They go on below zero.
            0 | 1 | 4 | 5 => count.wrapping_sub(clocks),
            // It counts in twos, each half of the period.
            3 => count - 2 * clocks % count,
            _ => count - clocks % count,
        };
        value as u16
    }

    /// The output pin.
    pub(super) fn out(&self, elapsed: u64) -> bool {
        let (clocks, count) = (Self::clocks(elapsed), u64::from(self.count));
        match self.mode {
            1 => clocks < count,
            2 => clocks != 0 && clocks.is_multiple_of(count),
            3 => clocks % count < count.div_ceil(2),
            4 | 5 => clocks == count,
            _ => clocks >= count,
        }
    }
}
