//! A time line: for each vCPU slices that do not overlap, and marks.

use super::Trace;
use trapline_abi::call::Call;
use trapline_abi::exit::{self, Detail, ExitKey, VMMCALL};
use trapline_abi::trace::{Event, Trap};

/// What a vCPU did between two times, in ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// From.
    pub from: u64,
    /// To.
    pub to: u64,
    /// What.
    pub what: What,
}

/// What a slice is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The guest ran; what the processor did by itself meanwhile is counted.
    Guest {
        /// Traps that were no exits.
        absorbed: u32,
    },
    /// An exit was handled.
    Exit(Trap),
}

/// Something at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, in ticks.
    pub at: u64,
    /// What: [`Event::Ipi`], [`Event::Accept`], [`Event::Inject`] or [`Event::Eoi`].
    pub event: Event,
}

/// One vCPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Slices, in order, each one at the end of the one before.
    pub slices: Vec<Slice>,
    /// Marks, in order.
    pub marks: Vec<Mark>,
}

/// The name of an exit: `msr 0x830:W`, or `mark` for a call of the payload.
pub fn exit_name(trap: &Trap) -> String {
    let key = ExitKey(trap.key);
    if key.code() == VMMCALL && Call::from_number(trap.rax).is_some() {
        return "mark".into();
    }
    match key.detail() {
        Detail::None => exit::name(key.code()).into(),
        _ => format!("{} {key}", exit::name(key.code())),
    }
}

/// The tracks of a trace.
pub fn tracks(trace: &Trace) -> Vec<Track> {
    trace.vcpus.iter().map(|events| track(events)).collect()
}

fn track(events: &[Event]) -> Track {
    let mut track = Track::default();
    let mut open: Option<(u64, What)> = None;
    for &event in events {
        match event {
            Event::Enter { at, .. } => match open.take() {
                // The processor did the last trap's work by itself: to the guest nothing happened.
                Some((from, guest @ What::Guest { .. })) => open = Some((from, guest)),
                before => {
                    track.close(before, at);
                    open = Some((at, What::Guest { absorbed: 0 }));
                }
            },
            Event::Trap(trap) if trap.key == 0 => {
                if let Some((_, What::Guest { absorbed })) = &mut open {
                    *absorbed += 1;
                }
            }
            Event::Trap(trap) => {
                track.close(open.take(), trap.at);
                open = Some((trap.at, What::Exit(trap)));
            }
            event => track.marks.push(Mark { at: event.at(), event }),
        }
    }
    // What the end of the scenario cut off has no length.
    if let Some((from, what)) = open {
        track.slices.push(Slice { from, to: from, what });
    }
    track
}

impl Track {
    fn close(&mut self, open: Option<(u64, What)>, to: u64) {
        if let Some((from, what)) = open {
            self.slices.push(Slice { from, to, what });
        }
    }

    /// How many of its slices are exits.
    pub fn exits(&self) -> usize {
        self.slices.iter().filter(|slice| matches!(slice.what, What::Exit(_))).count()
    }
}
