//! What Xen's AVIC series of 2016 to 2018 did differently from KVM (spec avic.md 6.2). It was never
//! merged. Its faults are kept on purpose: they show what the obligations AVH-003 and AVH-004 are for.

use crate::avic::{access, ipi};
use crate::handle::{Next, Stop};
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_defs::apic::{Icr, offset};
use trapline_defs::avic::{FailureId, IncompleteIpi};
use trapline_defs::vmcb::Vmcb;

/// Why the domain crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// An incomplete IPI for any reason but its type and a target that does not run.
    IncompleteIpi,
    /// A read of a register whose writes trap, which is taken for a fault of the processor.
    TrappedRead,
    /// A write of the APIC id.
    IdWrite,
}

impl Crash {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::IncompleteIpi => "an incomplete IPI with this failure id is not expected",
            Self::TrappedRead => "a read of a register whose writes trap is not expected",
            Self::IdWrite => "a write of the APIC id is not handled",
        }
    }
}

/// Exit 401h. An invalid target, which any guest can name, crashes the domain; of the targets that do
/// not run, the first one is kicked and the others are forgotten.
pub fn incomplete_ipi(
    vm: &mut Vm<'_>,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    icr: Icr,
    info: IncompleteIpi,
) -> Next {
    match info.id() {
        FailureId::INVALID_TYPE => ipi::emulate(vm, vcpu, vmcb, icr),
        FailureId::NOT_RUNNING => {
            let own = vcpu.index;
            let first = (0..vm.vcpus)
                .find(|&index| index != own && vm.mailbox(index).identity().targeted_by_peer(icr));
            if let Some(index) = first {
                vm.notify(vcpu, index);
            }
            Next::Enter
        }
        _ => crash(vcpu, Crash::IncompleteIpi),
    }
}

/// Exit 402h, as far as it ends the domain: a read of a register whose writes trap, and a write of the
/// APIC id.
pub fn refuses(vcpu: &mut Vcpu, register: u16, write: bool) -> Option<Next> {
    if !write && access::traps(register) {
        return Some(crash(vcpu, Crash::TrappedRead));
    }
    (write && register == offset::ID).then(|| crash(vcpu, Crash::IdWrite))
}

fn crash(vcpu: &mut Vcpu, why: Crash) -> Next {
    vcpu.avic.crash = Some(why);
    Next::Stop(Stop::Crashed)
}
