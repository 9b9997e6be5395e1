//! One exit: the way from an exit code to what KVM 6.12 does about it.
//!
//! The common exits are decided here, in line; everything else is out of the way.

use crate::avic;
use crate::cpuid::Registers;
use crate::events;
use crate::fault::Gp;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use crate::{control_register, hypercall, mmio, msr, port};
use trapline_abi::call;
use trapline_abi::exit::{self, ExitKey};
use trapline_abi::plan::Seed;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::vmcb::Vmcb;

/// What the run loop does after an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Enter the guest again.
    Enter,
    /// A physical interrupt: let the host take it, let time pass, enter again.
    Interrupt,
    /// Block until something wakes the vCPU.
    Block,
    /// Give the core to the vCPU that the guest named, if that is one of the core's and ready.
    Yield,
    /// A payload call; RIP is behind it.
    Call,
    /// Answer Hyper-V's or Xen's hypercall by [`hypercall::answer`]. Nothing was done.
    Hypercall,
    /// Handle the exit by [`exit_by_register`]: it names a register that is not up to date. Nothing
    /// was done.
    Registers,
    /// Map the page of guest RAM at EXITINFO2 again; it was evicted.
    Map,
    /// Map the APIC page, for AVIC to take the place of what is there.
    MapApic,
    /// End the scenario.
    Stop(Stop),
}

/// Why a scenario ends at an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The guest shut down.
    Shutdown,
    /// The guest touched memory that it does not have, at EXITINFO2.
    BadMemory,
    /// The policy does not emulate the instruction at RIP.
    CannotEmulate,
    /// The exit means nothing to the policy.
    UnknownExit,
    /// VMRUN refused the VMCB.
    InvalidGuestState,
    /// The hypervisor that the policy copies crashes its guest here; why is in the vCPU. (Kept out of
    /// this type so that comparing it stays one instruction.)
    Crashed,
    /// The bootstrap vCPU took an INIT: there is no firmware to restart it.
    Init,
    /// The guest wrote Hyper-V's RESET: likewise.
    Reset,
}

/// An exit, handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handled {
    /// What it is counted as.
    pub key: ExitKey,
    /// What comes next.
    pub next: Next,
}

impl Handled {
    /// Handled, and the guest goes on.
    #[inline(always)]
    pub const fn enter(key: ExitKey) -> Self {
        Self { key, next: Next::Enter }
    }

    /// Handled, and the scenario ends.
    pub const fn stop(key: ExitKey, stop: Stop) -> Self {
        Self { key, next: Next::Stop(stop) }
    }
}

/// Whether nothing has to be taken over from the guest before the exit itself is handled.
#[inline(always)]
pub fn settled(vcpu: &Vcpu, vmcb: &Vmcb) -> bool {
    events::tpr_in_sync(vcpu, vmcb) && !vmcb.control.exit_int_info.valid() && !vcpu.attention
}

/// The most frequent exit: CPUID of a leaf whose answer is known. Nothing was done if there is no
/// answer, and then [`exit`] has to.
#[inline(always)]
pub fn cpuid(vcpu: &mut Vcpu, vmcb: &mut Vmcb) -> Option<ExitKey> {
    let leaf = vmcb.save.rax as u32;
    let answer = *vcpu.cpuid.known(leaf)?;
    answer_cpuid(vcpu, vmcb, answer);
    Some(ExitKey::number(exit::CPUID, leaf))
}

#[inline(always)]
fn answer_cpuid(vcpu: &mut Vcpu, vmcb: &mut Vmcb, answer: Registers) {
    vmcb.save.rax = u64::from(answer.eax);
    vcpu.gprs.rbx = u64::from(answer.ebx);
    vcpu.gprs.rcx = u64::from(answer.ecx);
    vcpu.gprs.rdx = u64::from(answer.edx);
    vmcb.skip(2);
}

/// Handles the exit that `vmcb` describes; it happened at host TSC `at`.
///
/// Of the general-purpose registers only those that a C function may change are up to date, and
/// RBX; [`Next::Registers`] asks for the others.
///
/// vCPU and VM lie in one block in hv-core, which does the three steps by itself: whoever keeps
/// pointers to both across them has no register left for anything else.
pub fn exit<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
) -> Handled {
    if !settled(vcpu, vmcb) {
        events::settle(vm, vcpu, vmcb, memory);
    }
    let handled = dispatch(vm, vcpu, vmcb, memory, at);
    if is_to_evaluate(vcpu, handled) {
        events::evaluate(vm, vcpu, vmcb, memory);
    }
    handled
}

/// Whether events have to be evaluated: once an entry, as KVM does, and an exit that is to be handled again
/// is evaluated then.
#[inline(always)]
pub fn is_to_evaluate(vcpu: &Vcpu, handled: Handled) -> bool {
    vcpu.lapic.event_request && handled.next != Next::Registers
}

/// The middle step of [`exit`]: what the exit itself asks for.
#[inline(always)]
pub fn dispatch<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
) -> Handled {
    let code = vmcb.control.exit_code;
    match code {
        ExitCode::CPUID => {
            let leaf = vmcb.save.rax as u32;
            let answer = *vcpu.cpuid.get(leaf, vcpu.gprs.rcx as u32);
            answer_cpuid(vcpu, vmcb, answer);
            Handled::enter(ExitKey::number(code.0, leaf))
        }
        ExitCode::MSR => msr::access(vm, vcpu, vmcb, memory, at),
        ExitCode::VINTR => {
            events::window_opened(vm, vcpu, vmcb);
            Handled::enter(ExitKey::plain(code.0))
        }
        ExitCode::HLT => halt(vm, vcpu, vmcb, memory),
        ExitCode::IOIO => port::access(vm, vcpu, vmcb, at),
        ExitCode::INTR => Handled { key: ExitKey::plain(code.0), next: Next::Interrupt },
        ExitCode::VMMCALL => call(vm, vcpu, vmcb, memory),
        ExitCode::NPF => mmio::fault(vm, vcpu, vmcb, memory, at, false),
        // Moves to and from control registers name any register.
        ExitCode(0x00..=0x1f) | ExitCode::CR0_SEL_WRITE => {
            Handled { key: ExitKey::plain(code.0), next: Next::Registers }
        }
        _ => rare(vm, vcpu, vmcb, memory, at),
    }
}

/// As [`exit`], with all registers up to date.
#[inline(never)]
pub fn exit_by_register<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
) -> Handled {
    if !settled(vcpu, vmcb) {
        events::settle(vm, vcpu, vmcb, memory);
    }
    let handled = match vmcb.control.exit_code {
        ExitCode::NPF => mmio::fault(vm, vcpu, vmcb, memory, at, true),
        ExitCode::AVIC_NOACCEL => avic::access::unaccelerated(vm, vcpu, vmcb, memory, at, true),
        code => control_register::access(vcpu, vmcb, memory, ExitKey::plain(code.0)),
    };
    if vcpu.lapic.event_request {
        events::evaluate(vm, vcpu, vmcb, memory);
    }
    handled
}

/// VMMCALL: a payload call or a hypercall.
#[inline(never)]
fn call<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) -> Handled {
    let number = vmcb.save.rax;
    if call::Call::from_number(number).is_none() {
        return hypercall::exit(vm, vcpu, vmcb, memory);
    }
    vmcb.skip(3);
    let key = ExitKey::number(exit::VMMCALL, number as u32);
    Handled { key, next: Next::Call }
}

/// HLT: over the instruction, its shadow included (rule HLT-1). With an interrupt that the guest
/// can take it stays runnable, and its window does the rest (rule HLT-2).
#[inline(never)]
fn halt<M: GuestMemory>(vm: &Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) -> Handled {
    let shadow = vmcb.control.interrupt_shadow;
    vmcb.skip(1);
    if let Some(seed) = vm.seed {
        match seed {
            Seed::HltKeepsShadow => vmcb.control.interrupt_shadow = shadow,
            Seed::HltEvaluates => vcpu.lapic.event_request = true,
            _ => {}
        }
    }
    // Xen takes that for the end of a vCPU (hvm_hlt).
    vcpu.events.is_down = vm.features.xen && vmcb.save.rflags & events::RFLAGS_IF == 0;
    let next = if wakes(vm, vcpu, vmcb, memory) {
        // Used up by this halt, whatever ended it.
        vcpu.kvm.unhalted = false;
        Next::Enter
    } else {
        Next::Block
    };
    Handled { key: ExitKey::plain(vmcb.control.exit_code.0), next }
}

/// Whether a halted vCPU has something to wake for.
#[inline]
pub fn wakes<M: GuestMemory>(vm: &Vm, vcpu: &Vcpu, vmcb: &Vmcb, memory: &M) -> bool {
    events::interrupts_open(vmcb) && events::pending(vm, vcpu, memory)
        || vcpu.events.nmis > 0 && !events::nmis_masked(vm, vcpu, vmcb) && !vcpu.events.is_down
        || vcpu.events.exception.valid()
        || vcpu.events.interrupted.valid()
        || vcpu.kvm.unhalted
}

/// Raises an exception instead of executing the instruction.
pub fn raise(vcpu: &mut Vcpu, event: Event) {
    vcpu.events.exception = event;
    vcpu.lapic.event_request = true;
}

/// Ends an emulated instruction of that length, or raises its `#GP(0)`.
#[inline(always)]
pub fn finish(vcpu: &mut Vcpu, vmcb: &mut Vmcb, length: u64, result: Result<(), Gp>) {
    match result {
        Ok(()) => vmcb.skip(length),
        Err(Gp) => raise(vcpu, Event::GP),
    }
}

#[cold]
#[inline(never)]
fn rare<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
) -> Handled {
    let code = vmcb.control.exit_code;
    let key = ExitKey::plain(code.0);
    match code {
        ExitCode::AVIC_INCOMPLETE_IPI => avic::ipi::incomplete(vm, vcpu, vmcb),
        ExitCode::AVIC_NOACCEL => avic::access::unaccelerated(vm, vcpu, vmcb, memory, at, false),
        // Handled as a HLT (rule HLT-3).
        ExitCode::IDLE_HLT => halt(vm, vcpu, vmcb, memory),
        // The host's own: taken when GIF opens.
        ExitCode::NMI | ExitCode::SMI => Handled { key, next: Next::Interrupt },
        ExitCode::IRET => {
            events::iret(vm, vcpu, vmcb);
            Handled::enter(key)
        }
        ExitCode::EXCEPTION_DB if vcpu.events.stepping => {
            events::stepped(vcpu, vmcb);
            Handled::enter(key)
        }
        // KVM intercepts #DB, #UD and #AC and gives them back to the guest.
        ExitCode(0x40..=0x5f) => {
            let vector = (code.0 - 0x40) as u8;
            let event = Event::exception(vector);
            let has_code = vector == 17;
            let error_code = vmcb.control.exit_info_1 as u32;
            raise(
                vcpu,
                if has_code {
                    event.with_error_code_valid(true).with_error_code(error_code)
                } else {
                    event
                },
            );
            Handled::enter(key)
        }
        // The guest's caches and TLB are its own; nothing is kept of them.
        ExitCode::WBINVD | ExitCode::INVD => {
            vmcb.skip(2);
            Handled::enter(key)
        }
        // No performance counters.
        ExitCode::RDPMC => {
            raise(vcpu, Event::GP);
            Handled::enter(key)
        }
        // Instructions of features that CPUID does not offer.
        ExitCode::VMRUN
        | ExitCode::VMLOAD
        | ExitCode::VMSAVE
        | ExitCode::STGI
        | ExitCode::CLGI
        | ExitCode::SKINIT
        | ExitCode::INVLPGA
        | ExitCode::RDTSCP
        | ExitCode::MONITOR
        | ExitCode::MWAIT
        | ExitCode::MWAIT_CONDITIONAL
        | ExitCode::XSETBV
        | ExitCode::RDPRU
        | ExitCode::INVLPGB
        | ExitCode::INVLPGB_ILLEGAL
        | ExitCode::INVPCID
        | ExitCode::MCOMMIT
        | ExitCode::TLBSYNC => {
            raise(vcpu, Event::UD);
            Handled::enter(key)
        }
        ExitCode::SHUTDOWN => Handled::stop(key, Stop::Shutdown),
        // 64 ones; QEMU's TCG writes 32 of them.
        ExitCode(code) if code as u32 == u32::MAX => Handled::stop(key, Stop::InvalidGuestState),
        _ => Handled::stop(key, Stop::UnknownExit),
    }
}
