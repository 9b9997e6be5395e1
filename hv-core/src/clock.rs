//! The time stamp counter and the APIC timer: how fast they run, and turning one into the other.

// UNSAFETY: PIT ports for the measurement.
#![expect(unsafe_code, reason = "programs PIT channel 2")]

use crate::apic::{HostApic, wait};
use crate::arch::interrupts::TIMER_TICKS;
use core::arch::x86_64::_rdtsc;
use core::sync::atomic::Ordering;
use trapline_abi::plan::Clock as Kind;
use x86_64::instructions::port::Port;

/// The PIT's input, in Hz.
const PIT_HZ: u64 = 1_193_182;

/// Both frequencies, in kHz.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Of the TSC.
    pub tsc_khz: u32,
    /// Of the APIC timer at divisor 1.
    pub apic_khz: u32,
}

/// The TSC now.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: every processor with SVM has a TSC.
    unsafe { _rdtsc() }
}

impl Clock {
    /// Known under icount, measured elsewhere.
    pub fn find(kind: Kind, apic: &HostApic) -> Self {
        match kind {
            Kind::Icount => Self { tsc_khz: 1_000_000, apic_khz: 1_000_000 },
            Kind::Measure => Self::measure(apic),
        }
    }

    /// APIC timer ticks for `ticks` of the TSC: at least 1, at most what the timer can hold.
    #[inline]
    pub fn apic_ticks(&self, ticks: u64) -> u32 {
        let scaled = if self.tsc_khz == self.apic_khz {
            ticks
        } else {
            (u128::from(ticks) * u128::from(self.apic_khz) / u128::from(self.tsc_khz)) as u64
        };
        scaled.clamp(1, u64::from(u32::MAX)) as u32
    }

    /// Counts both over 20 ms of PIT channel 2, three times, and takes the middle one.
    fn measure(apic: &HostApic) -> Self {
        let mut runs = [(); 3].map(|()| Self::measure_once(apic));
        runs.sort_unstable_by_key(|run| run.tsc_khz);
        runs[1]
    }

    fn measure_once(apic: &HostApic) -> Self {
        const MILLISECONDS: u64 = 20;
        const COUNT: u64 = PIT_HZ * MILLISECONDS / 1000;
        let mut gate = Port::<u8>::new(0x61);
        let mut command = Port::<u8>::new(0x43);
        let mut counter = Port::<u8>::new(0x42);
        // SAFETY: channel 2 drives nothing but the speaker, which stays off.
        let tsc = unsafe {
            let old = gate.read();
            gate.write(old & !3);
            command.write(0xb0);
            counter.write(COUNT as u8);
            counter.write((COUNT >> 8) as u8);
            let start = now();
            gate.write(old & !2 | 1);
            while gate.read() & 0x20 == 0 {}
            let tsc = now() - start;
            gate.write(old);
            tsc
        };
        let tsc_khz = tsc / MILLISECONDS;
        // By its interrupt: QEMU's TCG aborts when the count itself is read under icount.
        const TICKS: u64 = 1_000_000;
        let fired = TIMER_TICKS.load(Ordering::Relaxed);
        let start = now();
        apic.arm(TICKS as u32);
        while TIMER_TICKS.load(Ordering::Relaxed) == fired {
            wait();
        }
        let apic_khz = tsc_khz * TICKS / (now() - start).max(1);
        Self { tsc_khz: tsc_khz as u32, apic_khz: apic_khz as u32 }
    }
}
