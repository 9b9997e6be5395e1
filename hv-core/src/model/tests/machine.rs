//! A machine of several vCPUs, each on a modeled core, under KVM's policy: everything between a guest's
//! instruction and its interrupt handler, but for the world switch and the clock.
//!
//! One step is one instruction of one vCPU; between two steps everything else may happen. What the run
//! loop does around an exit is repeated here in few words (`exit`, `enter`).

use super::super::{Around, Model, Seen, Underneath};
use std::cell::RefCell;
use trapline_abi::machine::Machine as Platform;
use trapline_defs::apic::{DEFAULT_BASE, base as base_bits, offset};
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word4};
use trapline_defs::vmcb::{NestedControl, Vmcb};
use trapline_policy::avic::features::Features;
use trapline_policy::avic::tables::Tables;
use trapline_policy::avic::{activation, inhibits, running};
use trapline_policy::cpuid::Host;
use trapline_policy::handle::{self, Handled, Next};
use trapline_policy::inhibit::Reason;
use trapline_policy::mailbox::State;
use trapline_policy::memory::GuestMemory;
use trapline_policy::time::Ns;
use trapline_policy::vcpu::Vcpu;
use trapline_policy::vm::{GuestClock, Shared, Vm};
use trapline_policy::{events, msr};
use trapline_silicon::{Enumeration, Knobs, Leaf, Memory, Silicon};

pub const VCPUS: usize = 4;
const PLAIN_MAP: u64 = 0x10_0000;
const X2AVIC_MAP: u64 = 0x20_0000;
const IF: u64 = 1 << 9;

/// Where a vCPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the guest.
    Guest,
    /// Its core does something else.
    Preempted,
    /// Halted, and its core looks for nothing but a wake-up.
    Blocked,
    /// Halted in the processor.
    Halted,
}

pub struct Core {
    pub model: Model,
    pub vcpu: Vcpu,
    pub vmcb: Box<Vmcb>,
    pub place: Place,
    /// A physical interrupt and a doorbell that wait.
    kicked: bool,
    rung: bool,
    /// The handlers that run, innermost last.
    pub handlers: Vec<u8>,
    /// Of those how many have written their EOI.
    ended: usize,
}

impl Core {
    fn is_in_guest(&self) -> bool {
        matches!(self.place, Place::Guest | Place::Halted)
    }
}

/// Guest RAM: page tables for the first 2 MiB, and at 5000h `mov [rdx], eax`, at 5010h
/// `rep stosd`.
struct Ram(RefCell<Vec<u8>>);

impl GuestMemory for Ram {
    fn size(&self) -> u64 {
        0x8000
    }
    fn read_u64(&self, address: u64) -> Option<u64> {
        let ram = self.0.borrow();
        let bytes = ram.get(address as usize..address as usize + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().unwrap()))
    }
    fn write_u8(&self, address: u64, value: u8) -> bool {
        self.0.borrow_mut().get_mut(address as usize).map(|byte| *byte = value).is_some()
    }
}

/// Host memory: AVIC's tables, and two permission maps.
pub struct HostRam(&'static Tables);

impl HostRam {
    fn page(&self, address: u64) -> Option<u32> {
        (0..16).find(|&n| self.0.backing_page(n) == address & !0xfff)
    }
}

impl Memory for HostRam {
    fn load32(&self, address: u64) -> u32 {
        match address & !0x1fff {
            PLAIN_MAP => return u32::MAX,
            X2AVIC_MAP => {
                let first = (address - X2AVIC_MAP) as u32 * 4;
                let passes = |n: u32| msr::x2avic_passes(first + n / 2);
                return (0..32).map(|n| u32::from(!passes(n)) << n).sum();
            }
            _ => {}
        }
        if let Some(n) = self.page(address) {
            return self.0.page(n).load(address as u16 & 0xfff);
        }
        assert_eq!(address & !0xfff, self.0.logical_table(), "{address:#x} is no table");
        self.0.logical_entry((address & 0xfff) as u16 / 4).into_bits()
    }
    fn store32(&self, address: u64, value: u32) {
        let n = self.page(address).expect("only backing pages are written");
        self.0.page(n).store(address as u16 & 0xfff, value);
    }
    fn load64(&self, address: u64) -> u64 {
        assert_eq!(address & !0xfff, self.0.physical_table(), "{address:#x} is no table");
        self.0.entry((address & 0xfff) as u32 / 8).into_bits()
    }
    fn fetch_or32(&self, address: u64, bits: u32) -> u32 {
        let old = self.load32(address);
        self.store32(address, old | bits);
        old
    }
    fn fetch_and32(&self, address: u64, bits: u32) -> u32 {
        let old = self.load32(address);
        self.store32(address, old & bits);
        old
    }
    fn barrier(&self) {}
}

pub struct Machine {
    pub vm: Vm<'static>,
    pub cores: Vec<Core>,
    host: HostRam,
    ram: Ram,
    x2apic: bool,
    /// Vectors that were sent to each vCPU and did not come since.
    pub outstanding: Vec<[bool; 256]>,
    /// How often more each was sent than it came: those that waited together may come as one.
    surplus: Vec<[u32; 256]>,
    pub delivered: u64,
}

impl Machine {
    pub fn new(x2apic: bool, features: Features) -> Self {
        let platform = Platform { tsc_deadline: false, ..Platform::PLAIN };
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(&platform, None, 0x8000)));
        let tables: &'static Tables = Box::leak(Box::new(Tables::new()));
        let clock = GuestClock { offset: 0, khz: 1_000_000 };
        let mut vm = Vm::new(shared, tables, platform, None, 0x8000, clock, VCPUS as u32);
        (vm.permissions.plain, vm.permissions.x2avic) = (PLAIN_MAP, X2AVIC_MAP);
        vm.use_features(features);
        let mut ram = vec![0; 0x8000];
        for (at, entry) in [(0x1000, 0x2003u64), (0x2000, 0x3003), (0x3000, 0x83)] {
            ram[at..at + 8].copy_from_slice(&entry.to_le_bytes());
        }
        ram[0x5000..0x5002].copy_from_slice(&[0x89, 0x02]);
        // rep stosd
        ram[0x5010..0x5012].copy_from_slice(&[0xf3, 0xab]);
        let mut machine = Self {
            vm,
            cores: Vec::new(),
            host: HostRam(tables),
            ram: Ram(RefCell::new(ram)),
            x2apic,
            outstanding: vec![[false; 256]; VCPUS],
            surplus: vec![[0; 256]; VCPUS],
            delivered: 0,
        };
        for n in 0..VCPUS {
            machine.cores.push(machine.core(n as u32, &platform));
        }
        for n in 0..VCPUS {
            let lapic = &mut machine.cores[n].vcpu.lapic;
            if x2apic {
                lapic.set_base(lapic.base() | base_bits::X2APIC, true).unwrap();
                let _ = lapic.write_msr(0x80f, 0x1ff, Ns(0));
            } else {
                let _ = lapic.write_mmio(offset::SVR, 0x1ff, Ns(0));
                let _ = lapic.write_mmio(offset::LDR, 1 << (24 + n), Ns(0));
            }
            msr::map_changed(&machine.vm, &mut machine.cores[n].vcpu);
        }
        (0..VCPUS).for_each(|n| machine.resume(n));
        machine
    }

    fn core(&self, n: u32, platform: &Platform) -> Core {
        let host =
            Host { vendor: *b"AuthenticAMD", signature: 0, brand: [0; 48], physical_bits: 52 };
        let vcpu = Vcpu::new(platform, &host, 1_000_000, n, VCPUS as u32);
        let mut vmcb = Box::new(Vmcb::zeroed());
        vmcb.save.cr3 = 0x1000;
        vmcb.save.rflags = 2 | IF;
        let control = &mut vmcb.control;
        control.intercept_3 = Word3::INTR | Word3::NMI | Word3::HLT | Word3::MSR;
        control.intercept_4 = Word4::VMRUN | Word4::VMMCALL;
        control.nested_control = NestedControl::NP_ENABLE;
        control.v_intr.set_v_intr_masking(true);
        control.msrpm_base = PLAIN_MAP;
        activation::prepare(&self.vm, &vcpu, &mut vmcb);
        let all = Enumeration::of(u32::MAX, u32::MAX);
        let silicon = Silicon::read("zen5", all).unwrap();
        let underneath = Underneath {
            host_id: n as u16,
            physical_bits: 52,
            closed_map: PLAIN_MAP,
            soft_injection: false,
        };
        let model = Model::new(silicon, Knobs::of(&silicon), underneath);
        let place = Place::Preempted;
        Core {
            model,
            vcpu,
            vmcb,
            place,
            kicked: false,
            rung: false,
            handlers: Vec::new(),
            ended: 0,
        }
    }

    /// The run loop's way into the guest.
    fn enter(&mut self, n: usize) {
        loop {
            self.post_office(n);
            let core = &mut self.cores[n];
            self.vm.collect(&mut core.vcpu);
            if core.vcpu.avic.update {
                while !activation::may_update(&self.vm, &self.cores[n].vcpu) {
                    // Whoever is in the guest was kicked, and leaves it now.
                    let leaves = |other: &usize| {
                        let core = &self.cores[*other];
                        *other != n && core.kicked && core.is_in_guest()
                    };
                    let other = (0..VCPUS).find(leaves);
                    self.interrupts(other.expect("nobody leaves the guest: everything hangs"));
                }
                let core = &mut self.cores[n];
                activation::update(&self.vm, &mut core.vcpu, &mut core.vmcb);
            }
            let core = &mut self.cores[n];
            if core.vcpu.lapic.event_request {
                events::evaluate(&mut self.vm, &mut core.vcpu, &mut core.vmcb, &self.ram);
            }
            self.post_office(n);
            self.vm.mailbox(n as u32).set_state(State::Guest);
            if !self.vm.mailbox(n as u32).is_full() && !self.cores[n].vcpu.avic.update {
                break;
            }
            self.vm.mailbox(n as u32).set_state(State::Host);
        }
        let core = &mut self.cores[n];
        core.place = Place::Guest;
        core.model.enter(0x9000, &mut core.vmcb, &self.host).expect("VMRUN refuses the VMCB");
        self.deliver(n);
    }

    /// Kicks and doorbells on their way to other cores.
    fn post_office(&mut self, n: usize) {
        let vcpu = &mut self.cores[n].vcpu;
        let (kicks, bells) =
            (core::mem::take(&mut vcpu.kicks), core::mem::take(&mut vcpu.doorbells));
        for other in 0..VCPUS {
            self.cores[other].kicked |= kicks >> other & 1 != 0;
            self.cores[other].rung |= bells >> other & 1 != 0;
        }
    }

    /// An event that was injected reaches the guest.
    fn deliver(&mut self, n: usize) {
        let core = &mut self.cores[n];
        let event = core::mem::take(&mut core.vmcb.control.event_injection);
        if !event.valid() {
            return;
        }
        let vector = event.vector();
        assert!(core.vmcb.save.rflags & IF != 0, "vector {vector:#x} with IF clear");
        if let Some(&running) = core.handlers.get(core.ended..).and_then(<[u8]>::last) {
            assert!(vector >> 4 > running >> 4, "{vector:#x} over {running:#x}");
        }
        let surplus = &mut self.surplus[n][usize::from(vector)];
        assert!(*surplus > 0, "vector {vector:#x} came to vCPU {n} without being sent, or twice");
        *surplus -= 1;
        self.outstanding[n][usize::from(vector)] = false;
        core.vmcb.save.rflags &= !IF;
        core.handlers.push(vector);
        self.delivered += 1;
    }

    /// A physical trap: what the processor underneath reports.
    fn trap(&mut self, n: usize, code: ExitCode, info_1: u64, info_2: u64) {
        let core = &mut self.cores[n];
        let control = &mut core.vmcb.control;
        (control.exit_code, control.exit_info_1, control.exit_info_2) = (code, info_1, info_2);
        let mut rung = Vec::new();
        let seen = match core
            .model
            .quick(&mut core.vcpu, &mut core.vmcb, &self.host, |id| rung.push(id))
        {
            Some(seen) => seen,
            None => {
                let leaf = Some(Leaf { writable: true, user: true, executable: true });
                let around =
                    Around { guest: &self.ram, memory: &self.host, leaf: || leaf, saved: true };
                core.model.trap(&mut core.vcpu, &mut core.vmcb, &around, |id| rung.push(id))
            }
        };
        rung.into_iter().for_each(|id| self.cores[usize::from(id)].rung = true);
        match seen {
            Seen::Absorbed => self.deliver(n),
            Seen::Halted => self.cores[n].place = Place::Halted,
            Seen::Exit | Seen::Interrupt => self.exit(n),
            other => panic!("{other:?}"),
        }
    }

    /// The run loop's way out: the policy answers, and what comes next is done.
    fn exit(&mut self, n: usize) {
        let core = &mut self.cores[n];
        core.model.leave(&mut core.vmcb);
        self.vm.mailbox(n as u32).left();
        let Handled { next, .. } =
            handle::exit(&mut self.vm, &mut core.vcpu, &mut core.vmcb, &self.ram, 0);
        match next {
            Next::Enter | Next::Interrupt | Next::MapApic => self.enter(n),
            Next::Block => {
                running::put(&self.vm, &mut self.cores[n].vcpu);
                self.cores[n].place = Place::Blocked;
                self.vm.mailbox(n as u32).set_state(State::Host);
                self.wake_if_there_is_reason(n);
            }
            other => panic!("{other:?}"),
        }
    }

    /// What a blocked vCPU's core does when it looks.
    pub fn wake_if_there_is_reason(&mut self, n: usize) {
        self.post_office(n);
        let core = &mut self.cores[n];
        core.kicked = false;
        self.vm.mailbox(n as u32).set_state(State::Host);
        self.vm.collect(&mut core.vcpu);
        if core.vcpu.avic.active {
            trapline_policy::avic::post::flush(self.vm.avic, &mut core.vcpu);
        }
        if handle::wakes(&self.vm, &core.vcpu, &core.vmcb, &self.ram) {
            running::load(&self.vm, &mut core.vcpu, n as u16);
            core.vcpu.lapic.event_request = true;
            self.enter(n);
        } else {
            self.vm.mailbox(n as u32).set_state(State::Asleep);
        }
    }

    /// A physical interrupt of a core that runs its guest.
    fn interrupts(&mut self, n: usize) {
        if self.cores[n].is_in_guest() {
            self.cores[n].kicked = false;
            let control = &mut self.cores[n].vmcb.control;
            (control.exit_code, control.exit_info_1, control.exit_info_2) = (ExitCode::INTR, 0, 0);
            self.exit(n);
        }
    }

    /// What comes before the next instruction: physical interrupt, doorbell, window.
    pub fn boundary(&mut self, n: usize) {
        if self.cores[n].kicked {
            match self.cores[n].place {
                Place::Guest | Place::Halted => self.interrupts(n),
                Place::Blocked => self.wake_if_there_is_reason(n),
                Place::Preempted => {}
            }
        }
        let core = &mut self.cores[n];
        if core.rung && matches!(core.place, Place::Guest | Place::Halted) {
            core.rung = false;
            core.model.rung(&mut core.vmcb, &self.host);
            if core.vmcb.control.event_injection.valid() {
                core.place = Place::Guest;
            }
            self.deliver(n);
        }
        let core = &mut self.cores[n];
        if core.place == Place::Halted && core.model.wakes(&mut core.vmcb, &self.host) {
            core.place = Place::Guest;
            self.deliver(n);
        }
        let core = &self.cores[n];
        let control = &core.vmcb.control;
        let window = control.v_intr.v_irq() && control.intercept_3.contains(Word3::VINTR);
        if core.place == Place::Guest && window && core.vmcb.save.rflags & IF != 0 {
            self.trap(n, ExitCode::VINTR, 0, 0);
        }
    }

    fn write(&mut self, n: usize, register: u16, value: u64) {
        if self.cores[n].place != Place::Guest {
            return;
        }
        let core = &mut self.cores[n];
        core.vmcb.save.rip = 0x5000;
        core.vmcb.save.rax = value & 0xffff_ffff;
        if self.x2apic {
            core.vcpu.gprs.rcx = u64::from(0x800 + (register >> 4));
            core.vcpu.gprs.rdx = value >> 32;
            self.trap(n, ExitCode::MSR, 1, 0);
        } else {
            core.vcpu.gprs.rdx = DEFAULT_BASE + u64::from(register);
            let address = DEFAULT_BASE + u64::from(register);
            self.trap(n, ExitCode::NPF, 1 << 32 | 1 << 2 | 1 << 1, address);
        }
    }

    /// One trap of a store by the instruction at `rip`, to this register of the APIC page.
    pub fn store(&mut self, n: usize, rip: u64, register: u16) -> Seen {
        let core = &mut self.cores[n];
        core.vmcb.save.rip = rip;
        let control = &mut core.vmcb.control;
        control.exit_code = ExitCode::NPF;
        control.exit_info_1 = 1 << 32 | 1 << 2 | 1 << 1;
        control.exit_info_2 = DEFAULT_BASE + u64::from(register);
        let leaf = Some(Leaf { writable: true, user: true, executable: true });
        let around = Around { guest: &self.ram, memory: &self.host, leaf: || leaf, saved: true };
        core.model.trap(&mut core.vcpu, &mut core.vmcb, &around, |_| ())
    }

    /// Sends `vector` to a vCPU, to all others by shorthand, or to itself.
    pub fn send(&mut self, n: usize, to: Option<usize>, vector: u8) {
        if self.cores[n].place != Place::Guest {
            return;
        }
        let targets: Vec<usize> = match to {
            Some(to) => vec![to],
            None => (0..VCPUS).filter(|&other| other != n).collect(),
        };
        let low = u64::from(vector) | if to.is_none() { 3 << 18 } else { 0 };
        let destination = to.unwrap_or(0) as u64;
        for to in targets {
            self.outstanding[to][usize::from(vector)] = true;
            self.surplus[to][usize::from(vector)] += 1;
        }
        if self.x2apic {
            self.write(n, offset::ICR, destination << 32 | low);
        } else {
            self.write(n, offset::ICR_HIGH, destination << 24);
            // An exit in between may have changed where it is, but not what it executes.
            self.boundary(n);
            self.resume(n);
            assert_eq!(self.cores[n].place, Place::Guest);
            self.write(n, offset::ICR, low);
        }
    }

    /// The innermost handler writes its EOI, or executes its IRET.
    pub fn end_handler(&mut self, n: usize) {
        let core = &mut self.cores[n];
        if core.place != Place::Guest || core.handlers.is_empty() {
            return;
        }
        if core.ended < core.handlers.len() && core.vmcb.save.rflags & IF == 0 {
            core.handlers.pop();
            self.write(n, offset::EOI, 0);
            let core = &mut self.cores[n];
            core.vmcb.save.rflags |= IF;
        }
    }

    pub fn set_interrupts(&mut self, n: usize, on: bool) {
        let core = &mut self.cores[n];
        if core.place == Place::Guest && core.handlers.is_empty() {
            core.vmcb.save.rflags = if on { 2 | IF } else { 2 };
        }
    }

    pub fn halt(&mut self, n: usize) {
        let core = &mut self.cores[n];
        if core.place == Place::Guest && core.handlers.is_empty() {
            core.vmcb.save.rflags |= IF;
            // STI; HLT: nothing comes in between.
            core.vmcb.control.interrupt_shadow = 1;
            self.trap(n, ExitCode::HLT, 0, 0);
        }
    }

    pub fn preempt(&mut self, n: usize) {
        if matches!(self.cores[n].place, Place::Guest | Place::Halted) {
            let core = &mut self.cores[n];
            core.model.leave(&mut core.vmcb);
            self.vm.mailbox(n as u32).left();
            running::put(&self.vm, &mut core.vcpu);
            core.place = Place::Preempted;
        }
    }

    pub fn resume(&mut self, n: usize) {
        match self.cores[n].place {
            Place::Preempted => {
                running::load(&self.vm, &mut self.cores[n].vcpu, n as u16);
                self.enter(n);
            }
            // A sleeping core looks when it is kicked.
            Place::Blocked | Place::Guest | Place::Halted => {}
        }
    }

    /// A vCPU's hypervisor thread sets or clears a reason, as at an exit.
    pub fn inhibit(&mut self, n: usize, on: bool) {
        if self.cores[n].place == Place::Guest {
            let core = &mut self.cores[n];
            core.model.leave(&mut core.vmcb);
            self.vm.mailbox(n as u32).left();
            inhibits::change(&self.vm, &mut core.vcpu, Reason::PitReinject, on);
            self.enter(n);
        }
    }
}
