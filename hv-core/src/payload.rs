//! What a payload's ELF file asks of its loader.

use elf::ElfBytes;
use elf::abi::{EM_X86_64, ET_EXEC, PT_LOAD};
use elf::endian::LittleEndian;
use trapline_abi::boot::{GUEST_MEMORY, PAYLOAD_BASE};

/// Why a file is not a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// Not an ELF64 executable for x86-64, or cut short.
    NotAPayload,
    /// A segment lies outside `PAYLOAD_BASE .. GUEST_MEMORY`.
    OutsideMemory,
    /// The entry point lies in no segment.
    NoEntry,
}

impl PayloadError {
    /// What to tell people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotAPayload => "the payload is not an ELF64 x86-64 executable, or is cut short",
            Self::OutsideMemory => "a segment of the payload lies outside guest memory",
            Self::NoEntry => "the payload's entry point lies in no segment",
        }
    }
}

/// A payload, checked.
#[derive(Debug)]
pub struct Payload<'a> {
    elf: ElfBytes<'a, LittleEndian>,
    /// Guest address of its first instruction.
    pub entry: u64,
}

/// A piece to place in guest memory; what is longer than its bytes is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Guest-physical address.
    pub address: u64,
    /// Length in memory, in bytes.
    pub length: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads and checks a payload's ELF file.
    ///
    /// # Errors
    /// See [`PayloadError`].
    pub fn read(file: &'a [u8]) -> Result<Self, PayloadError> {
        let elf = ElfBytes::minimal_parse(file).map_err(|_| PayloadError::NotAPayload)?;
        let header = &elf.ehdr;
        if header.e_type != ET_EXEC || header.e_machine != EM_X86_64 {
            return Err(PayloadError::NotAPayload);
        }
        let entry = header.e_entry;
        let payload = Self { elf, entry };
        let table = payload.elf.segments().ok_or(PayloadError::NotAPayload)?;
        let mut entered = false;
        for header in table.iter().filter(|h| h.p_type == PT_LOAD) {
            let end =
                header.p_paddr.checked_add(header.p_memsz).ok_or(PayloadError::OutsideMemory)?;
            if header.p_paddr < PAYLOAD_BASE || end > GUEST_MEMORY {
                return Err(PayloadError::OutsideMemory);
            }
            if header.p_filesz > header.p_memsz || payload.elf.segment_data(&header).is_err() {
                return Err(PayloadError::NotAPayload);
            }
            entered |= (header.p_paddr..end).contains(&entry);
        }
        if entered { Ok(payload) } else { Err(PayloadError::NoEntry) }
    }

    /// Its pieces.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> + '_ {
        let table = self.elf.segments();
        table.into_iter().flat_map(|t| t.iter()).filter(|h| h.p_type == PT_LOAD).filter_map(|h| {
            let bytes = self.elf.segment_data(&h).ok()?;
            Some(Segment { address: h.p_paddr, length: h.p_memsz, bytes })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF64 file with one segment of `bytes` at `address`.
    fn file(address: u64, memsz: u64, entry: u64, bytes: &[u8]) -> Vec<u8> {
        let mut f = vec![0u8; 120];
        f[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]);
        f[16..20].copy_from_slice(&[2, 0, 62, 0]);
        f[20] = 1;
        f[24..32].copy_from_slice(&entry.to_le_bytes());
        f[32] = 64;
        f[52..58].copy_from_slice(&[64, 0, 56, 0, 1, 0]);
        f[64] = 1;
        f[72] = 120;
        f[80..88].copy_from_slice(&address.to_le_bytes());
        f[88..96].copy_from_slice(&address.to_le_bytes());
        f[96..104].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        f[104..112].copy_from_slice(&memsz.to_le_bytes());
        f.extend_from_slice(bytes);
        f
    }

    #[test]
    fn a_payload_is_read() {
        let f = file(PAYLOAD_BASE, 0x2000, PAYLOAD_BASE + 4, b"code");
        let payload = Payload::read(&f).unwrap();
        let segment = Segment { address: PAYLOAD_BASE, length: 0x2000, bytes: b"code" };
        assert_eq!(payload.segments().collect::<Vec<_>>(), [segment]);
    }

    #[test]
    fn what_reaches_outside_is_refused() {
        for (address, memsz) in
            [(0, 0x1000), (GUEST_MEMORY - 0x1000, 0x1001), (u64::MAX - 4, 0x1000)]
        {
            let f = file(address, memsz, address, b"code");
            assert_eq!(Payload::read(&f).err(), Some(PayloadError::OutsideMemory));
        }
        let f = file(PAYLOAD_BASE, 0x1000, 0, b"code");
        assert_eq!(Payload::read(&f).err(), Some(PayloadError::NoEntry));
    }

    #[test]
    fn every_cut_is_refused() {
        let f = file(PAYLOAD_BASE, 0x1000, PAYLOAD_BASE, b"code");
        for at in 0..f.len() {
            assert!(Payload::read(&f[..at]).is_err(), "cut at {at}");
        }
    }
}
