//! What one core owns, whichever vCPU it runs.

// UNSAFETY: a core's cells go where its vCPUs' blocks go.
#![expect(unsafe_code, reason = "hands a core's cells between cores together with its vCPUs")]

use crate::apic::HostApic;
use crate::clock::Clock;
use core::cell::Cell;
use core::ops::Deref;
use trapline_policy::schedule::Schedule;
use trapline_silicon::Processor;

/// A core. Only itself changes it while it runs, and only the boot core while it is parked.
pub struct CoreBlock {
    /// Its APIC.
    pub apic: HostApic,
    /// That APIC's id.
    pub apic_id: u16,
    /// Frequencies.
    pub clock: Clock,
    /// Address of the page that keeps its FS, GS, TR, LDTR and MSRs while a guest has its own.
    pub host: u64,
    /// TSC for which its timer is armed.
    pub armed_for: Cell<u64>,
    /// Its vCPUs' turns.
    pub schedule: Cell<Schedule>,
    /// What the silicon model remembers of this core between two of its vCPUs.
    pub processor: Cell<Option<Processor>>,
}

impl CoreBlock {
    /// A core without vCPUs.
    pub fn new(apic: HostApic, apic_id: u32, clock: Clock, host: u64) -> Self {
        let schedule = Cell::new(Schedule::new(0));
        let (armed_for, processor) = (Cell::new(0), Cell::new(None));
        Self { apic, apic_id: apic_id as u16, clock, host, armed_for, schedule, processor }
    }

    /// Makes it ready for a scenario in which it has these vCPUs, one bit each.
    pub fn assign(&self, vcpus: u32) {
        self.schedule.set(Schedule::new(vcpus));
        self.armed_for.set(0);
        self.processor.set(None);
    }
}

/// The core that a vCPU runs on, as the vCPU's block knows it.
#[derive(Clone, Copy)]
pub struct Home {
    core: &'static CoreBlock,
    is_shared: bool,
}

// SAFETY: a block is used by its home, or by the boot core while that is parked, and so are the home's
// cells: never by two cores at once.
unsafe impl Send for Home {}

impl Home {
    /// That core, which has its vCPUs already.
    pub fn new(core: &'static CoreBlock) -> Self {
        Self { core, is_shared: core.schedule.get().others() != 0 }
    }

    /// Whether it has other vCPUs as well.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }
}

impl Deref for Home {
    type Target = CoreBlock;
    #[inline(always)]
    fn deref(&self) -> &CoreBlock {
        self.core
    }
}
