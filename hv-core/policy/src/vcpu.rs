//! A vCPU, as far as the policy knows it. The rest of it is in its VMCB.

use crate::avic::VcpuAvic;
use crate::cpuid::{self, CpuidTable, Host};
use crate::decode::Decoder;
use crate::events::Events;
use crate::gprs::Gprs;
use crate::hyperv::{Assist, Partition, ReferenceClock, Runtime, Synic, Timers, expiry};
use crate::inhibit::Inhibits;
use crate::kvm::KvmVcpu;
use crate::laboratory::Laboratory;
use crate::lapic::{Lapic, TscClock, Vectors};
use crate::memory::GuestMemory;
use crate::pv_eoi::PvEoi;
use crate::time::Ns;
use crate::vm::GuestClock;
use crate::xen::hypercall_page;
use trapline_abi::machine::Machine;

/// MSRs that are neither in the VMCB nor a device's.
#[derive(Clone, Copy, Debug)]
pub struct PlainMsrs {
    /// IA32_MISC_ENABLE.
    pub misc_enable: u64,
}

/// One vCPU.
#[derive(Debug)]
pub struct Vcpu {
    /// Which of the VM's vCPUs it is: its APIC id and VP index.
    pub index: u32,
    /// vCPUs whose cores have to be kicked before it goes on, one bit each.
    pub kicks: u32,
    /// vCPUs whose cores have to be rung (AVIC's doorbell) before it goes on, one bit each.
    pub doorbells: u32,
    /// It waits for a SIPI after INIT.
    pub waits_for_sipi: bool,
    /// How often a SIPI started it.
    pub starts: u32,
    /// CPUID leaf 1 EAX, which INIT leaves in RDX.
    pub signature: u32,
    /// Its registers, which the world switch loads and saves.
    pub gprs: Gprs,
    /// Its local APIC.
    pub lapic: Lapic,
    /// The guest-physical address of its APIC page; [`Vcpu::NO_PAGE`] unless in xAPIC mode.
    pub apic_page: u64,
    /// Its events outside the APIC.
    pub events: Events,
    /// The next exit has something to take over or back (see `events::settle`).
    pub attention: bool,
    /// A deadline of it or of the VM may have moved: arm the host's timer again.
    pub rearm: bool,
    /// The APIC timer's deadline when the host's timer was armed last.
    pub armed: Ns,
    /// Its SynIC.
    pub synic: Synic,
    /// Its synthetic timers.
    pub stimers: Timers,
    /// Messages for its ports may be delivered (see `hyperv::delivery`).
    pub messages_due: bool,
    /// Vectors after whose EOI a message slot may be empty that something waits for.
    pub eoi_awaited: Vectors,
    /// Where it wants Xen's hypercall page, until that is written.
    pub hypercall_page: Option<u64>,
    /// Its paravirtual EOI.
    pub pv_eoi: PvEoi,
    /// The rest of KVM's interface.
    pub kvm: KvmVcpu,
    /// Its VP assist page.
    pub assist: Assist,
    /// How long it ran.
    pub runtime: Runtime,
    /// Its CPUID answers.
    pub cpuid: CpuidTable,
    /// Its instruction decoder.
    pub decoder: Decoder,
    /// Its other MSRs.
    pub msrs: PlainMsrs,
    /// What it keeps for AVIC.
    pub avic: VcpuAvic,
    /// Its laboratory.
    pub laboratory: Laboratory,
}

impl Vcpu {
    /// No page has this address.
    pub const NO_PAGE: u64 = u64::MAX;

    /// A vCPU after power-on. `index` is its APIC id and VP index.
    pub fn new(machine: &Machine, host: &Host, tsc_khz: u32, index: u32, count: u32) -> Self {
        let mut lapic = Lapic::new(index, index == 0);
        lapic.set_tsc_clock(TscClock { khz: tsc_khz, offset: 0 });
        lapic.offer_tsc_deadline(machine.tsc_deadline);
        lapic.physical_address_bits = host.physical_bits;
        // The CR8 intercept of a new vCPU holds until the first evaluation (rule CR8-1).
        lapic.event_request = true;
        Self {
            index,
            kicks: 0,
            doorbells: 0,
            waits_for_sipi: index != 0,
            starts: 0,
            signature: host.signature,
            gprs: Gprs::default(),
            apic_page: lapic.base_address(),
            lapic,
            events: Events::default(),
            // The first entry flushes the TLB.
            attention: true,
            rearm: true,
            armed: Ns::NEVER,
            synic: Synic::new(index),
            stimers: Timers::new(ReferenceClock::new(tsc_khz)),
            messages_due: false,
            eoi_awaited: Vectors::EMPTY,
            hypercall_page: None,
            pv_eoi: PvEoi::new(),
            kvm: KvmVcpu::new(),
            assist: Assist::default(),
            runtime: Runtime::default(),
            cpuid: CpuidTable::new(machine, host, cpuid::Vcpu { apic_id: index, count, tsc_khz }),
            decoder: Decoder::new(),
            msrs: PlainMsrs { misc_enable: 1 },
            avic: VcpuAvic { update: true, ..VcpuAvic::default() },
            laboratory: Laboratory::default(),
        }
    }

    /// When its timers, that of the local APIC and the synthetic ones, have something to do next.
    #[inline(always)]
    pub fn next_deadline(&self) -> Ns {
        self.lapic.next_deadline().min(self.stimers.next_deadline())
    }

    /// Lets its timers expire whose time has come at `now`.
    #[inline]
    pub fn advance<M: GuestMemory>(&mut self, memory: &M, now: Ns) {
        self.lapic.advance(now);
        self.expire_stimers(memory, now);
    }

    /// Lets the synthetic ones expire.
    #[inline]
    pub fn expire_stimers<M: GuestMemory>(&mut self, memory: &M, now: Ns) {
        if self.stimers.next_deadline() <= now {
            expiry::expire(&mut self.stimers, &self.synic, &mut self.lapic, memory, now);
            self.await_eois();
        }
    }

    /// Timers that wait for a slot try again after the EOI of its SINT.
    fn await_eois(&mut self) {
        let waiting = self.stimers.waiting();
        for sint in (0..16).filter(|sint| waiting >> sint & 1 != 0) {
            if let Some(vector) = self.synic.vector(sint) {
                self.await_eoi(vector);
            }
        }
    }

    /// Says whose EOIs are wanted: by the IOAPIC these, and those that are awaited.
    pub fn want_eois(&mut self, by_ioapic: Vectors) {
        self.lapic.set_ioapic_handled(by_ioapic);
        let mut awaited = self.eoi_awaited;
        while let Some(vector) = awaited.highest() {
            awaited.remove(vector);
            self.lapic.want_eoi(vector);
        }
    }

    /// The next EOI of that vector is a reason to try again. As long as it is awaited it is not skipped by a
    /// paravirtual EOI, which KVM would still offer; KVM sees that EOI at the next exit.
    pub fn await_eoi(&mut self, vector: u8) {
        self.eoi_awaited.insert(vector);
        self.lapic.want_eoi(vector);
    }

    /// After an exit that asked for it by [`Vcpu::rearm`]: what the guest gets by memory before it goes on, its
    /// reference TSC page, its clock of KVM's, Xen's hypercall page, and timers that are due at `now`.
    #[inline]
    pub fn tell<M: GuestMemory>(&mut self, memory: &M, now: Ns) {
        if let Some(page) = self.stimers.page.take() {
            self.stimers.clock.publish(memory, page);
        }
        if self.kvm.is_pending() {
            let khz = (self.stimers.clock.tsc_hz() / 1000) as u32;
            self.kvm.tell(memory, GuestClock { offset: 0, khz }, now);
        }
        if let Some(page) = self.hypercall_page.take() {
            hypercall_page::write(memory, page);
        }
        self.expire_stimers(memory, now);
    }

    /// Remembers to kick a vCPU's core, if that is necessary.
    #[inline]
    pub fn kick_if(&mut self, index: u32, necessary: bool) {
        if necessary {
            self.kicks |= 1 << index;
            self.rearm = true;
        }
    }

    /// INIT: the registers, the APIC and the events are as after reset; a SIPI goes on from there.
    /// SynIC and the like stay, as under KVM. Its VMCB is the caller's to reset.
    pub fn init(&mut self) {
        self.lapic.reset();
        self.pv_eoi.reset();
        self.kvm.init();
        self.gprs = Gprs { rdx: u64::from(self.signature), ..Gprs::default() };
        self.attention = true;
        let injections = self.events.injections;
        self.events = Events::default();
        self.events.injections = injections;
        self.waits_for_sipi = true;
        self.rearm = true;
    }

    /// Its halt ends, the one that it is in or else the next one, whatever interrupts are open (KVM's
    /// `pv_unhalted`).
    pub fn unhalt(&mut self) {
        self.kvm.unhalted = true;
        self.lapic.event_request = true;
    }

    /// VM reset of what it has of Hyper-V. The VM's part is [`Partition::reset`].
    ///
    /// [`Partition::reset`]: crate::hyperv::Partition::reset
    pub fn reset_hyperv(&mut self, partition: &mut Partition, inhibits: &mut Inhibits) {
        self.synic.reset(partition, inhibits);
        self.stimers.reset();
        self.assist.reset(&mut self.pv_eoi);
    }

    /// An NMI arrives.
    pub fn nmi(&mut self) {
        self.events.nmi();
        self.lapic.event_request = true;
    }
}
