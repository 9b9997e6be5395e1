//! The laboratory's side of an exit: keep it, and let the guest go on behind it.
//!
//! See [`trapline_abi::laboratory`]. Nothing is emulated: a register that an exit leaves undone stays
//! undone.

use crate::handle::{self, Handled, Next, Stop};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use trapline_abi::exit::{self, ExitKey};
use trapline_abi::laboratory::{EXITS, MEANWHILE_AGAIN, MEANWHILE_NMI, Part};
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::Word3;
use trapline_defs::msr::{X2APIC_FIRST, X2APIC_LAST};
use trapline_defs::vmcb::{ControlArea, TlbControl, Vmcb};

/// One exit that was kept.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    parts: [u64; 8],
}

/// A vCPU's laboratory.
#[derive(Clone, Debug)]
pub struct Laboratory {
    exits: [Kept; EXITS],
    count: u64,
    /// The control area of the last VMRUN that worked: what a refused one goes back to.
    good: Option<ControlArea>,
    engaged: bool,
    /// Host TSC at which the payload wants a physical interrupt.
    pub deadline: u64,
    /// What becomes pending at the next exit that is kept ([`Field::Meanwhile`]).
    ///
    /// [`Field::Meanwhile`]: trapline_abi::laboratory::Field::Meanwhile
    pub meanwhile: u64,
    /// A vector that is to be requested before the next VMRUN.
    pub request: Option<u8>,
    /// Clean bits of the VMRUN after each call.
    pub clean: u32,
}

impl Default for Laboratory {
    fn default() -> Self {
        Self {
            exits: [Kept::default(); EXITS],
            count: 0,
            good: None,
            engaged: false,
            deadline: u64::MAX,
            meanwhile: 0,
            request: None,
            clean: 0,
        }
    }
}

impl Laboratory {
    /// How many exits there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Forgets them. From the first time on it is the laboratory that answers exits; until then KVM's
    /// policy does, so that a payload can start further vCPUs.
    pub fn clear(&mut self) {
        self.count = 0;
        self.engaged = true;
    }

    /// Whether it answers exits.
    pub fn is_engaged(&self) -> bool {
        self.engaged
    }

    /// A part of an exit that was kept.
    pub fn part(&self, index: u8, part: Part) -> Option<u64> {
        let kept = self.exits.get(usize::from(index))?;
        (u64::from(index) < self.count).then_some(kept.parts[part as usize])
    }

    /// Remembers the control area before it is changed.
    pub fn changes(&mut self, control: &ControlArea) {
        if self.good.is_none() {
            self.good = Some(*control);
        }
    }

    fn keep(&mut self, vmcb: &Vmcb, skipped: u64) {
        let control = &vmcb.control;
        if let Some(kept) = self.exits.get_mut(self.count as usize) {
            let mut put = |part: Part, value| kept.parts[part as usize] = value;
            put(Part::Code, control.exit_code.0);
            put(Part::Info1, control.exit_info_1);
            put(Part::Info2, control.exit_info_2);
            put(Part::Rip, vmcb.save.rip);
            put(Part::IntInfo, control.exit_int_info.into_bits());
            put(Part::VIntr, control.v_intr.into_bits());
            put(Part::Skipped, skipped);
            put(Part::Rflags, vmcb.save.rflags);
        }
        self.count += 1;
    }
}

/// Answers an exit, which happened at host TSC `at`.
pub fn exit<M: GuestMemory>(
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
    soft_injection: bool,
) -> Handled {
    let code = vmcb.control.exit_code;
    let key = ExitKey::plain(code.0);
    if code.0 as u32 != u32::MAX {
        vcpu.laboratory.good = None;
    }
    // Flushed is once only.
    vmcb.control.tlb_control = TlbControl::NONE;
    match code {
        ExitCode::CPUID => {
            let handled = handle::cpuid(vcpu, vmcb).map(Handled::enter);
            return handled.unwrap_or(Handled::stop(key, Stop::UnknownExit));
        }
        ExitCode::VMMCALL => {
            let number = vmcb.save.rax;
            vmcb.skip(3);
            return Handled {
                key: ExitKey::number(exit::VMMCALL, number as u32),
                next: Next::Call,
            };
        }
        // The host's own, unless the payload armed the timer for one.
        ExitCode::INTR | ExitCode::NMI | ExitCode::SMI => {
            if at >= vcpu.laboratory.deadline {
                vcpu.laboratory.deadline = u64::MAX;
                vcpu.laboratory.keep(vmcb, 0);
            }
            return Handled { key, next: Next::Interrupt };
        }
        ExitCode::SHUTDOWN => return Handled::stop(key, Stop::Shutdown),
        _ => {}
    }
    let length = match code {
        ExitCode::HLT | ExitCode::IDLE_HLT => 1,
        ExitCode::STGI | ExitCode::CLGI => 3,
        ExitCode::MSR => {
            let msr = vcpu.gprs.rcx as u32;
            if !(X2APIC_FIRST..=X2APIC_LAST).contains(&msr) {
                return Handled::stop(key, Stop::CannotEmulate);
            }
            2
        }
        ExitCode::AVIC_NOACCEL if is_trap(vmcb) => 0,
        ExitCode::AVIC_NOACCEL if vmcb.control.v_intr.x2avic_enable() => 2,
        ExitCode::NPF if vmcb.control.exit_int_info.valid() => 0,
        ExitCode::AVIC_NOACCEL | ExitCode::NPF | ExitCode::WRITE_CR8 | ExitCode::READ_CR8 => {
            let (cr3, rip) = (vmcb.save.cr3, vmcb.save.rip);
            match vcpu.decoder.decode(memory, cr3, rip) {
                Some(decoded) => u64::from(decoded.length),
                None => return Handled::stop(key, Stop::CannotEmulate),
            }
        }
        _ => 0,
    };
    let meanwhile = core::mem::take(&mut vcpu.laboratory.meanwhile);
    let length = if meanwhile & MEANWHILE_AGAIN != 0 { 0 } else { length };
    vcpu.laboratory.keep(vmcb, length);
    let vector = meanwhile as u8;
    vcpu.laboratory.request = (vector != 0).then_some(vector);
    if meanwhile & MEANWHILE_NMI != 0 {
        vmcb.control.v_intr.set_v_nmi(true);
    }
    if length > 0 {
        vmcb.skip(length);
    }
    match code {
        ExitCode::VINTR => {
            vmcb.control.v_intr.set_v_irq(false);
            vmcb.control.intercept_3.remove(Word3::VINTR);
        }
        ExitCode::IRET => vmcb.control.intercept_3.remove(Word3::IRET),
        // A fault during delivery is the payload's to repair; the event is injected again (AVH-024).
        ExitCode::NPF if vmcb.control.exit_int_info.valid() => {
            let event = vmcb.control.exit_int_info;
            vmcb.control.event_injection = again(event, soft_injection);
            vmcb.control.exit_int_info = Event::new();
            return Handled { key, next: Next::Map };
        }
        ExitCode(refused) if refused as u32 == u32::MAX => {
            let Some(good) = vcpu.laboratory.good.take() else {
                return Handled::stop(key, Stop::InvalidGuestState);
            };
            vmcb.control = good;
        }
        _ => {}
    }
    Handled::enter(key)
}

/// Whether the access of exit 402h is complete. The manual says so register by register; so does
/// this, because the laboratory must not ask the processor under test.
fn is_trap(vmcb: &Vmcb) -> bool {
    let info = trapline_defs::avic::NoAccel::from_bits(vmcb.control.exit_info_1);
    info.write() && crate::avic::access::traps(info.offset())
}

fn again(event: Event, soft_injection: bool) -> Event {
    use trapline_defs::event::EventKind;
    let interrupt = event.vector() >= 32 && event.kind() == EventKind::Exception;
    let event = if interrupt { Event::interrupt(event.vector()) } else { event };
    if soft_injection && event.kind() == EventKind::Interrupt {
        event.with_kind(EventKind::Software)
    } else {
        event
    }
}
