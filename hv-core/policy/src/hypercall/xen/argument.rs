//! A hypercall's argument: a structure in guest memory, by its linear address.

use super::errno::Errno;
use crate::memory::{GuestMemory, translate};

/// The structure.
pub(super) struct Argument<'m, M> {
    pub memory: &'m M,
    pub cr3: u64,
    pub address: u64,
}

impl<M: GuestMemory> Argument<'_, M> {
    fn physical(&self, at: u64) -> Result<u64, Errno> {
        translate(self.memory, self.cr3, self.address.wrapping_add(at)).ok_or(Errno::BadAddress)
    }

    fn bytes<const N: usize>(&self, at: u64) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        for (at, byte) in (at..).zip(&mut bytes) {
            *byte = self.memory.read_u8(self.physical(at)?).ok_or(Errno::BadAddress)?;
        }
        Ok(bytes)
    }

    /// A field of one byte.
    pub(super) fn u8(&self, at: u64) -> Result<u8, Errno> {
        self.bytes::<1>(at).map(|[byte]| byte)
    }

    /// A field of two bytes.
    pub(super) fn u16(&self, at: u64) -> Result<u16, Errno> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    /// A field of four bytes.
    pub(super) fn u32(&self, at: u64) -> Result<u32, Errno> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    /// A field of eight bytes.
    pub(super) fn u64(&self, at: u64) -> Result<u64, Errno> {
        self.bytes(at).map(u64::from_le_bytes)
    }

    /// Writes a field of the answer.
    pub(super) fn put(&self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        for (at, &byte) in (at..).zip(bytes) {
            if !self.memory.write_u8(self.physical(at)?, byte) {
                return Err(Errno::BadAddress);
            }
        }
        Ok(())
    }
}
