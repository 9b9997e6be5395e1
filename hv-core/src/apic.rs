//! The host's own local APIC: the one-shot timer behind every deadline and budget.

// UNSAFETY: MSRs and the APIC page.
#![expect(unsafe_code, reason = "drives the host's APIC and waits for interrupts")]

use crate::arch::interrupts::{DOORBELL, KICK, SPURIOUS, TIMER, X2APIC};
use core::arch::asm;
use core::arch::x86_64::__cpuid;
use core::sync::atomic::Ordering;
use trapline_defs::cpuid::X2APIC_BIT;
use trapline_defs::msr::APIC_BASE;
use x86_64::registers::model_specific::Msr;

const PAGE: u64 = 0xfee0_0000;
const ID: u32 = 0x02;
const TPR: u32 = 0x08;
const ICR: u32 = 0x30;
const ICR_HIGH: u32 = 0x31;
/// ICR: assert.
const ASSERT: u32 = 1 << 14;
const SVR: u32 = 0x0f;
/// Thermal, performance, LINT0, LINT1, error.
const LVTS: [u32; 5] = [0x33, 0x34, 0x35, 0x36, 0x37];
const MASKED: u32 = 1 << 16;
const LVT_TIMER: u32 = 0x32;
const INITIAL_COUNT: u32 = 0x38;
const DIVIDE: u32 = 0x3e;
const DIVIDE_BY_1: u32 = 0xb;

/// The APIC of the core that it was opened on.
pub struct HostApic {
    x2apic: bool,
}

impl HostApic {
    /// Enables the core's APIC, in x2APIC mode where there is one, with its timer in one-shot mode.
    pub fn open() -> Self {
        let x2apic = __cpuid(1).ecx & X2APIC_BIT != 0;
        let mut base = Msr::new(APIC_BASE);
        // SAFETY: enabling the APIC of the core we own; its page is identity-mapped uncached.
        unsafe {
            let enable = if x2apic { 0xc00 } else { 0x800 };
            base.write(base.read() | enable);
        }
        X2APIC.store(u8::from(x2apic), Ordering::Relaxed);
        let apic = Self { x2apic };
        // Nothing that firmware set up may interrupt from here on.
        for register in LVTS {
            apic.write(register, MASKED);
        }
        apic.write(SVR, 0x100 | u32::from(SPURIOUS));
        apic.write(TPR, 0);
        apic.write(DIVIDE, DIVIDE_BY_1);
        apic.write(LVT_TIMER, u32::from(TIMER));
        apic
    }

    /// Arms the timer: it fires after `count` ticks of the APIC's clock; 0 stops it.
    #[inline]
    pub fn arm(&self, count: u32) {
        self.write(INITIAL_COUNT, count);
    }

    /// Takes interrupts of every priority. A guest without V_INTR_MASKING moves this core's TPR by its
    /// CR8; the next guest must not suffer for it.
    pub fn accept_all(&self) {
        self.write(TPR, 0);
    }

    /// This APIC's id, for [`HostApic::kick`].
    pub fn id(&self) -> u32 {
        let leaf = __cpuid(1).ebx >> 24;
        if self.x2apic { self.read(ID) } else { leaf }
    }

    /// Interrupts another core.
    pub fn kick(&self, id: u32) {
        self.send(id, u32::from(KICK) | ASSERT);
    }

    /// Rings another core: the model's doorbell.
    pub fn ring(&self, id: u32) {
        self.send(id, u32::from(DOORBELL) | ASSERT);
    }

    /// Whether a doorbell is all that waits among what hv-core's cores send each other.
    pub fn only_doorbell_waits(&self) -> bool {
        self.waiting() == 1 << (DOORBELL % 32)
    }

    /// The IRR's word with hv-core's own vectors.
    fn waiting(&self) -> u32 {
        const WORD: u32 = 0x20 + DOORBELL as u32 / 32;
        if self.x2apic {
            self.read(WORD)
        } else {
            // SAFETY: a register of the own APIC.
            unsafe { ((PAGE + u64::from(WORD) * 16) as *const u32).read_volatile() }
        }
    }

    /// Starts all other cores at `page << 12`: INIT, then SIPI, to everybody else.
    pub fn start_others(&self, page: u8) {
        const OTHERS: u32 = 3 << 18;
        self.send(0, OTHERS | ASSERT | 5 << 8);
        self.send(0, OTHERS | ASSERT | 6 << 8 | u32::from(page));
    }

    fn send(&self, id: u32, command: u32) {
        // SAFETY: interrupt commands to cores of ours; what they start is in place.
        unsafe {
            if self.x2apic {
                Msr::new(0x800 + ICR).write(u64::from(id) << 32 | u64::from(command));
            } else {
                self.write(ICR_HIGH, id << 24);
                self.write(ICR, command);
            }
        }
    }

    fn read(&self, number: u32) -> u32 {
        // SAFETY: reading the own APIC.
        unsafe { Msr::new(0x800 + number).read() as u32 }
    }

    /// Register `number` is MSR 800h + number, or 16 times that in the page.
    fn write(&self, number: u32, value: u32) {
        // SAFETY: registers of the own APIC; none of those used here has an effect on memory.
        unsafe {
            if self.x2apic {
                Msr::new(0x800 + number).write(u64::from(value));
            } else {
                ((PAGE + u64::from(number) * 16) as *mut u32).write_volatile(value);
            }
        }
    }
}

/// Sleeps until the next interrupt was taken. RFLAGS.IF is clear before and after.
pub fn wait() {
    // SAFETY: STI opens after HLT, so an interrupt that is already pending ends the sleep.
    unsafe { asm!("sti", "hlt", "cli", options(nostack)) };
}

/// Sleeps until the next interrupt was taken, in the middle of the world switch: GIF is clear and IF
/// set before and after.
pub fn sleep_in_guest() {
    // SAFETY: IF is clear when GIF opens, so that nothing is taken before the sleep begins.
    unsafe { asm!("cli", "stgi", "sti", "hlt", "cli", "clgi", "sti", options(nostack)) };
}

/// Takes what is pending, without sleeping. RFLAGS.IF is clear before and after, GIF set.
pub fn take_pending() {
    // SAFETY: interrupts are taken behind the first NOP; their handlers change no register.
    unsafe { asm!("sti", "nop", "nop", "cli", options(nostack)) };
}
