//! How a guest learns that a synthetic timer expired: by a message in a SINT's slot, or by an interrupt.

use super::delivery;
use super::message::{Delivery, Message};
use super::timer::Timer;
use super::{Synic, Timers};
use crate::lapic::Lapic;
use crate::memory::GuestMemory;
use crate::time::Ns;

/// The message's type: HvMessageTimerExpired.
const TIMER_EXPIRED: u32 = 0x8000_0010;

/// Lets the timers of a vCPU expire that are due at `now`.
#[cold]
#[inline(never)]
pub fn expire<M: GuestMemory>(
    timers: &mut Timers,
    synic: &Synic,
    lapic: &mut Lapic,
    memory: &M,
    now: Ns,
) {
    timers.expire(now, |number, timer, expired, time| {
        if let Some(vector) = timer.direct_vector() {
            // Vectors below 16 are no interrupts: the expiry is taken for told.
            return vector < 16 || lapic.accept(vector, false);
        }
        send(synic, lapic, memory, timer, &payload(number, expired, time))
    });
}

/// Timer, reserved word, expiration, delivery (TLFS 6.0b, timers).
fn payload(number: usize, expired: u64, time: u64) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[0] = number as u8;
    bytes[8..16].copy_from_slice(&expired.to_le_bytes());
    bytes[16..].copy_from_slice(&time.to_le_bytes());
    bytes
}

/// Sends a timer's message: whether the timer may go on.
fn send<M: GuestMemory>(
    synic: &Synic,
    lapic: &mut Lapic,
    memory: &M,
    timer: &Timer,
    payload: &[u8],
) -> bool {
    let sint = timer.sint();
    let Some(message) = Message::new(TIMER_EXPIRED, 0, payload) else { return false };
    // KVM drops a periodic tick before a full slot, and does not say that more wait (HV-140).
    if timer.is_periodic() && delivery::is_slot_full(synic, memory, sint) {
        return true;
    }
    // A masked SINT or an APIC that is off has its message, but KVM takes it for not delivered: the
    // timer stalls, and the next EOM brings another message (STIM-1).
    match delivery::post(synic, memory, sint, &message) {
        Delivery::Interrupt { vector } => lapic.accept(vector, false),
        Delivery::Masked | Delivery::Busy | Delivery::NoPage => false,
    }
}
