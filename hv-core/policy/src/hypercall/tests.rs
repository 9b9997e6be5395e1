//! Hyper-V's hypercalls, as the guest of a small VM makes them.

mod abi;
mod events;
mod interfaces;
mod ipis;
mod messages;

use crate::cpuid::Host;
use crate::gprs::Gprs;
use crate::handle::{self, Next};
use crate::hyperv::{self, delivery};
use crate::lapic::Vectors;
use crate::memory::GuestMemory;
use crate::memory::tests::Ram;
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::{GuestClock, Shared, Vm};
use trapline_abi::machine::{HyperV, Machine};
use trapline_defs::exit_code::ExitCode;
use trapline_defs::vmcb::Vmcb;

use super::hyperv::input::Xmm;

const ALL: HyperV =
    HyperV::USUAL.union(HyperV::IPI).union(HyperV::SPINLOCKS).union(HyperV::XMM_INPUT);
const MEMORY: u64 = 0x1_0000;
/// Input value: arguments in registers.
const FAST: u64 = 1 << 16;
/// Where blocks lie.
const BLOCK: u64 = 0x8000;
/// An IPI's vector.
const VECTOR: u8 = 0x60;
/// Where VMMCALL lies.
const RIP: u64 = 0x5000;
/// When a vCPU goes on: ten units of reference time after the start, at which exits happen.
const NOW: Ns = Ns(1000);

/// vCPUs in 64-bit code at CPL 0, each with its APIC on, whose guest said who it is.
struct Bench {
    vm: Vm<'static>,
    vcpus: Vec<Vcpu>,
    vmcbs: Vec<Box<Vmcb>>,
    ram: Ram,
    /// What a call finds in XMM0 to XMM5.
    xmm: Xmm,
}

impl Bench {
    fn new(vcpus: u32) -> Self {
        Self::with(vcpus, ALL)
    }

    fn with(vcpus: u32, offered: HyperV) -> Self {
        let machine = Machine { hyperv: offered, ..Machine::PLAIN };
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(&machine, None, MEMORY)));
        let tables = Box::leak(Box::new(crate::avic::tables::Tables::new()));
        let clock = GuestClock { offset: 0, khz: 1_000_000 };
        let vm = Vm::new(shared, tables, machine, None, MEMORY, clock, vcpus);
        let host =
            Host { vendor: *b"AuthenticAMD", signature: 0, brand: [0; 48], physical_bits: 40 };
        let ram = Ram::new(MEMORY as usize);
        let mut bench = Self { vm, vcpus: vec![], vmcbs: vec![], ram, xmm: Xmm([0; 12]) };
        for n in 0..vcpus {
            let mut vcpu = Vcpu::new(&machine, &host, 1_000_000, n, vcpus);
            let _ = vcpu.lapic.write_mmio(0xf0, 0x1ff, Ns(0));
            let mut vmcb = Box::new(Vmcb::zeroed());
            vmcb.save.cr0 = 0x8000_0011;
            vmcb.save.efer = 0x1500;
            vmcb.save.cs = trapline_defs::segment::Segment::CODE64;
            vmcb.save.rip = RIP;
            vmcb.control.exit_code = ExitCode::VMMCALL;
            bench.vcpus.push(vcpu);
            bench.vmcbs.push(vmcb);
            bench.publish(n);
        }
        bench.msr(0, hyperv::GUEST_OS_ID, 1 << 63);
        bench
    }

    fn publish(&mut self, n: u32) {
        crate::msr::map_changed(&self.vm, &mut self.vcpus[n as usize]);
    }

    /// WRMSR, with what it owes.
    fn msr(&mut self, n: u32, msr: u32, value: u64) {
        let vcpu = &mut self.vcpus[n as usize];
        let vmcb = &mut self.vmcbs[n as usize];
        let before = (vcpu.gprs, vmcb.save.rax, vmcb.save.rip);
        vcpu.gprs = Gprs { rcx: msr.into(), rdx: value >> 32, ..vcpu.gprs };
        vmcb.save.rax = value & 0xffff_ffff;
        (vmcb.control.exit_code, vmcb.control.exit_info_1) = (ExitCode::MSR, 1);
        handle::exit(&mut self.vm, vcpu, vmcb, &self.ram, 0);
        assert_ne!(vmcb.save.rip, before.2, "MSR {msr:#x} := {value:#x} faulted");
        vmcb.control.exit_code = ExitCode::VMMCALL;
        (vcpu.gprs, vmcb.save.rax, vmcb.save.rip) = before;
        self.go_on(n);
    }

    /// What the run loop does on the way back into the guest.
    fn go_on(&mut self, n: u32) {
        let vcpu = &mut self.vcpus[n as usize];
        self.vm.collect(vcpu);
        vcpu.tell(&self.ram, NOW);
        delivery::deliver_due(&self.vm, vcpu, &self.ram);
    }

    /// A call with these registers by a vCPU; its result, after everybody's way back into the guest.
    fn call(&mut self, n: u32, rcx: u64, rdx: u64, r8: u64) -> u64 {
        let vcpu = &mut self.vcpus[n as usize];
        (vcpu.gprs.rcx, vcpu.gprs.rdx, vcpu.gprs.r8) = (rcx, rdx, r8);
        self.vmcall(n);
        assert_eq!(self.vmcbs[n as usize].save.rip, RIP + 3);
        self.vmcbs[n as usize].save.rip = RIP;
        self.vmcbs[n as usize].save.rax
    }

    /// VMMCALL with the registers as they are.
    fn vmcall(&mut self, n: u32) {
        let (vcpu, vmcb) = (&mut self.vcpus[n as usize], &mut self.vmcbs[n as usize]);
        let handled = super::exit(&mut self.vm, vcpu, vmcb, &self.ram);
        if handled.next == Next::Hypercall {
            assert_eq!(vmcb.save.rip, RIP, "something was done");
            super::answer(&self.vm, vcpu, vmcb, &self.ram, &self.xmm);
        } else {
            assert_eq!(handled.next, Next::Enter);
        }
        for other in 0..self.vcpus.len() as u32 {
            self.go_on(other);
        }
    }

    /// Words at [`BLOCK`].
    fn block(&self, words: &[u64]) {
        for (at, word) in words.iter().enumerate() {
            self.ram.put(BLOCK + at as u64 * 8, &word.to_le_bytes());
        }
    }

    /// The vectors that wait in a vCPU's APIC; they are forgotten.
    fn taken(&mut self, n: u32) -> Vec<u8> {
        let lapic = &mut self.vcpus[n as usize].lapic;
        let mut vectors = vec![];
        while let Some(vector) = lapic.deliverable() {
            lapic.acknowledge(vector, false);
            lapic.eoi();
            vectors.push(vector);
        }
        lapic.load_vectors(Vectors::EMPTY, Vectors::EMPTY, Vectors::EMPTY);
        vectors
    }

    /// Which vCPUs got exactly one interrupt with [`VECTOR`], one bit each; nobody got any other.
    fn hit(&mut self) -> u64 {
        (0..self.vcpus.len() as u32)
            .map(|n| match self.taken(n)[..] {
                [] => 0,
                [VECTOR] => 1 << n,
                ref other => panic!("vCPU {n} got {other:x?}"),
            })
            .sum()
    }
}
