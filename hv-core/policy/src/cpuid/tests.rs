use super::*;
use std::cell::RefCell;
use trapline_abi::call::{CPUID_LEAF, SIGNATURE};
use trapline_abi::machine::{HyperV, Kvm};

const HOST: Host = Host {
    vendor: *b"AuthenticAMD",
    signature: 0x0083_0f10,
    brand: *b"AMD EPYC 7642 48-Core Processor\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    physical_bits: 40,
};
const ALL: Machine = Machine { kvm: Kvm::USUAL, hyperv: HyperV::USUAL, ..Machine::PLAIN };
const KHZ: u32 = 2_500_000;
const BARE: Machine = Machine { x2apic: false, tsc_deadline: false, ..Machine::PLAIN };

/// A vCPU that executes CPUID.
struct Guest(RefCell<CpuidTable>);

impl Guest {
    fn new(machine: &Machine, vcpu: Vcpu) -> Self {
        Self(RefCell::new(CpuidTable::new(machine, &HOST, vcpu)))
    }

    fn get(&self, leaf: u32, subleaf: u32) -> Registers {
        *self.0.borrow_mut().get(leaf, subleaf)
    }
}

fn table(machine: &Machine) -> Guest {
    Guest::new(machine, Vcpu { apic_id: 2, count: 3, tsc_khz: KHZ })
}

fn text(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[track_caller]
fn signature(table: &Guest, leaf: u32) -> Vec<u8> {
    let r = table.get(leaf, 0);
    text(&[r.ebx, r.ecx, r.edx])
}

#[test]
fn every_machine_fits_in_the_table() {
    // `put` asserts that no slot is used twice.
    for bits in 0..32u8 {
        let has = |bit: u8| bits >> bit & 1 != 0;
        let kvm = if has(2) { Kvm::all() } else { Kvm::empty() };
        let hyperv = if has(3) { HyperV::all() } else { HyperV::empty() };
        let (x2apic, tsc_deadline, xen) = (has(0), has(1), has(4));
        let machine = Machine { x2apic, tsc_deadline, kvm, hyperv, xen, ..Machine::PLAIN };
        let table = table(&machine);
        assert_eq!(table.get(0, 0).eax, LAST_STANDARD);
    }
}

#[test]
fn the_processor_is_the_hosts_by_name() {
    let table = table(&BARE);
    let r = table.get(0, 0);
    assert_eq!(text(&[r.ebx, r.edx, r.ecx]), b"AuthenticAMD");
    let brand: Vec<u8> = (0x8000_0002..=0x8000_0004)
        .map(|leaf| table.get(leaf, 0))
        .flat_map(|r| text(&[r.eax, r.ebx, r.ecx, r.edx]))
        .collect();
    assert_eq!(brand, HOST.brand);
    assert_eq!([1, 0x8000_0001].map(|leaf| table.get(leaf, 0).eax), [HOST.signature; 2]);
    assert_eq!(table.get(0x8000_0008, 0).eax, 48 << 8 | 40);
    assert_eq!(table.get(0x8000_0000, 0).eax, 0x8000_0008);
}

#[test]
fn features_are_those_of_the_machine() {
    const X2APIC: u32 = 1 << 21;
    const DEADLINE: u32 = 1 << 24;
    const XSAVE_OSXSAVE_AVX: u32 = 7 << 26;
    const NX_LM: u32 = 1 << 20 | 1 << 29;
    for (machine, expected) in [(ALL, X2APIC | DEADLINE), (BARE, 0)] {
        let table = table(&machine);
        let ecx = table.get(1, 0).ecx;
        assert_eq!(ecx & (X2APIC | DEADLINE | XSAVE_OSXSAVE_AVX), expected);
        let extended = table.get(0x8000_0001, 0);
        assert_eq!(extended.ecx & 1 << 2, 0, "no SVM");
        assert_eq!(extended.edx & NX_LM, NX_LM);
        assert_eq!(table.get(0x8000_000a, 0), Registers::default());
    }
}

#[test]
fn hv_001_the_hypervisor_bit_is_set_on_every_machine() {
    for machine in [ALL, BARE] {
        assert_eq!(table(&machine).get(1, 0).ecx >> 31, 1);
    }
}

#[test]
fn hv_002_leaves_that_do_not_exist_are_zero() {
    let table = table(&ALL);
    let none =
        [4, 7, 0xc, 0xd, 0x20, 0x4000_0007, 0x4000_0102, 0x4000_0200, 0x8000_0009, 0x8fff_ffff];
    for leaf in none.into_iter().chain([0xc000_0000, u32::MAX, 0x2000_0001, 0x0001_0000]) {
        assert_eq!(table.get(leaf, 0), Registers::default(), "{leaf:#x}");
    }
    assert!(table.get(0x4000_0000, 0).eax >= 0x4000_0005);
}

#[test]
fn hv_003_005_007_010_hyperv_offers_what_is_implemented() {
    let table = table(&ALL);
    assert_eq!(signature(&table, 0x4000_0000), b"Microsoft Hv");
    assert_eq!(table.get(0x4000_0001, 0).eax, 0x3123_7648);
    let privileges = table.get(0x4000_0003, 0);
    assert_eq!((privileges.eax, privileges.ebx, privileges.edx), (0xa6e, 0x30, 0x8_0100));
    assert_eq!(table.get(0x4000_0004, 0).eax, 0);
    assert_eq!(table.get(0x4000_0005, 0).eax, 3);
}

#[test]
fn hv_007_vapic_and_avic_are_shown_as_by_qemu() {
    let shown = |switches| {
        let hyperv = HyperV::USUAL | switches;
        let table = table(&Machine { hyperv, ..ALL });
        let bit = |leaf: u32, bit: u32| table.get(leaf, 0).eax >> bit & 1;
        [bit(0x4000_0003, 4), bit(0x4000_0004, 3), bit(0x4000_0004, 9)]
    };
    assert_eq!(shown(HyperV::empty()), [0, 0, 0]);
    assert_eq!(shown(HyperV::VAPIC), [1, 1, 0]);
    assert_eq!(shown(HyperV::AVIC), [0, 0, 1]);
    assert_eq!(shown(HyperV::VAPIC | HyperV::AVIC), [1, 0, 1]);
}

#[test]
fn hv_228_what_may_be_called_is_said_where_the_guest_looks() {
    let leaf = |offered, leaf| table(&Machine { hyperv: offered, ..ALL }).get(leaf, 0);
    let least = HyperV::INTERFACE | HyperV::VP_INDEX;
    // EBX bits 4 and 5 come with the SynIC, EDX bit 4 and the number of spins with switches of their own.
    assert_eq!(leaf(least, 0x4000_0003).ebx, 0);
    assert_eq!(leaf(least | HyperV::SYNIC, 0x4000_0003).ebx, 3 << 4);
    assert_eq!(leaf(least, 0x4000_0003).edx & 1 << 4, 0);
    assert_eq!(leaf(least | HyperV::XMM_INPUT, 0x4000_0003).edx & 1 << 4, 1 << 4);
    assert_eq!(leaf(least, 0x4000_0004).ebx, u32::MAX);
    assert_eq!(leaf(least | HyperV::SPINLOCKS, 0x4000_0004).ebx, 4095);
}

#[test]
fn xen_11_xens_leaves_are_those_of_4_17_under_svm() {
    let machine = Machine { xen: true, ..Machine::PLAIN };
    let guest = table(&machine);
    assert_eq!(signature(&guest, 0x4000_0000), b"XenVMMXenVMM");
    assert_eq!(guest.get(0x4000_0000, 0).eax, 0x4000_0005);
    assert_eq!(guest.get(0x4000_0001, 0).eax, 0x0004_0011);
    let pages = guest.get(0x4000_0002, 0);
    assert_eq!((pages.eax, pages.ebx), (1, 0x4000_0000));
    assert_eq!((guest.get(0x4000_0003, 0).ecx, guest.get(0x4000_0003, 2).eax), (KHZ, KHZ));
    assert_eq!(guest.get(0x4000_0003, 3), Registers::default());
    let hvm = guest.get(0x4000_0004, 0);
    assert_eq!((hvm.eax, hvm.ebx, hvm.ecx), (0x5c, 2, 1), "as measured: bits 2, 3, 4 and 6");
    assert_eq!(guest.get(0x4000_0005, 0), Registers::default());
}

#[test]
fn xen_11_xen_makes_room_for_hyperv_and_kvm_for_both() {
    let guest = table(&Machine { xen: true, ..ALL });
    assert_eq!(signature(&guest, 0x4000_0000), b"Microsoft Hv");
    assert_eq!(signature(&guest, 0x4000_0100), b"XenVMMXenVMM");
    assert_eq!(guest.get(0x4000_0100, 0).eax, 0x4000_0105);
    assert_eq!(guest.get(0x4000_0102, 0).ebx, 0x4000_0200, "Hyper-V has the other MSR");
    assert_eq!(guest.get(0x4000_0103, 0).ecx, KHZ);
    assert_eq!(signature(&guest, 0x4000_0200), b"KVMKVMKVM\0\0\0");
}

#[test]
fn hv_006_the_privileges_are_those_of_the_msrs() {
    use crate::hyperv::{self, Partition, ReferenceClock, Synic, Timers};
    let gates = [
        (0, 0x4000_0010),
        (1, hyperv::TIME_REF_COUNT),
        (2, hyperv::SCONTROL),
        (3, 0x4000_00b0),
        (4, 0x4000_0073),
        (5, hyperv::GUEST_OS_ID),
        (6, hyperv::VP_INDEX),
        (7, 0x4000_0003),
        (9, 0x4000_0021),
        (10, 0x4000_00f0),
        (11, 0x4000_0022),
        (13, 0x4000_0106),
    ];
    let privileges = table(&ALL).get(0x4000_0003, 0).eax;
    let partition = Partition::new(HyperV::USUAL, 1 << 20);
    for (bit, msr) in gates {
        let timers = Timers::new(ReferenceClock::new(1_000_000));
        let now = crate::time::Ns(0);
        let served = hyperv::read_msr(&partition, &Synic::new(0), &timers, msr, now).is_ok();
        assert_eq!(served, privileges >> bit & 1 != 0, "bit {bit}, MSR {msr:#x}");
    }
}

#[test]
fn kvm_moves_out_of_hypervs_way() {
    let alone = table(&Machine { hyperv: HyperV::empty(), ..ALL });
    assert_eq!(signature(&alone, 0x4000_0000), b"KVMKVMKVM\0\0\0");
    assert_eq!(alone.get(0x4000_0000, 0).eax, 0x4000_0001);
    assert_eq!(alone.get(0x4000_0001, 0).eax, 0x0100_38eb);
    assert_eq!(alone.get(0x4000_0100, 0), Registers::default());
    let both = table(&ALL);
    assert_eq!(signature(&both, 0x4000_0100), b"KVMKVMKVM\0\0\0");
    assert_eq!(both.get(0x4000_0100, 0).eax, 0x4000_0101);
    assert_eq!(both.get(0x4000_0101, 0).eax, 0x0100_38eb);
}

#[test]
fn trapline_is_there_on_every_machine_and_the_others_only_if_asked_for() {
    for machine in [ALL, BARE] {
        let table = table(&machine);
        assert_eq!(signature(&table, CPUID_LEAF), SIGNATURE);
        assert_eq!(table.get(CPUID_LEAF, 0).eax, trapline_abi::PROTOCOL);
    }
    let bare = table(&BARE);
    for leaf in [0x4000_0000, 0x4000_0001, 0x4000_0100] {
        assert_eq!(bare.get(leaf, 0), Registers::default());
    }
}

#[test]
fn topology_tells_the_vcpus_apart() {
    let table = table(&ALL);
    assert_eq!(table.get(1, 0).ebx, 2 << 24 | 3 << 16 | 8 << 8);
    assert_eq!(table.get(1, 0).edx >> 28 & 1, 1);
    assert_eq!(table.get(0xb, 0), Registers { eax: 0, ebx: 1, ecx: 0x100, edx: 2 });
    assert_eq!(table.get(0xb, 1), Registers { eax: 2, ebx: 3, ecx: 0x201, edx: 2 });
    assert_eq!(table.get(0xb, 2), Registers { eax: 0, ebx: 0, ecx: 2, edx: 2 });
    assert_eq!(table.get(0x8000_0008, 0).ecx, 2 << 12 | 2);
    let one = Guest::new(&ALL, Vcpu { apic_id: 0, count: 1, tsc_khz: KHZ });
    assert_eq!(one.get(1, 0).edx >> 28 & 1, 0);
    assert_eq!(one.get(0xb, 1).eax, 0);
    assert_eq!(one.get(0x8000_0008, 0).ecx, 0);
}

#[test]
fn a_disabled_apic_disappears_and_comes_back() {
    let table = table(&ALL);
    assert_ne!(table.get(1, 0).edx & EDX_APIC, 0);
    table.0.borrow_mut().set_apic_enabled(false);
    assert_eq!(table.get(1, 0).edx & EDX_APIC, 0);
    table.0.borrow_mut().set_apic_enabled(true);
    assert_ne!(table.get(1, 0).edx & EDX_APIC, 0);
}

#[test]
fn hv_004_the_hypervisor_leaves_are_equal_on_every_vcpu() {
    let first = Guest::new(&ALL, Vcpu { apic_id: 0, count: 3, tsc_khz: KHZ });
    for leaf in (0x4000_0000..0x4000_0010).chain([0x4000_0100, 0x4000_0101, CPUID_LEAF]) {
        assert_eq!(first.get(leaf, 0), table(&ALL).get(leaf, 0), "{leaf:#x}");
    }
}

#[test]
fn hc_5_each_switch_of_kvm_has_its_bits() {
    let leaf = |kvm| {
        let r = table(&Machine { kvm, ..Machine::PLAIN }).get(0x4000_0001, 0);
        assert_eq!((r.ebx, r.ecx), (0, 0));
        (r.eax, r.edx)
    };
    assert_eq!(leaf(Kvm::INTERFACE), (0, 0));
    assert_eq!(leaf(Kvm::USUAL), (0x0100_38eb, 0));
    assert_eq!(leaf(Kvm::all()), (0x0100_38eb, 1), "enforcing has no bit");
    for (switch, eax) in [(Kvm::PV_IPI, 1 << 11), (Kvm::CLOCK, 9), (Kvm::CLOCK_STABLE, 1 << 24)] {
        assert_eq!(leaf(Kvm::INTERFACE.union(switch)), (eax, 0));
    }
}
