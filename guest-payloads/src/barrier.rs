//! A place where all vCPUs wait for each other.

use crate::{cpu, smp};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

static ARRIVALS: AtomicU64 = AtomicU64::new(0);

/// Returns when every vCPU has come here. It spins, so it makes no exit.
pub fn meet() {
    let vcpus = u64::from(smp::vcpus());
    let before = ARRIVALS.fetch_add(1, SeqCst);
    let last_of_round = (before / vcpus + 1) * vcpus;
    cpu::wait_until(|| ARRIVALS.load(SeqCst) >= last_of_round);
}
