//! What a traced vCPU did, event by event.
//!
//! A scenario is traced only if its plan says so: every trap then costs some hundred instructions more,
//! so its times are not those of an untraced run. Its guest does the same.
//!
//! Times are TSC ticks since the scenario's start. Interrupts are what changed in IRR and ISR between two
//! looks, so a time says when a change was seen, not more.

use serde::{Deserialize, Serialize};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// VMRUN.
    Enter {
        /// When.
        at: u64,
        /// Guest RIP, if nothing but the last trap's handler could have changed it.
        rip: Option<u64>,
    },
    /// A #VMEXIT of the processor underneath.
    Trap(Trap),
    /// An ICR was written, whoever did what it asks for.
    Ipi {
        /// When.
        at: u64,
        /// Its low half.
        icr: u32,
        /// The destination: 32 bits in x2APIC mode, 8 in xAPIC mode.
        destination: u32,
    },
    /// A vector came up in IRR, or in ISR without having been seen in IRR.
    Accept {
        /// When.
        at: u64,
        /// The vector.
        vector: u8,
    },
    /// An event goes in with the next VMRUN.
    Inject {
        /// When.
        at: u64,
        /// VMCB 0A8h.
        event: u64,
    },
    /// A vector left ISR.
    Eoi {
        /// When.
        at: u64,
        /// The vector.
        vector: u8,
    },
}

/// A #VMEXIT of the processor underneath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// When.
    pub at: u64,
    /// The exit's [`crate::exit::ExitKey`]; 0 where the described processor did it without an exit.
    pub key: u64,
    /// The exit code: of the exit that it was to the hypervisor, else the processor's own.
    pub code: u64,
    /// EXITINFO1.
    pub info_1: u64,
    /// EXITINFO2.
    pub info_2: u64,
    /// EXITINTINFO.
    pub interrupted: u64,
    /// Guest RIP.
    pub rip: u64,
    /// The number that the instruction reads or writes, of an MSR or a port.
    pub value: u64,
    /// RAX before it.
    pub rax: u64,
}

impl Event {
    /// When it was seen.
    pub const fn at(&self) -> u64 {
        match *self {
            Self::Enter { at, .. }
            | Self::Trap(Trap { at, .. })
            | Self::Ipi { at, .. }
            | Self::Accept { at, .. }
            | Self::Inject { at, .. }
            | Self::Eoi { at, .. } => at,
        }
    }
}

/// Writes an event in front of `buffer`; how many bytes it took, `None` if there is no room.
pub fn write(event: &Event, buffer: &mut [u8]) -> Option<usize> {
    postcard::to_slice(event, buffer).ok().map(|bytes| bytes.len())
}

/// How many bytes the first event has; `None` if there is none.
pub fn length(bytes: &[u8]) -> Option<usize> {
    let (_, rest) = postcard::take_from_bytes::<Event>(bytes).ok()?;
    Some(bytes.len() - rest.len())
}

/// Reads what [`write()`] wrote, one event after the other; ends early where the bytes are none.
pub fn read(mut bytes: &[u8]) -> impl Iterator<Item = Result<Event, NotEvents>> {
    core::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        match postcard::take_from_bytes(bytes) {
            Ok((event, rest)) => {
                bytes = rest;
                Some(Ok(event))
            }
            Err(_) => {
                bytes = &[];
                Some(Err(NotEvents))
            }
        }
    })
}

/// The bytes are not events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEvents;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_follow_each_other_and_a_torn_one_is_noticed() {
        let trap = Trap {
            at: 7,
            key: 1,
            code: 0x7c,
            info_1: 1,
            info_2: 0,
            interrupted: 0,
            rip: u64::MAX,
            value: 5,
            rax: 9,
        };
        let events = [
            Event::Enter { at: 1, rip: None },
            Event::Trap(trap),
            Event::Ipi { at: 8, icr: 0x4_4030, destination: 1 },
            Event::Accept { at: 8, vector: 0x30 },
            Event::Inject { at: 9, event: 0x8000_0030 },
            Event::Eoi { at: 10, vector: 0x30 },
        ];
        let mut buffer = [0; 256];
        let mut used = 0;
        for event in &events {
            used += write(event, &mut buffer[used..]).unwrap();
        }
        assert!(read(&buffer[..used]).eq(events.map(Ok)));
        assert_eq!(read(&buffer[..used - 1]).last(), Some(Err(NotEvents)));
        assert_eq!(write(&events[1], &mut [0; 3]), None);
    }
}
