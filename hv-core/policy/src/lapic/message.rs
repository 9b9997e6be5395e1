//! What travels to a local APIC, and what it does there.

use trapline_defs::apic::{DeliveryMode, Icr};

use super::Lapic;

/// An interrupt message of a device or an IOAPIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Destination id.
    pub destination: u32,
    /// The destination is a logical one.
    pub logical: bool,
    /// Delivery mode.
    pub mode: DeliveryMode,
    /// Vector.
    pub vector: u8,
    /// Level-triggered.
    pub level: bool,
}

/// What the target of a message must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing: not for this APIC, de-asserted, or lost.
    None,
    /// An interrupt enters IRR.
    Interrupt {
        /// Its vector.
        vector: u8,
        /// Level-triggered.
        level: bool,
    },
    /// Make an NMI pending.
    Nmi,
    /// Reset the vCPU; a later [`Delivery::Sipi`] starts it unless it is the bootstrap processor.
    Init,
    /// Start a vCPU that waits after INIT at `vector << 12`.
    Sipi {
        /// The page to start at.
        vector: u8,
    },
    /// Enter system management mode; KVM without SMM drops it.
    Smi,
    /// The 8259 pair holds the vector. KVM ignores it in an IPI or an IOAPIC entry.
    ExtInt,
    /// Wake a paravirtual spinlock waiter (KVM's use of the remote-read mode).
    Unhalt,
}

impl Delivery {
    /// What an IPI makes each of its targets do.
    #[inline]
    pub const fn of(icr: Icr) -> Self {
        Self::decode(icr.delivery_mode(), icr.vector(), icr.level_triggered(), icr.assert())
    }

    /// What a device's message makes each of its targets do.
    #[inline]
    pub const fn of_message(message: Message) -> Self {
        Self::decode(message.mode, message.vector, message.level, true)
    }

    #[inline]
    pub(super) const fn decode(mode: DeliveryMode, vector: u8, level: bool, assert: bool) -> Self {
        // A level-triggered de-assert is a message of the old APIC bus: nobody listens any more.
        let released = level && !assert;
        match mode {
            DeliveryMode::Fixed | DeliveryMode::LowestPriority if !released => {
                Self::Interrupt { vector, level }
            }
            DeliveryMode::Init if !released => Self::Init,
            DeliveryMode::Fixed | DeliveryMode::LowestPriority | DeliveryMode::Init => Self::None,
            DeliveryMode::Nmi => Self::Nmi,
            DeliveryMode::StartUp => Self::Sipi { vector },
            DeliveryMode::Smi => Self::Smi,
            DeliveryMode::ExtInt => Self::ExtInt,
            DeliveryMode::RemoteRead => Self::Unhalt,
        }
    }
}

impl Lapic {
    /// An IPI that this APIC sent: it enters IRR if this APIC is among the targets.
    ///
    /// The result is what the vCPU has to do beyond that; [`Delivery::Interrupt`] is already done.
    #[inline]
    pub fn receive_own(&mut self, icr: Icr) -> Delivery {
        if self.targets_self(icr) { self.take(Delivery::of(icr)) } else { Delivery::None }
    }

    /// An IPI of another APIC. Result as in [`Lapic::receive_own`].
    pub fn receive(&mut self, icr: Icr) -> Delivery {
        if self.targeted_by_peer(icr) { self.take(Delivery::of(icr)) } else { Delivery::None }
    }

    /// A message of a device or an IOAPIC. Result as in [`Lapic::receive_own`];
    /// [`Delivery::None`] says that it was not accepted.
    pub fn receive_message(&mut self, message: Message) -> Delivery {
        if !self.targeted_by(message) {
            return Delivery::None;
        }
        self.take(Delivery::of_message(message))
    }

    /// Takes what it is a target of. Result as in [`Lapic::receive_own`], but [`Delivery::None`] says that
    /// it was not accepted.
    #[inline]
    pub fn take(&mut self, delivery: Delivery) -> Delivery {
        match delivery {
            Delivery::Interrupt { vector, level } if !self.accept(vector, level) => Delivery::None,
            other => other,
        }
    }
}
