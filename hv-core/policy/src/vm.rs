//! What the vCPUs of a VM have in common.
//!
//! Facts that never change are copied into each core's [`Vm`], so that the exit path reads its own
//! memory; devices are behind one lock in [`Shared`], and vCPUs reach each other by mailboxes.

mod clocks;

use crate::avic::features::Features;
use crate::avic::inhibits;
use crate::avic::post;
use crate::avic::tables::Tables;
use crate::hpet::Hpet;
use crate::hyperv::ports::{Port, Ports};
use crate::hyperv::{DecrementRule, Partition, delivery};
use crate::inhibit::{Inhibits, Reason};
use crate::ioapic::Ioapic;
use crate::lapic::{Delivery, Eoi, Message};
use crate::mailbox::{Letters, Mailbox};
use crate::pic::Pic;
use crate::pit::Pit;
use crate::rtc::{Date, Rtc};
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::xen::Domain;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use spin::{Mutex, MutexGuard};
use trapline_abi::machine::{Kvm, Machine};
use trapline_abi::plan::Seed;
use trapline_defs::apic::{Icr, offset};

/// vCPUs that a VM can have.
pub const MAX_VCPUS: usize = 16;

/// The RTC's interrupt line, on PIC and IOAPIC alike.
const RTC_IRQ: u8 = 8;

/// A VM's devices.
#[derive(Debug)]
pub struct Devices {
    /// The 8259 pair.
    pub pic: Pic,
    /// The IOAPIC.
    pub ioapic: Ioapic,
    /// The CMOS clock.
    pub rtc: Rtc,
    /// The interval timer.
    pub pit: Pit,
    /// The HPET.
    pub hpet: Hpet,
    /// When PIT or HPET have something to do next.
    clock_deadline: Ns,
    /// Hyper-V's partition.
    pub partition: Partition,
    /// Messages on their way to it.
    pub ports: Ports,
    /// Why AVIC is off.
    pub inhibits: Inhibits,
    /// KVM's wall clock MSR, which a VM has once.
    pub wall_clock: u64,
}

/// What a VM has once.
#[derive(Debug)]
pub struct Shared {
    devices: Mutex<Devices>,
    /// What evaluations have to look at beside the local APIC; see [`beside`].
    beside_apic: AtomicU32,
    /// The devices' next deadline in nanoseconds of guest time.
    deadline: AtomicU64,
    mailboxes: [Mailbox; MAX_VCPUS],
    xen: Domain,
}

/// Why an evaluation of events has to look further than the local APIC: bits of one word, so that the
/// others find out by one look.
pub mod beside {
    /// The PIC's output.
    pub const PIC: u32 = 1 << 0;
    /// Xen's global callback has a vector: it waits as long as a flag in guest memory is set.
    pub const CALLBACK: u32 = 1 << 1;
    /// The policy decides as Xen does.
    pub const XEN_POLICY: u32 = 1 << 2;
}

/// A VM, as one core sees it.
#[derive(Clone, Copy, Debug)]
pub struct Vm<'s> {
    /// The machine that its CPUID describes.
    pub machine: Machine,
    /// A fault put in on purpose.
    pub seed: Option<Seed>,
    /// Guest RAM in bytes.
    pub memory: u64,
    /// Where guest time stands.
    pub clock: GuestClock,
    /// The processor is QEMU's TCG, which needs interrupts injected as software events
    /// (docs/tcg.md T24).
    pub soft_injection: bool,
    /// How many vCPUs it has.
    pub vcpus: u32,
    /// Features of the processor that it uses.
    pub features: Features,
    /// MSR permission maps.
    pub permissions: Permissions,
    /// AVIC's tables.
    pub avic: &'s Tables,
    shared: &'s Shared,
}

/// Physical addresses of MSR permission maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Permissions {
    /// Without x2AVIC: every x2APIC MSR exits.
    pub plain: u64,
    /// With x2AVIC: see [`crate::msr::x2avic_passes`].
    pub x2avic: u64,
}

/// Guest time from the host's TSC.
#[derive(Clone, Copy, Debug)]
pub struct GuestClock {
    /// Added to the host's TSC it is the guest's (VMCB 050h): 0 ticks at the scenario's start.
    pub offset: u64,
    /// TSC frequency in kHz.
    pub khz: u32,
}

impl GuestClock {
    /// Guest time at a host TSC.
    #[inline]
    pub fn at(&self, tsc: u64) -> Ns {
        let ticks = tsc.wrapping_add(self.offset);
        if self.khz == 1_000_000 {
            return Ns(ticks);
        }
        Ns((u128::from(ticks) * 1_000_000 / u128::from(self.khz)) as u64)
    }

    /// Host TSC ticks in `nanoseconds`, rounded up: a deadline is never met too early.
    #[inline]
    pub fn ticks(&self, nanoseconds: u64) -> u64 {
        if self.khz == 1_000_000 {
            return nanoseconds;
        }
        let ticks = (u128::from(nanoseconds) * u128::from(self.khz)).div_ceil(1_000_000);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

impl Devices {
    fn new(machine: &Machine, seed: Option<Seed>, memory: u64) -> Self {
        let mut partition = Partition::new(machine.hyperv, memory);
        partition.beside_xen = machine.xen;
        if seed == Some(Seed::AutoEoiDecrement) {
            partition.decrement = DecrementRule::IncrementConditionAgain;
        }
        let mut rtc = Rtc::new(Date::START);
        rtc.keep_c = seed == Some(Seed::RtcKeepsC);
        rtc.good = machine.rtc_good;
        let mut ioapic = Ioapic::new();
        ioapic.watches_pit = machine.pit_reinject;
        Self {
            pic: Pic::new(),
            ioapic,
            rtc,
            pit: Pit::new(machine.pit_reinject),
            hpet: Hpet::new(),
            clock_deadline: Ns::NEVER,
            partition,
            ports: Ports::new(),
            // Until somebody says that AVIC is used.
            inhibits: Inhibits::new(Reason::Disabled.bit()),
            wall_clock: 0,
        }
    }
}

impl Shared {
    /// A VM's shared part after power-on.
    pub fn new(machine: &Machine, seed: Option<Seed>, memory: u64) -> Self {
        Self {
            devices: Mutex::new(Devices::new(machine, seed, memory)),
            beside_apic: AtomicU32::new(0),
            deadline: AtomicU64::new(Ns::NEVER.0),
            mailboxes: [const { Mailbox::new() }; MAX_VCPUS],
            xen: Domain::new(),
        }
    }

    fn set_beside(&self, what: u32, on: bool) {
        if on {
            self.beside_apic.fetch_or(what, SeqCst);
        } else {
            self.beside_apic.fetch_and(!what, SeqCst);
        }
    }

    /// The devices. Held for one access only.
    pub fn devices(&self) -> MutexGuard<'_, Devices> {
        self.devices.lock()
    }

    /// A vCPU's mailbox.
    pub fn mailbox(&self, vcpu: u32) -> &Mailbox {
        &self.mailboxes[vcpu as usize % MAX_VCPUS]
    }
}

impl<'s> Vm<'s> {
    /// A core's view of a VM.
    pub fn new(
        shared: &'s Shared,
        avic: &'s Tables,
        machine: Machine,
        seed: Option<Seed>,
        memory: u64,
        clock: GuestClock,
        vcpus: u32,
    ) -> Self {
        Self {
            machine,
            seed,
            memory,
            clock,
            soft_injection: false,
            vcpus,
            features: Features::default(),
            permissions: Permissions::default(),
            avic,
            shared,
        }
    }

    /// Uses these features, and makes the tables ready; before any vCPU is made.
    pub fn use_features(&mut self, features: Features) {
        self.features = features;
        self.avic.reset(self.vcpus);
        self.devices().partition.follow(features.release);
        self.shared.set_beside(beside::XEN_POLICY, features.xen);
        inhibits::start(self);
    }

    /// Tells a vCPU under AVIC that something was posted for it: its processor if it runs, its core if
    /// that sleeps. Whoever is about to enter the guest looks by itself (AVH-011).
    pub fn notify(&self, vcpu: &mut Vcpu, index: u32) {
        let mailbox = self.mailbox(index);
        if mailbox.in_guest() {
            vcpu.doorbells |= 1 << index;
            vcpu.rearm = true;
        } else {
            vcpu.kick_if(index, mailbox.wake());
        }
    }

    /// Whether this hypervisor serves a part of KVM's interface. Xen has none of its own accord.
    pub fn serves(&self, what: Kvm) -> bool {
        let kvm = self.machine.kvm;
        if self.features.release.xen_rfc { kvm.contains(what) } else { kvm.serves(what) }
    }

    /// The devices. Held for one access only; no guest instruction runs meanwhile.
    pub fn devices(&self) -> MutexGuard<'s, Devices> {
        self.shared.devices.lock()
    }

    /// A vCPU's mailbox.
    pub fn mailbox(&self, vcpu: u32) -> &'s Mailbox {
        self.shared.mailbox(vcpu)
    }

    /// What evaluations have to look at beside the local APIC; see [`beside`].
    #[inline]
    pub fn beside_apic(&self) -> u32 {
        self.shared.beside_apic.load(SeqCst)
    }

    /// Whether the PIC wants something.
    #[inline]
    pub fn pic_output(&self) -> bool {
        self.beside_apic() & beside::PIC != 0
    }

    /// The VM as Xen's domain.
    pub fn xen(&self) -> &'s Domain {
        &self.shared.xen
    }

    /// Whether Xen's global callback has a vector.
    pub fn set_callback_in_use(&self, used: bool) {
        self.shared.set_beside(beside::CALLBACK, used);
    }

    /// An edge-triggered interrupt of the hypervisor's own for a vCPU's local APIC.
    pub fn interrupt(&self, vcpu: &mut Vcpu, index: u32, vector: u8) {
        if index == vcpu.index {
            vcpu.lapic.accept(vector, false);
        } else {
            self.hand_over(vcpu, index, Delivery::Interrupt { vector, level: false });
        }
    }

    /// An NMI of the hypervisor's own for a vCPU.
    pub fn nmi(&self, vcpu: &mut Vcpu, index: u32) {
        self.hand_over(vcpu, index, Delivery::Nmi);
    }

    /// Makes a vCPU look for events before it goes on in the guest, wherever it is.
    pub fn ask_to_evaluate(&self, vcpu: &mut Vcpu, index: u32) {
        if index == vcpu.index {
            vcpu.lapic.event_request = true;
        } else {
            vcpu.kick_if(index, self.mailbox(index).put_evaluate());
        }
    }

    /// When [`Vm::advance`] has something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Ns {
        Ns(self.shared.deadline.load(SeqCst))
    }

    /// Uses the devices at guest time `now`: what is due happens first, and what changed by the use
    /// is carried to those whom it concerns.
    pub fn with_devices<T>(
        &self,
        vcpu: &mut Vcpu,
        now: Ns,
        use_: impl FnOnce(&mut Devices) -> T,
    ) -> T {
        let mut devices = self.devices();
        devices.rtc.advance(now);
        self.carry_rtc_line(vcpu, &mut devices);
        let result = use_(&mut devices);
        self.carry_rtc_line(vcpu, &mut devices);
        self.carry_pic_output(vcpu, &mut devices);
        self.set_deadline(vcpu, &devices);
        result
    }

    fn set_deadline(&self, vcpu: &mut Vcpu, devices: &Devices) {
        let deadline = devices.rtc.next_deadline().min(devices.clock_deadline);
        if self.shared.deadline.swap(deadline.0, SeqCst) != deadline.0 {
            // The bootstrap vCPU's core keeps the devices' time.
            if vcpu.index == 0 {
                vcpu.rearm = true;
            } else {
                vcpu.kick_if(0, self.mailbox(0).put_look());
            }
        }
    }

    /// Lets the devices' time pass.
    pub fn advance(&self, vcpu: &mut Vcpu, now: Ns) {
        if now >= self.next_deadline() {
            self.with_devices(vcpu, now, |_| ());
            self.with_clocks(vcpu, now, |_| ());
        }
    }

    #[inline(always)]
    fn carry_rtc_line(&self, vcpu: &mut Vcpu, devices: &mut Devices) {
        let level = devices.rtc.irq();
        if devices.rtc.take_tick() {
            devices.pic.set_line(RTC_IRQ, false);
            _ = devices.ioapic.set_line(RTC_IRQ, false);
        }
        devices.pic.set_line(RTC_IRQ, level);
        if level && self.features.avic {
            self.catch_up_eoi(vcpu, &mut devices.ioapic);
        }
        if let Some(message) = devices.ioapic.set_line(RTC_IRQ, level) {
            self.deliver(vcpu, &mut devices.ioapic, message);
        }
        self.carry_pic_output(vcpu, devices);
    }

    /// Under AVIC the EOI of an edge is invisible: KVM looks for it when the next edge comes (Linux 6.12
    /// ioapic_lazy_update_eoi; corrections RTC-P).
    #[cold]
    fn catch_up_eoi(&self, vcpu: &Vcpu, ioapic: &mut Ioapic) {
        let Some(vector) = ioapic.rtc_awaits() else { return };
        let is_outstanding = |index| {
            if self.avic.is_active(index) {
                let page = self.avic.page(index);
                page.vectors(offset::IRR).has(vector) || page.vectors(offset::ISR).has(vector)
            } else {
                index == vcpu.index && vcpu.lapic.eoi_outstanding(vector)
            }
        };
        if !vcpu.lapic.is_posted(vector) && !(0..self.vcpus).any(is_outstanding) {
            ioapic.rtc_ended(vector);
        }
    }

    /// The PIC's output rose: the bootstrap vCPU looks at it if its LINT0 is open, and so does the one
    /// that made it rise. Nobody else is told: guests route the PIC to the bootstrap vCPU or nowhere.
    fn carry_pic_output(&self, vcpu: &mut Vcpu, devices: &mut Devices) {
        self.shared.set_beside(beside::PIC, devices.pic.output());
        if !core::mem::take(&mut devices.pic.event_request) {
            return;
        }
        vcpu.lapic.event_request |= vcpu.lapic.accepts_pic();
        if vcpu.index != 0 {
            vcpu.kick_if(0, self.mailbox(0).put_look());
        }
    }

    /// The PIC's vector, taken by the vCPU that injects it.
    pub fn acknowledge_pic(&self) -> u8 {
        let mut devices = self.devices();
        let vector = devices.pic.acknowledge();
        // Whoever injects looks at the output again by itself.
        devices.pic.event_request = false;
        self.shared.set_beside(beside::PIC, devices.pic.output());
        vector
    }

    /// Hands an IOAPIC's message to the vCPUs that it is for.
    pub fn deliver(&self, vcpu: &mut Vcpu, ioapic: &mut Ioapic, message: Message) {
        let mut accepted = false;
        for index in 0..self.vcpus {
            let delivery = if index == vcpu.index {
                vcpu.lapic.receive_message(message)
            } else {
                let identity = self.mailbox(index).identity();
                // An APIC that software turned off takes no interrupt, and the IOAPIC is told so.
                match Delivery::of_message(message) {
                    _ if !identity.targeted_by(message) => Delivery::None,
                    Delivery::Interrupt { .. } if !identity.software_enabled() => Delivery::None,
                    delivery => delivery,
                }
            };
            accepted |= delivery != Delivery::None;
            self.hand_over(vcpu, index, delivery);
        }
        if !accepted {
            ioapic.refused();
        }
    }

    /// Sends an IPI. Its own part is done at once; what it has to do itself is returned.
    #[inline]
    pub fn send_ipi(&self, vcpu: &mut Vcpu, icr: Icr) -> Delivery {
        let own = vcpu.lapic.receive_own(icr);
        if self.vcpus > 1 {
            self.send_to_peers(vcpu, icr);
        }
        own
    }

    /// Sends a fixed, edge-triggered interrupt to one vCPU, itself included, whatever the APICs' modes and
    /// ids. An APIC that is off takes none.
    #[cold]
    pub fn send_fixed(&self, vcpu: &mut Vcpu, index: u32, vector: u8) {
        if index == vcpu.index {
            vcpu.lapic.accept(vector, false);
        } else if self.mailbox(index).identity().accepts_fixed() {
            self.hand_over(vcpu, index, Delivery::Interrupt { vector, level: false });
        }
    }

    /// Lets a port's vCPU know that a message waits there.
    #[cold]
    pub fn announce_message(&self, vcpu: &mut Vcpu, port: Port) {
        if port.vcpu == vcpu.index {
            vcpu.messages_due = true;
            vcpu.rearm = true;
        } else {
            vcpu.kick_if(port.vcpu, self.mailbox(port.vcpu).put_messages());
        }
    }

    #[inline(never)]
    fn send_to_peers(&self, vcpu: &mut Vcpu, icr: Icr) {
        let own = vcpu.index;
        for index in (0..self.vcpus).filter(|&index| index != own) {
            if self.mailbox(index).identity().targeted_by_peer(icr) {
                self.hand_over(vcpu, index, Delivery::of(icr));
            }
        }
    }

    /// Hands a delivery to one vCPU, of which the caller knows that it is a target: whether its APIC
    /// accepts it, as KVM counts that (Linux 6.12 `__apic_accept_irq`). An INIT for the own vCPU is the
    /// caller's to carry out.
    pub fn deliver_to(&self, vcpu: &mut Vcpu, index: u32, delivery: Delivery) -> bool {
        let accepted = match delivery {
            Delivery::None | Delivery::Smi | Delivery::ExtInt => false,
            _ if index == vcpu.index => vcpu.lapic.take(delivery) != Delivery::None,
            Delivery::Interrupt { .. } => self.mailbox(index).identity().software_enabled(),
            _ => true,
        };
        if accepted {
            self.hand_over(vcpu, index, delivery);
        }
        accepted
    }

    /// What a delivery means beyond an APIC that has already taken it: for the own vCPU an NMI or
    /// an unhalt; for another one everything, by its mailbox.
    fn hand_over(&self, vcpu: &mut Vcpu, index: u32, delivery: Delivery) {
        if index != vcpu.index {
            if let Delivery::Interrupt { vector, level } = delivery
                && self.features.avic
                && post::post(self.avic, index, vector, level)
            {
                return self.notify(vcpu, index);
            }
            let is_lost =
                self.seed == Some(Seed::KickLost) && matches!(delivery, Delivery::Interrupt { .. });
            vcpu.kick_if(index, self.mailbox(index).put(delivery) && !is_lost);
        } else if delivery == Delivery::Nmi {
            vcpu.nmi();
        } else if delivery == Delivery::Unhalt {
            vcpu.unhalt();
        }
    }

    /// Tells every other vCPU that the IOAPIC's entries changed.
    pub fn announce_entries(&self, vcpu: &mut Vcpu) {
        let own = vcpu.index;
        for index in (0..self.vcpus).filter(|&index| index != own) {
            vcpu.kick_if(index, self.mailbox(index).put_look());
        }
    }

    /// Takes over what others left for the vCPU. An INIT or a SIPI is the caller's to carry out.
    #[cold]
    pub fn collect(&self, vcpu: &mut Vcpu) -> Letters {
        let letters = self.mailbox(vcpu.index).take(|vector, level| {
            vcpu.lapic.accept(vector, level);
        });
        for _ in 0..letters.nmis {
            vcpu.nmi();
        }
        if letters.unhalt {
            vcpu.unhalt();
        }
        if letters.update {
            (vcpu.avic.update, vcpu.avic.together) = (true, true);
        }
        vcpu.messages_due |= letters.messages;
        vcpu.lapic.event_request |= letters.evaluate;
        if letters.look {
            vcpu.rearm = true;
            crate::msr::map_changed(self, vcpu);
            vcpu.lapic.event_request |= self.pic_output() && vcpu.lapic.accepts_pic();
        }
        letters
    }

    /// Passes an EOI on to the IOAPIC, and to what waits for an empty message slot.
    #[inline(never)]
    pub fn end_of_interrupt(&self, vcpu: &mut Vcpu, eoi: Eoi) {
        if eoi.ioapic {
            let mut devices = self.devices();
            let mut next = devices.ioapic.eoi(eoi.vector, eoi.level);
            while let Some(message) = next {
                self.deliver(vcpu, &mut devices.ioapic, message);
                next = devices.ioapic.next_resend();
            }
            if vcpu.eoi_awaited.has(eoi.vector) {
                vcpu.eoi_awaited.remove(eoi.vector);
                vcpu.want_eois(devices.ioapic.handled_by(&vcpu.lapic));
                delivery::end_of_interrupt(vcpu, eoi.vector);
            }
            if self.machine.pit_reinject {
                self.tell_pit_in(vcpu, &mut devices);
            }
        }
    }
}
