//! Profiles, overrides and what a machine can carry.

use super::bench::{machine, silicon};
use crate::{Chance, Enumeration, Feature, Impossible, Knobs, Mode, PROFILES, Quirks, Silicon};
use trapline_defs::cpuid::SvmFeatures;

/// QEMU's TCG: nested paging and vGIF, nothing else of interest.
fn tcg() -> Enumeration {
    Enumeration { edx: SvmFeatures::NP | SvmFeatures::VGIF, x2avic_ext: false }
}

#[test]
fn every_profile_exists_and_runs_under_tcg() {
    for name in PROFILES {
        let silicon = Silicon::read(name, tcg()).unwrap();
        assert_eq!(silicon.check(tcg()), Ok(()), "{name}");
    }
}

#[test]
fn features_can_be_otherwise_than_in_the_profile() {
    let read = |text| Silicon::read(text, tcg());
    let silicon = read("zen4 vnmi=off idle-hlt=modeled avic=real x2avic=real").unwrap();
    assert_eq!(silicon.mode(Feature::Vnmi), Mode::Off);
    assert_eq!(silicon.mode(Feature::IdleHlt), Mode::Modeled);
    assert_eq!(silicon.mode(Feature::X2Avic), Mode::Real);
    assert_eq!(silicon.mode(Feature::VGif), Mode::Modeled);
    assert!(silicon.any(Mode::Real) && !read("none").unwrap().any(Mode::Modeled));
    for (text, why) in [
        ("", "no silicon profile ``"),
        ("zen6", "no silicon profile `zen6`; there is [\"none\", "),
        ("zen4 avic2=off", "no silicon feature `avic2`; there is [\"avic\", "),
        ("zen4 avic", "`avic` is not FEATURE=MODE"),
        ("zen4 avic=on", "`avic=on` is not FEATURE=MODE"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(why), "{text}: {error}");
    }
}

#[test]
fn generations_add_features() {
    use Feature::{Avic, IdleHlt, VGif, Vnmi, X2Avic};
    let table = [
        ("none", &[][..]),
        ("zen2", &[Avic, VGif]),
        ("zen3", &[Avic, VGif]),
        ("zen4", &[Avic, X2Avic, Vnmi, VGif]),
        ("zen5", &[Avic, X2Avic, IdleHlt, Vnmi, VGif]),
    ];
    for (name, features) in table {
        for feature in Feature::ALL {
            let mode = if features.contains(&feature) { Mode::Modeled } else { Mode::Off };
            assert_eq!(silicon(name).mode(feature), mode, "{name} {feature:?}");
        }
    }
}

#[test]
fn zen3_hides_its_avic_from_cpuid() {
    assert!(silicon("zen3").has(Feature::Avic));
    assert!(!silicon("zen3").enumeration().edx.contains(SvmFeatures::AVIC));
    assert!(silicon("zen2").enumeration().edx.contains(SvmFeatures::AVIC));
    assert!(Enumeration::DECIDED.contains(silicon("zen5").enumeration().edx));
}

#[test]
fn zen2_comes_with_its_erratum() {
    assert!(matches!(Knobs::of(&silicon("zen2")).stale_is_running, Chance::OneIn(_)));
    assert_eq!(Knobs::of(&silicon("zen3")), Knobs::default());
}

#[test]
fn the_host_profile_is_what_cpuid_says() {
    let host = Silicon::read("host", tcg()).unwrap();
    assert_eq!(host.mode(Feature::VGif), Mode::Real);
    assert_eq!(host.mode(Feature::Avic), Mode::Off);
    let host = Silicon::read("host", Enumeration::of(1 << 6, 1 << 13 | 1 << 18 | 1 << 27));
    let host = host.unwrap();
    assert_eq!((host.mode(Feature::Avic), host.mode(Feature::X2Avic)), (Mode::Real, Mode::Real));
    assert_eq!(host.quirks(), Quirks::X2AVIC_EXT | Quirks::EXTENDED_LVT);
}

#[test]
fn impossible_descriptions_are_refused_by_name() {
    use Feature::{Avic, IdleHlt, Vnmi};
    let table = [
        (silicon("zen4").with(Avic, Mode::Off), Impossible::X2AvicWithoutAvic),
        (silicon("zen4").with(Avic, Mode::Real), Impossible::HalfRealAvic),
        (silicon("none").with(IdleHlt, Mode::Real), Impossible::Missing(IdleHlt)),
        (silicon("none").with(Avic, Mode::Real), Impossible::Missing(Avic)),
    ];
    for (silicon, why) in table {
        assert_eq!(silicon.check(tcg()), Err(why));
        assert!(!why.to_string().is_empty());
    }
    let blind = silicon("zen5").with(IdleHlt, Mode::Real);
    assert_eq!(blind.check(machine()), Err(Impossible::BlindIdleHlt(Avic)));
    let blind = silicon("none").with(IdleHlt, Mode::Real).with(Vnmi, Mode::Modeled);
    assert_eq!(blind.check(machine()), Err(Impossible::BlindIdleHlt(Vnmi)));
    let flat = Enumeration { edx: SvmFeatures::empty(), x2avic_ext: false };
    assert_eq!(silicon("zen2").check(flat), Err(Impossible::NoNestedPaging));
    let why = Impossible::Missing(Avic).to_string();
    assert_eq!(why, "this processor has no avic: model it or turn it off");
}

#[test]
fn names_lead_back_to_what_they_name() {
    for feature in Feature::ALL {
        assert_eq!(Feature::named(feature.name()), Some(feature));
    }
    for mode in [Mode::Real, Mode::Modeled, Mode::Off] {
        assert_eq!(Mode::named(mode.name()), Some(mode));
    }
    assert_eq!(Feature::named("AVIC"), None);
}
