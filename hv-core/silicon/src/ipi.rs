//! Sending an IPI (APM vol. 2 §15.29.6.1).
//!
//! All targets are resolved before anything is stored: one that does not exist makes the whole IPI
//! exit with id 2 and no target has been posted. So on id 1 everything is posted and on ids 0, 2,
//! 3 and 4 nothing is, and a hypervisor that emulates the whole command on id 2 delivers once.
//!
//! A broadcast walks the table twice, because there may be 4095 targets and nowhere to keep them.
//! What another core changes in between is seen by the second walk: an entry that became invalid is
//! skipped, as it would have been.

use crate::destination::Destination;
use crate::memory::Memory;
use crate::page::{Bank, Page};
use crate::processor::{AvicMode, Processor};
use crate::profile::Quirks;
use crate::tables::{Failure, Target};
use trapline_defs::apic::{Icr, offset};
use trapline_defs::avic::FailureId;

/// What posting to the targets so far came to.
struct Posting {
    vector: u8,
    /// The first target that runs on no core. Targets come in rising order, so it is the lowest.
    missed: Option<u16>,
    /// This core's own doorbell was rung.
    own: bool,
}

impl Processor {
    /// Sends a fixed, edge-triggered interrupt that is not a self-IPI by shorthand. (Out of line: its
    /// frame would be paid for by self-IPIs, too.)
    #[inline(never)]
    pub(crate) fn send(
        &mut self,
        vector: u8,
        icr: Icr,
        memory: &impl Memory,
        mut ring: impl FnMut(u16),
    ) -> Result<(), Failure> {
        let dfr = || self.page().load(memory, offset::DFR);
        let destination = Destination::of(icr, self.loaded.mode, dfr);
        let mut posting = Posting { vector, missed: None, own: false };
        match destination {
            Destination::Physical(id) => {
                let target = self.target(id, id as u16 & 0xfff, memory)?;
                self.post(target, &mut posting, memory, &mut ring);
            }
            Destination::Everyone => self.broadcast(None, &mut posting, memory, &mut ring)?,
            Destination::Others => {
                let own = self.own_id(memory);
                self.broadcast(Some(own), &mut posting, memory, &mut ring)?;
            }
            Destination::Flat(bits) => {
                let at = |bit, memory: &_| self.logical_target(bit, memory);
                let targets = resolve(u16::from(bits), at, memory)?;
                self.post_each(&targets, &mut posting, memory, &mut ring);
            }
            // There is no cluster 15: whatever it names does not exist.
            Destination::Cluster(15, _) => return Err((FailureId::INVALID_TARGET, 60)),
            Destination::Cluster(cluster, bits) => {
                let first = u16::from(cluster) * 4;
                let at = |bit, memory: &_| self.logical_target(first + bit, memory);
                let targets = resolve(u16::from(bits), at, memory)?;
                self.post_each(&targets, &mut posting, memory, &mut ring);
            }
            Destination::X2Logical(cluster, bits) => {
                let first = cluster << 4;
                let at = |bit, memory: &_| {
                    let id = first | u32::from(bit);
                    self.target(id, id as u16 & 0xfff, memory)
                };
                let targets = resolve(bits, at, memory)?;
                self.post_each(&targets, &mut posting, memory, &mut ring);
            }
        }
        if posting.own {
            self.doorbell(memory);
        }
        posting.missed.map_or(Ok(()), |index| Err((FailureId::NOT_RUNNING, index)))
    }

    /// The sender's own id, from its own backing page, which a hypervisor may have filled wrongly:
    /// then "all but self" hits self.
    #[inline]
    fn own_id(&self, memory: &impl Memory) -> u32 {
        let id = self.page().load(memory, offset::ID);
        if self.loaded.mode == AvicMode::X2Avic { id } else { id >> 24 }
    }

    fn broadcast(
        &mut self,
        except: Option<u32>,
        posting: &mut Posting,
        memory: &impl Memory,
        ring: &mut impl FnMut(u16),
    ) -> Result<(), Failure> {
        let ids = 0..=self.last_id() as u16;
        for id in ids.clone() {
            let entry = self.entry(id, memory);
            if entry.valid() && self.beyond(entry.page()) && Some(u32::from(id)) != except {
                return Err((FailureId::INVALID_BACKING_PAGE, id));
            }
        }
        for id in ids {
            let entry = self.entry(id, memory);
            let page = entry.page();
            if entry.valid() && !self.beyond(page) && Some(u32::from(id)) != except {
                self.post(Target { id, index: id, page: Page(page) }, posting, memory, ring);
            }
        }
        Ok(())
    }

    fn post_each(
        &mut self,
        targets: &[Option<Target>; 16],
        posting: &mut Posting,
        memory: &impl Memory,
        ring: &mut impl FnMut(u16),
    ) {
        for &target in targets.iter().flatten() {
            self.post(target, posting, memory, ring);
        }
    }

    /// Posts to one target and rings its core, or notes that it has none.
    #[inline]
    fn post(
        &mut self,
        target: Target,
        posting: &mut Posting,
        memory: &impl Memory,
        ring: &mut impl FnMut(u16),
    ) {
        target.page.set_shared(memory, Bank::IRR, posting.vector);
        // Or the load below may see IsRunning as it was before the store above was visible, while
        // the target's hypervisor sees neither: see `memory`.
        memory.barrier();
        let entry = self.entry(target.id, memory);
        if entry.is_running() {
            self.note_running(target.id);
            let narrow = self.silicon.quirks().contains(Quirks::NARROW_HOST_ID);
            let host = if narrow { entry.host_id() & 0xff } else { entry.host_id() };
            if host == self.host_id { posting.own = true } else { ring(host) }
        } else if !self.sees_stale_running(target.id) {
            posting.missed.get_or_insert(target.index);
        }
    }
}

/// The targets of a bit set, all of them or the first failure. Sixteen is the most that a logical
/// destination names.
#[inline]
fn resolve<M: Memory>(
    mut bits: u16,
    target: impl Fn(u16, &M) -> Result<Target, Failure>,
    memory: &M,
) -> Result<[Option<Target>; 16], Failure> {
    let mut targets = [None; 16];
    while bits != 0 {
        let bit = bits.trailing_zeros() as u16;
        targets[usize::from(bit)] = Some(target(bit, memory)?);
        bits &= bits - 1;
    }
    Ok(targets)
}
