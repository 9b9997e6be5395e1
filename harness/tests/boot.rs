//! The real hv-core in the real QEMU: that it comes up, and what is said when it cannot.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trapline::target::{Accel, Boot, BootRun, Ending, Limits, Qemu, Start, probe_kvm, probe_tcg};
use trapline::{iso, oracle};
use trapline_abi::machine::Machine;
use trapline_abi::plan::{Clock, Module, Payload, Policy, Scenario, prefix, write_values};
use trapline_abi::record::{BootPath, Outcome};

/// Two scenarios with a payload that is no ELF file: hv-core must refuse each and go on.
fn plan() -> Vec<u8> {
    let machine = Machine::PLAIN;
    let scenario = |name| Scenario {
        name,
        payload: 0,
        params: &[],
        vcpus: 1,
        cores: 1,
        machine,
        silicon: "none",
        policy: Policy::Kvm612,
        module: Module::DEFAULT,
        seed: None,
        trace: false,
        budget_ticks: 1_000_000,
        budget_exits: 1000,
    };
    let payloads = [Payload { name: "broken", elf: b"no ELF file" }];
    let scenarios = [scenario("s::one"), scenario("s::two")];
    let mut values = Vec::new();
    write_values(Clock::Icount, &payloads, &scenarios, &mut [0; 4096], |part| {
        values.extend_from_slice(part);
    })
    .unwrap();
    [&prefix(&values)[..], &values].concat()
}

fn boot(core: &Path, start: Start, plan: &[u8], dir: PathBuf) -> BootRun {
    let qemu = Qemu::find().unwrap();
    let boot = Boot { qemu: &qemu, core, accel: Accel::Tcg, start, cores: 1, oracle: true, dir };
    let limit = Duration::from_secs(20);
    let limits = Limits { start: limit, scenarios: vec![limit; 2] };
    boot.run(plan, &limits, &mut |_| {}).unwrap()
}

fn core() -> &'static Path {
    trapline_images::images().core
}

fn assert_both_are_refused(run: &BootRun, path: BootPath) {
    assert!(run.is_good(), "{:?} {}\n{:?}", run.ending, run.stderr, run.transcript.problems);
    assert_eq!(run.transcript.hello.as_ref().unwrap().boot, path);
    let outcomes = run.transcript.scenarios.iter().map(|run| run.end.as_ref().unwrap().outcome);
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Refused; 2]);
}

#[test]
fn hv_core_comes_up_by_pvh_under_qboot() {
    let folder = TempDir::new().unwrap();
    let run = boot(core(), Start::Qboot, &plan(), folder.path().join("boot"));
    assert_both_are_refused(&run, BootPath::Pvh);
    let log = oracle::read(&run.dir.join("oracle.log")).unwrap();
    assert_eq!(log, [], "nothing was run, so there are no exits");
}

#[test]
fn hv_core_comes_up_by_pvh_under_seabios() {
    let folder = TempDir::new().unwrap();
    let run = boot(core(), Start::SeaBios, &plan(), folder.path().join("boot"));
    assert_both_are_refused(&run, BootPath::Pvh);
}

#[test]
fn hv_core_comes_up_by_multiboot2_from_our_iso_with_the_plan_as_a_module() {
    let folder = TempDir::new().unwrap();
    let image = folder.path().join("trapline.iso");
    iso::make(core(), &plan(), &[], &image).unwrap();
    let run = boot(core(), Start::Iso(image), b"", folder.path().join("boot"));
    assert_both_are_refused(&run, BootPath::Multiboot2);
}

#[test]
fn tcg_offers_svm_to_hv_core() {
    let folder = TempDir::new().unwrap();
    let hello = probe_tcg(&Qemu::find().unwrap(), core(), &folder.path().join("probe")).unwrap();
    assert!(hello.asids > 1, "{hello:?}");
}

#[test]
fn kvm_either_offers_svm_or_is_refused_with_advice() {
    let folder = TempDir::new().unwrap();
    match probe_kvm(&Qemu::find().unwrap(), core(), &folder.path().join("probe")) {
        Ok(hello) => assert!(hello.asids > 1, "{hello:?}"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("--accel kvm cannot be used here: "), "{text}");
        }
    }
}

#[test]
fn a_corrupt_plan_is_named_by_hv_core() {
    let folder = TempDir::new().unwrap();
    let mut flipped = plan();
    *flipped.last_mut().unwrap() ^= 1;
    let bad: [(&[u8], &str); 3] =
        [(&flipped, "CRC"), (b"something else entirely", "not a plan"), (b"", "plan")];
    for (number, (plan, says)) in bad.into_iter().enumerate() {
        let run = boot(core(), Start::Qboot, plan, folder.path().join(format!("boot-{number}")));
        assert_eq!(run.ending, Ending::NoPlan, "{}", run.stderr);
        let text = run.into_error().to_string();
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_corrupt_image_is_an_error_and_not_a_hang() {
    let folder = TempDir::new().unwrap();
    let image = folder.path().join("image");
    let whole = std::fs::read(core()).unwrap();
    let bad: [&[u8]; 3] = [b"no ELF file", &whole[..whole.len() / 20], b""];
    for (number, bytes) in bad.into_iter().enumerate() {
        std::fs::write(&image, bytes).unwrap();
        let dir = folder.path().join(format!("boot-{number}"));
        let text = boot(&image, Start::Qboot, &plan(), dir).into_error().to_string();
        assert!(text.starts_with("hv-core did not come up: QEMU gave up"), "{text}");
        assert!(text.contains("QEMU: qemu"), "{text}");
    }
}

#[test]
fn a_qemu_that_is_killed_in_the_middle_is_reported_as_killed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("boot");
    let killer = std::thread::spawn({
        let dir = dir.clone();
        move || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(10) {
                if let Some(pid) = process_in(&dir) {
                    let status = Command::new("kill").args(["-9", &pid]).status().unwrap();
                    return status.success();
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            false
        }
    });
    // SeaBIOS takes half a second under icount: long enough to be found and killed.
    let run = boot(core(), Start::SeaBios, &plan(), dir);
    assert!(killer.join().unwrap());
    assert_eq!(run.ending, Ending::Killed(9));
    let text = run.into_error().to_string();
    assert!(text.starts_with("hv-core did not come up: QEMU was killed by signal 9"), "{text}");
}

/// The QEMU that runs in that folder.
fn process_in(dir: &Path) -> Option<String> {
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let qemu = std::fs::read_link(entry.path().join("exe")).ok()?;
        let here = std::fs::read_link(entry.path().join("cwd")).ok()? == dir;
        let qemu = qemu.file_name()?.to_string_lossy().starts_with("qemu");
        (here && qemu).then(|| entry.file_name().to_string_lossy().into_owned())
    })
}
