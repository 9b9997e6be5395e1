//! Silicon profiles: which processor is described.

use crate::enumeration::Enumeration;
use crate::feature::{Feature, Mode};
use bitflags::bitflags;

/// What one generation does differently from the next, other than having a [`Feature`] or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks(u8);

bitflags! {
    impl Quirks: u8 {
        /// x2AVIC_EXT: x2APIC ids up to 4095 (Fn8000_000A ECX bit 6). No profile sets it: which
        /// generation brought it is not published.
        const X2AVIC_EXT = 1 << 0;
        /// The extended LVT can be read and its writes trap (Fn8000_000A EDX bit 27). No profile
        /// sets it, for the same reason.
        const EXTENDED_LVT = 1 << 1;
        /// Erratum 1235: the sender of an IPI may see a stale IsRunning.
        const ERRATUM_1235 = 1 << 2;
        /// AVIC works but CPUID does not say so; Linux needs `force_avic=1`.
        const AVIC_HIDDEN = 1 << 3;
        /// Only bits 7:0 of an entry's host APIC id count (first parts with AVIC).
        const NARROW_HOST_ID = 1 << 4;
    }
}

/// The described processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silicon {
    modes: [Mode; 5],
    quirks: Quirks,
}

/// A profile that this version does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProfile;

/// The profiles that hv-core runs. It asks for no others through [`Silicon::profile`], so that no
/// result can claim silicon that was not there; what the model can play is [`MODEL_PROFILES`].
pub const PROFILES: &[&str] = &["none"];

/// The profiles that the model can play ([`Silicon::described`]), oldest silicon first.
///
/// | name | describes |
/// |---|---|
/// | `none` | nothing by itself: what KVM sees under QEMU's TCG |
/// | `zen2` | AVIC with erratum 1235, vGIF (family 17h) |
/// | `zen3` | AVIC hidden from CPUID, vGIF |
/// | `zen4` | x2AVIC and VNMI on top |
/// | `zen5` | Idle HLT on top |
/// | `host` | whatever the machine has, all of it real |
pub const MODEL_PROFILES: &[&str] = &["none", "zen2", "zen3", "zen4", "zen5", "host"];

impl Silicon {
    /// No feature at all.
    pub const NONE: Self = Self { modes: [Mode::Off; 5], quirks: Quirks::empty() };

    /// The profile with that name, of those that hv-core runs.
    ///
    /// # Errors
    /// [`UnknownProfile`] for a name that is not in [`PROFILES`].
    pub fn profile(name: &str) -> Result<Self, UnknownProfile> {
        if PROFILES.contains(&name) { Ok(Self::NONE) } else { Err(UnknownProfile) }
    }

    /// The profile with that name, of those that the model can play; `machine` is what CPUID says
    /// of the processor underneath, for `host`.
    ///
    /// # Errors
    /// [`UnknownProfile`] for a name that is not in [`MODEL_PROFILES`].
    pub fn described(name: &str, machine: Enumeration) -> Result<Self, UnknownProfile> {
        use Feature::{Avic, IdleHlt, VGif, Vnmi, X2Avic};
        let modeled = |features: &[Feature]| {
            features.iter().fold(Self::NONE, |all, &feature| all.with(feature, Mode::Modeled))
        };
        Ok(match name {
            "none" => Self::NONE,
            "zen2" => modeled(&[Avic, VGif]).with_quirks(Quirks::ERRATUM_1235),
            "zen3" => modeled(&[Avic, VGif]).with_quirks(Quirks::AVIC_HIDDEN),
            "zen4" => modeled(&[Avic, X2Avic, Vnmi, VGif]),
            "zen5" => modeled(&[Avic, X2Avic, IdleHlt, Vnmi, VGif]),
            "host" => machine.silicon(),
            _ => return Err(UnknownProfile),
        })
    }

    /// The same processor with one feature otherwise. [`Silicon::check`] the result.
    #[must_use]
    pub const fn with(mut self, feature: Feature, mode: Mode) -> Self {
        self.modes[feature as usize] = mode;
        self
    }

    /// The same processor with exactly these quirks.
    #[must_use]
    pub const fn with_quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// How the described processor has `feature`.
    pub const fn mode(&self, feature: Feature) -> Mode {
        self.modes[feature as usize]
    }

    /// Whether it has `feature`, by itself or by the model.
    #[inline]
    pub const fn has(&self, feature: Feature) -> bool {
        !matches!(self.mode(feature), Mode::Off)
    }

    /// Its quirks.
    #[inline]
    pub const fn quirks(&self) -> Quirks {
        self.quirks
    }
}
