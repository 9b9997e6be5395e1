//! Bad input against the real QEMU and the built images: a clear message, exit code 2, and nothing
//! lost or overwritten.

use crate::fixture::{Ended, Workspace};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A workspace with goldens and a last result, and what they say.
struct Kept {
    workspace: Workspace,
    goldens: BTreeMap<PathBuf, String>,
    last: String,
}

impl Kept {
    fn new() -> Self {
        let workspace = Workspace::real();
        workspace.trapline(&["run"]).expect(1, &["3 of them broke no rule"]);
        workspace.trapline(&["bless"]).expect(0, &["3 goldens written"]);
        workspace.trapline(&["run"]).expect(0, &["3 scenarios: 3 passed"]);
        let goldens = workspace.texts("golden");
        assert_eq!(goldens.len(), 3);
        let last = workspace.read(".trapline/last.json");
        Self { workspace, goldens, last }
    }

    /// A run that cannot be one: it says so, and leaves everything as it was.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], texts: &[&str]) -> Ended {
        let ended = self.workspace.trapline(arguments).expect(2, texts);
        assert_eq!(self.workspace.read(".trapline/last.json"), self.last);
        self.goldens_are_untouched();
        ended
    }

    #[track_caller]
    fn goldens_are_untouched(&self) {
        assert!(self.workspace.texts("golden") == self.goldens);
    }
}

/// Replaces a part of QEMU's command line, which has no blanks in its words.
fn replaced(from: &str, to: &str) -> String {
    format!("set -- $(printf '%s ' \"$@\" | sed 's/{from}/{to}/')")
}

#[test]
fn a_machine_without_svm_is_refused() {
    let kept = Kept::new();
    kept.workspace.real_qemu(&replaced("+svm,+npt", "-svm"));
    kept.refuses(&["run"], &["error: ", "SVM", "hv-core cannot run on this machine"]);
}

#[test]
fn a_machine_without_nested_paging_is_refused() {
    let kept = Kept::new();
    kept.workspace.real_qemu(&replaced("+npt", "-npt"));
    kept.refuses(&["run"], &["error: ", "nested paging", "hv-core cannot run on this machine"]);
}

#[test]
fn kvm_without_svm_is_refused_with_advice() {
    let kept = Kept::new();
    // Where KVM does have SVM it is taken away.
    kept.workspace.real_qemu(&replaced("-accel kvm -cpu host", "-accel tcg -cpu qemu64,-svm"));
    kept.refuses(&["run", "--accel", "kvm"], &["error: --accel kvm cannot be used here: "]);
}

#[test]
fn a_plan_that_is_damaged_on_its_way_is_refused_by_hv_core() {
    let kept = Kept::new();
    for damage in [
        "printf X | dd of=plan bs=1 seek=5000 conv=notrunc 2>/dev/null",
        "truncate -s 5000 plan",
        "truncate -s 0 plan",
    ] {
        kept.workspace.real_qemu(damage);
        kept.refuses(&["run"], &["hv-core did not come up: hv-core got no plan that it can use"]);
    }
}

#[test]
fn an_hv_core_that_is_damaged_is_an_error() {
    let kept = Kept::new();
    let image = kept.workspace.path("images/hv-core");
    let whole = fs::read(&image).unwrap();
    let entry = entry_offset(&whole);
    // Cut, for another processor, and an entry that does nothing but trap.
    let cut = whole[..whole.len() / 20].to_vec();
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = whole.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        damaged
    };
    for damaged in [cut, with(18, &[0xff]), with(entry, &[0x0f, 0x0b])] {
        fs::write(&image, damaged).unwrap();
        kept.refuses(&["run"], &["error: hv-core did not come up: "]);
    }
}

/// Where the PVH entry (ELF note 18) lies in the file.
fn entry_offset(elf: &[u8]) -> usize {
    use object::read::elf::{FileHeader, ProgramHeader};
    type Header = object::elf::FileHeader64<object::Endianness>;
    let header = Header::parse(elf).unwrap();
    let endian = header.endian().unwrap();
    let segments = header.program_headers(endian, elf).unwrap();
    let note = |segment: &object::elf::ProgramHeader64<_>| {
        let mut notes = segment.notes(endian, elf).unwrap()?.map(Result::unwrap);
        notes.find(|note| note.n_type(endian).0 == 18)
    };
    let note = segments.iter().find_map(note).unwrap();
    let entry = u64::from(u32::from_le_bytes(note.desc()[..4].try_into().unwrap()));
    let of = |segment: &object::elf::ProgramHeader64<_>| {
        let offset = entry.checked_sub(segment.p_paddr(endian))?;
        (offset < segment.p_filesz(endian)).then(|| segment.p_offset(endian) + offset)
    };
    segments.iter().find_map(of).unwrap() as usize
}

#[test]
fn a_payload_that_is_damaged_is_refused_and_the_others_run() {
    let kept = Kept::new();
    let image = kept.workspace.path("images/payloads/self-ipi");
    let whole = fs::read(&image).unwrap();
    let headers = usize::from(u16::from_le_bytes(whole[56..58].try_into().unwrap()));
    let entry = 24..32;
    let physical = |header: usize| 64 + 56 * header + 24;
    // An entry outside of everything, or segments where the guest has no memory.
    let mut damaged = whole.clone();
    for header in 0..headers {
        damaged[physical(header)..physical(header) + 8].fill(0x7f);
    }
    let mut nowhere = whole.clone();
    nowhere[entry].fill(0x7f);
    for damaged in [damaged, nowhere] {
        fs::write(&image, damaged).unwrap();
        let run = ["run", "--no-golden"];
        let ended = kept.workspace.trapline(&run).expect(2, &["LOST real::ipi", "hv-core refused"]);
        assert!(ended.out.contains("PASS real::behind"), "{ended:#?}");
        kept.goldens_are_untouched();
    }
    fs::write(&image, &whole[..whole.len() / 2]).unwrap();
    kept.workspace.trapline(&["run"]).expect(2, &["payloads/self-ipi is no payload"]);
}

#[test]
fn a_disk_that_fills_up_under_qemu_is_no_result() {
    let kept = Kept::new();
    // The record file ends after one block; QEMU itself goes on.
    kept.workspace.real_qemu("trap '' XFSZ; ulimit -f 1");
    kept.workspace.trapline(&["run"]).expect(2, &["could not run"]);
    kept.goldens_are_untouched();
    kept.workspace.trapline(&["bless"]).expect(2, &["nothing was blessed"]);
    kept.goldens_are_untouched();
}

#[test]
fn a_disk_that_is_full_for_the_plan_is_named_before_anything_runs() {
    let kept = Kept::new();
    let ended = kept
        .workspace
        .shell("trap '' XFSZ; ulimit -f 8; exec $TRAPLINE run")
        .expect(2, &["error: cannot write", "plan"]);
    assert!(!ended.out.contains("PASS"), "{ended:#?}");
    assert_eq!(kept.workspace.read(".trapline/last.json"), kept.last);
    kept.goldens_are_untouched();
}

#[test]
fn a_qemu_killed_in_a_scenario_costs_that_scenario_only() {
    let kept = Kept::new();
    kept.workspace.real_suite(1 << 50);
    let run = kept.workspace.start(&["run", "--no-golden"]);
    let killed = kill_qemu_in(&kept.workspace.path(".trapline"), "real::spin");
    let ended = Ended::from(run.wait_with_output().unwrap());
    assert!(killed, "{ended:#?}");
    let ended = ended.expect(
        2,
        &[
            "PASS real::ipi",
            "LOST real::spin",
            "the target died in it: QEMU was killed by signal 9",
            "PASS real::behind",
            "2 passed, 1 could not run",
        ],
    );
    let folder = ended.err.trim().strip_prefix("the boots' files are kept in ").unwrap();
    assert!(Path::new(folder).join("repeat-0/boot-0/serial").is_file());
    kept.goldens_are_untouched();
    kept.workspace.trapline(&["bless"]).expect(2, &["nothing was blessed", "real::spin"]);
    kept.goldens_are_untouched();
}

/// Kills the QEMU that runs below that folder as soon as its records name the scenario.
fn kill_qemu_in(folder: &Path, scenario: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let link = |name| fs::read_link(entry.path().join(name)).ok();
            let (Some(exe), Some(cwd)) = (link("exe"), link("cwd")) else { continue };
            let qemu = exe.file_name().is_some_and(|n| n.to_string_lossy().starts_with("qemu"));
            if !qemu || !cwd.starts_with(folder) {
                continue;
            }
            let stream = fs::read(cwd.join("serial")).unwrap_or_default();
            if stream.windows(scenario.len()).any(|part| part == scenario.as_bytes()) {
                let pid = entry.file_name();
                return Command::new("kill").arg("-9").arg(pid).status().unwrap().success();
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}
