//! The vCPUs' blocks: as many as a VM can have, however many cores there are.

// UNSAFETY: handing blocks between cores.
#![expect(unsafe_code, reason = "lends blocks to the cores that they are assigned to")]

use crate::arch::page::{Once, Slot};
use crate::core_block::Home;
use crate::outbox::Outbox;
use crate::scenario;
use crate::svm::world::{VmcbPage, World};
use crate::vcpu_block::VcpuBlock;
use hv_core::account::Account;
use hv_core::trace::Trace;
use trapline_policy::vm::MAX_VCPUS;

/// What each vCPU has, by number.
static VMCBS: [Once<VmcbPage>; MAX_VCPUS] = [const { Once::new(VmcbPage::ZERO) }; MAX_VCPUS];
static ACCOUNTS: [Once<Account>; MAX_VCPUS] = [const { Once::new(Account::ZERO) }; MAX_VCPUS];
static OUTBOXES: [Once<Outbox>; MAX_VCPUS] = [const { Once::new(Outbox::EMPTY) }; MAX_VCPUS];
static TRACES: [Once<Trace>; MAX_VCPUS] = [const { Once::new(Trace::EMPTY) }; MAX_VCPUS];
static BLOCKS: [Slot<VcpuBlock>; MAX_VCPUS] = [const { Slot::empty() }; MAX_VCPUS];

/// Makes all blocks, once, before other cores are up. Until a scenario their home is the boot core.
pub fn open(home: Home) {
    for (number, slot) in BLOCKS.iter().enumerate() {
        let world = World::new(VMCBS[number].take(), home.host);
        let (account, outbox) = (ACCOUNTS[number].take(), OUTBOXES[number].take());
        let block = scenario::idle_block(world, home, account, outbox, TRACES[number].take());
        // SAFETY: filled once, and nobody may ask for it before.
        unsafe { slot.place(block) };
    }
}

/// The block of a vCPU: for its home while that runs, for the boot core while that is parked. Whoever asks
/// holds no other reference to it.
pub fn block(number: usize) -> &'static mut VcpuBlock {
    // SAFETY: `open` filled it. `cores` passes a core's vCPUs to and fro with the core: a parked core does
    // not touch their blocks, and the boot core leaves those of running cores alone.
    unsafe { BLOCKS[number].get() }
}
