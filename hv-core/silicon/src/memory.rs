//! The memory behind backing pages and tables, and in which order it is touched.
//!
//! Every core runs the model at the same time on the same pages, as every real core does, and the
//! hypervisor writes them too. Nothing here is locked. What keeps it right:
//!
//! - **IRR**: any core ORs, only the core that runs the vCPU clears. Both are single atomic
//!   operations, so that two senders never lose each other's bit (AVIC-146, AVIC-147) and a bit
//!   that arrives during a delivery stays.
//! - **IRR against IsRunning**: the sender stores an IRR bit and then loads IsRunning; the
//!   hypervisor that takes a vCPU off its core stores IsRunning=0 and then loads the IRR. That is
//!   the store-buffer pattern: with a plain store and a plain load on either side, both loads may
//!   see the old value, the sender rings a core that has left, the hypervisor sleeps, and the
//!   interrupt is lost until something else happens. Both sides therefore need a full barrier in
//!   between: here it is [`Memory::barrier`], called between the two for every target; the other
//!   side is rule AVH-012 and the caller's. Hardware without it is erratum 1235.
//! - **Doorbell**: rung after the barrier. The caller must not let it overtake the OR; a physical
//!   IPI by WRMSR to the x2APIC ICR, which does not serialize, needs that barrier too.
//! - **TMR**: written by whoever posts, before the IRR bit (AVH-014); cleared atomically here for
//!   a self-IPI, because neighbours of the same word may be written meanwhile.
//! - **Table entries**: loaded whole, so that host id, page and IsRunning belong together
//!   (AVH-013). They are loaded again after the barrier; the page comes from the first load.
//! - **ISR, PPR, TPR, ICR**: written only by the core that runs the vCPU, and by the hypervisor
//!   while it does not run. Plain loads and stores.
//!
//! The rejected alternative is `&[AtomicU32; 1024]` per page: it needs a map from physical
//! addresses to references, and a table entry may name any page.

/// Physical memory, shared with other cores.
///
/// Addresses are the host's physical ones, aligned to the access, and below 2^52 plus the size of
/// a table. What lies where there is no memory is up to the implementation, which must not panic:
/// a hypervisor under test may point a table anywhere.
pub trait Memory {
    /// Loads 32 bits, with acquire ordering.
    fn load32(&self, address: u64) -> u32;

    /// Stores 32 bits, with release ordering.
    fn store32(&self, address: u64, value: u32);

    /// Loads 64 bits at once, with acquire ordering.
    fn load64(&self, address: u64) -> u64;

    /// ORs into 32 bits, atomically and sequentially consistent.
    fn fetch_or32(&self, address: u64, bits: u32) -> u32;

    /// ANDs into 32 bits, atomically and sequentially consistent.
    fn fetch_and32(&self, address: u64, bits: u32) -> u32;

    /// A full barrier: what was stored before is visible before anything after is loaded. May be
    /// empty if `fetch_or32` is one already, as a locked instruction is on x86.
    fn barrier(&self);
}
