//! A workspace of its own for each test, with a program in the place of QEMU that writes records
//! which the test chose.

use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;
use trapline_abi::descriptor::SECTION;
use trapline_abi::exit::{ExitKey, MSR};
use trapline_abi::frame;
use trapline_abi::record::{BootPath, Durations, Outcome, Record};

pub const SUITE: &str = r#"
[suite]
name = "self-ipi"
about = "IPIs."
[[scenario]]
name = "hlt"
payload = "self-ipi"
params = { n = 10 }
cite = "row 1"
[scenario.expect]
msr = "2*n"
hlt = "n"
"#;

const REAL_SUITE: &str = r#"
[suite]
name = "real"
about = "Real payloads."
[[scenario]]
name = "ipi"
payload = "self-ipi"
params = { n = 5 }
[scenario.expect]
msr = "2*n"
hlt = "n"
vintr = "n"
[[scenario]]
name = "spin"
payload = "rogue"
params = { how = "spin" }
budget = { ticks = TICKS }
[scenario.expect]
outcome = "time-budget"
[[scenario]]
name = "behind"
payload = "tpr-nibble"
"#;

pub struct Workspace {
    pub dir: TempDir,
}

/// What a command gave.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    #[track_caller]
    pub fn expect(self, code: i32, texts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for text in texts {
            assert!(self.out.contains(text) || self.err.contains(text), "no `{text}` in {self:#?}");
        }
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Workspace {
    /// A workspace with one suite, one payload, and a QEMU that gives `stream(10, 9000)`.
    pub fn new() -> Self {
        let workspace = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["suites", "golden", "images/payloads"] {
            fs::create_dir_all(workspace.path(folder)).unwrap();
        }
        fs::write(workspace.path("suites/self-ipi.toml"), SUITE).unwrap();
        fs::write(workspace.path("images/hv-core"), "core").unwrap();
        let text = "about Sends IPIs.\nparam n number 1000 How many.\n\
                    param wait choice hlt|nop hlt How it waits.";
        fs::write(workspace.path("images/payloads/self-ipi"), payload(text)).unwrap();
        workspace.qemu("exit 33");
        workspace.stream(&stream(10, 9000));
        workspace
    }

    /// A workspace with the built images, the real QEMU and a suite of three: one that sends IPIs,
    /// one that spins until its budget is gone, and one behind it.
    pub fn real() -> Self {
        let workspace = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["suites", "golden", "images/payloads"] {
            fs::create_dir_all(workspace.path(folder)).unwrap();
        }
        workspace.real_suite(50_000);
        let images = trapline_images::images();
        fs::copy(images.core, workspace.path("images/hv-core")).unwrap();
        for (name, path) in images.payloads {
            fs::copy(path, workspace.path("images/payloads").join(name)).unwrap();
        }
        workspace.real_qemu("");
        workspace
    }

    /// Writes that suite, with a budget for the one that spins.
    pub fn real_suite(&self, ticks: u64) {
        let suite = REAL_SUITE.replace("TICKS", &ticks.to_string());
        fs::write(self.path("suites/real.toml"), suite).unwrap();
    }

    /// The real QEMU behind shell lines, which may change its arguments.
    pub fn real_qemu(&self, before: &str) {
        let qemu = trapline::target::Qemu::find().unwrap().path;
        let ask = "case \"$1\" in --version) echo 'QEMU emulator version 10.0.2'; exit;; esac";
        self.script(&format!("{ask}\n{before}\nexec '{}' \"$@\"", qemu.display()));
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// What every boot writes to the record file.
    pub fn stream(&self, bytes: &[u8]) {
        fs::write(self.path("stream"), bytes).unwrap();
    }

    /// How QEMU ends: shell lines, after the records were written.
    pub fn qemu(&self, ending: &str) {
        let stream = self.path("stream");
        self.script(&format!(
            "case \"$1\" in --version) echo 'QEMU emulator version 10.0.2'; exit;; esac\n\
             cat '{}' > serial\n{ending}",
            stream.display()
        ));
    }

    pub fn script(&self, body: &str) {
        // Written by a child: a descriptor of ours that is open for writing could leak into
        // another test's fork, and the script would be busy.
        let path = self.path("qemu");
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        write!(writer.stdin.take().unwrap(), "#!/bin/sh\n{body}\n").unwrap();
        assert!(writer.wait().unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn trapline(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trapline"));
        command.args(arguments);
        self.end(command)
    }

    /// Starts the command and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trapline"));
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.here(&mut command).spawn().unwrap()
    }

    /// A shell line in which `$TRAPLINE` is the command.
    pub fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("TRAPLINE", env!("CARGO_BIN_EXE_trapline"));
        self.end(command)
    }

    fn end(&self, mut command: Command) -> Ended {
        self.here(&mut command).output().unwrap().into()
    }

    fn here<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .current_dir(self.dir.path())
            .env("TRAPLINE_ROOT", self.dir.path())
            .env("TRAPLINE_IMAGES", self.path("images"))
            .env("TRAPLINE_QEMU", self.path("qemu"))
            .stdin(Stdio::null())
    }

    /// The text of every file below a folder, by path.
    pub fn texts(&self, folder: &str) -> BTreeMap<PathBuf, String> {
        let text = |path: PathBuf| (path.clone(), fs::read_to_string(path).unwrap());
        self.files(folder).into_iter().map(text).collect()
    }

    /// Files below a folder, by path; temporary ones too.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { walk(&path, files) } else { files.push(path) }
            }
        }
        let mut files = Vec::new();
        walk(&self.path(folder), &mut files);
        files.sort();
        files
    }
}

/// An ELF file with that descriptor.
pub fn payload(text: &str) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let id = object.add_section(vec![], SECTION.into(), SectionKind::ReadOnlyData);
    object.append_section_data(id, text.as_bytes(), 1);
    object.write().unwrap()
}

/// The records of a boot with the suite's one scenario: `hlts` HLT exits, 20 MSR exits, and a
/// window of that many ticks.
pub fn stream(hlts: u64, ticks: u64) -> Vec<u8> {
    let one = |count| Durations {
        count,
        sum: count * 300,
        sum_squares: u128::from(count) * 90_000,
        min: 300,
        max: 300,
        histogram: &[],
    };
    frames(&[
        Record::ScenarioBegin { index: 0, name: "self-ipi::hlt" },
        Record::Check { vcpu: 0, label: "x", expected: 1, actual: 1 },
        Record::Window { vcpu: 0, label: "loop", ticks, rows: 2 },
        Record::Exit { key: ExitKey::plain(0x78).0, durations: one(hlts) },
        Record::Exit { key: ExitKey::access(MSR, 0x830, true).0, durations: one(20) },
        Record::Traps { vcpu: 0, code: 0x78, count: hlts },
        Record::ScenarioEnd { index: 0, outcome: Outcome::Done, detail: "", ticks: 20_000 },
        Record::Goodbye { scenarios: 1 },
    ])
}

/// Hello and these records, framed.
pub fn frames(records: &[Record<'_>]) -> Vec<u8> {
    let hello = Record::Hello {
        protocol: trapline_abi::PROTOCOL,
        boot: BootPath::Pvh,
        signature: 0x80_0f12,
        brand: "fake",
        asids: 16,
        svm_features: 1,
        tsc_khz: 1_000_000,
        cores: 1,
        scenarios: 1,
    };
    let mut buffer = [0; frame::MAX_FRAME];
    let mut bytes = Vec::new();
    for (sequence, record) in std::iter::once(&hello).chain(records).enumerate() {
        bytes.extend_from_slice(frame::encode(sequence as u32, record, &mut buffer).unwrap());
    }
    bytes
}
