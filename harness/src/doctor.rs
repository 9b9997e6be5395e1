//! `trapline doctor`: whether this machine can run everything, and what to do where it cannot.

use crate::iso;
use crate::target::{Qemu, TargetError, probe_kvm, probe_tcg};
use std::io::{self, Write};
use std::path::Path;

/// Looks at everything and writes one line for each. True when scenarios can be run under TCG,
/// the default; what only other modes need is marked `optional` where it is missing.
///
/// # Errors
/// Only of `out`.
pub fn run(out: &mut dyn Write) -> io::Result<bool> {
    examine(out, Qemu::find(), trapline_images::images().core)
}

fn examine(out: &mut dyn Write, qemu: Result<Qemu, TargetError>, core: &Path) -> io::Result<bool> {
    let mut usable = true;
    match qemu {
        Ok(qemu) => usable &= machine(out, &qemu, core)?,
        Err(error) => {
            line(out, Mark::Missing, "QEMU", &error.to_string())?;
            usable = false;
        }
    }
    match iso::missing_tools() {
        tools if tools.is_empty() => {
            line(out, Mark::Ok, "GRUB tools", "`trapline iso` can be used")?;
        }
        tools => {
            let advice = iso::IsoError::NoTools(tools).to_string();
            line(out, Mark::Optional, "GRUB tools", &advice)?;
        }
    }
    let verdict = if usable { "ready: `trapline run`" } else { "not ready: see `missing` above" };
    writeln!(out, "{verdict}")?;
    Ok(usable)
}

fn machine(out: &mut dyn Write, qemu: &Qemu, core: &Path) -> io::Result<bool> {
    let found = format!("{} at {}", qemu.version, qemu.path.display());
    line(out, Mark::Ok, "QEMU", &found)?;
    let qboot = qemu.has_firmware("qboot.rom");
    if qboot {
        line(out, Mark::Ok, "qboot", "qboot.rom is among QEMU's firmware")?;
    } else {
        let advice = "QEMU has no qboot.rom: install the package qemu-system-data, or build QEMU \
                      with its firmware";
        line(out, Mark::Missing, "qboot", advice)?;
    }
    let folder = tempfile::tempdir()?;
    let svm = match probe_tcg(qemu, core, &folder.path().join("tcg")) {
        Ok(hello) => {
            let features = format!("{} ASIDs, features {:#010x}", hello.asids, hello.svm_features);
            line(out, Mark::Ok, "SVM in TCG", &features)?;
            true
        }
        Err(error) => {
            line(out, Mark::Missing, "SVM in TCG", &error.to_string())?;
            false
        }
    };
    match probe_kvm(qemu, core, &folder.path().join("kvm")) {
        Ok(hello) => line(out, Mark::Ok, "SVM in KVM", &hello.brand)?,
        Err(error) => line(out, Mark::Optional, "SVM in KVM", &error.to_string())?,
    }
    Ok(qboot && svm)
}

#[derive(Clone, Copy)]
enum Mark {
    Ok,
    Optional,
    Missing,
}

fn line(out: &mut dyn Write, mark: Mark, what: &str, text: &str) -> io::Result<()> {
    let mark = match mark {
        Mark::Ok => "ok",
        Mark::Optional => "optional",
        Mark::Missing => "missing",
    };
    // The folder of a probe is gone by the time its path is read.
    let mut lines = text.lines().filter(|line| !line.starts_with("kept in "));
    writeln!(out, "{mark:<9} {what:<12} {}", lines.next().unwrap_or_default())?;
    // A message of several lines keeps its evidence below the advice.
    lines.try_for_each(|more| writeln!(out, "{:<22} {more}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Version;

    fn report(qemu: Result<Qemu, TargetError>) -> (bool, String) {
        let mut out = Vec::new();
        let usable = examine(&mut out, qemu, Path::new("/no/such/image")).unwrap();
        (usable, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_missing_qemu_is_missing_and_says_what_to_do() {
        let (usable, text) = report(Err(TargetError::NoQemu));
        assert!(!usable);
        let first = text.lines().next().unwrap();
        assert!(
            first.starts_with("missing   QEMU         qemu-system-x86_64 is not installed"),
            "{first}"
        );
        assert!(text.ends_with("not ready: see `missing` above\n"));
    }

    #[test]
    fn a_qemu_without_firmware_and_svm_is_not_ready() {
        let qemu = Qemu { path: "/bin/false".into(), version: Version(10, 0, 2) };
        let (usable, text) = report(Ok(qemu));
        assert!(!usable);
        assert!(text.contains("ok        QEMU         10.0.2 at /bin/false"), "{text}");
        assert!(text.contains("missing   qboot"), "{text}");
        assert!(text.contains("missing   SVM in TCG"), "{text}");
        assert!(text.contains("optional  SVM in KVM"), "{text}");
    }
}
