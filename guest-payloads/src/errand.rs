//! Errands: what a vCPU does for another one, which waits until it is done.

// UNSAFETY: a function's address that one vCPU leaves for another.
#![expect(unsafe_code, reason = "a function by its address")]

use crate::{cpu, smp};
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

/// Something to do with two numbers; it answers with one.
pub type Errand = fn(u64, u64) -> u64;

static WHAT: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
static WHO: AtomicU64 = AtomicU64::new(0);
static WITH: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static ANSWER: AtomicU64 = AtomicU64::new(0);

/// A vCPU's whole life, with interrupts off: it does what it is asked for.
pub fn serve(number: u32) {
    loop {
        cpu::wait_until(|| !WHAT.load(SeqCst).is_null() && WHO.load(SeqCst) == number.into());
        // SAFETY: only `on` stores there, and only errands.
        let what = unsafe { transmute::<*mut (), Errand>(WHAT.load(SeqCst)) };
        ANSWER.store(what(WITH[0].load(SeqCst), WITH[1].load(SeqCst)), SeqCst);
        WHAT.store(core::ptr::null_mut(), SeqCst);
    }
}

/// Has a vCPU that [`serve`]s do something; the vCPU that asks does it itself, if it is the one.
pub fn on(vcpu: u32, what: Errand, first: u64, second: u64) -> u64 {
    if vcpu == smp::number() {
        return what(first, second);
    }
    WHO.store(vcpu.into(), SeqCst);
    WITH[0].store(first, SeqCst);
    WITH[1].store(second, SeqCst);
    WHAT.store(what as *mut (), SeqCst);
    cpu::wait_until(|| WHAT.load(SeqCst).is_null());
    ANSWER.load(SeqCst)
}
