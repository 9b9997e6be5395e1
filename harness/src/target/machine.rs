//! The machine that QEMU makes.

use std::fmt;
use std::path::PathBuf;
use trapline_abi::plan::{Clock, FILE_NAME};

/// What executes the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accel {
    /// QEMU's translator, one instruction per virtual nanosecond: exact and repeatable.
    Tcg,
    /// The processor, through /dev/kvm.
    Kvm,
}

impl Accel {
    /// How hv-core learns its time.
    pub fn clock(self) -> Clock {
        match self {
            Self::Tcg => Clock::Icount,
            Self::Kvm => Clock::Measure,
        }
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        })
    }
}

/// How hv-core is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// PVH under qboot: the fast way.
    Qboot,
    /// PVH under SeaBIOS.
    SeaBios,
    /// Multiboot2, by the GRUB on an ISO of `trapline iso`, which holds the plan too.
    Iso(PathBuf),
}

/// Files in a boot's folder. QEMU runs in that folder and gets relative names, so its command
/// line is the same for every boot.
pub mod file {
    /// hv-core.
    pub const CORE: &str = "hv-core";
    /// The plan.
    pub const PLAN: &str = "plan";
    /// What came over COM1.
    pub const SERIAL: &str = "serial";
    /// What QEMU printed.
    pub const QEMU: &str = "qemu.log";
    /// What QEMU logged about SVM, for the oracle.
    pub const ORACLE: &str = "oracle.log";
}

/// Everything that does not depend on how it is run.
const MACHINE: &[&str] = &[
    "-no-user-config",
    "-nodefaults",
    "-display",
    "none",
    "-monitor",
    "none",
    "-machine",
    "q35",
    "-m",
    "256",
    "-device",
    "isa-debug-exit,iobase=0xf4,iosize=4",
    "-no-reboot",
    "-rtc",
    "base=2026-01-01,clock=vm",
];

/// qemu64 has the same name, features and brand string in every version of QEMU, and with exactly
/// these additions TCG has nothing to warn about. EPYC models lose up to 36 features with a line
/// each, and `max` grows with every release.
const TCG: &[&str] = &[
    "-accel",
    "tcg",
    "-icount",
    "shift=0,sleep=off",
    "-cpu",
    "qemu64,+svm,+npt,+vgif,+svme-addr-chk,+x2apic",
];

const KVM: &[&str] = &["-accel", "kvm", "-cpu", "host"];

/// `-dfilter` on an address that is never executed drops the disassembly and keeps the SVM lines.
const ORACLE: &[&str] = &["-d", "in_asm", "-dfilter", "0xffffffffffff0000+1", "-D", file::ORACLE];

/// QEMU's arguments.
pub(super) fn arguments(accel: Accel, start: &Start, oracle: bool, cores: u16) -> Vec<String> {
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut arguments = words(MACHINE);
    arguments.extend(["-smp".into(), cores.to_string()]);
    arguments.extend(words(match accel {
        Accel::Tcg => TCG,
        Accel::Kvm => KVM,
    }));
    arguments.extend(["-serial".into(), format!("file:{}", file::SERIAL)]);
    match start {
        Start::Iso(iso) => arguments.extend(["-cdrom".into(), iso.display().to_string()]),
        Start::Qboot | Start::SeaBios => {
            if *start == Start::Qboot {
                arguments.extend(words(&["-bios", "qboot.rom"]));
            }
            arguments.extend(words(&["-kernel", file::CORE, "-append", "trapline", "-fw_cfg"]));
            arguments.push(format!("name={FILE_NAME},file={}", file::PLAN));
        }
    }
    if oracle {
        arguments.extend(words(ORACLE));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_of_a_kernel_boot_is_constant() {
        let line = arguments(Accel::Tcg, &Start::Qboot, false, 1).join(" ");
        assert_eq!(line, arguments(Accel::Tcg, &Start::Qboot, false, 1).join(" "));
        assert!(
            !line.contains('/') || line.matches('/').count() == 2,
            "only in the plan's name: {line}"
        );
        assert!(line.contains("-icount shift=0,sleep=off"));
        assert!(line.contains("-fw_cfg name=opt/trapline/plan,file=plan"));
    }

    #[test]
    fn kvm_has_no_icount_and_the_oracle_is_extra() {
        let line = arguments(Accel::Kvm, &Start::Qboot, true, 2).join(" ");
        assert!(!line.contains("icount"));
        assert!(line.contains("-smp 2 "));
        assert!(line.ends_with("-d in_asm -dfilter 0xffffffffffff0000+1 -D oracle.log"));
    }
}
