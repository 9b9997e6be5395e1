//! What one vCPU owns.
//!
//! Everything that a core needs while it runs a vCPU hangs off one [`VcpuBlock`]: no static is shared on
//! the exit path, and another vCPU has another block. Blocks are made at boot, and made ready anew for
//! every scenario. What belongs to the core, whichever vCPU it runs, is in [`CoreBlock`].
//!
//! [`CoreBlock`]: crate::core_block::CoreBlock

use crate::calls::OpenWindow;
use crate::core_block::Home;
use crate::guest_memory::GuestRam;
use crate::laboratory::Rings;
use crate::outbox::Outbox;
use crate::scenario::End;
use crate::svm::tables::VmTables;
use crate::svm::world::World;
use hv_core::account::Account;
use hv_core::last_exits::LastExits;
use hv_core::model::Model;
use hv_core::trace::Trace;
use hv_core::traps::Traps;
use trapline_policy::mailbox::Mailbox;
use trapline_policy::time::Ns;
use trapline_policy::vcpu::Vcpu;
use trapline_policy::vm::Vm;

/// Why the run loop was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Never entered.
    Not,
    /// The vCPU blocks.
    Block,
    /// The vCPU is blocked, and another one of its core is ready.
    Asleep,
    /// Its slice is over, and another vCPU of its core is ready.
    Preempted,
    /// It gives its turn to another vCPU of its core, by hypercall.
    Yielded,
    /// A payload call.
    Call,
    /// The vCPU is halted and nothing can wake it.
    Stuck,
    /// Ended by the policy.
    Stop(trapline_policy::handle::Stop),
    /// Another core ended the scenario.
    Elsewhere,
    /// The time budget is used up.
    TimeBudget,
    /// The exit budget is used up.
    ExitBudget,
}

/// A vCPU. `#[repr(C)]` keeps the world switch's part in front.
#[repr(C)]
pub struct VcpuBlock {
    /// What the world switch reads and writes.
    pub world: World,
    /// The vCPU.
    pub vcpu: Vcpu,
    /// The silicon model.
    pub model: Model,
    /// The model plays: not all features are the processor's own.
    pub model_plays: bool,
    /// The payload is the hypervisor (policy `laboratory`).
    pub is_laboratory: bool,
    /// Doorbells that its processor rang, in the laboratory.
    pub rings: Rings,
    /// Width of physical addresses.
    pub physical_bits: u8,
    /// Traps, where they are not the exits.
    pub traps: Traps,
    /// Its accounts.
    pub account: &'static mut Account,
    /// Its mailbox.
    pub mailbox: &'static Mailbox,
    /// Its last exits.
    pub last_exits: LastExits,
    /// The VM.
    pub vm: Vm<'static>,
    /// Guest RAM.
    pub memory: GuestRam,
    /// Nested page tables and permission maps.
    pub tables: &'static VmTables,
    /// The core that it runs on.
    pub core: Home,
    /// It is halted or waits for a SIPI, and nothing has woken it.
    pub is_blocked: bool,
    /// TSC of the last exit.
    pub exited_at: u64,
    /// Traps that are left in the budget.
    pub exits_left: u64,
    /// TSC at which the time budget ends.
    pub ends_at: u64,
    /// Why the run loop was left.
    pub left: Left,
    /// The window that is open.
    pub window: OpenWindow,
    /// What it said, until the scenario is over.
    pub outbox: &'static mut Outbox,
    /// What it did, if the scenario is traced.
    pub trace: &'static mut Trace,
    /// How it ended the scenario, if it did.
    pub end: Option<End>,
}

impl VcpuBlock {
    /// Host TSC of its next deadline; the bootstrap vCPU keeps the devices' time as well.
    #[inline(always)]
    pub fn next_deadline(&self) -> u64 {
        let devices = if self.vcpu.index == 0 { self.vm.next_deadline() } else { Ns::NEVER };
        let deadline = self.vcpu.next_deadline().min(devices);
        if deadline == Ns::NEVER {
            return u64::MAX;
        }
        let ticks = self.vm.clock.ticks(deadline.0);
        ticks.saturating_add(self.vm.clock.offset.wrapping_neg())
    }
}
