//! The backing page: the registers of a guest's APIC, in xAPIC layout.

use crate::memory::Memory;
use trapline_defs::apic::offset;

/// A backing page, by its physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page(pub(crate) u64);

/// Eight words of 32 vectors each, 16 bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bank(u16);

impl Bank {
    pub(crate) const ISR: Self = Self(offset::ISR);
    pub(crate) const TMR: Self = Self(offset::TMR);
    pub(crate) const IRR: Self = Self(offset::IRR);
}

impl Page {
    #[inline]
    pub(crate) fn load(self, memory: &impl Memory, offset: u16) -> u32 {
        memory.load32(self.0 + u64::from(offset))
    }

    #[inline]
    pub(crate) fn store(self, memory: &impl Memory, offset: u16, value: u32) {
        memory.store32(self.0 + u64::from(offset), value);
    }

    #[inline]
    fn word(self, bank: Bank, vector: u8) -> u64 {
        self.0 + u64::from(bank.0) + (u64::from(vector >> 5) << 4)
    }

    #[inline]
    pub(crate) fn test(self, memory: &impl Memory, bank: Bank, vector: u8) -> bool {
        memory.load32(self.word(bank, vector)) >> (vector & 31) & 1 != 0
    }

    /// Sets a vector that other cores set and clear too.
    #[inline]
    pub(crate) fn set_shared(self, memory: &impl Memory, bank: Bank, vector: u8) {
        memory.fetch_or32(self.word(bank, vector), 1 << (vector & 31));
    }

    /// Clears a vector that other cores set and clear too.
    #[inline]
    pub(crate) fn clear_shared(self, memory: &impl Memory, bank: Bank, vector: u8) {
        memory.fetch_and32(self.word(bank, vector), !(1 << (vector & 31)));
    }

    /// Sets an in-service bit; nobody else writes them while the guest runs.
    #[inline]
    pub(crate) fn enter_service(self, memory: &impl Memory, vector: u8) {
        let word = self.word(Bank::ISR, vector);
        memory.store32(word, memory.load32(word) | 1 << (vector & 31));
    }

    /// Clears an in-service bit.
    #[inline]
    pub(crate) fn leave_service(self, memory: &impl Memory, vector: u8) {
        let word = self.word(Bank::ISR, vector);
        memory.store32(word, memory.load32(word) & !(1 << (vector & 31)));
    }

    /// 128 vectors of a bank, from vector `first` on.
    #[inline(always)]
    fn half(self, memory: &impl Memory, bank: Bank, first: u8) -> Half {
        let word = |n: u8| u64::from(memory.load32(self.word(bank, first + n)));
        Half { first, low: word(0) | word(32) << 32, high: word(64) | word(96) << 32 }
    }

    /// The highest vector of a bank. Mostly there is none, so that is the short way.
    #[inline(always)]
    pub(crate) fn top(self, memory: &impl Memory, bank: Bank) -> Option<u8> {
        let upper = self.half(memory, bank, 128);
        if upper.any() {
            return Some(upper.top());
        }
        let lower = self.half(memory, bank, 0);
        lower.any().then(|| lower.top())
    }

    /// The highest vector of a bank, and whether it is the only one. An EOI wants to know both, and
    /// mostly it is.
    #[inline(always)]
    pub(crate) fn top_alone(self, memory: &impl Memory, bank: Bank) -> Option<(u8, bool)> {
        let upper = self.half(memory, bank, 128);
        let lower = self.half(memory, bank, 0);
        if upper.any() {
            return Some((upper.top(), upper.one() && !lower.any()));
        }
        lower.any().then(|| (lower.top(), lower.one()))
    }
}

/// Half of a bank.
#[derive(Clone, Copy)]
struct Half {
    first: u8,
    low: u64,
    high: u64,
}

impl Half {
    #[inline(always)]
    const fn any(self) -> bool {
        self.low | self.high != 0
    }

    /// The highest vector; there is one.
    #[inline(always)]
    const fn top(self) -> u8 {
        let (base, bits) = if self.high != 0 { (64, self.high) } else { (0, self.low) };
        self.first + base + (63 - bits.leading_zeros()) as u8
    }

    /// Whether there is exactly one; there is at least one.
    #[inline(always)]
    const fn one(self) -> bool {
        let other = if self.high != 0 { self.low } else { 0 };
        let bits = if self.high != 0 { self.high } else { self.low };
        other | bits & bits.wrapping_sub(1) == 0
    }
}
