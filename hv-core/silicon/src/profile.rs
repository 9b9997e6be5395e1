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

/// Why a text describes no silicon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable<'a> {
    /// No profile of [`PROFILES`] has that name.
    Profile(&'a str),
    /// No [`Feature`] has that name.
    Feature(&'a str),
    /// It is not a feature and its mode: `avic=off`.
    Mode(&'a str),
}

impl core::fmt::Display for Unreadable<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Profile(name) => write!(f, "no silicon profile `{name}`; there is {PROFILES:?}"),
            Self::Feature(name) => {
                let known = Feature::ALL.map(Feature::name);
                write!(f, "no silicon feature `{name}`; there is {known:?}")
            }
            Self::Mode(word) => {
                write!(f, "`{word}` is not FEATURE=MODE with real, modeled or off as the mode")
            }
        }
    }
}

impl core::error::Error for Unreadable<'_> {}

/// The profiles, oldest silicon first.
///
/// | name | describes |
/// |---|---|
/// | `none` | nothing by itself: what KVM sees under QEMU's TCG |
/// | `zen2` | AVIC with erratum 1235, vGIF (family 17h) |
/// | `zen3` | AVIC hidden from CPUID, vGIF |
/// | `zen4` | x2AVIC and VNMI on top |
/// | `zen5` | Idle HLT on top |
/// | `host` | whatever the machine has, all of it real |
pub const PROFILES: &[&str] = &["none", "zen2", "zen3", "zen4", "zen5", "host"];

impl Silicon {
    /// No feature at all.
    pub const NONE: Self = Self { modes: [Mode::Off; 5], quirks: Quirks::empty() };

    /// Reads a description: a profile's name, then features that are otherwise, as words:
    /// `zen4 vnmi=off`, `none idle-hlt=modeled`, `zen4 avic=real x2avic=real`. `machine` is what CPUID
    /// says of the processor underneath, for `host`. [`Silicon::check`] the result.
    ///
    /// # Errors
    /// See [`Unreadable`].
    pub fn read(text: &str, machine: Enumeration) -> Result<Self, Unreadable<'_>> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next().unwrap_or("");
        let mut silicon = Self::profile(name, machine).ok_or(Unreadable::Profile(name))?;
        for word in words {
            let (name, mode) = word.split_once('=').ok_or(Unreadable::Mode(word))?;
            let feature = Feature::named(name).ok_or(Unreadable::Feature(name))?;
            let mode = Mode::named(mode).ok_or(Unreadable::Mode(word))?;
            silicon = silicon.with(feature, mode);
        }
        Ok(silicon)
    }

    fn profile(name: &str, machine: Enumeration) -> Option<Self> {
        use Feature::{Avic, IdleHlt, VGif, Vnmi, X2Avic};
        let modeled = |features: &[Feature]| {
            features.iter().fold(Self::NONE, |all, &feature| all.with(feature, Mode::Modeled))
        };
        Some(match name {
            "none" => Self::NONE,
            "zen2" => modeled(&[Avic, VGif]).with_quirks(Quirks::ERRATUM_1235),
            "zen3" => modeled(&[Avic, VGif]).with_quirks(Quirks::AVIC_HIDDEN),
            "zen4" => modeled(&[Avic, X2Avic, Vnmi, VGif]),
            "zen5" => modeled(&[Avic, X2Avic, IdleHlt, Vnmi, VGif]),
            "host" => machine.silicon(),
            _ => return None,
        })
    }

    /// The features in `mode`, one bit each in the order of [`Feature::ALL`].
    pub fn mask(&self, mode: Mode) -> u8 {
        let bit = |feature: Feature| u8::from(self.mode(feature) == mode) << feature as u8;
        Feature::ALL.into_iter().map(bit).sum()
    }

    /// Whether any feature is in `mode`.
    pub fn any(&self, mode: Mode) -> bool {
        self.modes.contains(&mode)
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
