//! The 8254 interval timer at ports 40h to 43h, with port 61h, as KVM 6.12 has it in the kernel.
//!
//! KVM's ways that differ from the data sheet: BCD is stored and counted as binary, a mode that is
//! written takes effect with the next count only, the null-count flag is never set, OUT of mode 2 is high
//! where the chip's is low, the gate of modes 0 and 4 stops nothing, and a periodic count is at least
//! 200 us (`min_timer_period_us`).
//!
//! Channel 0 is IRQ 0 of the PIC and, as QEMU routes it, pin 2 of the IOAPIC: a pulse each time.

mod channel;
mod ticks;

#[cfg(test)]
mod tests;

use crate::time::Ns;
use channel::Channel;
use ticks::Ticks;

/// The first channel's port; the control port is the fourth.
pub const FIRST_PORT: u16 = 0x40;
/// The port of control words.
pub const CONTROL_PORT: u16 = 0x43;
/// Gate and OUT of channel 2, and the speaker.
pub const SPEAKER_PORT: u16 = 0x61;

/// The oscillator.
pub const HZ: u64 = 1_193_182;

/// Port 61h: the gate of channel 2.
const GATE: u8 = 1;
/// Port 61h: the speaker is driven.
const SPEAKER: u8 = 2;

/// The timer chip.
#[derive(Clone, Debug)]
pub struct Pit {
    channels: [Channel; 3],
    ticks: Ticks,
    speaker: bool,
}

impl Pit {
    /// A chip that was switched on at `Ns(0)`. Whether lost ticks of channel 0 are made up for: see
    /// [`Pit::ended`].
    pub const fn new(reinjects: bool) -> Self {
        Self {
            channels: [Channel::new(true), Channel::new(true), Channel::new(false)],
            ticks: Ticks::new(reinjects),
            speaker: false,
        }
    }

    /// IN from one of the ports.
    pub fn read(&mut self, port: u16, now: Ns) -> u8 {
        match port {
            SPEAKER_PORT => self.read_speaker(now),
            // Control words cannot be read back, and KVM answers with what was in its buffer.
            CONTROL_PORT => 0,
            _ => {
                let channel = usize::from(port & 3);
                let elapsed = self.elapsed(channel, now);
                self.channels[channel].read(elapsed)
            }
        }
    }

    /// OUT to one of the ports.
    pub fn write(&mut self, port: u16, value: u8, now: Ns) {
        match port {
            SPEAKER_PORT => {
                self.speaker = value & SPEAKER != 0;
                self.channels[2].set_gate(value & GATE != 0, now);
            }
            CONTROL_PORT => self.control(value, now),
            _ => {
                let channel = usize::from(port & 3);
                let is_loaded = self.channels[channel].write(value, now);
                if is_loaded && channel == 0 {
                    let channel = &self.channels[0];
                    self.ticks.start(channel.mode(), channel.count(), now);
                }
            }
        }
    }

    /// When channel 0 pulses if nobody does anything.
    pub const fn next_deadline(&self) -> Ns {
        self.ticks.next_deadline()
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Ns) {
        self.ticks.advance(now);
    }

    /// Whether IRQ 0 is to be pulsed; it is so once.
    pub const fn take_pulse(&mut self) -> bool {
        self.ticks.take_pulse()
    }

    /// The guest ended IRQ 0's interrupt, at either controller. Where ticks are made up for, the next one
    /// that waits is due; elsewhere nobody cares.
    pub const fn ended(&mut self) {
        self.ticks.ended();
    }

    /// The guest unmasked IRQ 0, at either controller: what was lost before is forgotten.
    pub const fn unmasked(&mut self) {
        self.ticks.forget();
    }

    /// Nanoseconds since a channel's count was loaded, or for channel 0 since its last tick.
    fn elapsed(&self, channel: usize, now: Ns) -> u64 {
        if channel == 0 { self.ticks.elapsed(now) } else { self.channels[channel].elapsed(now) }
    }

    /// A control word: of one channel, or a read-back command for several.
    fn control(&mut self, value: u8, now: Ns) {
        let select = usize::from(value >> 6);
        if select < 3 {
            let elapsed = self.elapsed(select, now);
            return self.channels[select].control(value, elapsed);
        }
        for channel in (0..3).filter(|channel| value & 2 << channel != 0) {
            let elapsed = self.elapsed(channel, now);
            if value & 0x20 == 0 {
                self.channels[channel].latch_count(elapsed);
            }
            if value & 0x10 == 0 {
                self.channels[channel].latch_status(elapsed);
            }
        }
    }

    fn read_speaker(&self, now: Ns) -> u8 {
        let channel = &self.channels[2];
        // The refresh clock toggles about every 15 us; KVM takes 2^14 ns for that.
        let refresh = (now.0 >> 14 & 1) as u8;
        u8::from(channel.gate())
            | u8::from(self.speaker) << 1
            | refresh << 4
            | u8::from(channel.out(channel.elapsed(now))) << 5
    }
}
