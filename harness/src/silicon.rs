//! Descriptions of silicon that make no sense, or that a target cannot carry, before anything boots.

use trapline_silicon::{Enumeration, Silicon};

/// Fn8000_000A EDX of the processor that QEMU's TCG plays: nested paging and vGIF (docs/tcg.md).
const TCG: u32 = 1 | 1 << 16;

/// Whether a description can be run on some machine at all; the reason if not.
pub(crate) fn is_possible(text: &str) -> Result<(), String> {
    fits(text, Enumeration::of(u32::MAX, u32::MAX))
}

/// Whether it can be run under QEMU's TCG.
pub(crate) fn fits_tcg(text: &str) -> Result<(), String> {
    fits(text, Enumeration::of(0, TCG))
}

fn fits(text: &str, machine: Enumeration) -> Result<(), String> {
    let silicon = Silicon::read(text, machine).map_err(|error| error.to_string())?;
    silicon.check(machine).map_err(|error| format!("silicon `{text}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_descriptions_are_refused_with_the_reason() {
        for (text, why) in [
            ("zen9", "no silicon profile `zen9`"),
            ("zen4 avic=off", "x2avic needs avic"),
            ("zen4 avic=real", "avic and x2avic are one unit"),
        ] {
            let error = is_possible(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert_eq!(is_possible("zen5"), Ok(()));
        assert_eq!(is_possible("none idle-hlt=real"), Ok(()));
    }

    #[test]
    fn what_tcg_lacks_cannot_be_real_under_it() {
        let error = fits_tcg("none idle-hlt=real").unwrap_err();
        assert_eq!(
            error,
            "silicon `none idle-hlt=real`: this processor has no idle-hlt: model it or turn it off"
        );
        assert_eq!(fits_tcg("none vgif=real"), Ok(()));
        assert_eq!(fits_tcg("zen5"), Ok(()));
        assert_eq!(fits_tcg("host"), Ok(()));
    }
}
