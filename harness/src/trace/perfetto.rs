//! A trace as Perfetto's protobuf (perfetto.dev, "Synthetic Track Event").
//!
//! Few fields of few messages are needed, so they are written by hand: a code generator would bring
//! thousands of types.

use super::Trace;
use super::arrows::Arrow;
use super::chrome::mark_name;
use super::timeline::{Track, What, exit_name};

/// Field numbers of `TracePacket`.
mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const EVENT: u32 = 11;
    pub const FLAGS: u32 = 13;
    pub const DESCRIPTOR: u32 = 60;
}

/// Field numbers of `TrackDescriptor`, and of the descriptors in it.
mod descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const PARENT: u32 = 5;
    pub const PROCESS_PID: u32 = 1;
    pub const PROCESS_NAME: u32 = 6;
}

/// Field numbers of `TrackEvent`.
mod event {
    pub const ANNOTATION: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const TRACK: u32 = 11;
    pub const CATEGORY: u32 = 22;
    pub const NAME: u32 = 23;
    pub const FLOW: u32 = 47;
    pub const LAST_FLOW: u32 = 48;
}

/// Field numbers of `DebugAnnotation`.
mod annotation {
    pub const UINT: u32 = 3;
    pub const POINTER: u32 = 7;
    pub const NAME: u32 = 10;
}

/// `TrackEvent.Type`.
mod kind {
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
}

const PROCESS: u64 = 1;
const SEQUENCE: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: nothing before it matters.
const CLEARED: u64 = 1;

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn fixed(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u32, message: Self) -> Self {
        self.bytes(field, &message.0)
    }
}

/// The file's bytes.
pub fn bytes(trace: &Trace, tracks: &[Track], arrows: &[Arrow]) -> Vec<u8> {
    let mut packets = vec![process(trace)];
    packets.extend((0..tracks.len()).map(thread));
    let mut events: Vec<(u64, Message)> = Vec::new();
    for (vcpu, track) in tracks.iter().enumerate() {
        slices(trace, vcpu, track, &mut events);
        for mark in &track.marks {
            let event = at_track(kind::INSTANT, vcpu).text(event::NAME, &mark_name(mark));
            events.push((trace.nanos(mark.at), event.text(event::CATEGORY, "interrupt")));
        }
    }
    for (id, arrow) in (1..).zip(arrows) {
        let name = format!("vector {:#x}", arrow.vector);
        let end = |vcpu, flow| {
            let event = at_track(kind::INSTANT, vcpu).text(event::NAME, &name);
            event.text(event::CATEGORY, "interrupt").fixed(flow, id)
        };
        events.push((trace.nanos(arrow.sent), end(arrow.sender, event::FLOW)));
        let taken = arrow.taken.unwrap_or(arrow.accepted);
        events.push((trace.nanos(taken), end(arrow.target, event::LAST_FLOW)));
    }
    events.sort_by_key(|(at, _)| *at);
    packets.extend(events.into_iter().map(|(at, event)| {
        Message::default().number(packet::TIMESTAMP, at).message(packet::EVENT, event)
    }));
    let mut file = Message::default();
    for (place, packet) in packets.into_iter().enumerate() {
        let flags = if place == 0 { CLEARED } else { 0 };
        let packet = packet.number(packet::SEQUENCE, SEQUENCE).number(packet::FLAGS, flags);
        file = file.message(1, packet);
    }
    file.0
}

/// A vCPU's track.
fn uuid(vcpu: usize) -> u64 {
    PROCESS + 1 + vcpu as u64
}

fn process(trace: &Trace) -> Message {
    let process = Message::default()
        .number(descriptor::PROCESS_PID, 1)
        .text(descriptor::PROCESS_NAME, &trace.name);
    let track =
        Message::default().number(descriptor::UUID, PROCESS).message(descriptor::PROCESS, process);
    Message::default().message(packet::DESCRIPTOR, track)
}

fn thread(vcpu: usize) -> Message {
    let track = Message::default()
        .number(descriptor::UUID, uuid(vcpu))
        .text(descriptor::NAME, &format!("vCPU {vcpu}"))
        .number(descriptor::PARENT, PROCESS);
    Message::default().message(packet::DESCRIPTOR, track)
}

fn at_track(kind: u64, vcpu: usize) -> Message {
    Message::default().number(event::TYPE, kind).number(event::TRACK, uuid(vcpu))
}

fn slices(trace: &Trace, vcpu: usize, track: &Track, events: &mut Vec<(u64, Message)>) {
    for slice in &track.slices {
        let begin = at_track(kind::BEGIN, vcpu);
        let begin = match &slice.what {
            What::Guest { absorbed } => {
                let begin = begin.text(event::CATEGORY, "guest").text(event::NAME, "guest");
                let absorbed = number("absorbed traps", annotation::UINT, u64::from(*absorbed));
                begin.message(event::ANNOTATION, absorbed)
            }
            What::Exit(trap) => begin
                .text(event::CATEGORY, "exit")
                .text(event::NAME, &exit_name(trap))
                .message(event::ANNOTATION, number("code", annotation::POINTER, trap.code))
                .message(event::ANNOTATION, number("info1", annotation::POINTER, trap.info_1))
                .message(event::ANNOTATION, number("info2", annotation::POINTER, trap.info_2))
                .message(event::ANNOTATION, number("rip", annotation::POINTER, trap.rip)),
        };
        events.push((trace.nanos(slice.from), begin));
        events.push((trace.nanos(slice.to), at_track(kind::END, vcpu)));
    }
}

fn number(name: &str, field: u32, value: u64) -> Message {
    Message::default().text(annotation::NAME, name).number(field, value)
}
