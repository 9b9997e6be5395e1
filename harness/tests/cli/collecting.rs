//! `trapline collect`: files, broken ones too, and a pseudo terminal behind which QEMU boots an ISO
//! through GRUB.

use crate::fixture::{Workspace, stream};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

#[test]
fn a_captured_file_is_an_ordinary_result() {
    let workspace = Workspace::new();
    fs::write(workspace.path("capture"), [b"GRUB loading.\r\n", &stream(10, 9000)[..]].concat())
        .unwrap();
    workspace
        .trapline(&["collect", "--serial", "capture", "-o", "out.json"])
        .expect(0, &["PASS self-ipi::hlt", "1 scenario: 1 passed (metal"]);
    assert_eq!(workspace.read("out.json"), workspace.read(".trapline/last.json"));
    workspace.trapline(&["show"]).expect(0, &["0x830:W"]);
    workspace.trapline(&["bless"]).expect(2, &["results of metal are not exact"]);
    fs::write(workspace.path("capture"), stream(11, 9000)).unwrap();
    workspace
        .trapline(&["collect", "--serial", "capture", "self-ipi"])
        .expect(1, &["hlt in window `loop` on vCPU 0: expected 10 (`n`), seen 11"]);
}

#[test]
fn a_capture_that_lost_bytes_is_refused_by_name_and_nothing_is_overwritten() {
    let workspace = Workspace::new();
    workspace.trapline(&["run", "--no-golden", "--output", "out.json"]).expect(0, &[]);
    let old = workspace.read("out.json");
    let good = stream(10, 9000);
    let at = good.windows(4).position(|w| w == b"loop").unwrap();
    let mut lacking = good.clone();
    lacking.remove(at);
    let foreign = b"PNG and other things\r\n".repeat(20);
    for (bytes, texts) in [
        (
            &lacking[..],
            &["capture is not whole, and no result was written", "in `self-ipi::hlt`: "][..],
        ),
        (&good[..good.len() - 4], &["is not whole", "stops"]),
        (&good[..good.len() / 2], &["is not whole", "LOST self-ipi::hlt"]),
        (&foreign[..], &["holds no record of hv-core", "PNG and other things"]),
        (&[][..], &["holds no record of hv-core, but 0 bytes"]),
    ] {
        fs::write(workspace.path("capture"), bytes).unwrap();
        workspace.trapline(&["collect", "--serial", "capture", "-o", "out.json"]).expect(2, texts);
        assert_eq!(workspace.read("out.json"), old);
        assert_eq!(workspace.read(".trapline/last.json"), old);
    }
    fs::write(workspace.path("capture"), &lacking).unwrap();
    workspace
        .trapline(&["collect", "--serial", "capture", "-o", "out.json", "--damaged"])
        .expect(2, &["LOST self-ipi::hlt", "1 could not run"]);
    assert!(workspace.read("out.json").contains("could-not-run"));
    workspace.trapline(&["collect", "--serial", "none"]).expect(2, &["cannot read none"]);
}

/// A pseudo terminal that passes bytes as they are: its master, its slave, and the slave's path.
fn terminal() -> (File, File, PathBuf) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = PathBuf::from(ptsname(&master, Vec::new()).unwrap().into_string().unwrap());
    let slave = File::options().read(true).write(true).open(&path).unwrap();
    let mut settings = tcgetattr(&slave).unwrap();
    settings.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &settings).unwrap();
    (File::from(master), slave, path)
}

/// QEMU as a board: an ISO, and a terminal as COM1.
fn board(workspace: &Workspace, line: &str) -> Child {
    let qemu = trapline::target::Qemu::find().unwrap().path;
    let arguments = "-no-user-config -nodefaults -display none -monitor none -machine q35 -m 256 \
        -device isa-debug-exit,iobase=0xf4,iosize=4 -no-reboot -rtc base=2026-01-01,clock=vm -smp 1 \
        -accel tcg -icount shift=0,sleep=off -cpu qemu64,+svm,+npt,+vgif,+svme-addr-chk,+x2apic";
    Command::new(qemu)
        .args(arguments.split_whitespace())
        .args(["-cdrom", "trapline.iso", "-serial", line])
        .current_dir(workspace.dir.path())
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn what_grub_boots_behind_a_terminal_gives_what_a_run_gives() {
    let workspace = Workspace::real();
    workspace.trapline(&["run", "--no-golden", "--output", "run.json"]).expect(0, &[]);
    workspace
        .trapline(&["iso", "--icount", "-o", "trapline.iso"])
        .expect(0, &["trapline.iso with 3 scenarios"]);
    // QEMU has one terminal, the collecting command the other one; what goes from one to the other
    // waits when nobody reads.
    let (mut from, _qemus, line) = terminal();
    let (mut to, _ours, serial) = terminal();
    let arguments = ["collect", "--icount", "--no-golden", "--silence", "100", "-o", "out.json"];
    let arguments = [&arguments[..], &["--serial", serial.to_str().unwrap()]].concat();
    let collecting = workspace.start(&[&arguments[..], &["--capture", "capture"]].concat());
    let mut board = board(&workspace, line.to_str().unwrap());
    std::thread::spawn(move || {
        let mut bytes = [0; 256];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..count]).is_err() {
                return;
            }
        }
    });
    let ended = crate::fixture::Ended::from(collecting.wait_with_output().unwrap());
    let _ = board.kill();
    let _ = board.wait();
    ended.expect(0, &["3 scenarios: 3 passed (tcg-icount"]);
    let read = |name: &str| trapline::result::read(&workspace.path(name)).unwrap();
    let (run, collected) = (read("run.json"), read("out.json"));
    assert_eq!(collected.scenarios, run.scenarios);
    let (built, ours) = (&collected.environment.built, &run.environment.built);
    assert_eq!((&built.core, &built.payload), (&ours.core, &ours.payload), "GRUB's label came too");
    // The captured bytes are a file like any other.
    let again = ["collect", "--icount", "--no-golden", "--serial", "capture", "-o", "again.json"];
    workspace.trapline(&again).expect(0, &[]);
    assert_eq!(workspace.read("again.json"), workspace.read("out.json"));
}
