//! The guest's machine: what its CPUID offers.
//!
//! The paravirtual interfaces are offered switch by switch, under the names that QEMU's command line has
//! for them, because people know them by these.

use serde::{Deserialize, Serialize};

/// The guest's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// CPUID offers x2APIC.
    pub x2apic: bool,
    /// CPUID offers the TSC deadline mode of the APIC timer.
    pub tsc_deadline: bool,
    /// KVM's interface; empty: none.
    pub kvm: Kvm,
    /// Hyper-V's interface; empty: none.
    pub hyperv: HyperV,
    /// Xen's interface, as version 4.17 has it.
    pub xen: bool,
    /// The PIT makes up for ticks that the guest missed, as KVM's does under QEMU's
    /// `lost_tick_policy=delay`. KVM then inhibits AVIC.
    pub pit_reinject: bool,
    /// The RTC ticks on though nobody reads its register C, as the flag "RTC good" of ACPI's WAET table
    /// promises.
    pub rtc_good: bool,
    /// ACPI's FADT says that there is no RTC. (There is one, so that a guest that uses it is noticed.)
    pub rtc_absent: bool,
}

impl Machine {
    /// A processor with everything and no paravirtual interface.
    pub const PLAIN: Self = Self {
        x2apic: true,
        tsc_deadline: true,
        kvm: Kvm::empty(),
        hyperv: HyperV::empty(),
        xen: false,
        pit_reinject: false,
        rtc_good: false,
        rtc_absent: false,
    };
}

bitflags::bitflags! {
    /// Hyper-V's interface, by the switches of QEMU's `-cpu` ("Hyper-V Enlightenments" in its manual).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct HyperV: u32 {
        /// The leaves from 4000_0000h, GUEST_OS_ID and HYPERCALL: what every other switch brings along.
        const INTERFACE = 1 << 0;
        /// `hv-vpindex`: VP_INDEX.
        const VP_INDEX = 1 << 1;
        /// `hv-time`: TIME_REF_COUNT and REFERENCE_TSC.
        const TIME = 1 << 2;
        /// `hv-frequencies`: TSC_FREQUENCY and APIC_FREQUENCY.
        const FREQUENCIES = 1 << 3;
        /// `hv-synic`: the synthetic interrupt controller.
        const SYNIC = 1 << 4;
        /// `hv-stimer`: synthetic timers.
        const STIMER = 1 << 5;
        /// `hv-stimer-direct`: synthetic timers may interrupt without a message.
        const STIMER_DIRECT = 1 << 6;
        /// `hv-vapic`: VP assist page, MSRs for EOI, ICR and TPR, and without `hv-avic` the recommendation
        /// to use them.
        const VAPIC = 1 << 7;
        /// `hv-avic`, also `hv-apicv`: the recommendation against AutoEOI and against those MSRs.
        const AVIC = 1 << 8;
        /// `hv-ipi`: the recommendation to send IPIs by hypercall.
        const IPI = 1 << 9;
        /// `hv-runtime`: VP_RUNTIME.
        const RUNTIME = 1 << 10;
        /// `hv-reset`: RESET.
        const RESET = 1 << 11;
        /// `hv-spinlocks`: a number of spins after which a guest that waits for a lock may say so by
        /// hypercall. (QEMU's switch is the number; here it is 4095.)
        const SPINLOCKS = 1 << 16;
        /// `hv-xmm-input`: fast hypercalls may have arguments in XMM registers.
        const XMM_INPUT = 1 << 17;
    }
}

impl HyperV {
    /// What `hyperv = true` means: clocks, SynIC and its timers; no opinion about the APIC.
    pub const USUAL: Self = Self::INTERFACE
        .union(Self::VP_INDEX)
        .union(Self::TIME)
        .union(Self::FREQUENCIES)
        .union(Self::SYNIC)
        .union(Self::STIMER)
        .union(Self::STIMER_DIRECT);

    /// Every switch under its name.
    pub const SWITCHES: &[(&str, Self)] = &[
        ("hv-vpindex", Self::VP_INDEX),
        ("hv-time", Self::TIME),
        ("hv-frequencies", Self::FREQUENCIES),
        ("hv-synic", Self::SYNIC),
        ("hv-stimer", Self::STIMER),
        ("hv-stimer-direct", Self::STIMER_DIRECT),
        ("hv-vapic", Self::VAPIC),
        ("hv-avic", Self::AVIC),
        ("hv-ipi", Self::IPI),
        ("hv-runtime", Self::RUNTIME),
        ("hv-reset", Self::RESET),
        ("hv-spinlocks", Self::SPINLOCKS),
        ("hv-xmm-input", Self::XMM_INPUT),
    ];

    /// What a switch cannot be without, by name: QEMU refuses the same ones.
    pub const NEEDS: &[(&str, &[&str])] = &[
        ("hv-synic", &["hv-vpindex"]),
        ("hv-stimer", &["hv-synic", "hv-time"]),
        ("hv-stimer-direct", &["hv-stimer"]),
        ("hv-ipi", &["hv-vpindex"]),
    ];
}

bitflags::bitflags! {
    /// KVM's interface, by the switches of QEMU's `-cpu`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(transparent)]
    pub struct Kvm: u32 {
        /// Signature and feature leaf: what every other switch brings along.
        const INTERFACE = 1 << 0;
        /// `kvm-pv-eoi`: MSR 4B56_4D04h.
        const PV_EOI = 1 << 1;
        /// `kvmclock`: MSRs 11h, 12h, 4B56_4D00h and 4B56_4D01h.
        const CLOCK = 1 << 2;
        /// `kvmclock-stable-bit`: the clocks of all vCPUs are one.
        const CLOCK_STABLE = 1 << 3;
        /// `kvm-nopiodelay`: no port needs the delay of a write to port 80h.
        const NO_IO_DELAY = 1 << 4;
        /// `kvm-steal-time`: MSR 4B56_4D03h.
        const STEAL_TIME = 1 << 5;
        /// `kvm-pv-unhalt`: hypercall 5, KICK_CPU.
        const PV_UNHALT = 1 << 6;
        /// `kvm-pv-ipi`: hypercall 10, SEND_IPI.
        const PV_IPI = 1 << 7;
        /// `kvm-poll-control`: MSR 4B56_4D05h.
        const POLL_CONTROL = 1 << 8;
        /// `kvm-pv-sched-yield`: hypercall 11, SCHED_YIELD.
        const SCHED_YIELD = 1 << 9;
        /// `kvm-hint-dedicated`: no vCPU is kept off its core for long.
        const HINT_DEDICATED = 1 << 10;
        /// `kvm-pv-enforce-cpuid`: what CPUID does not offer is not served either
        /// (KVM_CAP_ENFORCE_PV_FEATURE_CPUID). Without it KVM serves everything.
        const ENFORCE_CPUID = 1 << 11;
    }
}

impl Kvm {
    /// What `kvm = true` means: everything that KVM offers unasked. The hint and the enforcement are asked
    /// for by whoever starts the VM.
    pub const USUAL: Self =
        Self::all().difference(Self::HINT_DEDICATED).difference(Self::ENFORCE_CPUID);

    /// Every switch under its name.
    pub const SWITCHES: &[(&str, Self)] = &[
        ("kvm-pv-eoi", Self::PV_EOI),
        ("kvmclock", Self::CLOCK),
        ("kvmclock-stable-bit", Self::CLOCK_STABLE),
        ("kvm-nopiodelay", Self::NO_IO_DELAY),
        ("kvm-steal-time", Self::STEAL_TIME),
        ("kvm-pv-unhalt", Self::PV_UNHALT),
        ("kvm-pv-ipi", Self::PV_IPI),
        ("kvm-poll-control", Self::POLL_CONTROL),
        ("kvm-pv-sched-yield", Self::SCHED_YIELD),
        ("kvm-hint-dedicated", Self::HINT_DEDICATED),
        ("kvm-pv-enforce-cpuid", Self::ENFORCE_CPUID),
    ];

    /// Whether the hypervisor serves `what`, a switch: KVM does even where CPUID hides it, unless it is told
    /// to enforce CPUID.
    pub const fn serves(self, what: Self) -> bool {
        !self.contains(Self::ENFORCE_CPUID) || self.contains(what)
    }

    /// What a switch cannot be without, by name.
    pub const NEEDS: &[(&str, &[&str])] = &[];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What QEMU refuses to start without (`target/i386/kvm/kvm.c`, Hyper-V dependencies).
    #[test]
    fn hv_011_switches_need_what_qemu_says_they_need() {
        let needs = |switch| HyperV::NEEDS.iter().find(|(name, _)| *name == switch).unwrap().1;
        assert_eq!(needs("hv-synic"), ["hv-vpindex"]);
        assert_eq!(needs("hv-stimer"), ["hv-synic", "hv-time"]);
        assert_eq!(needs("hv-stimer-direct"), ["hv-stimer"]);
        assert_eq!(needs("hv-ipi"), ["hv-vpindex"]);
    }

    #[test]
    fn every_switch_is_a_bit_of_its_own_and_every_need_a_switch() {
        let mut all = HyperV::INTERFACE;
        for (name, switch) in HyperV::SWITCHES {
            assert!(switch.bits().is_power_of_two() && !all.intersects(*switch), "{name}");
            all |= *switch;
        }
        assert_eq!(all, HyperV::all());
        let known = |name: &str| HyperV::SWITCHES.iter().any(|(known, _)| *known == name);
        for (name, needs) in HyperV::NEEDS {
            assert!(known(name) && needs.iter().all(|need| known(need)), "{name}");
        }
    }
}
