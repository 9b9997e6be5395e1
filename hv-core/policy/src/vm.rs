//! What the vCPUs of a VM share.

use crate::hyperv::{DecrementRule, Partition};
use crate::inhibit::{Inhibits, Reason};
use crate::ioapic::Ioapic;
use crate::lapic::{Delivery, Eoi, Message};
use crate::pic::Pic;
use crate::rtc::{Date, Rtc};
use crate::time::Ns;
use crate::vcpu::Vcpu;
use trapline_abi::plan::{Machine, Seed};

/// The RTC's interrupt line, on PIC and IOAPIC alike.
const RTC_IRQ: u8 = 8;

/// A VM.
#[derive(Debug)]
pub struct Vm {
    /// The machine that its CPUID describes.
    pub machine: Machine,
    /// A fault put in on purpose.
    pub seed: Option<Seed>,
    /// The 8259 pair.
    pub pic: Pic,
    /// The IOAPIC.
    pub ioapic: Ioapic,
    /// The CMOS clock.
    pub rtc: Rtc,
    /// Hyper-V's partition.
    pub partition: Partition,
    /// Why AVIC is off.
    pub inhibits: Inhibits,
    /// Guest RAM in bytes.
    pub memory: u64,
    /// Where guest time stands.
    pub clock: GuestClock,
    /// The processor is QEMU's TCG, which needs interrupts injected as software events
    /// (docs/tcg.md T24).
    pub soft_injection: bool,
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

impl Vm {
    /// A VM after power-on.
    pub fn new(machine: Machine, seed: Option<Seed>, memory: u64, clock: GuestClock) -> Self {
        let mut partition = Partition::new(machine.hyperv, memory);
        if seed == Some(Seed::AutoEoiDecrement) {
            partition.decrement = DecrementRule::IncrementConditionAgain;
        }
        let mut rtc = Rtc::new(Date::START);
        rtc.keep_c = seed == Some(Seed::RtcKeepsC);
        Self {
            machine,
            seed,
            pic: Pic::new(),
            ioapic: Ioapic::new(),
            rtc,
            partition,
            // The described processor has no AVIC.
            inhibits: Inhibits::new(Reason::Disabled.bit()),
            memory,
            clock,
            soft_injection: false,
        }
    }

    /// When [`Vm::advance`] has something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Ns {
        self.rtc.next_deadline()
    }

    /// Lets the devices' time pass.
    pub fn advance(&mut self, vcpu: &mut Vcpu, now: Ns) {
        self.rtc.advance(now);
        self.update_rtc_line(vcpu);
    }

    /// Carries the RTC's line to PIC and IOAPIC.
    pub fn update_rtc_line(&mut self, vcpu: &mut Vcpu) {
        let level = self.rtc.irq();
        self.pic.set_line(RTC_IRQ, level);
        self.take_pic_request(vcpu);
        if let Some(message) = self.ioapic.set_line(RTC_IRQ, level) {
            self.deliver(vcpu, message);
        }
    }

    /// The PIC's output rose: the vCPU looks at it if its LINT0 is open.
    pub fn take_pic_request(&mut self, vcpu: &mut Vcpu) {
        let asked = core::mem::take(&mut self.pic.event_request);
        vcpu.lapic.event_request |= asked && vcpu.lapic.accepts_pic();
    }

    /// Hands an IOAPIC's message to the vCPU, if it is for it.
    pub fn deliver(&mut self, vcpu: &mut Vcpu, message: Message) {
        match vcpu.lapic.receive_message(message) {
            Delivery::None => self.ioapic.refused(),
            delivery => Self::receive(vcpu, delivery),
        }
    }

    /// What a vCPU does about a delivery beyond its APIC. INIT, SIPI, SMI and the rest have no
    /// effect here: KVM drops an SMI without SMM and a SIPI to a running vCPU, and an INIT of the
    /// only vCPU is answered by the caller.
    pub fn receive(vcpu: &mut Vcpu, delivery: Delivery) {
        if delivery == Delivery::Nmi {
            vcpu.events.nmi();
            vcpu.lapic.event_request = true;
        }
    }

    /// Passes an EOI on to the IOAPIC.
    pub fn end_of_interrupt(&mut self, vcpu: &mut Vcpu, eoi: Eoi) {
        if eoi.ioapic {
            let mut next = self.ioapic.eoi(eoi.vector);
            while let Some(message) = next {
                self.deliver(vcpu, message);
                next = self.ioapic.next_resend();
            }
        }
    }
}
