//! Whether a destination names this APIC (APM §16.6.1).
//!
//! KVM answers from a map of all APICs when it can and from a loop over them when it cannot, and
//! the two differ at the edges. Each rule here follows the path that KVM takes for it.

use trapline_defs::apic::{self, DeliveryMode, Icr, Shorthand};

use super::{Lapic, Message, Mode};

/// What decides whether a destination names an APIC. Small enough that other vCPUs can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub(super) mode: Mode,
    pub(super) software_enabled: bool,
    pub(super) id: u32,
    pub(super) id_register: u32,
    pub(super) ldr: u32,
    pub(super) dfr: u32,
}

impl Lapic {
    /// What other vCPUs need to know of this APIC. It changes only where
    /// [`Lapic::map_changed`] says so.
    #[inline]
    pub fn identity(&self) -> Identity {
        Identity {
            mode: self.mode,
            software_enabled: self.svr.enabled(),
            id: self.id,
            id_register: self.id_register,
            ldr: self.ldr,
            dfr: self.dfr,
        }
    }

    /// See [`Identity::matches`].
    pub fn matches(&self, destination: u32, logical: bool) -> bool {
        self.identity().matches(destination, logical)
    }

    /// See [`Identity::targets_self`].
    #[inline]
    pub fn targets_self(&self, icr: Icr) -> bool {
        // The common case needs no identity.
        icr.shorthand() == Shorthand::Itself || self.identity().targets_self(icr)
    }

    /// See [`Identity::targeted_by_peer`].
    pub fn targeted_by_peer(&self, icr: Icr) -> bool {
        self.identity().targeted_by_peer(icr)
    }

    /// See [`Identity::matches_device`].
    pub fn matches_device(&self, destination: u32, logical: bool) -> bool {
        self.identity().matches_device(destination, logical)
    }

    /// See [`Identity::targeted_by`].
    pub fn targeted_by(&self, message: Message) -> bool {
        self.identity().targeted_by(message)
    }
}

impl Identity {
    /// Which interface the APIC offers.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The id that physical destinations are compared with.
    pub fn physical_id(&self) -> u32 {
        if self.mode == Mode::X2Apic { self.id } else { self.id_register >> 24 }
    }

    /// Whether fixed interrupts are taken at all, as [`Lapic::enabled`].
    pub fn accepts_fixed(&self) -> bool {
        self.mode != Mode::Disabled && self.software_enabled
    }

    /// The logical destination register.
    pub fn ldr(&self) -> u32 {
        self.ldr
    }

    /// The destination format register.
    pub fn dfr(&self) -> u32 {
        self.dfr
    }

    /// SVR bit 8.
    pub fn software_enabled(&self) -> bool {
        self.software_enabled
    }

    /// An APIC that no destination names.
    pub const NOBODY: Self = Self {
        mode: Mode::Disabled,
        software_enabled: false,
        id: 0,
        id_register: 0,
        ldr: 0,
        dfr: 0,
    };

    /// Whether the destination of an IPI names this APIC.
    pub fn matches(&self, destination: u32, logical: bool) -> bool {
        match self.mode {
            Mode::Disabled => false,
            _ if destination == self.broadcast() => true,
            // The map holds logical ids of software-enabled APICs only, so even an NMI to a
            // logical destination misses a disabled one.
            _ if logical => self.software_enabled && self.matches_logical(destination),
            // An id that xAPIC cannot express is matched against the x2APIC id in either mode.
            Mode::X2Apic => destination == self.id,
            Mode::XApic if destination > 0xff => destination == self.id,
            Mode::XApic => destination == self.id_register >> 24,
        }
    }

    /// Whether an IPI that this APIC sends comes back to it.
    #[inline]
    pub fn targets_self(&self, icr: Icr) -> bool {
        match icr.shorthand() {
            Shorthand::Itself => true,
            Shorthand::AllIncludingSelf => self.mode != Mode::Disabled,
            Shorthand::AllExcludingSelf => false,
            Shorthand::None => self.named_by(icr),
        }
    }

    /// Whether an IPI of another APIC is for this one.
    pub fn targeted_by_peer(&self, icr: Icr) -> bool {
        match icr.shorthand() {
            Shorthand::Itself => false,
            Shorthand::AllIncludingSelf | Shorthand::AllExcludingSelf => {
                self.mode != Mode::Disabled
            }
            Shorthand::None => self.named_by(icr),
        }
    }

    /// Whether the destination of a device's message names this APIC. FFh reaches everybody in
    /// x2APIC mode too, for want of interrupt remapping.
    pub fn matches_device(&self, destination: u32, logical: bool) -> bool {
        self.matches(self.device_destination(destination), logical)
    }

    /// Whether a device's message is for this APIC.
    pub fn targeted_by(&self, message: Message) -> bool {
        let destination = self.device_destination(message.destination);
        self.matches(destination, message.logical)
            && (!message.logical
                || message.mode != DeliveryMode::LowestPriority
                || self.wins_arbitration(destination, message.vector))
    }

    #[inline]
    fn named_by(&self, icr: Icr) -> bool {
        self.matches(icr.destination(), icr.logical())
            && (icr.delivery_mode() != DeliveryMode::LowestPriority
                || !icr.logical()
                || self.wins_arbitration(icr.destination(), icr.vector()))
    }

    fn device_destination(&self, destination: u32) -> u32 {
        if destination == apic::BROADCAST { self.broadcast() } else { destination }
    }

    #[inline]
    fn broadcast(&self) -> u32 {
        if self.mode == Mode::X2Apic { apic::X2APIC_BROADCAST } else { apic::BROADCAST }
    }

    #[inline]
    fn flat(&self) -> bool {
        self.dfr == apic::DFR_FLAT
    }

    fn matches_logical(&self, destination: u32) -> bool {
        if self.mode == Mode::X2Apic {
            return self.ldr >> 16 == destination >> 16 && self.ldr & destination & 0xffff != 0;
        }
        let own = self.ldr >> 24;
        if self.flat() {
            return own & destination != 0;
        }
        // The map takes every other format for cluster, but only APICs with one bit are in it. The
        // loop, used for the rest, wants the exact format.
        (self.dfr == apic::DFR_CLUSTER || (own & 0xf).is_power_of_two())
            && own >> 4 == destination >> 4
            && own & destination & 0xf != 0
    }

    /// Lowest priority among a logical destination's bits. KVM does not compare priorities: vector
    /// modulo number of bits picks the bit ("vector hashing"), whether or not an APIC has it.
    fn wins_arbitration(&self, destination: u32, vector: u8) -> bool {
        if destination == self.broadcast() {
            return true;
        }
        let (own, mask) = match self.mode {
            Mode::X2Apic => (self.ldr & 0xffff, destination & 0xffff),
            _ if self.flat() => (self.ldr >> 24, destination & 0xff),
            _ => (self.ldr >> 24 & 0xf, destination & 0xf),
        };
        if !own.is_power_of_two() {
            // Not in the map: a loop collects the APICs that match, of which this is one.
            return true;
        }
        let place = (mask & (own - 1)).count_ones();
        u32::from(vector) % mask.count_ones() == place
    }
}
