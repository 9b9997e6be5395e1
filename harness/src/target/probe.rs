//! Whether a machine can run hv-core: a boot with an empty plan.

use super::{Accel, Boot, Limits, Qemu, Start, TargetError};
use crate::transcript::Hello;
use std::path::Path;
use std::time::Duration;
use trapline_abi::plan;

/// A probe that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(5);

fn boot(qemu: &Qemu, core: &Path, accel: Accel, dir: &Path) -> Result<Hello, TargetError> {
    let boot = Boot {
        qemu,
        core,
        accel,
        start: Start::Qboot,
        cores: 1,
        oracle: false,
        dir: dir.to_owned(),
    };
    let plan = empty_plan(accel.clock())?;
    let limits = Limits { start: LIMIT, scenarios: Vec::new() };
    let run = boot.run(&plan, &limits, &mut |_| {})?;
    let good = run.is_good();
    match run.transcript.hello.clone() {
        Some(hello) if hello.asids == 0 => Err(TargetError::NoSvm(
            hello.brand,
            "its CPUID Fn8000_000A is empty; SVM may be off in the firmware, or not nested",
        )),
        Some(hello) if good => Ok(hello),
        _ => Err(run.into_error()),
    }
}

fn empty_plan(clock: plan::Clock) -> Result<Vec<u8>, TargetError> {
    let mut values = Vec::new();
    plan::write_values(clock, &[], &[], &mut [0; 64], |part| values.extend_from_slice(part))
        .map_err(|error| TargetError::Plan(error.into()))?;
    Ok([&plan::prefix(&values)[..], &values].concat())
}

/// Boots hv-core under TCG and returns what it says about the machine.
///
/// # Errors
/// When it does not come up or finds no SVM.
pub fn tcg(qemu: &Qemu, core: &Path, dir: &Path) -> Result<Hello, TargetError> {
    boot(qemu, core, Accel::Tcg, dir)
}

/// Checks that KVM can be used, by a boot: neither /dev/kvm nor a CPU flag proves it.
///
/// # Errors
/// [`TargetError::NoKvm`] with what is missing.
pub fn kvm(qemu: &Qemu, core: &Path, dir: &Path) -> Result<Hello, TargetError> {
    let why = |text: String| TargetError::NoKvm(text);
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/kvm") {
        return Err(why(format!(
            "/dev/kvm cannot be opened ({error}): load kvm_amd with nested=1, and join the group \
             that may open it"
        )));
    }
    boot(qemu, core, Accel::Kvm, dir).map_err(|error| {
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let has_svm = flags.split_whitespace().any(|flag| flag == "svm");
        let hint = if has_svm {
            "KVM is there, but a small boot in it failed; check that kvm_amd has nested=1"
        } else {
            "this host's processor offers no SVM (no `svm` in /proc/cpuinfo): use an AMD machine, \
             or --accel tcg"
        };
        why(format!("{hint}\n{error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::fake;
    use super::*;
    use tempfile::TempDir;
    use trapline_abi::frame;
    use trapline_abi::record::{BootPath, Record};

    #[test]
    fn an_empty_plan_is_a_plan() {
        let blob = empty_plan(plan::Clock::Measure).unwrap();
        let plan = plan::Plan::read(&blob).unwrap();
        assert_eq!((plan.payloads().count(), plan.scenarios().count()), (0, 0));
    }

    #[test]
    fn a_machine_without_svm_is_refused_whatever_hv_core_makes_of_it() {
        let folder = TempDir::new().unwrap();
        let hello = Record::Hello {
            protocol: trapline_abi::PROTOCOL,
            boot: BootPath::Pvh,
            signature: 0,
            brand: "Intel something",
            asids: 0,
            svm_features: 0,
            tsc_khz: 1,
            cores: 1,
            scenarios: 0,
        };
        let mut buffer = [0; frame::MAX_FRAME];
        let stream = frame::encode(0, &hello, &mut buffer).unwrap();
        let qemu = fake::qemu(&folder, &[(stream, "exit 39")]);
        let core = fake::core(&folder);
        let error = tcg(&qemu, &core, &folder.path().join("boot-0")).unwrap_err().to_string();
        assert!(
            error.starts_with("the machine offers no SVM to hv-core (Intel something)"),
            "{error}"
        );
    }

    #[test]
    fn a_good_probe_says_what_the_machine_is() {
        let folder = TempDir::new().unwrap();
        let stream = fake::stream(0, &[Record::Goodbye { scenarios: 0 }]);
        let qemu = fake::qemu(&folder, &[(&stream, "exit 33")]);
        let core = fake::core(&folder);
        assert_eq!(tcg(&qemu, &core, &folder.path().join("boot-0")).unwrap().asids, 16);
    }

    #[test]
    fn unusable_kvm_is_refused_with_the_reason() {
        let folder = TempDir::new().unwrap();
        let qemu = fake::qemu(&folder, &[(b"", "echo 'failed to set MSR 0x10a' >&2; exit 1")]);
        let core = fake::core(&folder);
        // With or without /dev/kvm: this QEMU fails in any case.
        let error = kvm(&qemu, &core, &folder.path().join("boot-0")).unwrap_err().to_string();
        assert!(error.starts_with("--accel kvm cannot be used here: "), "{error}");
        assert!(error.contains("/dev/kvm cannot be opened") || error.contains("0x10a"), "{error}");
    }
}
