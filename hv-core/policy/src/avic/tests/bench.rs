//! A VM of a few vCPUs under AVIC, without a processor.

use crate::avic::features::{Features, Offered};
use crate::avic::tables::Tables;
use crate::avic::{activation, running};
use crate::cpuid::Host;
use crate::handle::{self, Handled, Next};
use crate::mailbox::State;
use crate::memory::tests::Ram;
use crate::vcpu::Vcpu;
use crate::vm::{GuestClock, Shared, Vm};
use trapline_abi::machine::{HyperV, Machine};
use trapline_abi::plan::{Module, Policy, Seed};
use trapline_defs::apic::base as base_bits;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::vmcb::Vmcb;

pub const FEATURES: Features = features(Policy::Kvm612);

/// A policy on a processor with AVIC and x2AVIC.
pub const fn features(policy: Policy) -> Features {
    let processor = Offered {
        avic: true,
        avic_hidden: false,
        x2avic: true,
        idle_hlt: false,
        vnmi: false,
        family_17h: false,
    };
    Features::of(policy, Module::DEFAULT, processor)
}

const MACHINE: Machine = Machine { tsc_deadline: false, hyperv: HyperV::USUAL, ..Machine::PLAIN };

/// APIC id of the core that vCPU `n` runs on.
pub const fn host_id(n: u32) -> u16 {
    40 + n as u16
}

pub struct Bench {
    pub vm: Vm<'static>,
    pub vcpus: Vec<Vcpu>,
    pub vmcbs: Vec<Box<Vmcb>>,
    pub ram: Ram,
}

impl Bench {
    pub fn new(vcpus: u32) -> Self {
        Self::with(vcpus, FEATURES, None)
    }

    /// All vCPUs loaded, on cores of their own, with AVIC on, their APICs enabled, in host mode.
    pub fn with(vcpus: u32, features: Features, seed: Option<Seed>) -> Self {
        Self::of(&MACHINE, vcpus, features, seed)
    }

    /// The same with another machine.
    pub fn of(machine: &Machine, vcpus: u32, features: Features, seed: Option<Seed>) -> Self {
        let mut bench = Self::made(machine, vcpus, features, seed);
        for n in 0..vcpus {
            bench.write_svr(n, 0x1ff);
            bench.update(n);
        }
        bench
    }

    /// AVIC not yet on.
    pub fn off(vcpus: u32, features: Features, seed: Option<Seed>) -> Self {
        Self::made(&MACHINE, vcpus, features, seed)
    }

    fn made(machine: &Machine, vcpus: u32, features: Features, seed: Option<Seed>) -> Self {
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(machine, seed, 4 << 20)));
        let tables: &'static Tables = Box::leak(Box::new(Tables::new()));
        let clock = GuestClock { offset: 0, khz: 1_000_000 };
        let mut vm = Vm::new(shared, tables, *machine, seed, 4 << 20, clock, vcpus);
        vm.permissions.plain = 0x10_0000;
        vm.permissions.x2avic = 0x20_0000;
        vm.use_features(features);
        let host =
            Host { vendor: *b"AuthenticAMD", signature: 0, brand: [0; 48], physical_bits: 40 };
        let mut bench =
            Self { vm, vcpus: Vec::new(), vmcbs: Vec::new(), ram: Ram::identity(0x10000) };
        for n in 0..vcpus {
            let mut vcpu = Vcpu::new(machine, &host, 1_000_000, n, vcpus);
            let mut vmcb = Box::new(Vmcb::zeroed());
            vmcb.save.cr3 = 0x1000;
            vmcb.save.rip = 0x5000;
            vmcb.save.rflags = 0x202;
            activation::prepare(&vm, &vcpu, &mut vmcb);
            vm.mailbox(n).publish(vcpu.lapic.identity());
            running::load(&vm, &mut vcpu, host_id(n));
            bench.vcpus.push(vcpu);
            bench.vmcbs.push(vmcb);
        }
        bench
    }

    fn write_svr(&mut self, n: u32, value: u32) {
        let offset = trapline_defs::apic::offset::SVR;
        let _ = self.vcpus[n as usize].lapic.write_mmio(offset, value, crate::time::Ns(0));
        self.map_changed(n);
    }

    pub fn map_changed(&mut self, n: u32) {
        crate::msr::map_changed(&self.vm, &mut self.vcpus[n as usize]);
    }

    pub fn update(&mut self, n: u32) {
        activation::update(&self.vm, &mut self.vcpus[n as usize], &mut self.vmcbs[n as usize]);
    }

    /// What each vCPU does on its way into the guest: letters, then whatever AVIC's reasons ask for.
    pub fn enter_all(&mut self) {
        for n in 0..self.vcpus.len() {
            self.vm.collect(&mut self.vcpus[n]);
        }
        for n in 0..self.vcpus.len() as u32 {
            if self.vcpus[n as usize].avic.update {
                assert!(activation::may_update(&self.vm, &self.vcpus[n as usize]));
                self.update(n);
            }
            self.evaluate(n);
        }
    }

    pub fn evaluate(&mut self, n: u32) {
        let (vcpu, vmcb) = (&mut self.vcpus[n as usize], &mut self.vmcbs[n as usize]);
        crate::events::evaluate(&mut self.vm, vcpu, vmcb, &self.ram);
    }

    pub fn x2apic(&mut self, n: u32) {
        let lapic = &mut self.vcpus[n as usize].lapic;
        lapic.set_base(lapic.base() | base_bits::X2APIC, true).unwrap();
        self.map_changed(n);
        self.update(n);
    }

    pub fn set_state(&self, n: u32, state: State) {
        self.vm.mailbox(n).set_state(state);
    }

    pub fn page(&self, n: u32) -> &'static crate::avic::tables::BackingPage {
        self.vm.avic.page(n)
    }

    pub fn vmcb(&mut self, n: u32) -> &mut Vmcb {
        &mut self.vmcbs[n as usize]
    }

    /// WRMSR by vCPU `n`: what comes next, `None` for `#GP`. What was injected before was delivered.
    pub fn write_msr(&mut self, n: u32, msr: u32, value: u64) -> Option<Next> {
        let (vcpu, vmcb) = (&mut self.vcpus[n as usize], &mut self.vmcbs[n as usize]);
        (vcpu.gprs.rcx, vcpu.gprs.rdx) = (msr.into(), value >> 32);
        vmcb.save.rax = value & 0xffff_ffff;
        self.access_msr(n, 1)
    }

    /// RDMSR by vCPU `n`; `None`: `#GP`.
    pub fn read_msr(&mut self, n: u32, msr: u32) -> Option<u64> {
        self.vcpus[n as usize].gprs.rcx = msr.into();
        self.access_msr(n, 0)?;
        Some(self.vcpus[n as usize].gprs.rdx << 32 | self.vmcbs[n as usize].save.rax)
    }

    fn access_msr(&mut self, n: u32, write: u64) -> Option<Next> {
        let _ = self.injected(n);
        let rip = self.vmcbs[n as usize].save.rip;
        let next = self.exit(n, ExitCode::MSR, write, 0).next;
        if self.vmcbs[n as usize].save.rip != rip {
            return Some(next);
        }
        assert_eq!(
            self.injected(n),
            Some(Event::GP),
            "RIP stays on an instruction without a fault"
        );
        None
    }

    /// The event that the next VMRUN of vCPU `n` delivers, taken out.
    pub fn injected(&mut self, n: u32) -> Option<Event> {
        let event = core::mem::take(&mut self.vmcbs[n as usize].control.event_injection);
        event.valid().then_some(event)
    }

    /// The exit that the VMCB of vCPU `n` describes, handled.
    pub fn exit(&mut self, n: u32, code: ExitCode, info_1: u64, info_2: u64) -> Handled {
        let (vcpu, vmcb) = (&mut self.vcpus[n as usize], &mut self.vmcbs[n as usize]);
        vmcb.control.exit_code = code;
        vmcb.control.exit_info_1 = info_1;
        vmcb.control.exit_info_2 = info_2;
        // Silicon that saves a next RIP for these would be a surprise: it must not be used.
        vmcb.control.next_rip = 0xdead_0000;
        handle::exit(&mut self.vm, vcpu, vmcb, &self.ram, 1000)
    }
}
