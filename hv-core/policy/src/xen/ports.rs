//! The ports of a domain's event channels.

/// How many there can be: the first bucket of Xen's, which every domain has from the start.
pub const COUNT: usize = 64;

/// What a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Nothing yet, or nothing any more.
    Free,
    /// Port 0, which means "no port".
    Reserved,
    /// It notifies this vCPU.
    Ipi {
        /// Its number.
        vcpu: u32,
    },
}

/// All of them.
#[derive(Debug)]
pub struct Ports([Port; COUNT]);

impl Default for Ports {
    fn default() -> Self {
        Self::new()
    }
}

impl Ports {
    /// Those of a new domain.
    pub const fn new() -> Self {
        let mut ports = [Port::Free; COUNT];
        ports[0] = Port::Reserved;
        Self(ports)
    }

    /// A port, if there is one of that number.
    pub fn get(&self, port: u32) -> Option<Port> {
        self.0.get(port as usize).copied()
    }

    /// Binds the lowest free port to a vCPU; `None` if all are taken.
    pub fn bind_ipi(&mut self, vcpu: u32) -> Option<u32> {
        let free = self.0.iter().position(|port| *port == Port::Free)?;
        self.0[free] = Port::Ipi { vcpu };
        Some(free as u32)
    }

    /// Frees a port that is bound; `false` if it is not.
    pub fn close(&mut self, port: u32) -> bool {
        match self.0.get_mut(port as usize) {
            Some(slot @ Port::Ipi { .. }) => {
                *slot = Port::Free;
                true
            }
            _ => false,
        }
    }
}
