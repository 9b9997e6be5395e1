//! Who makes AVIC stay off (spec avic.md 5.4). The set itself is in [`crate::inhibit`].

use super::logical;
use crate::inhibit::Reason;
use crate::lapic::{Identity, Mode};
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::machine::HyperV;
use trapline_defs::apic;

/// The reasons of a new VM.
pub fn start(vm: &Vm<'_>) {
    let release = vm.features.release;
    let inhibits = &mut vm.devices().inhibits;
    if vm.features.avic {
        inhibits.clear(Reason::Disabled);
    }
    // QEMU turns the capability on for a machine that has it, and then Linux 5.6 to 5.14 asks.
    if release.synic_inhibits && vm.machine.hyperv.contains(HyperV::SYNIC) {
        inhibits.set(Reason::Hyperv);
    }
    // Linux 5.6 to 5.19, whatever mode the guest then uses.
    if release.reasons & Reason::X2Apic.bit() != 0 && vm.machine.x2apic {
        inhibits.set(Reason::X2Apic);
    }
    if release.reasons & Reason::PitReinject.bit() != 0 && vm.machine.pit_reinject {
        inhibits.set(Reason::PitReinject);
    }
    vm.avic.set_permitted(!inhibits.inhibited());
}

/// Sets or clears a reason. At a transition every vCPU is made to leave the guest and to look whether
/// AVIC may be on (INH-1); the APIC page's leaf goes when it may not.
#[cold]
#[inline(never)]
pub fn change(vm: &Vm<'_>, vcpu: &mut Vcpu, reason: Reason, stands: bool) {
    if vm.features.release.reasons & reason.bit() == 0 {
        return;
    }
    let transition = {
        let inhibits = &mut vm.devices().inhibits;
        if stands { inhibits.set(reason) } else { inhibits.clear(reason) }
    };
    if transition {
        announce(vm, vcpu);
    }
}

/// The set became empty or not empty: every vCPU has to act on it.
pub fn announce(vm: &Vm<'_>, vcpu: &mut Vcpu) {
    let inhibited = vm.devices().inhibits.inhibited();
    vm.avic.set_permitted(!inhibited);
    if inhibited {
        vm.avic.set_leaf(0);
    }
    vcpu.avic.update = true;
    vcpu.avic.together = true;
    vcpu.rearm = true;
    let own = vcpu.index;
    for index in (0..vm.vcpus).filter(|&index| index != own) {
        vcpu.kick_if(index, vm.mailbox(index).put_update());
    }
}

/// An APIC's id, base, LDR, DFR, mode or enable changed: tables and reasons follow.
#[cold]
#[inline(never)]
pub fn map_changed(vm: &Vm<'_>, vcpu: &mut Vcpu) {
    let lapic = &vcpu.lapic;
    let x2apic = lapic.mode() == Mode::X2Apic;
    // The logical table is xAPIC's alone.
    if !x2apic {
        let (ldr, dfr) = (lapic.ldr(), lapic.dfr());
        logical::changed(vm.avic, &mut vcpu.avic.logical, vcpu.index, ldr, dfr);
    }
    let moved = lapic.mode() != Mode::Disabled && lapic.base_address() != apic::DEFAULT_BASE;
    // The id is compared with what the APIC was made with, as far as xAPIC can express it.
    let modified = lapic.mode() == Mode::XApic && lapic.physical_id() != lapic.id() & 0xff;
    if moved {
        change(vm, vcpu, Reason::ApicBaseModified, true);
    }
    if modified {
        change(vm, vcpu, Reason::ApicIdModified, true);
    }
    let identity = |index| vm.mailbox(index).identity();
    let (aliased, unmappable) = collisions((0..vm.vcpus).map(identity));
    change(vm, vcpu, Reason::PhysicalIdAliased, aliased);
    change(vm, vcpu, Reason::LogicalIdAliased, unmappable);
    // The mode of the APIC decides the mode of AVIC.
    vcpu.avic.update = true;
    vcpu.rearm = true;
}

/// Whether two APICs have one physical id, and whether logical ids do not name one APIC each: KVM
/// then gives its map of them up (`kvm_recalculate_apic_map`).
fn collisions(apics: impl Iterator<Item = Identity>) -> (bool, bool) {
    let mut ids = [0u64; 8];
    let mut logical = LogicalMap::default();
    let mut aliased = false;
    for apic in apics.filter(|apic| apic.mode() != Mode::Disabled) {
        let (word, bit) = ((apic.physical_id() >> 6 & 7) as usize, apic.physical_id() & 63);
        aliased |= ids[word] >> bit & 1 != 0;
        ids[word] |= 1 << bit;
        if apic.software_enabled() {
            logical.add(&apic);
        }
    }
    (aliased, logical.broken)
}

#[derive(Default)]
struct LogicalMap {
    format: Option<(Mode, bool)>,
    taken: [u16; 16],
    broken: bool,
}

impl LogicalMap {
    fn add(&mut self, apic: &Identity) {
        let ldr = apic.ldr();
        if ldr == 0 {
            return;
        }
        let flat = apic.dfr() == apic::DFR_FLAT;
        let format = (apic.mode(), apic.mode() == Mode::XApic && flat);
        if *self.format.get_or_insert(format) != format {
            self.broken = true;
            return;
        }
        if apic.mode() == Mode::X2Apic {
            // Made from the id: always one bit, and one to one.
            return;
        }
        let id = ldr >> 24;
        let (cluster, bits) = if flat { (0, id) } else { (id as usize >> 4, id & 0xf) };
        if bits == 0 {
            return;
        }
        let bits = bits as u16;
        self.broken |= !bits.is_power_of_two() || self.taken[cluster] & bits != 0;
        self.taken[cluster] |= bits;
    }
}
