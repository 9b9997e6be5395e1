//! One timer: a comparator and what it does.

use super::{END_PIN, FIRST_PIN};

const LEVEL: u64 = 1 << 1;
const INTERRUPTS: u64 = 1 << 2;
const PERIODIC: u64 = 1 << 3;
/// It can be periodic.
const PERIODIC_CAPABLE: u64 = 1 << 4;
/// It has 64 bits.
const WIDE_CAPABLE: u64 = 1 << 5;
/// The next write of the comparator sets it, even of a periodic timer.
const SET_VALUE: u64 = 1 << 6;
const FORCE_32: u64 = 1 << 8;
const ROUTE_SHIFT: u32 = 9;
const ROUTE: u64 = 0x1f << ROUTE_SHIFT;
const WRITABLE: u64 = LEVEL | INTERRUPTS | PERIODIC | SET_VALUE | FORCE_32 | ROUTE;
/// The pins that it can be routed to, in the upper half.
const ROUTES: u64 = (1 << END_PIN) - (1 << FIRST_PIN);

/// A timer.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    configuration: u64,
    comparator: u64,
    period: u64,
    /// The comparator was written once: before, it matches nothing.
    is_set: bool,
    /// The counter's value at which it matches next.
    due: Option<u64>,
}

impl Timer {
    pub(super) const fn new() -> Self {
        Self {
            configuration: ROUTES << 32
                | (FIRST_PIN as u64) << ROUTE_SHIFT
                | WIDE_CAPABLE
                | PERIODIC_CAPABLE,
            comparator: u64::MAX,
            period: 0,
            is_set: false,
            due: None,
        }
    }

    pub(super) const fn configuration(&self) -> u64 {
        self.configuration
    }

    pub(super) const fn comparator(&self) -> u64 {
        self.comparator
    }

    pub(super) const fn interrupts(&self) -> bool {
        self.configuration & INTERRUPTS != 0
    }

    pub(super) const fn is_level(&self) -> bool {
        self.configuration & LEVEL != 0
    }

    pub(super) const fn pin(&self) -> u8 {
        (self.configuration >> ROUTE_SHIFT & 0x1f) as u8
    }

    const fn is_periodic(&self) -> bool {
        self.configuration & PERIODIC != 0 && self.period != 0
    }

    const fn is_narrow(&self) -> bool {
        self.configuration & FORCE_32 != 0
    }

    /// The counter's value at which it interrupts next.
    pub(super) fn interrupts_at(&self) -> Option<u64> {
        self.due.filter(|_| self.interrupts())
    }

    /// A write of the configuration. A pin that it cannot be routed to is not taken.
    pub(super) fn configure(&mut self, value: u64, mask: u64, count: u64) {
        let before = self.configuration;
        let mut mask = mask & WRITABLE;
        if ROUTES >> (value >> ROUTE_SHIFT & 0x1f) & 1 == 0 {
            mask &= !ROUTE;
        }
        self.configuration = before & !mask | value & mask;
        if self.is_narrow() {
            self.comparator &= 0xffff_ffff;
            self.period &= 0xffff_ffff;
        }
        if (before ^ self.configuration) & (INTERRUPTS | PERIODIC | FORCE_32) != 0 {
            self.arm(count);
        }
    }

    /// A write of the comparator: of a periodic timer the period, too, or alone.
    pub(super) fn compare_with(&mut self, value: u64, mask: u64, count: u64) {
        let mask = if self.is_narrow() { mask & 0xffff_ffff } else { mask };
        let periodic = self.configuration & PERIODIC != 0;
        if !periodic || self.configuration & SET_VALUE != 0 {
            self.comparator = self.comparator & !mask | value & mask;
        }
        if periodic {
            self.period = self.period & !mask | value & mask;
        }
        self.configuration &= !SET_VALUE;
        self.is_set = true;
        self.arm(count);
    }

    /// Works out when it matches next, from the counter's value on.
    pub(super) fn arm(&mut self, count: u64) {
        let ahead = if self.is_narrow() {
            let ahead = (self.comparator as u32).wrapping_sub(count as u32);
            if ahead as i32 > 0 { u64::from(ahead) } else { 1 }
        } else if self.comparator > count {
            self.comparator - count
        } else {
            1
        };
        self.due = count.checked_add(ahead).filter(|_| self.is_set);
    }

    /// Whether it matched up to that value of the counter; each match counts once, and several as one.
    pub(super) fn matches(&mut self, count: u64) -> bool {
        let Some(due) = self.due.filter(|&due| due <= count) else { return false };
        self.due = if self.is_periodic() {
            let periods = (count - due) / self.period + 1;
            let next = periods.checked_mul(self.period).and_then(|far| due.checked_add(far));
            if let Some(next) = next {
                self.comparator = if self.is_narrow() { next & 0xffff_ffff } else { next };
            }
            next
        } else if self.is_narrow() {
            due.checked_add((((count - due) >> 32) + 1) << 32)
        } else {
            None
        };
        true
    }
}
