//! Local APIC and IOAPIC registers: offsets, words and numbers (APM chapter 16).

use bitfield_struct::bitfield;

/// Physical address of the register page after reset.
pub const DEFAULT_BASE: u64 = 0xfee0_0000;

/// Register offsets in the xAPIC page. Every register has a slot of 16 bytes.
pub mod offset {
    /// APIC id.
    pub const ID: u16 = 0x020;
    /// Version.
    pub const VERSION: u16 = 0x030;
    /// Task priority.
    pub const TPR: u16 = 0x080;
    /// Arbitration priority.
    pub const APR: u16 = 0x090;
    /// Processor priority.
    pub const PPR: u16 = 0x0a0;
    /// End of interrupt.
    pub const EOI: u16 = 0x0b0;
    /// Remote read.
    pub const REMOTE_READ: u16 = 0x0c0;
    /// Logical destination.
    pub const LDR: u16 = 0x0d0;
    /// Destination format.
    pub const DFR: u16 = 0x0e0;
    /// Spurious interrupt vector, with the software enable.
    pub const SVR: u16 = 0x0f0;
    /// First of eight in-service words.
    pub const ISR: u16 = 0x100;
    /// First of eight trigger mode words.
    pub const TMR: u16 = 0x180;
    /// First of eight request words.
    pub const IRR: u16 = 0x200;
    /// Error status.
    pub const ESR: u16 = 0x280;
    /// LVT of corrected machine checks.
    pub const LVT_CMCI: u16 = 0x2f0;
    /// Interrupt command, low half (all 64 bits in x2APIC mode).
    pub const ICR: u16 = 0x300;
    /// Interrupt command, high half. Not there in x2APIC mode.
    pub const ICR_HIGH: u16 = 0x310;
    /// LVT of the timer, first of the six.
    pub const LVT_TIMER: u16 = 0x320;
    /// LVT of the thermal sensor.
    pub const LVT_THERMAL: u16 = 0x330;
    /// LVT of the performance counters.
    pub const LVT_PERFORMANCE: u16 = 0x340;
    /// LVT of the LINT0 pin.
    pub const LVT_LINT0: u16 = 0x350;
    /// LVT of the LINT1 pin.
    pub const LVT_LINT1: u16 = 0x360;
    /// LVT of APIC errors, last of the six.
    pub const LVT_ERROR: u16 = 0x370;
    /// Timer initial count.
    pub const TIMER_INITIAL: u16 = 0x380;
    /// Timer current count.
    pub const TIMER_CURRENT: u16 = 0x390;
    /// Timer divide configuration.
    pub const TIMER_DIVIDE: u16 = 0x3e0;
    /// Self IPI. Only in x2APIC mode.
    pub const SELF_IPI: u16 = 0x3f0;

    /// The offset that an MSR of the x2APIC range stands for.
    #[inline]
    pub const fn of_msr(msr: u32) -> u16 {
        ((msr & 0xff) << 4) as u16
    }

    /// The x2APIC MSR of an offset.
    #[inline]
    pub const fn to_msr(offset: u16) -> u32 {
        crate::msr::X2APIC_FIRST + (offset >> 4) as u32
    }
}

/// Destination that names every APIC in xAPIC mode.
pub const BROADCAST: u32 = 0xff;
/// Destination that names every APIC in x2APIC mode.
pub const X2APIC_BROADCAST: u32 = 0xffff_ffff;

/// DFR of the flat model; also its reset value.
pub const DFR_FLAT: u32 = 0xffff_ffff;
/// DFR of the cluster model.
pub const DFR_CLUSTER: u32 = 0x0fff_ffff;

/// Bits of IA32_APIC_BASE (MSR 1Bh).
pub mod base {
    /// This is the bootstrap processor.
    pub const BOOTSTRAP: u64 = 1 << 8;
    /// x2APIC mode.
    pub const X2APIC: u64 = 1 << 10;
    /// The APIC is enabled.
    pub const ENABLE: u64 = 1 << 11;
    /// The page's address.
    pub const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
}

/// Bits of the error status register.
pub mod error {
    /// An IPI was sent with a vector below 16.
    pub const SEND_ILLEGAL_VECTOR: u32 = 1 << 5;
    /// A message with a vector below 16 arrived.
    pub const RECEIVE_ILLEGAL_VECTOR: u32 = 1 << 6;
    /// An offset without a register was accessed.
    pub const ILLEGAL_REGISTER: u32 = 1 << 7;
}

/// What a message asks of its target (ICR, LVT and redirection entries).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DeliveryMode {
    /// The vector, to every target.
    Fixed = 0,
    /// The vector, to one of the targets.
    LowestPriority = 1,
    /// System management interrupt.
    Smi = 2,
    /// Remote read; KVM uses it to kick a paravirtual spinlock waiter.
    RemoteRead = 3,
    /// NMI.
    Nmi = 4,
    /// INIT.
    Init = 5,
    /// Start-up IPI.
    StartUp = 6,
    /// The vector comes from the 8259 pair.
    ExtInt = 7,
}

impl DeliveryMode {
    /// The mode of a three-bit field.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 7 {
            0 => Self::Fixed,
            1 => Self::LowestPriority,
            2 => Self::Smi,
            3 => Self::RemoteRead,
            4 => Self::Nmi,
            5 => Self::Init,
            6 => Self::StartUp,
            _ => Self::ExtInt,
        }
    }

    /// The field's bits.
    #[inline]
    pub const fn into_bits(self) -> u8 {
        self as u8
    }
}

/// Destination shorthand of an ICR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Shorthand {
    /// The destination field counts.
    None = 0,
    /// The sender.
    Itself = 1,
    /// Everybody.
    AllIncludingSelf = 2,
    /// Everybody else.
    AllExcludingSelf = 3,
}

impl Shorthand {
    const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::None,
            1 => Self::Itself,
            2 => Self::AllIncludingSelf,
            _ => Self::AllExcludingSelf,
        }
    }

    const fn into_bits(self) -> u8 {
        self as u8
    }
}

/// Interrupt command register, in the x2APIC form.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct Icr {
    /// Vector.
    pub vector: u8,
    /// Delivery mode.
    #[bits(3, default = DeliveryMode::Fixed)]
    pub delivery_mode: DeliveryMode,
    /// The destination is a logical one.
    pub logical: bool,
    /// Delivery status, "busy". Reads 0: sending takes no time here.
    pub busy: bool,
    _rsvd_13: bool,
    /// Level: 1 assert, 0 de-assert.
    pub assert: bool,
    /// Level-triggered.
    pub level_triggered: bool,
    #[bits(2)]
    _rsvd_17_16: u8,
    /// Shorthand.
    #[bits(2, default = Shorthand::None)]
    pub shorthand: Shorthand,
    #[bits(12)]
    _rsvd_31_20: u16,
    /// Destination: 32 bits in x2APIC mode, the low 8 in xAPIC mode.
    pub destination: u32,
}

impl Icr {
    /// Bits 31:20, 17:16 and 13; `#GP` in x2APIC mode if set. Bit 12 (busy) is dropped instead.
    pub const RESERVED: u64 = 0xfff3_2000;
    /// The busy bit.
    pub const BUSY: u64 = 1 << 12;

    /// The command of the two xAPIC registers 300h and 310h.
    #[inline]
    pub const fn from_xapic(low: u32, high: u32) -> Self {
        Self::from_bits(((high as u64 >> 24) << 32) | low as u64)
    }

    /// A fixed interrupt to the sender.
    #[inline]
    pub const fn to_self(vector: u8) -> Self {
        Self::from_bits(1 << 18 | vector as u64)
    }
}

/// What the timer does when its count ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TimerMode {
    /// It stops.
    OneShot = 0,
    /// It starts again.
    Periodic = 1,
    /// It does not count but waits for a TSC value (MSR 6E0h).
    TscDeadline = 2,
    /// No such mode: the timer never starts.
    Reserved = 3,
}

impl TimerMode {
    const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::OneShot,
            1 => Self::Periodic,
            2 => Self::TscDeadline,
            _ => Self::Reserved,
        }
    }

    const fn into_bits(self) -> u8 {
        self as u8
    }
}

/// An entry of the local vector table.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Lvt {
    /// Vector.
    pub vector: u8,
    /// Delivery mode. Not there in the timer's and the error entry.
    #[bits(3, default = DeliveryMode::Fixed)]
    pub delivery_mode: DeliveryMode,
    _rsvd_11: bool,
    /// Delivery status.
    pub busy: bool,
    /// Active low (LINT pins).
    pub active_low: bool,
    /// Remote IRR (LINT pins).
    pub remote_irr: bool,
    /// Level-triggered (LINT pins).
    pub level_triggered: bool,
    /// Masked.
    pub masked: bool,
    /// Timer mode (timer only).
    #[bits(2, default = TimerMode::OneShot)]
    pub timer_mode: TimerMode,
    #[bits(13)]
    _rsvd_31_19: u16,
}

impl Lvt {
    /// The value after reset.
    pub const MASKED: Self = Self::new().with_masked(true);
}

/// Spurious interrupt vector register.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Svr {
    /// Vector of a spurious interrupt.
    pub vector: u8,
    /// The APIC is enabled by software.
    pub enabled: bool,
    /// Focus checking is off.
    pub focus_off: bool,
    #[bits(2)]
    _rsvd_11_10: u8,
    /// An EOI is not broadcast to the IOAPICs.
    pub directed_eoi: bool,
    #[bits(19)]
    _rsvd_31_13: u32,
}

/// The IOAPIC (82093AA): its page and its indirect registers.
pub mod ioapic {
    /// Physical address of the register page.
    pub const DEFAULT_BASE: u64 = 0xfec0_0000;
    /// Offset of the register select.
    pub const SELECT: u16 = 0x00;
    /// Offset of the window on the selected register.
    pub const WINDOW: u16 = 0x10;
    /// Indirect: id, in 27:24.
    pub const ID: u8 = 0x00;
    /// Indirect: version in 7:0, last entry in 23:16.
    pub const VERSION: u8 = 0x01;
    /// Indirect: arbitration id, in 27:24.
    pub const ARBITRATION: u8 = 0x02;
    /// Indirect: first half of the first redirection entry.
    pub const ENTRIES: u8 = 0x10;
}

/// A redirection entry of the IOAPIC.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct RedirectionEntry {
    /// Vector.
    pub vector: u8,
    /// Delivery mode.
    #[bits(3, default = DeliveryMode::Fixed)]
    pub delivery_mode: DeliveryMode,
    /// The destination is a logical one.
    pub logical: bool,
    /// Delivery status; read-only.
    pub busy: bool,
    /// Active low.
    pub active_low: bool,
    /// A level-triggered interrupt was accepted and awaits its EOI; read-only.
    pub remote_irr: bool,
    /// Level-triggered.
    pub level_triggered: bool,
    /// Masked.
    pub masked: bool,
    #[bits(39)]
    _rsvd_55_17: u64,
    /// Destination.
    pub destination: u8,
}

/// The logical id of an APIC in x2APIC mode: cluster in 31:16, one bit in 15:0.
#[inline]
pub const fn x2apic_logical_id(id: u32) -> u32 {
    (id >> 4) << 16 | 1 << (id & 0xf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn icr_bits_lie_where_the_manual_puts_them() {
        assert_eq!(Icr::new().with_delivery_mode(DeliveryMode::Init).into_bits(), 5 << 8);
        assert_eq!(Icr::new().with_logical(true).into_bits(), 1 << 11);
        assert_eq!(Icr::new().with_busy(true).into_bits(), Icr::BUSY);
        assert_eq!(Icr::new().with_assert(true).into_bits(), 1 << 14);
        assert_eq!(Icr::new().with_level_triggered(true).into_bits(), 1 << 15);
        assert_eq!(Icr::new().with_shorthand(Shorthand::Itself).into_bits(), 1 << 18);
        assert_eq!(Icr::new().with_destination(3).into_bits(), 3 << 32);
        assert_eq!(Icr::to_self(0x50).shorthand(), Shorthand::Itself);
        assert_eq!(Icr::RESERVED, (0xfff << 20) | (3 << 16) | (1 << 13));
    }

    #[test]
    fn an_xapic_command_has_its_destination_in_the_top_byte() {
        let icr = Icr::from_xapic(0x0000_48f0, 0x8100_0000);
        assert_eq!(icr.destination(), 0x81);
        assert_eq!(icr.vector(), 0xf0);
        assert!(icr.logical() && icr.assert());
    }

    #[test]
    fn lvt_and_svr_bits_lie_where_the_manual_puts_them() {
        assert_eq!(Lvt::MASKED.into_bits(), 1 << 16);
        assert_eq!(Lvt::new().with_timer_mode(TimerMode::TscDeadline).into_bits(), 2 << 17);
        assert_eq!(Lvt::new().with_level_triggered(true).into_bits(), 1 << 15);
        assert_eq!(Svr::new().with_enabled(true).into_bits(), 1 << 8);
        assert_eq!(Svr::new().with_directed_eoi(true).into_bits(), 1 << 12);
    }

    #[test]
    fn redirection_entry_bits_lie_where_the_data_sheet_puts_them() {
        assert_eq!(RedirectionEntry::new().with_logical(true).into_bits(), 1 << 11);
        assert_eq!(RedirectionEntry::new().with_remote_irr(true).into_bits(), 1 << 14);
        assert_eq!(RedirectionEntry::new().with_level_triggered(true).into_bits(), 1 << 15);
        assert_eq!(RedirectionEntry::new().with_masked(true).into_bits(), 1 << 16);
        assert_eq!(RedirectionEntry::new().with_destination(0x81).into_bits(), 0x81 << 56);
    }

    #[test]
    fn msrs_and_offsets_are_two_names_of_one_register() {
        assert_eq!(offset::of_msr(0x830), offset::ICR);
        assert_eq!(offset::of_msr(0x83f), offset::SELF_IPI);
        assert_eq!(offset::to_msr(offset::TPR), 0x808);
    }

    #[test]
    fn x2apic_logical_ids_are_cluster_and_bit() {
        assert_eq!(x2apic_logical_id(0), 1);
        assert_eq!(x2apic_logical_id(0x23), 0x0002_0008);
    }
}
