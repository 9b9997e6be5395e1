//! The features that change which exits a hypervisor sees, and how each comes about.

use trapline_defs::cpuid::SvmFeatures;

/// A feature that changes which exits a hypervisor sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// AVIC (APM vol. 2 §15.29).
    Avic,
    /// x2AVIC (§15.29.10).
    X2Avic,
    /// Idle HLT intercept (§15.9, Table 15-7).
    IdleHlt,
    /// Virtual NMI (§15.21.10).
    Vnmi,
    /// Virtual GIF (§15.33.2).
    VGif,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 5] = [Self::Avic, Self::X2Avic, Self::IdleHlt, Self::Vnmi, Self::VGif];

    /// The name in a plan, a suite and a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avic => "avic",
            Self::X2Avic => "x2avic",
            Self::IdleHlt => "idle-hlt",
            Self::Vnmi => "vnmi",
            Self::VGif => "vgif",
        }
    }

    /// The feature with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }

    /// The bit of Fn8000_000A EDX that announces the feature.
    pub const fn bit(self) -> SvmFeatures {
        match self {
            Self::Avic => SvmFeatures::AVIC,
            Self::X2Avic => SvmFeatures::X2AVIC,
            Self::IdleHlt => SvmFeatures::IDLE_HLT,
            Self::Vnmi => SvmFeatures::VNMI,
            Self::VGif => SvmFeatures::VGIF,
        }
    }
}

/// How a feature comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The processor has it, and it is used.
    Real,
    /// hv-core plays it.
    Modeled,
    /// The described processor does not have it.
    Off,
}

impl Mode {
    /// The name in a plan, a suite and a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Modeled => "modeled",
            Self::Off => "off",
        }
    }

    /// The mode with that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Real, Self::Modeled, Self::Off].into_iter().find(|mode| mode.name() == name)
    }
}
