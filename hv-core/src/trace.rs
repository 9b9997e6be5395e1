//! The events of a traced vCPU, until its scenario is over.

use trapline_abi::trace::{Event, Trap, length, write};
use trapline_policy::lapic::Vectors;

/// Room for some ten thousand events.
const SIZE: usize = 256 << 10;

/// IRR and ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupts {
    /// Vectors that wait.
    pub waiting: Vectors,
    /// Vectors in service.
    pub in_service: Vectors,
}

impl Interrupts {
    /// None.
    pub const NONE: Self = Self { waiting: Vectors::EMPTY, in_service: Vectors::EMPTY };
}

/// A vCPU's events.
pub struct Trace {
    bytes: [u8; SIZE],
    used: usize,
    lost: u32,
    seen: Interrupts,
    /// The trap that is being handled, and where [`crate::last_exits::LastExits`] stood.
    pub trap: Option<(Trap, usize)>,
    /// Guest RIP after the last trap that did not leave the run loop.
    pub rip: Option<u64>,
}

impl Trace {
    /// No events.
    pub const EMPTY: Self =
        Self { bytes: [0; SIZE], used: 0, lost: 0, seen: Interrupts::NONE, trap: None, rip: None };

    /// Forgets everything.
    pub fn reset(&mut self) {
        (self.used, self.lost, self.seen) = (0, 0, Interrupts::NONE);
        (self.trap, self.rip) = (None, None);
    }

    /// Keeps an event. Once one was lost, so are all that follow: a trace has no holes.
    pub fn put(&mut self, event: &Event) {
        if self.lost == 0
            && let Some(length) = write(event, &mut self.bytes[self.used..])
        {
            self.used += length;
        } else {
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// Keeps what changed in IRR and ISR since the last look.
    pub fn look(&mut self, now: Interrupts, at: u64) {
        if now == self.seen {
            return;
        }
        let before = core::mem::replace(&mut self.seen, now);
        let differs = |word: &u8| {
            let at = usize::from(*word);
            before.waiting.0[at] != now.waiting.0[at]
                || before.in_service.0[at] != now.in_service.0[at]
        };
        for vector in (0..8).filter(differs).flat_map(|word| word * 32..=word * 32 + 31) {
            let (waited, waits) = (before.waiting.has(vector), now.waiting.has(vector));
            let (served, serves) = (before.in_service.has(vector), now.in_service.has(vector));
            // One in service twice in a row had its EOI in between.
            let again = served && serves && waited && !waits;
            if served && (!serves || again) {
                self.put(&Event::Eoi { at, vector });
            }
            if waits && !waited || serves && !served && !waited {
                self.put(&Event::Accept { at, vector });
            }
        }
    }

    /// Hands the events over, in pieces of at most `most` bytes that end with an event; then how many
    /// were lost.
    pub fn pieces(&self, most: usize, mut take: impl FnMut(&[u8])) -> u32 {
        let mut rest = &self.bytes[..self.used];
        while !rest.is_empty() {
            let mut piece = 0;
            while let Some(next) = length(&rest[piece..]).map(|length| piece + length)
                && next <= most
            {
                piece = next;
            }
            if piece == 0 {
                break;
            }
            take(&rest[..piece]);
            rest = &rest[piece..];
        }
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trapline_abi::trace::read;

    fn vectors(all: &[u8]) -> Vectors {
        let mut vectors = Vectors::EMPTY;
        for &vector in all {
            vectors.insert(vector);
        }
        vectors
    }

    fn events(trace: &Trace, most: usize) -> Vec<Event> {
        let mut events = Vec::new();
        trace.pieces(most, |piece| {
            assert!(piece.len() <= most);
            events.extend(read(piece).map(Result::unwrap));
        });
        events
    }

    #[test]
    fn changes_of_irr_and_isr_are_arrivals_and_ends() {
        let mut trace = Box::new(Trace::EMPTY);
        let look = |trace: &mut Trace, waiting: &[u8], in_service: &[u8], at| {
            let now = Interrupts { waiting: vectors(waiting), in_service: vectors(in_service) };
            trace.look(now, at);
        };
        look(&mut trace, &[0x30], &[], 1);
        look(&mut trace, &[0x30], &[], 2);
        look(&mut trace, &[0x30], &[0x30], 3); // a second one waits behind the first
        look(&mut trace, &[], &[0x30], 4); // which ended, for this one
        look(&mut trace, &[], &[0x40], 5);
        assert_eq!(
            events(&trace, 64),
            [
                Event::Accept { at: 1, vector: 0x30 },
                Event::Eoi { at: 4, vector: 0x30 },
                Event::Eoi { at: 5, vector: 0x30 },
                Event::Accept { at: 5, vector: 0x40 },
            ]
        );
    }

    #[test]
    fn a_full_trace_ends_and_says_how_much_is_missing() {
        let mut trace = Box::new(Trace::EMPTY);
        let event = Event::Enter { at: u64::MAX, rip: Some(u64::MAX) };
        let fit = SIZE / 22;
        for _ in 0..fit + 5 {
            trace.put(&event);
        }
        trace.put(&Event::Eoi { at: 0, vector: 0 });
        let all = events(&trace, 1000);
        assert!(all.len() <= fit && all.iter().all(|e| *e == event));
        let lost = trace.pieces(1000, |_| {});
        assert_eq!(lost as usize, fit + 6 - all.len());
        trace.reset();
        assert_eq!(events(&trace, 64), []);
    }
}
