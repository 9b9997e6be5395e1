//! Programs that behave like QEMU, for tests of what QEMU itself does not do on demand.

use super::{Entry, Qemu};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use trapline_abi::frame;
use trapline_abi::record::{BootPath, Outcome, Record};

/// An executable shell script. Written by a child process: a descriptor of ours that is open for
/// writing could leak into another test's fork, and the script would be "busy".
pub fn script(folder: &TempDir, body: &str) -> PathBuf {
    let path = folder.path().join("fake-qemu");
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    write!(input, "#!/bin/sh\n{body}\n").unwrap();
    drop(input);
    assert!(writer.wait().unwrap().success());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A QEMU that writes `stream-N` of its parent folder to the record file in boot N, and then
/// does what the shell lines in `ending-N` say.
pub fn qemu(folder: &TempDir, boots: &[(&[u8], &str)]) -> Qemu {
    for (number, (stream, ending)) in boots.iter().enumerate() {
        std::fs::write(folder.path().join(format!("stream-{number}")), stream).unwrap();
        std::fs::write(folder.path().join(format!("ending-{number}")), ending).unwrap();
    }
    let body = "case \"$1\" in --version) echo 'QEMU emulator version 10.0.2'; exit;; esac\n\
                n=${PWD##*-}\n\
                cat ../stream-$n > serial\n\
                . ../ending-$n";
    Qemu::at(&script(folder, body)).unwrap()
}

/// Some image: the fakes do not look at it.
pub fn core(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("core");
    std::fs::write(&path, b"image").unwrap();
    path
}

/// An entry with a limit that no test reaches.
pub fn entry(name: &str) -> Entry {
    Entry { name: name.into(), cores: 1, wall: Duration::from_secs(20) }
}

/// A stream: Hello with that many scenarios, then the records.
pub fn stream(scenarios: u32, records: &[Record<'_>]) -> Vec<u8> {
    let hello = Record::Hello {
        protocol: trapline_abi::PROTOCOL,
        boot: BootPath::Pvh,
        signature: 0,
        brand: "fake",
        asids: 16,
        svm_features: 1,
        tsc_khz: 1_000_000,
        cores: 1,
        scenarios,
    };
    let mut buffer = [0; frame::MAX_FRAME];
    let mut bytes = Vec::new();
    for (sequence, record) in std::iter::once(&hello).chain(records).enumerate() {
        bytes.extend_from_slice(frame::encode(sequence as u32, record, &mut buffer).unwrap());
    }
    bytes
}

/// A scenario's beginning.
pub fn begin(index: u32, name: &str) -> Record<'_> {
    Record::ScenarioBegin { index, name }
}

/// A scenario's good end.
pub fn end(index: u32) -> Record<'static> {
    Record::ScenarioEnd { index, outcome: Outcome::Done, detail: "", ticks: 5 }
}
