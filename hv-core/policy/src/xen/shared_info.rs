//! The shared info page of a 64-bit guest, and events of two levels in it (Xen, public/xen.h and
//! common/event_2l.c).
//!
//! Each word is changed by one atomic step, and in this order: the port's bit, the bit of its word in the
//! vCPU's selector, the vCPU's flag. The guest clears them in the opposite order, so that an event that
//! comes meanwhile is either seen or raises the flag again.

use crate::memory::GuestMemory;

/// A vCPU's part: its flag in byte 0, its selector in the second word.
const VCPU_SIZE: u64 = 64;
const SELECTOR: u64 = 8;
const UPCALL_PENDING: u64 = 1;
/// Behind the parts of 32 vCPUs: a bit for each port that has an event, and for each that is masked.
const PENDING: u64 = 32 * VCPU_SIZE;
const MASK: u64 = PENDING + 64 * 8;

/// Its guest-physical address.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedInfo(pub(super) u64);

impl SharedInfo {
    fn set<M: GuestMemory>(self, memory: &M, at: u64, bits: u64) -> u64 {
        memory.update_u64(self.0 + at, bits, 0).unwrap_or(u64::MAX)
    }

    fn clear<M: GuestMemory>(self, memory: &M, at: u64, bits: u64) -> u64 {
        memory.update_u64(self.0 + at, 0, bits).unwrap_or(0)
    }

    fn has<M: GuestMemory>(self, memory: &M, at: u64, bits: u64) -> bool {
        memory.read_u64(self.0 + at).unwrap_or(0) & bits != 0
    }

    /// A port has an event for a vCPU; whether the vCPU has to be told.
    pub(super) fn raise<M: GuestMemory>(self, memory: &M, port: u32, vcpu: u32) -> bool {
        let (word, bit) = place(port);
        self.set(memory, PENDING + word, bit) & bit == 0
            && !self.has(memory, MASK + word, bit)
            && self.select(memory, port, vcpu)
    }

    /// Ends a port's mask; whether its vCPU has to be told of what came meanwhile.
    pub(super) fn unmask<M: GuestMemory>(self, memory: &M, port: u32, vcpu: u32) -> bool {
        let (word, bit) = place(port);
        self.clear(memory, MASK + word, bit) & bit != 0
            && self.has(memory, PENDING + word, bit)
            && self.select(memory, port, vcpu)
    }

    /// Forgets a port's event.
    pub(super) fn forget<M: GuestMemory>(self, memory: &M, port: u32) {
        let (word, bit) = place(port);
        self.clear(memory, PENDING + word, bit);
    }

    fn select<M: GuestMemory>(self, memory: &M, port: u32, vcpu: u32) -> bool {
        let part = u64::from(vcpu) * VCPU_SIZE;
        let bit = 1 << (port / 64);
        self.set(memory, part + SELECTOR, bit) & bit == 0
            && self.set(memory, part, UPCALL_PENDING) & UPCALL_PENDING == 0
    }

    /// A vCPU's flag. As Xen, any value of its byte but 0.
    pub(super) fn is_upcall_pending<M: GuestMemory>(self, memory: &M, vcpu: u32) -> bool {
        self.has(memory, u64::from(vcpu) * VCPU_SIZE, 0xff)
    }
}

/// A port's word in bytes from the first one, and its bit there.
fn place(port: u32) -> (u64, u64) {
    (u64::from(port / 64) * 8, 1 << (port % 64))
}
