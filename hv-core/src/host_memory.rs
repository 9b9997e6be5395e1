//! Host memory, as the silicon model reaches it: atomically, by physical address.

// UNSAFETY: loads and stores at addresses that tables and VMCBs name.
#![expect(unsafe_code, reason = "a processor reads and writes memory by address")]

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use trapline_silicon::Memory;

/// Physical memory, mapped one to one.
///
/// Addresses come from VMCBs and from AVIC's tables, which the policy alone writes, with addresses of its
/// own statics (`trapline_policy::avic::tables`) and of permission maps: a guest reaches neither.
pub struct HostMemory;

fn word32(address: u64) -> &'static AtomicU32 {
    // SAFETY: see `HostMemory`; such words are atomics or never written, and aligned.
    unsafe { AtomicU32::from_ptr(address as *mut u32) }
}

impl Memory for HostMemory {
    #[inline(always)]
    fn load32(&self, address: u64) -> u32 {
        word32(address).load(Ordering::Acquire)
    }

    #[inline(always)]
    fn store32(&self, address: u64, value: u32) {
        word32(address).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn load64(&self, address: u64) -> u64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(address as *mut u64) }.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn fetch_or32(&self, address: u64, bits: u32) -> u32 {
        word32(address).fetch_or(bits, Ordering::SeqCst)
    }

    #[inline(always)]
    fn fetch_and32(&self, address: u64, bits: u32) -> u32 {
        word32(address).fetch_and(bits, Ordering::SeqCst)
    }

    #[inline(always)]
    fn barrier(&self) {
        // The locked OR before it is one already; the compiler must not move anything across it.
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}
