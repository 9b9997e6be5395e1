//! The local vector table and the spurious vector register (APM §16.4, §16.4.7).

use trapline_defs::apic::{DeliveryMode, Lvt, Svr, offset};

use super::{Delivery, Lapic, Mode};

/// Entries of the table. KVM has a seventh, for corrected machine checks, on Intel only.
pub(super) const COUNT: usize = 6;

/// A source inside the processor, in the order of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LocalSource {
    /// APIC timer.
    Timer = 0,
    /// Thermal sensor.
    Thermal = 1,
    /// Performance counters.
    Performance = 2,
    /// LINT0 pin: the 8259 pair.
    Lint0 = 3,
    /// LINT1 pin: NMI.
    Lint1 = 4,
    /// APIC error.
    Error = 5,
}

/// Vector, delivery status and mask.
const PLAIN: u32 = 0x0001_10ff;
/// Plus delivery mode.
const WITH_MODE: u32 = PLAIN | 0x700;
/// Plus polarity, remote IRR and trigger mode.
const PIN: u32 = WITH_MODE | 0xe000;
/// Timer mode; the upper bit only with the TSC deadline feature.
const TIMER_MODE: u32 = 1 << 17;
const TIMER_MODE_DEADLINE: u32 = 3 << 17;

/// The table's index of a register, if it belongs to the table.
pub(super) const fn index_of(register: u16) -> Option<usize> {
    match register {
        offset::LVT_TIMER..=offset::LVT_ERROR => {
            Some(((register - offset::LVT_TIMER) >> 4) as usize)
        }
        _ => None,
    }
}

impl Lapic {
    /// The LVT entry of a source.
    pub fn lvt(&self, source: LocalSource) -> Lvt {
        self.lvt[source as usize]
    }

    /// A source inside the processor fires. The result is what the vCPU has to do;
    /// [`Delivery::Interrupt`] is already done.
    ///
    /// The performance entry is not masked by its delivery: that is what Intel does, and KVM does
    /// it for Intel guests only.
    pub fn local_interrupt(&mut self, source: LocalSource) -> Delivery {
        let entry = self.lvt[source as usize];
        if self.mode == Mode::Disabled || entry.masked() {
            return Delivery::None;
        }
        let level = entry.level_triggered();
        self.take(Delivery::decode(entry.delivery_mode(), entry.vector(), level, true))
    }

    /// Whether the 8259 pair's interrupts reach this vCPU: through LINT0, or past a disabled APIC.
    #[inline]
    pub fn accepts_pic(&self) -> bool {
        let entry = self.lvt[LocalSource::Lint0 as usize];
        self.mode == Mode::Disabled
            || !entry.masked() && entry.delivery_mode() == DeliveryMode::ExtInt
    }

    /// The guest writes an entry. Reserved bits are dropped; a disabled APIC keeps it masked.
    pub(super) fn write_lvt(&mut self, index: usize, value: u32) {
        let bits = match index {
            0 if self.timer.offers_deadline => PLAIN | TIMER_MODE_DEADLINE,
            0 => PLAIN | TIMER_MODE,
            1 | 2 => WITH_MODE,
            3 | 4 => PIN,
            _ => PLAIN,
        };
        let mut entry = Lvt::from_bits(value & bits);
        if !self.software_enabled() {
            entry.set_masked(true);
        }
        self.lvt[index] = entry;
        if index == LocalSource::Timer as usize {
            self.timer.set_mode(entry.timer_mode());
            self.inject_timer();
        }
    }

    /// The guest writes SVR. Disabling masks every entry and drops an expired timer. Enabling
    /// requests no event evaluation.
    pub(super) fn write_svr(&mut self, value: u32) {
        // Directed EOI (bit 12) is not offered beside an in-kernel IOAPIC, which has no EOI register.
        let svr = Svr::from_bits(value & 0x3ff);
        self.map_changed |= svr.enabled() != self.svr.enabled();
        self.svr = svr;
        if !svr.enabled() {
            for entry in &mut self.lvt {
                entry.set_masked(true);
            }
            self.timer.drop_pending();
        }
    }
}
