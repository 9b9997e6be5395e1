//! Xen's hypercalls, as the vCPUs of a small domain make them.

use crate::avic::activation;
use crate::avic::features::{Features, Offered};
use crate::avic::tables::Tables;
use crate::cpuid::Host;
use crate::handle::{Handled, Next};
use crate::hypercall::{self, Xmm};
use crate::mailbox::State;
use crate::memory::GuestMemory;
use crate::memory::tests::Ram;
use crate::vcpu::Vcpu;
use crate::vm::{GuestClock, Shared, Vm};
use trapline_abi::exit::{self, ExitKey};
use trapline_abi::machine::Machine;
use trapline_abi::plan::{Module, Policy};
use trapline_defs::apic::offset;
use trapline_defs::msr::efer;
use trapline_defs::segment::Segment;
use trapline_defs::vmcb::Vmcb;

const MACHINE: Machine = Machine { xen: true, ..Machine::PLAIN };
const XEN: Features = Features::of(
    Policy::Xen417,
    Module { avic: false, enable_ipiv: false, force_avic: false },
    NOTHING,
);
const NO_XMM: Xmm = Xmm([0; 12]);
const NOTHING: Offered = Offered {
    avic: false,
    avic_hidden: false,
    x2avic: false,
    idle_hlt: false,
    vnmi: false,
    family_17h: false,
};
/// Where arguments are, and the shared info page.
const ARGUMENT: u64 = 0x8000;
const SHARED_INFO: u64 = 0x9000;
const VECTOR: u8 = 0xb0;
const MEMORY_OP: u64 = 12;
const EVENT_CHANNEL_OP: u64 = 32;
const HVM_OP: u64 = 34;

fn error(errno: i64) -> u64 {
    -errno as u64
}

struct Domain {
    vm: Vm<'static>,
    vcpus: Vec<(Vcpu, Box<Vmcb>)>,
    ram: Ram,
}

impl Domain {
    fn new(vcpus: u32) -> Self {
        Self::with(vcpus, XEN)
    }

    /// With the APICs on and the shared info page in place.
    fn with(vcpus: u32, features: Features) -> Self {
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(&MACHINE, None, 1 << 20)));
        let tables: &'static Tables = Box::leak(Box::new(Tables::new()));
        let clock = GuestClock { offset: 0, khz: 1_000_000 };
        let mut vm = Vm::new(shared, tables, MACHINE, None, 1 << 20, clock, vcpus);
        vm.use_features(features);
        let host =
            Host { vendor: *b"AuthenticAMD", signature: 0, brand: [0; 48], physical_bits: 40 };
        let vcpus = (0..vcpus).map(|n| {
            let mut vcpu = Vcpu::new(&MACHINE, &host, 1_000_000, n, vcpus);
            let _ = vcpu.lapic.write_mmio(offset::SVR, 0x1ff, crate::time::Ns(0));
            crate::msr::map_changed(&vm, &mut vcpu);
            vcpu.lapic.event_request = false;
            let mut vmcb = Box::new(Vmcb::zeroed());
            (vmcb.save.cs, vmcb.save.efer) = (Segment::CODE64, efer::LMA);
            (vmcb.save.cr3, vmcb.save.rflags, vmcb.save.rip) = (0x1000, 0x202, 0x5000);
            activation::prepare(&vm, &vcpu, &mut vmcb);
            (vcpu, vmcb)
        });
        let vcpus = vcpus.collect();
        let mut domain = Self { vm, vcpus, ram: Ram::identity(0x10000) };
        let map = [&[0xf0, 0x7f, 0, 0, 0, 0, 0, 0][..], &[0; 8], &9u64.to_le_bytes()].concat();
        assert_eq!(domain.call(0, MEMORY_OP, 7, &map), 0);
        domain
    }

    fn call(&mut self, n: usize, number: u64, command: u64, argument: &[u8]) -> u64 {
        self.ram.put(ARGUMENT, argument);
        let (vcpu, vmcb) = &mut self.vcpus[n];
        (vcpu.gprs.rdi, vcpu.gprs.rsi) = (command, ARGUMENT);
        vmcb.save.rax = number;
        let rip = vmcb.save.rip;
        let handled = hypercall::exit(&mut self.vm, vcpu, vmcb, &self.ram);
        let key = ExitKey::number(exit::VMMCALL, number as u32);
        assert_eq!(handled, Handled { key, next: Next::Hypercall });
        assert_eq!(hypercall::answer(&self.vm, vcpu, vmcb, &self.ram, &NO_XMM), Next::Enter);
        assert_eq!(vmcb.save.rip, rip + 3);
        vmcb.save.rax
    }

    fn event(&mut self, n: usize, command: u64, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.call(n, EVENT_CHANNEL_OP, command, &bytes)
    }

    fn answer(&self, at: u64) -> u32 {
        (self.ram.read_u64((ARGUMENT + at) & !7).unwrap() >> (at % 8 * 8)) as u32
    }

    fn bind_ipi(&mut self, to: u32) -> u32 {
        assert_eq!(self.event(0, 7, &[to, 0]), 0);
        self.answer(4)
    }

    fn set_vector(&mut self, of: u32, vector: u8) -> u64 {
        self.call(0, HVM_OP, 23, &[&of.to_le_bytes()[..], &[vector]].concat())
    }

    fn set_callback(&mut self, value: u64) -> u64 {
        let bytes = [&[0xf0, 0x7f, 0, 0, 0, 0, 0, 0][..], &value.to_le_bytes()].concat();
        self.call(0, HVM_OP, 0, &bytes)
    }

    fn upcall_pending(&self, n: u64) -> bool {
        self.ram.read_u8(SHARED_INFO + n * 64) != Some(0)
    }

    fn take_upcall(&mut self, n: u64) {
        let part = SHARED_INFO + n * 64;
        self.ram.put(part, &[0; 16]);
        self.ram.put(SHARED_INFO + 2048, &[0; 8]);
    }
}

#[test]
fn xen_8_xen_9_an_event_reaches_its_vcpu_by_its_upcall_vector() {
    let mut domain = Domain::new(2);
    assert_eq!(domain.set_vector(1, VECTOR), 0);
    domain.vm.collect(&mut domain.vcpus[1].0);
    // Xen tells the vCPU at once.
    assert_eq!(domain.vcpus[1].0.lapic.highest_irr(), Some(VECTOR));
    domain.vcpus[1].0.lapic.acknowledge(VECTOR, false);
    assert!(domain.vcpus[1].0.lapic.eoi().is_some());
    let port = domain.bind_ipi(1);
    assert_eq!(port, 1);
    domain.vm.mailbox(1).set_state(State::Guest);
    assert_eq!(domain.event(0, 4, &[port]), 0);
    assert!(domain.upcall_pending(1) && !domain.upcall_pending(0));
    assert_eq!(domain.vcpus[0].0.kicks, 1 << 1, "it runs, so it is kicked");
    domain.vm.collect(&mut domain.vcpus[1].0);
    assert_eq!(domain.vcpus[1].0.lapic.highest_irr(), Some(VECTOR));
    assert_eq!(domain.vcpus[0].0.lapic.highest_irr(), None);
    // A second one before the first was seen tells nobody.
    domain.vcpus[0].0.kicks = 0;
    domain.vm.mailbox(1).set_state(State::Guest);
    assert_eq!(domain.event(0, 4, &[port]), 0);
    assert_eq!(domain.vcpus[0].0.kicks, 0);
    // To itself there is no mail.
    assert_eq!(domain.event(1, 4, &[port]), 0);
    domain.take_upcall(1);
    domain.vcpus[1].0.lapic.acknowledge(VECTOR, false);
    assert_eq!(domain.event(1, 4, &[port]), 0);
    assert_eq!(domain.vcpus[1].0.lapic.highest_irr(), Some(VECTOR));
}

#[test]
fn xen_8_an_apic_that_is_off_drops_the_upcall_but_the_event_stays() {
    let mut domain = Domain::new(1);
    let port = domain.bind_ipi(0);
    let _ = domain.vcpus[0].0.lapic.write_mmio(offset::SVR, 0xff, crate::time::Ns(0));
    assert_eq!(domain.set_vector(0, VECTOR), 0);
    assert_eq!(domain.event(0, 4, &[port]), 0);
    assert_eq!(domain.vcpus[0].0.lapic.highest_irr(), None);
    assert!(domain.upcall_pending(0));
}

#[test]
fn xen_8_without_a_vector_of_its_own_a_vcpu_looks_for_the_global_callback() {
    let mut domain = Domain::new(2);
    assert_eq!(domain.set_callback(2 << 56 | 0xc1), 0);
    domain.vm.collect(&mut domain.vcpus[1].0);
    domain.vcpus[1].0.lapic.event_request = false;
    let port = domain.bind_ipi(1);
    domain.vm.mailbox(1).set_state(State::Asleep);
    assert_eq!(domain.event(0, 4, &[port]), 0);
    assert!(!domain.vm.mailbox(1).is_asleep());
    domain.vm.collect(&mut domain.vcpus[1].0);
    let (vcpu, vmcb) = &domain.vcpus[1];
    assert!(vcpu.lapic.event_request);
    assert_eq!(vcpu.lapic.highest_irr(), None, "it comes from beside the APIC");
    assert!(crate::handle::wakes(&domain.vm, vcpu, vmcb, &domain.ram));
    domain.take_upcall(1);
    let (vcpu, vmcb) = &domain.vcpus[1];
    assert!(!crate::handle::wakes(&domain.vm, vcpu, vmcb, &domain.ram));
    // And back.
    let ask = [0xf0, 0x7f, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9];
    assert_eq!(domain.call(0, HVM_OP, 1, &ask), 0);
    assert_eq!(domain.ram.read_u64(ARGUMENT + 8), Some(2 << 56 | 0xc1));
}

#[test]
fn a_closed_port_is_nobodys() {
    let mut domain = Domain::new(1);
    let port = domain.bind_ipi(0);
    domain.event(0, 4, &[port]);
    assert_eq!(domain.event(0, 5, &[0x7ff0, port, 9, 9]), 0);
    assert_eq!((domain.answer(8), domain.answer(12)), (5, 0), "an IPI of vCPU 0");
    assert_eq!(domain.event(0, 3, &[port]), 0);
    assert_eq!(domain.ram.read_u64(SHARED_INFO + 2048), Some(0), "its event is gone");
    assert_eq!(domain.event(0, 5, &[0x7ff0, port, 9, 9]), 0);
    assert_eq!(domain.answer(8), 0, "closed");
    for command in [3, 4] {
        assert_eq!(domain.event(0, command, &[port]), error(22));
    }
}

#[test]
fn xen_12_errors_are_xens() {
    let mut domain = Domain::new(2);
    let port = domain.bind_ipi(1);
    assert_eq!(domain.event(0, 4, &[64]), error(22), "no such port");
    assert_eq!(domain.event(0, 4, &[0]), error(22), "the reserved one");
    assert_eq!(domain.event(0, 7, &[2, 0]), error(2), "no such vCPU");
    assert_eq!(domain.event(0, 8, &[port, 0]), error(22), "an IPI stays with its vCPU");
    assert_eq!(domain.event(0, 8, &[port, 2]), error(2));
    assert_eq!(domain.event(0, 5, &[7, port, 0, 0]), error(3), "no such domain");
    assert_eq!(domain.event(0, 13, &[0]), error(38));
    assert_eq!(domain.set_vector(0, 0xf), error(22));
    assert_eq!(domain.set_vector(2, VECTOR), error(2));
    assert_eq!(domain.set_callback(5), error(38), "a GSI");
    assert_eq!(domain.set_callback(0), 0, "none");
    assert_eq!(domain.call(0, 60, 0, &[]), error(38), "no such hypercall");
    for _ in 2..64 {
        domain.bind_ipi(0);
    }
    assert_eq!(domain.event(0, 7, &[0, 0]), error(28), "no port is left");
    // Nothing is mapped there.
    let (vcpu, vmcb) = &mut domain.vcpus[0];
    (vcpu.gprs.rdi, vcpu.gprs.rsi, vmcb.save.rax) = (4, 0x20_0000, EVENT_CHANNEL_OP);
    super::answer(&domain.vm, vcpu, vmcb, &domain.ram);
    assert_eq!(vmcb.save.rax, error(14));
    vmcb.save.cpl = 3;
    vmcb.save.rax = EVENT_CHANNEL_OP;
    super::answer(&domain.vm, vcpu, vmcb, &domain.ram);
    assert_eq!(vmcb.save.rax, error(1), "from ring 3");
}

#[test]
fn the_version_and_its_features() {
    let mut domain = Domain::new(1);
    assert_eq!(domain.call(0, 17, 0, &[]), 0x4_0011);
    assert_eq!(domain.call(0, 17, 6, &[0; 8]), 0);
    assert_ne!(domain.answer(4) & 1 << 8, 0, "the callback may be a vector");
    assert_eq!(domain.call(0, 17, 6, &[1, 0, 0, 0]), error(22));
}

#[test]
fn blocking_ends_with_an_event_that_can_be_delivered() {
    let mut domain = Domain::new(1);
    let next = |domain: &mut Domain| {
        let (vcpu, vmcb) = &mut domain.vcpus[0];
        (vcpu.gprs.rdi, vmcb.save.rax) = (1, 29);
        let next = super::answer(&domain.vm, vcpu, vmcb, &domain.ram);
        assert_eq!(vmcb.save.rax, 0);
        next
    };
    assert_eq!(next(&mut domain), Next::Block);
    domain.vcpus[0].0.lapic.accept(VECTOR, false);
    assert_eq!(next(&mut domain), Next::Enter);
    domain.vcpus[0].1.save.rflags = 2;
    assert_eq!(next(&mut domain), Next::Block);
}

#[test]
fn an_nmi_is_sent_by_vcpu_op() {
    let mut domain = Domain::new(2);
    domain.vcpus[0].0.gprs.rdx = 0;
    let (vcpu, vmcb) = &mut domain.vcpus[0];
    (vcpu.gprs.rdi, vcpu.gprs.rsi, vmcb.save.rax) = (11, 1, 24);
    super::answer(&domain.vm, vcpu, vmcb, &domain.ram);
    assert_eq!(vmcb.save.rax, 0);
    domain.vm.collect(&mut domain.vcpus[1].0);
    assert_eq!(domain.vcpus[1].0.events.nmis, 1);
}
