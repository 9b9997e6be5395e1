//! Hyper-V's hypercalls (TLFS, "Hypercall Interface"; spec hyperv.md 7).
//!
//! The checks come in KVM 6.12's order (kvm_hv_hypercall): privilege level, access, reserved bits, XMM
//! registers, and then the call's own. Calls that the guest's CPUID does not offer are denied, as under
//! QEMU's `hv-enforce-cpuid`.

pub mod input;
mod ipi;
mod port;
mod status;

use crate::handle::raise;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use input::{Input, Xmm};
use status::Status;
use trapline_abi::machine::HyperV;
use trapline_defs::event::Event;
use trapline_defs::vmcb::Vmcb;

const NOTIFY_LONG_SPIN_WAIT: u16 = 0x08;
const SEND_IPI: u16 = 0x0b;
const SEND_IPI_EX: u16 = 0x15;
const POST_MESSAGE: u16 = 0x5c;
const SIGNAL_EVENT: u16 = 0x5d;
/// HvExtCallQueryCapabilities and the 64 that it may announce; no machine here has them (HV-247).
const EXTENDED: core::ops::RangeInclusive<u16> = 0x8001..=0x8041;

/// CR0.PE.
const PROTECTED: u64 = 1;

/// A call.
struct Call<'a> {
    input: Input,
    /// The rest of a fast call's input, if it is one that goes on there.
    xmm: Option<&'a Xmm>,
}

pub(super) fn answer<M: GuestMemory>(
    vm: &Vm<'_>,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    xmm: &Xmm,
) {
    let input = Input::read(&vcpu.gprs, vmcb);
    let offered = vm.machine.hyperv;
    if vmcb.save.cpl != 0 || vmcb.save.cr0 & PROTECTED == 0 {
        return raise(vcpu, Event::UD);
    }
    let status = if !is_allowed(offered, input.code()) {
        Status::Denied
    } else if input.is_malformed() {
        Status::Input
    } else {
        let xmm = (input.is_fast() && input.code() == SEND_IPI_EX).then_some(xmm);
        if xmm.is_some() && !offered.contains(HyperV::XMM_INPUT) {
            return raise(vcpu, Event::UD);
        }
        carry_out(vm, vcpu, memory, &Call { input, xmm })
    };
    vmcb.skip(3);
    input::answer(&mut vcpu.gprs, vmcb, status);
}

/// Whether CPUID offers a call, or says nothing about it.
const fn is_allowed(offered: HyperV, code: u16) -> bool {
    match code {
        NOTIFY_LONG_SPIN_WAIT => offered.contains(HyperV::SPINLOCKS),
        SEND_IPI | SEND_IPI_EX => offered.contains(HyperV::IPI),
        POST_MESSAGE | SIGNAL_EVENT => offered.contains(HyperV::SYNIC),
        code => !(*EXTENDED.start() <= code && code <= *EXTENDED.end()),
    }
}

fn carry_out<M: GuestMemory>(vm: &Vm<'_>, vcpu: &mut Vcpu, memory: &M, call: &Call<'_>) -> Status {
    match call.input.code() {
        NOTIFY_LONG_SPIN_WAIT if call.input.is_repeated() || call.input.header() != 0 => {
            Status::Input
        }
        // A hint to let another vCPU run; slices here are what the scenario says.
        NOTIFY_LONG_SPIN_WAIT => Status::Success,
        code @ (SEND_IPI | SEND_IPI_EX) => ipi::send(vm, vcpu, memory, call, code == SEND_IPI_EX),
        POST_MESSAGE => port::post(vm, vcpu, memory, call),
        SIGNAL_EVENT => port::signal(vm, vcpu, memory, call),
        _ => Status::Code,
    }
}
