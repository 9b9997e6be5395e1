//! Silicon profiles.

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

/// The described processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silicon(());

/// A profile that this version does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProfile;

/// Every profile's name.
pub const PROFILES: &[&str] = &["none"];

impl Silicon {
    /// The profile with that name.
    ///
    /// # Errors
    /// [`UnknownProfile`] for a name that is not in [`PROFILES`].
    pub fn profile(name: &str) -> Result<Self, UnknownProfile> {
        if PROFILES.contains(&name) { Ok(Self(())) } else { Err(UnknownProfile) }
    }

    /// How the described processor has `feature`.
    pub const fn mode(&self, feature: Feature) -> Mode {
        match feature {
            Feature::Avic | Feature::X2Avic | Feature::IdleHlt | Feature::Vnmi | Feature::VGif => {
                Mode::Off
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_can_be_asked_for() {
        let none = Silicon::profile("none").unwrap();
        assert_eq!(none.mode(Feature::Avic), Mode::Off);
        assert_eq!(Silicon::profile("zen5"), Err(UnknownProfile));
    }
}
