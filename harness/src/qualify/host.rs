//! The machine below QEMU, as far as its kernel tells: no file that is missing is an error.

use std::collections::BTreeMap;
use std::path::Path;
use trapline_report::model::{Host, HostCpu, Module};

/// The modules that decide about virtualization, whoever made the processor.
const MODULES: [&str; 5] = ["kvm", "kvm_amd", "kvm_intel", "kvm_pvm", "amd_iommu"];

/// Looks at `/proc`, `/sys` and `/etc` below a root folder: `/`.
pub fn look(root: &Path) -> Host {
    let text = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let joined = |paths: &[&str]| {
        let parts: Vec<_> = paths.iter().filter_map(|path| text(path)).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    };
    Host {
        cpu: cpu(&text("proc/cpuinfo").unwrap_or_default()),
        firmware: joined(&[
            "sys/class/dmi/id/bios_vendor",
            "sys/class/dmi/id/bios_version",
            "sys/class/dmi/id/bios_date",
        ]),
        product: joined(&["sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"]),
        kernel: joined(&[
            "proc/sys/kernel/ostype",
            "proc/sys/kernel/osrelease",
            "proc/sys/kernel/version",
        ]),
        system: text("etc/os-release").and_then(|text| system(&text)),
        modules: MODULES.iter().filter_map(|name| module(root, name)).collect(),
    }
}

/// The first processor of `/proc/cpuinfo`, and how many there are.
fn cpu(cpuinfo: &str) -> HostCpu {
    let fields = || {
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(key, value)| (key.trim(), value.trim()))
    };
    let first = |name: &str| {
        let value = fields().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
        value.filter(|value| !value.is_empty())
    };
    let parts = [("family", "cpu family"), ("model", "model"), ("stepping", "stepping")];
    let signature: Vec<_> =
        parts.iter().filter_map(|(word, key)| Some(format!("{word} {}", first(key)?))).collect();
    HostCpu {
        model: first("model name"),
        signature: (!signature.is_empty()).then(|| signature.join(", ")),
        microcode: first("microcode"),
        online: fields().filter(|(key, _)| *key == "processor").count() as u32,
    }
}

fn system(os_release: &str) -> Option<String> {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn module(root: &Path, name: &str) -> Option<Module> {
    let folder = root.join("sys/module").join(name);
    if !folder.is_dir() {
        return None;
    }
    let mut parameters = BTreeMap::new();
    for entry in std::fs::read_dir(folder.join("parameters")).into_iter().flatten().flatten() {
        // Some parameters can only be read by root.
        if let Ok(value) = std::fs::read_to_string(entry.path()) {
            let key = entry.file_name().to_string_lossy().into_owned();
            parameters.insert(key, value.trim().to_owned());
        }
    }
    Some(Module { name: name.into(), parameters })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n\
        model\t\t: 1\nmodel name\t: AMD EPYC 7B13\nstepping\t: 0\nmicrocode\t: 0xa0011d5\n\n\
        processor\t: 1\nmicrocode\t: 0xa0011d5\n";

    #[test]
    fn what_the_kernel_tells_is_taken_over() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo", CPUINFO);
        write("proc/sys/kernel/osrelease", "6.12.1\n");
        write("etc/os-release", "NAME=Debian\nPRETTY_NAME=\"Debian 12\"\n");
        write("sys/class/dmi/id/bios_vendor", "AMI\n");
        write("sys/class/dmi/id/bios_date", "01/02/2026\n");
        write("sys/module/kvm_amd/parameters/avic", "Y\n");
        let host = look(root.path());
        assert_eq!(host.cpu.model.as_deref(), Some("AMD EPYC 7B13"));
        assert_eq!(host.cpu.signature.as_deref(), Some("family 25, model 1, stepping 0"));
        assert_eq!(host.cpu.microcode.as_deref(), Some("0xa0011d5"));
        assert_eq!(host.cpu.online, 2);
        assert_eq!(host.kernel.as_deref(), Some("6.12.1"));
        assert_eq!(host.system.as_deref(), Some("Debian 12"));
        assert_eq!(host.firmware.as_deref(), Some("AMI 01/02/2026"));
        assert_eq!(host.product, None);
        let parameters = BTreeMap::from([("avic".into(), "Y".into())]);
        assert_eq!(host.modules, [Module { name: "kvm_amd".into(), parameters }]);
    }

    #[test]
    fn a_machine_that_tells_nothing_is_no_error() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(look(root.path()), Host::default());
    }
}
