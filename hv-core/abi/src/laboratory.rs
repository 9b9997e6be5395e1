//! The laboratory: a payload plays the hypervisor of its own vCPU.
//!
//! Under the policy `laboratory` no hypervisor acts on its own. The payload sets fields of the VMCB,
//! of AVIC's structures and of the permission maps ([`Call::Poke`]), does something, and reads which
//! architectural exits came of it ([`Call::Peek`]): each is kept with its information, and the guest
//! goes on behind the instruction. What the manual says of one bit can so be tested by twenty lines of
//! guest code, on modeled silicon and on real silicon alike.
//!
//! [`Call::Poke`]: crate::call::Call::Poke
//! [`Call::Peek`]: crate::call::Call::Peek

/// Exits that are kept.
pub const EXITS: usize = 16;

/// Doorbells that are kept.
pub const RINGS: usize = 16;

/// What of an exit is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// EXITCODE.
    Code = 0,
    /// EXITINFO1.
    Info1 = 1,
    /// EXITINFO2.
    Info2 = 2,
    /// Guest RIP.
    Rip = 3,
    /// EXITINTINFO.
    IntInfo = 4,
    /// The word at 060h.
    VIntr = 5,
    /// Length by which the laboratory then moved RIP: the exit was at its instruction.
    Skipped = 6,
    /// Guest RFLAGS.
    Rflags = 7,
}

/// Something that can be read, set, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The 64-bit word of the VMCB's control area at this offset. Takes effect at the next VMRUN.
    /// Pointers are accepted to AVIC's own pages and to addresses that no processor has.
    Control(u16),
    /// A register of a vCPU's backing page. There are 16 pages, however many vCPUs run.
    Page(u8, u16),
    /// The physical address of a backing page. Read only.
    Address(u8),
    /// The physical address of the physical table. Read only.
    PhysicalTable,
    /// The physical address of the logical table. Read only.
    LogicalTable,
    /// An entry of the physical table.
    Entry(u16),
    /// An entry of the logical table.
    Logical(u16),
    /// The nested page tables' leaf at the APIC page: 0 none, 1 read-only, 3 writable.
    Leaf,
    /// Whether the permission map intercepts reads of an MSR of 800h to 8FFh: 0 or 1.
    ReadIntercept(u8),
    /// Likewise writes.
    WriteIntercept(u8),
    /// How many exits there were since 0 was set here.
    Exits,
    /// A part of one of them, from 0; at most [`EXITS`] are kept.
    Exit(u8, Part),
    /// How many doorbells this vCPU's processor rang since 0 was set here.
    Rings,
    /// The host APIC id of one of them, from 0.
    Ring(u8),
    /// Setting it is WRMSR C001_011Bh by the host, reading it RDMSR: 1 is `#GP`. A doorbell for this
    /// vCPU's own core is answered at once.
    Doorbell,
    /// Width of the processor's physical addresses. Read only.
    PhysicalBits,
    /// Host APIC id of this vCPU's core. Read only.
    HostId,
    /// A knob of the model: 0 never, 1 always. Not there where silicon is real.
    Knob(Knob),
    /// What hv-core's own timer does: setting n makes a physical interrupt fire n ticks later.
    Timer,
    /// The clean bits of the VMRUN after each call, from this one on. Set only.
    Clean,
    /// TLB_CONTROL of the VMRUN after this call. Set only.
    Flush,
    /// What becomes pending between the next exit that is kept and the VMRUN after it: bits 7:0 a vector of
    /// the vCPU's own IRR, 0 for none; bit 8 V_NMI; bit 9: RIP and the interrupt shadow stay as the exit left
    /// them, so that the instruction runs again. Set only.
    Meanwhile,
    /// What the processor under test says of itself: Fn8000_000A EDX, and in bit 32 ECX bit 6, which
    /// is x2AVIC_EXT. Read only.
    Features,
}

/// Bit 8 of [`Field::Meanwhile`].
pub const MEANWHILE_NMI: u64 = 1 << 8;
/// Bit 9 of [`Field::Meanwhile`].
pub const MEANWHILE_AGAIN: u64 = 1 << 9;

/// A knob of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Knob {
    /// Fields with a clean bit come from the processor's copy.
    KeepClean = 0,
    /// A stale TLB entry of the APIC page is used.
    StaleTag = 1,
    /// ICR bit 12 stays set at exit 401h.
    BusyLeft = 2,
    /// Erratum 1235.
    StaleRunning = 3,
    /// Idle HLT looks at a pending interrupt although RFLAGS.IF is 0.
    IdleIgnoresIf = 4,
    /// The IRR is looked at whenever the caller allows it.
    Relaxed = 5,
}

impl Field {
    /// The word that names it in a call.
    pub const fn to_word(self) -> u64 {
        let (class, a, b) = match self {
            Self::Control(offset) => (1, offset, 0),
            Self::Page(vcpu, register) => (2, register, vcpu),
            Self::Address(vcpu) => (3, 0, vcpu),
            Self::Entry(id) => (4, id, 0),
            Self::Logical(index) => (5, index, 0),
            Self::Leaf => (6, 0, 0),
            Self::ReadIntercept(msr) => (7, 0, msr),
            Self::WriteIntercept(msr) => (8, 0, msr),
            Self::Exits => (9, 0, 0),
            Self::Exit(index, part) => (10, part as u16, index),
            Self::Rings => (11, 0, 0),
            Self::Ring(index) => (12, 0, index),
            Self::Doorbell => (13, 0, 0),
            Self::PhysicalBits => (14, 0, 0),
            Self::HostId => (15, 0, 0),
            Self::Knob(knob) => (16, 0, knob as u8),
            Self::Timer => (17, 0, 0),
            Self::PhysicalTable => (18, 0, 0),
            Self::LogicalTable => (19, 0, 0),
            Self::Clean => (20, 0, 0),
            Self::Flush => (21, 0, 0),
            Self::Meanwhile => (22, 0, 0),
            Self::Features => (41, 0, 0),
        };
        class << 32 | (b as u64) << 16 | a as u64
    }

    /// What a word names.
    pub const fn from_word(word: u64) -> Option<Self> {
        let (a, b) = (word as u16, (word >> 16) as u8);
        Some(match word >> 32 {
            1 => Self::Control(a),
            2 => Self::Page(b, a),
            3 => Self::Address(b),
            4 => Self::Entry(a),
            5 => Self::Logical(a),
            6 => Self::Leaf,
            7 => Self::ReadIntercept(b),
            8 => Self::WriteIntercept(b),
            9 => Self::Exits,
            10 => match Part::from_number(a) {
                Some(part) => Self::Exit(b, part),
                None => return None,
            },
            11 => Self::Rings,
            12 => Self::Ring(b),
            13 => Self::Doorbell,
            14 => Self::PhysicalBits,
            15 => Self::HostId,
            16 => match Knob::from_number(b) {
                Some(knob) => Self::Knob(knob),
                None => return None,
            },
            17 => Self::Timer,
            18 => Self::PhysicalTable,
            19 => Self::LogicalTable,
            20 => Self::Clean,
            21 => Self::Flush,
            22 => Self::Meanwhile,
            41 => Self::Features,
            _ => return None,
        })
    }
}

impl Part {
    const fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            0 => Self::Code,
            1 => Self::Info1,
            2 => Self::Info2,
            3 => Self::Rip,
            4 => Self::IntInfo,
            5 => Self::VIntr,
            6 => Self::Skipped,
            7 => Self::Rflags,
            _ => return None,
        })
    }
}

impl Knob {
    const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::KeepClean,
            1 => Self::StaleTag,
            2 => Self::BusyLeft,
            3 => Self::StaleRunning,
            4 => Self::IdleIgnoresIf,
            5 => Self::Relaxed,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_their_fields() {
        for field in [
            Field::Control(0xf8),
            Field::Page(15, 0x3f0),
            Field::Address(3),
            Field::Entry(511),
            Field::Logical(59),
            Field::Leaf,
            Field::ReadIntercept(0xff),
            Field::WriteIntercept(0x30),
            Field::Exits,
            Field::Exit(15, Part::Rflags),
            Field::Rings,
            Field::Ring(2),
            Field::Doorbell,
            Field::PhysicalBits,
            Field::HostId,
            Field::Knob(Knob::Relaxed),
            Field::Timer,
            Field::PhysicalTable,
            Field::LogicalTable,
            Field::Clean,
            Field::Flush,
            Field::Meanwhile,
            Field::Features,
        ] {
            assert_eq!(Field::from_word(field.to_word()), Some(field));
        }
        assert_eq!(Field::from_word(0), None);
        assert_eq!(Field::from_word(10 << 32 | 8), None);
    }
}
