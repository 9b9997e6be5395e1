//! What one core owns.
//!
//! Everything that a core needs while it runs a guest hangs off one [`VcpuBlock`]: no static is
//! shared on the exit path, and another core has another block. A block is made when its core comes
//! up and made ready anew for every scenario.

use crate::apic::HostApic;
use crate::calls::OpenWindow;
use crate::clock::Clock;
use crate::guest_memory::GuestRam;
use crate::outbox::Outbox;
use crate::scenario::End;
use crate::svm::tables::VmTables;
use crate::svm::world::World;
use hv_core::account::Account;
use hv_core::last_exits::LastExits;
use trapline_policy::mailbox::Mailbox;
use trapline_policy::vcpu::Vcpu;
use trapline_policy::vm::Vm;

/// Why the run loop was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Never entered.
    Not,
    /// The vCPU blocks.
    Block,
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

/// A core and the vCPU that it runs. `#[repr(C)]` keeps the world switch's part in front.
#[repr(C)]
pub struct VcpuBlock {
    /// What the world switch reads and writes.
    pub world: World,
    /// The vCPU.
    pub vcpu: Vcpu,
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
    /// The core's own APIC.
    pub apic: HostApic,
    /// Frequencies.
    pub clock: Clock,
    /// TSC of the last exit.
    pub exited_at: u64,
    /// Traps that are left in the budget.
    pub exits_left: u64,
    /// TSC at which the time budget ends.
    pub ends_at: u64,
    /// TSC for which the host's timer is armed.
    pub armed_for: u64,
    /// Why the run loop was left.
    pub left: Left,
    /// The window that is open.
    pub window: OpenWindow,
    /// What its vCPU said, until the scenario is over.
    pub outbox: &'static mut Outbox,
    /// How its vCPU ended the scenario, if it did.
    pub end: Option<End>,
}
