//! Ports: where messages wait between their sender and the slot that they are for.
//!
//! What a guest's messages and events reach is, under KVM, the VMM's business. Here the guest reaches
//! itself, by one rule: **connection id `16 * n + s` leads to SINT `s` of vCPU `n`**; every other id of 24
//! bits leads nowhere. Ids with more bits are cut to 24 for messages, as by QEMU. The port at the other end
//! has the same number, and is what messages from it name as their origin.
//!
//! A port holds 16 messages at most (TLFS 6.0b, SynIC; HV-225), in order (HV-062). All ports of a VM
//! share 64 buffers, so that with more than four of them full one may have to do with less.

use super::message::{MAX_PAYLOAD, Message};
use super::synic::SINTS;

/// Messages that wait at a port, at most.
pub const PORT_BUFFERS: usize = 16;
/// Messages that wait in a VM, at most.
const BUFFERS: usize = 64;
/// The bits of a connection id.
const CONNECTION: u32 = 0xff_ffff;

/// A port: a SINT of a vCPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The vCPU, by its VP index.
    pub vcpu: u32,
    /// The SINT.
    pub sint: usize,
}

impl Port {
    /// Where a connection leads in a VM of that many vCPUs.
    pub const fn at(connection: u32, vcpus: u32) -> Option<Self> {
        let id = connection & CONNECTION;
        let port = Self { vcpu: id / SINTS as u32, sint: id as usize % SINTS };
        if port.vcpu < vcpus { Some(port) } else { None }
    }

    const fn id(self) -> u64 {
        self.vcpu as u64 * SINTS as u64 + self.sint as u64
    }
}

/// A message that waits.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    port: Port,
    /// When it was sent, counted in messages.
    number: u64,
    kind: u32,
    size: u8,
    payload: [u8; MAX_PAYLOAD],
}

/// A VM's ports.
#[derive(Clone, Debug)]
pub struct Ports {
    buffers: [Option<Buffer>; BUFFERS],
    sent: u64,
}

impl Default for Ports {
    fn default() -> Self {
        Self::new()
    }
}

impl Ports {
    /// Nothing waits.
    pub const fn new() -> Self {
        Self { buffers: [None; BUFFERS], sent: 0 }
    }

    /// VM reset: what waits is forgotten (HV-074).
    pub const fn reset(&mut self) {
        *self = Self::new();
    }

    /// Puts a message behind those that wait already; false if there is no buffer left for it. The
    /// type is one that [`Message::new`] takes.
    pub fn queue(&mut self, port: Port, kind: u32, payload: &[u8]) -> bool {
        let Some(size) =
            u8::try_from(payload.len()).ok().filter(|&n| usize::from(n) <= MAX_PAYLOAD)
        else {
            return false;
        };
        if self.waiting(port).count() >= PORT_BUFFERS {
            return false;
        }
        let Some(free) = self.buffers.iter_mut().find(|buffer| buffer.is_none()) else {
            return false;
        };
        let mut buffer = Buffer { port, number: self.sent, kind, size, payload: [0; MAX_PAYLOAD] };
        buffer.payload[..payload.len()].copy_from_slice(payload);
        *free = Some(buffer);
        self.sent += 1;
        true
    }

    /// The SINTs of a vCPU at whose ports something waits, one bit each.
    pub fn sints(&self, vcpu: u32) -> u16 {
        let its = self.buffers.iter().flatten().filter(|buffer| buffer.port.vcpu == vcpu);
        its.fold(0, |sints, buffer| sints | 1 << buffer.port.sint)
    }

    /// Whether something waits at a port.
    pub fn waits(&self, port: Port) -> bool {
        self.waiting(port).next().is_some()
    }

    /// Hands the first message of a port to `deliver`, and forgets it if that says that it was taken. Whether
    /// one was.
    pub fn deliver(&mut self, port: Port, deliver: impl FnOnce(&Message<'_>) -> bool) -> bool {
        let first = self.waiting(port).min_by_key(|(_, buffer)| buffer.number);
        let Some((at, buffer)) = first else { return false };
        let payload = &buffer.payload[..usize::from(buffer.size)];
        let is_taken = Message::new(buffer.kind, port.id(), payload).is_none_or(|m| deliver(&m));
        if is_taken {
            self.buffers[at] = None;
        }
        is_taken
    }

    fn waiting(&self, port: Port) -> impl Iterator<Item = (usize, &Buffer)> {
        let used = self.buffers.iter().enumerate().filter_map(|(at, b)| Some((at, b.as_ref()?)));
        used.filter(move |(_, buffer)| buffer.port == port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Port = Port { vcpu: 1, sint: 2 };

    fn take(ports: &mut Ports, port: Port) -> Option<Vec<u8>> {
        let mut taken = None;
        ports.deliver(port, |message| {
            let mut slot = [0; super::super::message::SLOT_SIZE];
            message.post(&mut slot);
            taken = Some(slot[16..16 + usize::from(slot[4])].to_vec());
            true
        });
        taken
    }

    #[test]
    fn connections_lead_to_sources_of_vcpus_that_exist() {
        assert_eq!(Port::at(0x12, 2), Some(PORT));
        assert_eq!(Port::at(0xff00_0012, 2), Some(PORT));
        assert_eq!((Port::at(0x20, 2), Port::at(0xff_ffff, 2)), (None, None));
    }

    #[test]
    fn hv_062_messages_of_a_port_keep_their_order() {
        let mut ports = Ports::new();
        let other = Port { vcpu: 0, ..PORT };
        for n in 0..6 {
            assert!(ports.queue(if n % 2 == 0 { PORT } else { other }, 1, &[n]));
        }
        // A buffer that became free in front does not put its message first.
        assert_eq!(take(&mut ports, PORT), Some(vec![0]));
        assert!(ports.queue(PORT, 1, &[6]));
        for n in [2, 4, 6] {
            assert_eq!(take(&mut ports, PORT), Some(vec![n]));
        }
        assert!(!ports.waits(PORT) && ports.waits(other));
        assert_eq!(take(&mut ports, other), Some(vec![1]));
    }

    #[test]
    fn what_is_not_taken_stays_in_front() {
        let mut ports = Ports::new();
        ports.queue(PORT, 1, &[1]);
        ports.queue(PORT, 1, &[2]);
        assert!(!ports.deliver(PORT, |_| false));
        assert_eq!(take(&mut ports, PORT), Some(vec![1]));
    }

    #[test]
    fn hv_225_a_port_holds_sixteen_and_a_vm_sixty_four() {
        let mut ports = Ports::new();
        for vcpu in 0..4 {
            for n in 0..16 {
                assert!(ports.queue(Port { vcpu, sint: 0 }, 1, &[n]));
            }
            assert!(!ports.queue(Port { vcpu, sint: 0 }, 1, &[16]), "the seventeenth");
        }
        assert!(!ports.queue(Port { vcpu: 4, sint: 0 }, 1, &[0]));
        take(&mut ports, Port { vcpu: 0, sint: 0 });
        assert!(ports.queue(Port { vcpu: 4, sint: 0 }, 1, &[0]));
    }
}
