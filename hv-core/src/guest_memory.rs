//! Guest memory from the host's side.

// UNSAFETY: raw access to memory that a guest changes at any time.
#![expect(unsafe_code, reason = "volatile access to guest RAM")]

use crate::boot::GUEST_MEMORY_ADDRESS;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use trapline_abi::boot::GUEST_MEMORY;
use trapline_policy::memory::GuestMemory;

/// The guest's RAM: `GUEST_MEMORY` bytes at a fixed host-physical address.
pub struct GuestRam(());

impl GuestRam {
    /// The one guest's RAM.
    ///
    /// # Safety
    /// The boot code must have checked that RAM is there (`MemoryMap::require`), and nothing but
    /// this handle may use it.
    pub unsafe fn new() -> Self {
        Self(())
    }

    /// Its host-physical address.
    pub const ADDRESS: u64 = GUEST_MEMORY_ADDRESS;

    /// Makes it zero.
    pub fn clear(&mut self) {
        // SAFETY: the whole of guest RAM, and no guest runs: the handle is borrowed mutably.
        unsafe { core::ptr::write_bytes(Self::ADDRESS as *mut u8, 0, GUEST_MEMORY as usize) };
    }

    /// Copies bytes in; `false` if they do not fit.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let end = address.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > GUEST_MEMORY) {
            return false;
        }
        let to = (Self::ADDRESS + address) as *mut u8;
        // SAFETY: in guest RAM, which no Rust reference points into.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Copies bytes out; `false` if there are none.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let end = address.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > GUEST_MEMORY) {
            return false;
        }
        let from = (Self::ADDRESS + address) as *const u8;
        // SAFETY: as for `write`. A guest on another core may change the bytes meanwhile; they are
        // plain bytes, and the copy is ours.
        unsafe { core::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        true
    }
}

impl GuestMemory for GuestRam {
    #[inline(always)]
    fn size(&self) -> u64 {
        GUEST_MEMORY
    }

    #[inline(always)]
    fn read_u64(&self, address: u64) -> Option<u64> {
        if address > GUEST_MEMORY - 8 {
            return None;
        }
        // SAFETY: in guest RAM; unaligned reads are fine, and volatile because the guest writes.
        Some(unsafe { ((Self::ADDRESS + (address & !7)) as *const u64).read_volatile() })
    }

    #[inline(always)]
    fn read_again(&self, address: u64) -> u64 {
        const _: () = assert!(GUEST_MEMORY.is_power_of_two());
        let inside = address & (GUEST_MEMORY - 8);
        // SAFETY: in guest RAM, whatever the address was.
        unsafe { ((Self::ADDRESS + inside) as *const u64).read_volatile() }
    }

    #[inline(always)]
    fn read_16(&self, address: u64) -> Option<[u64; 2]> {
        if address > GUEST_MEMORY - 16 {
            return None;
        }
        let at = (Self::ADDRESS + address) as *const u64;
        // SAFETY: in guest RAM. The two words may be torn by a guest that writes meanwhile, as the
        // processor's own fetch may be.
        Some(unsafe { [at.read_unaligned(), at.add(1).read_unaligned()] })
    }

    fn update_u64(&self, address: u64, set: u64, clear: u64) -> Option<u64> {
        if address > GUEST_MEMORY - 8 {
            return None;
        }
        let word = (Self::ADDRESS + (address & !7)) as *mut u64;
        // SAFETY: in guest RAM and aligned; guests on other cores change such words by locked
        // instructions, and no Rust reference to them is not atomic.
        let word = unsafe { AtomicU64::from_ptr(word) };
        word.fetch_update(SeqCst, SeqCst, |before| Some(before & !clear | set)).ok()
    }

    #[inline]
    fn write_u8(&self, address: u64, value: u8) -> bool {
        if address >= GUEST_MEMORY {
            return false;
        }
        // SAFETY: in guest RAM.
        unsafe { ((Self::ADDRESS + address) as *mut u8).write_volatile(value) };
        true
    }

    fn or_u8(&self, address: u64, bits: u8) -> Option<u8> {
        if address >= GUEST_MEMORY {
            return None;
        }
        // SAFETY: in guest RAM, which no Rust reference points into; hv-core's other cores set bits there
        // in the same way, and guests are free to do what they like.
        let byte = unsafe { AtomicU8::from_ptr((Self::ADDRESS + address) as *mut u8) };
        Some(byte.fetch_or(bits, SeqCst))
    }
}
