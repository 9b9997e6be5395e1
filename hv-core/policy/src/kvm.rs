//! KVM's paravirtual interface, as far as it is MSRs: clock, steal time, poll control, and the way to the
//! PV EOI (Linux Documentation/virt/kvm/x86/msr.rst; spec pv-and-formats.md a.1, a.5, a.6).
//!
//! KVM serves an MSR that CPUID hides, unless it is told to enforce CPUID (rule HC-5); so does this.

pub mod clock;
pub mod steal;

use crate::fault::Gp;
use crate::memory::GuestMemory;
use crate::rtc::Date;
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::{GuestClock, Vm};
use clock::Scale;
use steal::StealTime;
use trapline_abi::machine::Kvm;
use trapline_defs::msr::{
    KVM_POLL_CONTROL, KVM_PV_EOI, KVM_STEAL_TIME, KVM_SYSTEM_TIME, KVM_SYSTEM_TIME_OLD,
    KVM_WALL_CLOCK, KVM_WALL_CLOCK_OLD,
};

const ENABLE: u64 = 1;

/// One vCPU's part of the interface.
#[derive(Clone, Copy, Debug)]
pub struct KvmVcpu {
    /// Somebody ended its halt by KICK_CPU (KVM's `pv_unhalted`).
    pub unhalted: bool,
    /// The vCPU that it yields to, with [`crate::handle::Next::Yield`].
    pub yields_to: u32,
    /// Its steal time.
    pub steal: StealTime,
    /// What the guest is told in its memory before it goes on.
    pending: Option<Pending>,
    system_time: u64,
    poll_control: u64,
}

/// What a write to an MSR leaves to be told.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Clock,
    WallClock(u64),
    StealTime,
}

impl Default for KvmVcpu {
    fn default() -> Self {
        Self::new()
    }
}

impl KvmVcpu {
    /// After power-on: the host polls, all else is off.
    pub const fn new() -> Self {
        Self {
            unhalted: false,
            yields_to: 0,
            steal: StealTime::new(),
            pending: None,
            system_time: 0,
            poll_control: 1,
        }
    }

    /// Whether there is something for [`KvmVcpu::tell`].
    #[inline(always)]
    pub const fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Tells the guest, whose clock is that, by its memory, at `now`: as under KVM before it is entered
    /// again. (Memory that is touched on the way of every MSR would cost every exit.)
    #[cold]
    #[inline(never)]
    pub fn tell(&mut self, memory: &impl GuestMemory, clock: GuestClock, now: Ns) {
        match self.pending.take() {
            Some(Pending::Clock) => {
                let scale = Scale::new(clock.khz);
                clock::put(memory, self.system_time & !ENABLE, clock.ticks(now.0), now, scale);
            }
            Some(Pending::WallClock(address)) => {
                clock::put_wall_clock(memory, address, Date::START.unix_time());
            }
            Some(Pending::StealTime) => self.steal.record(memory, 0),
            None => {}
        }
    }

    /// INIT: clock and steal time are off; poll control and the unhalt stay, as under KVM.
    pub const fn init(&mut self) {
        self.system_time = 0;
        self.steal = StealTime::new();
    }
}

/// What has to be on for an MSR to be served.
const fn switch(msr: u32) -> Option<Kvm> {
    Some(match msr {
        KVM_WALL_CLOCK_OLD | KVM_SYSTEM_TIME_OLD | KVM_WALL_CLOCK | KVM_SYSTEM_TIME => Kvm::CLOCK,
        KVM_STEAL_TIME => Kvm::STEAL_TIME,
        KVM_PV_EOI => Kvm::PV_EOI,
        KVM_POLL_CONTROL => Kvm::POLL_CONTROL,
        _ => return None,
    })
}

fn serve(vm: &Vm, msr: u32) -> Result<(), Gp> {
    match switch(msr) {
        Some(switch) if vm.serves(switch) => Ok(()),
        _ => Err(Gp),
    }
}

/// RDMSR of one that is KVM's, or of none.
///
/// # Errors
/// `#GP` where the MSR is not served.
pub fn read_msr(vm: &Vm, vcpu: &Vcpu, msr: u32) -> Result<u64, Gp> {
    serve(vm, msr)?;
    Ok(match msr {
        KVM_WALL_CLOCK_OLD | KVM_WALL_CLOCK => vm.devices().wall_clock,
        KVM_STEAL_TIME => vcpu.kvm.steal.msr(),
        KVM_PV_EOI => vcpu.pv_eoi.read_msr(),
        KVM_POLL_CONTROL => vcpu.kvm.poll_control,
        _ => vcpu.kvm.system_time,
    })
}

/// WRMSR of one that is KVM's, or of none. [`KvmVcpu::tell`] does the rest.
///
/// # Errors
/// `#GP`, and nothing changes, where the MSR is not served or does not take the value.
pub fn write_msr(vm: &Vm, vcpu: &mut Vcpu, msr: u32, value: u64) -> Result<(), Gp> {
    serve(vm, msr)?;
    let kvm = &mut vcpu.kvm;
    match msr {
        KVM_WALL_CLOCK_OLD | KVM_WALL_CLOCK => {
            vm.devices().wall_clock = value;
            kvm.pending = Some(Pending::WallClock(value));
        }
        KVM_STEAL_TIME => {
            kvm.steal.write_msr(value)?;
            kvm.pending = Some(Pending::StealTime);
        }
        KVM_PV_EOI => return vcpu.pv_eoi.write_msr(value, vm.memory),
        KVM_POLL_CONTROL => {
            // There is no halt polling to turn off (rule IR-1's model parameter is 0).
            if value & !ENABLE != 0 {
                return Err(Gp);
            }
            kvm.poll_control = value;
        }
        _ => {
            // KVM takes every value: an address outside of RAM is a clock that stands still.
            kvm.system_time = value;
            kvm.pending = (value & ENABLE != 0).then_some(Pending::Clock);
        }
    }
    vcpu.rearm |= vcpu.kvm.is_pending();
    Ok(())
}

#[cfg(test)]
mod tests;
