//! What QEMU prints, without what is always there.

use std::path::Path;

/// The lines of QEMU's log that can explain a failure.
pub(super) fn worth_showing(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    filter(&String::from_utf8_lossy(&text))
}

fn filter(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("TCG doesn't support requested feature"));
    // The first lines name the cause; a flood behind them does not.
    lines.take(20).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_warnings_are_left_out_and_the_rest_is_kept() {
        let text = "qemu-system-x86_64: warning: TCG doesn't support requested feature: CPUID.01H:ECX.pcid [bit 17]\n\
                    qemu-system-x86_64: could not load PC BIOS 'qboot.rom'\n";
        assert_eq!(filter(text), "qemu-system-x86_64: could not load PC BIOS 'qboot.rom'");
        assert_eq!(filter(&"x\n".repeat(500)).lines().count(), 20);
    }
}
