//! Which interface answers (rule HC-1).

use crate::avic::tables::Tables;
use crate::cpuid::Host;
use crate::handle::Next;
use crate::hypercall::{self, Xmm};
use crate::memory::tests::Ram;
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::{GuestClock, Shared, Vm};
use trapline_abi::machine::{HyperV, Kvm, Machine};
use trapline_defs::msr::efer;
use trapline_defs::segment::Segment;
use trapline_defs::vmcb::Vmcb;

/// What interfaces answer to a call that they do not have.
const XEN: u64 = -38i64 as u64;
const HYPERV: u64 = 2;
const KVM: u64 = -1000i64 as u64;

fn answer(machine: Machine, guest_os_id: u64, rax: u64) -> u64 {
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(&machine, None, 1 << 20)));
    let tables: &'static Tables = Box::leak(Box::new(Tables::new()));
    let clock = GuestClock { offset: 0, khz: 1_000_000 };
    let mut vm = Vm::new(shared, tables, machine, None, 1 << 20, clock, 1);
    let host = Host { vendor: *b"AuthenticAMD", signature: 0, brand: [0; 48], physical_bits: 40 };
    let mut vcpu = Vcpu::new(&machine, &host, 1_000_000, 0, 1);
    let mut vmcb = Vmcb::zeroed();
    (vmcb.save.cs, vmcb.save.efer) = (Segment::CODE64, efer::LMA);
    vmcb.save.cr0 = 0x8000_0011;
    vcpu.gprs.rcx = 0x7fff;
    let ram = Ram::new(0x1000);
    if guest_os_id != 0 {
        let crate::vm::Devices { partition, inhibits, .. } = &mut *vm.devices();
        let Vcpu { synic, stimers, .. } = &mut vcpu;
        let msr = crate::hyperv::GUEST_OS_ID;
        crate::hyperv::write_msr(partition, synic, stimers, inhibits, msr, guest_os_id, Ns(0))
            .unwrap();
    }
    vmcb.save.rax = rax;
    if hypercall::exit(&mut vm, &mut vcpu, &mut vmcb, &ram).next == Next::Hypercall {
        hypercall::answer(&vm, &mut vcpu, &mut vmcb, &ram, &Xmm([0; 12]));
    }
    vmcb.save.rax
}

#[test]
fn hc_1_xens_interface_comes_before_hypervs_and_kvms() {
    let xen = Machine { xen: true, ..Machine::PLAIN };
    let xen_and_kvm = Machine { kvm: Kvm::USUAL, ..xen };
    let all = Machine { hyperv: HyperV::USUAL, ..xen_and_kvm };
    for machine in [xen, xen_and_kvm, all] {
        assert_eq!(answer(machine, 0, 60), XEN);
    }
    assert_eq!(answer(all, 1, 60), XEN, "Hyper-V's comes by bit 31 only");
    assert_eq!(answer(all, 1, 1 << 31 | 60), HYPERV);
    assert_eq!(answer(all, 0, 1 << 31 | 60), XEN, "whoever the guest is, it has not said so");
    // Without Xen's.
    assert_eq!(answer(Machine { xen: false, ..all }, 1, 60), HYPERV);
    assert_eq!(answer(Machine { xen: false, ..all }, 0, 60), KVM);
}
