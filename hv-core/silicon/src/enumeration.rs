//! What CPUID says about interrupt virtualization, and which descriptions a machine can carry.

use crate::feature::{Feature, Mode};
use crate::profile::{Quirks, Silicon};
use core::fmt;
use trapline_defs::avic;
use trapline_defs::cpuid::SvmFeatures;

/// Fn8000_000A: EDX, and of ECX the one bit that concerns AVIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumeration {
    /// EDX.
    pub edx: SvmFeatures,
    /// ECX bit 6.
    pub x2avic_ext: bool,
}

/// Why a description cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// x2AVIC on a processor without AVIC.
    X2AvicWithoutAvic,
    /// One of AVIC and x2AVIC is real and the other modeled, but one VMCB word switches both.
    HalfRealAvic,
    /// A real Idle HLT cannot see what the model of this feature holds pending.
    BlindIdleHlt(Feature),
    /// The machine does not have a feature that is to be real.
    Missing(Feature),
    /// AVIC needs nested paging.
    NoNestedPaging,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X2AvicWithoutAvic => f.write_str("x2avic needs avic: turn avic on as well"),
            Self::HalfRealAvic => {
                f.write_str("avic and x2avic are one unit: make both real or both modeled")
            }
            Self::BlindIdleHlt(feature) => write!(
                f,
                "a real idle-hlt does not see a modeled {}: model idle-hlt too",
                feature.name()
            ),
            Self::Missing(feature) => write!(
                f,
                "this processor has no {name}: model it or turn it off",
                name = feature.name()
            ),
            Self::NoNestedPaging => f.write_str("avic needs nested paging: turn avic off"),
        }
    }
}

impl core::error::Error for Impossible {}

impl Enumeration {
    /// The EDX bits that a description decides; the others stay the machine's.
    pub const DECIDED: SvmFeatures = SvmFeatures::AVIC
        .union(SvmFeatures::X2AVIC)
        .union(SvmFeatures::IDLE_HLT)
        .union(SvmFeatures::VNMI)
        .union(SvmFeatures::VGIF)
        .union(SvmFeatures::EXT_LVT_AVIC);

    /// From the two words of Fn8000_000A.
    pub const fn of(ecx: u32, edx: u32) -> Self {
        let x2avic_ext = ecx & avic::X2AVIC_EXT_BIT != 0;
        Self { edx: SvmFeatures::from_bits_retain(edx), x2avic_ext }
    }

    /// The machine as a description of itself: all it has, real.
    pub(crate) fn silicon(self) -> Silicon {
        let mut silicon = Silicon::NONE;
        for feature in Feature::ALL {
            if self.edx.contains(feature.bit()) {
                silicon = silicon.with(feature, Mode::Real);
            }
        }
        let mut quirks = Quirks::empty();
        quirks.set(Quirks::X2AVIC_EXT, self.x2avic_ext);
        quirks.set(Quirks::EXTENDED_LVT, self.edx.contains(SvmFeatures::EXT_LVT_AVIC));
        silicon.with_quirks(quirks)
    }
}

impl Silicon {
    /// What CPUID of the described processor says. Zen 3 hides its AVIC.
    pub fn enumeration(&self) -> Enumeration {
        let quirks = self.quirks();
        let mut edx = SvmFeatures::empty();
        for feature in Feature::ALL {
            edx.set(feature.bit(), self.has(feature));
        }
        if quirks.contains(Quirks::AVIC_HIDDEN) {
            edx.remove(SvmFeatures::AVIC);
        }
        edx.set(SvmFeatures::EXT_LVT_AVIC, quirks.contains(Quirks::EXTENDED_LVT));
        Enumeration { edx, x2avic_ext: quirks.contains(Quirks::X2AVIC_EXT) }
    }

    /// Whether `machine` can run this description.
    ///
    /// # Errors
    /// The first reason found why it cannot.
    pub fn check(&self, machine: Enumeration) -> Result<(), Impossible> {
        use Feature::{Avic, IdleHlt, Vnmi, X2Avic};
        if self.has(X2Avic) && !self.has(Avic) {
            return Err(Impossible::X2AvicWithoutAvic);
        }
        if self.has(X2Avic) && self.mode(X2Avic) != self.mode(Avic) {
            return Err(Impossible::HalfRealAvic);
        }
        for feature in Feature::ALL {
            if self.mode(feature) == Mode::Real && !machine.edx.contains(feature.bit()) {
                return Err(Impossible::Missing(feature));
            }
        }
        for feature in [Avic, Vnmi] {
            if self.mode(IdleHlt) == Mode::Real && self.mode(feature) == Mode::Modeled {
                return Err(Impossible::BlindIdleHlt(feature));
            }
        }
        if self.has(Avic) && !machine.edx.contains(SvmFeatures::NP) {
            return Err(Impossible::NoNestedPaging);
        }
        Ok(())
    }
}
