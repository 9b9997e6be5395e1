//! The machine of a scenario: `machine = { x2apic = false, hyperv = ["hv-vpindex", "hv-synic"] }`.
//!
//! An interface is `false`, `true` for what is usual, or a list of its switches under QEMU's names.

use super::error::{SuiteError, suggest};
use super::fields::Entry;
use trapline_abi::machine::{HyperV, Kvm, Machine};

pub(super) fn read(entry: Entry<'_>) -> Result<Machine, SuiteError> {
    const KEYS: &[&str] = &[
        "x2apic",
        "tsc-deadline",
        "kvm",
        "hyperv",
        "xen",
        "pit-reinject",
        "rtc-good",
        "rtc-absent",
    ];
    let fields = entry.fields("a machine", KEYS)?;
    let flag = |key, default| fields.or(key, default, |e| e.flag());
    let plain = Machine::PLAIN;
    Ok(Machine {
        x2apic: flag("x2apic", plain.x2apic)?,
        tsc_deadline: flag("tsc-deadline", plain.tsc_deadline)?,
        kvm: fields.or("kvm", plain.kvm, |e| KVM.read(e))?,
        hyperv: fields.or("hyperv", plain.hyperv, |e| HYPERV.read(e))?,
        xen: flag("xen", plain.xen)?,
        pit_reinject: flag("pit-reinject", plain.pit_reinject)?,
        rtc_good: flag("rtc-good", plain.rtc_good)?,
        rtc_absent: flag("rtc-absent", plain.rtc_absent)?,
    })
}

/// One paravirtual interface.
struct Interface<T: 'static> {
    name: &'static str,
    /// What every switch brings along.
    itself: T,
    usual: T,
    switches: &'static [(&'static str, T)],
    needs: &'static [(&'static str, &'static [&'static str])],
}

const HYPERV: Interface<HyperV> = Interface {
    name: "hyperv",
    itself: HyperV::INTERFACE,
    usual: HyperV::USUAL,
    switches: HyperV::SWITCHES,
    needs: HyperV::NEEDS,
};

const KVM: Interface<Kvm> = Interface {
    name: "kvm",
    itself: Kvm::INTERFACE,
    usual: Kvm::USUAL,
    switches: Kvm::SWITCHES,
    needs: Kvm::NEEDS,
};

impl<T: Copy + std::ops::BitOr<Output = T> + Default> Interface<T> {
    fn read(&self, entry: Entry<'_>) -> Result<T, SuiteError> {
        if !entry.value.get_ref().is_array() {
            return entry.flag().map(|on| if on { self.usual } else { T::default() }).map_err(
                |_| {
                    let name = self.name;
                    entry.error(format!("`{name}` is true, false, or a list of its switches"))
                },
            );
        }
        let mut words = Vec::new();
        let mut all = self.itself;
        for item in entry.list()? {
            let word = item.text()?;
            let Some((known, switch)) = self.switches.iter().find(|(name, _)| *name == word) else {
                let hint = suggest(&word, self.switches.iter().map(|(name, _)| *name));
                return Err(item.error(format!("unknown switch `{word}`{hint}")));
            };
            words.push(*known);
            all = all | *switch;
        }
        for (switch, needed) in self.needs.iter().filter(|(switch, _)| words.contains(switch)) {
            if let Some(missing) = needed.iter().find(|needed| !words.contains(needed)) {
                return Err(entry.error(format!(
                    "`{switch}` needs `{missing}`: add it to the list, or take `{switch}` out"
                )));
            }
        }
        Ok(all)
    }
}

/// What is on in a machine, for a result: the keys that a suite file has, and each switch that is
/// on.
pub fn machine_words(machine: Machine) -> Vec<(&'static str, bool)> {
    let mut words = vec![
        ("x2apic", machine.x2apic),
        ("tsc-deadline", machine.tsc_deadline),
        ("kvm", !machine.kvm.is_empty()),
        ("hyperv", !machine.hyperv.is_empty()),
        ("xen", machine.xen),
    ];
    let on = |on: bool, name: &'static str| on.then_some((name, true));
    words.extend(on(machine.pit_reinject, "pit-reinject"));
    words.extend(on(machine.rtc_good, "rtc-good"));
    words.extend(on(machine.rtc_absent, "rtc-absent"));
    words.extend(Kvm::SWITCHES.iter().filter_map(|(n, s)| on(machine.kvm.contains(*s), n)));
    words.extend(HyperV::SWITCHES.iter().filter_map(|(n, s)| on(machine.hyperv.contains(*s), n)));
    words
}
