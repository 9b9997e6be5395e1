//! How many processors firmware reports: RSDP, RSDT or XSDT, MADT (ACPI 6.5 §5.2).
//!
//! Bounded and panic-free: firmware's bytes are input like any other.

/// Physical memory, as far as tables may lie in it.
pub trait Memory {
    /// `length` bytes at a physical address, `None` where there is no readable memory.
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]>;
}

const HEADER: usize = 36;
const MAX_TABLE: usize = 1 << 20;
const MADT_ENTRIES: usize = 44;
const LOCAL_APIC: u8 = 0;
const LOCAL_X2APIC: u8 = 9;
const ENABLED: u32 = 1;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn table<M: Memory>(memory: &M, address: u64) -> Option<&[u8]> {
    let length = word(memory.bytes(address, HEADER)?, 4)? as usize;
    if !(HEADER..=MAX_TABLE).contains(&length) {
        return None;
    }
    memory.bytes(address, length)
}

/// Counts the enabled processors of the MADT; `None` when there is no such table.
pub fn processors<M: Memory>(memory: &M, rsdp: u64) -> Option<u32> {
    let pointer = memory.bytes(rsdp, HEADER)?;
    if &pointer[..8] != b"RSD PTR " {
        return None;
    }
    let xsdt = u64::from_le_bytes(pointer[24..32].try_into().ok()?);
    let (root, width) = match pointer[15] {
        0 => (u64::from(word(pointer, 16)?), 4),
        _ if xsdt == 0 => (u64::from(word(pointer, 16)?), 4),
        _ => (xsdt, 8),
    };
    let madt = table(memory, root)?[HEADER..]
        .chunks_exact(width)
        .map(|entry| entry.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
        .filter_map(|address| table(memory, address))
        .find(|table| &table[..4] == b"APIC")?;
    Some(count(madt.get(MADT_ENTRIES..)?))
}

fn count(mut entries: &[u8]) -> u32 {
    let mut enabled = 0;
    while let [kind, length, ..] = *entries {
        let Some(entry) = entries.get(..usize::from(length)).filter(|entry| entry.len() >= 2)
        else {
            break;
        };
        let flags = match kind {
            LOCAL_APIC => word(entry, 4),
            LOCAL_X2APIC => word(entry, 8),
            _ => None,
        };
        enabled += u32::from(flags.is_some_and(|flags| flags & ENABLED != 0));
        entries = &entries[usize::from(length)..];
    }
    enabled
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Vec<u8>);

    impl Memory for Bytes {
        fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
            let start = usize::try_from(address).ok()?;
            self.0.get(start..start.checked_add(length)?)
        }
    }

    fn header(name: &[u8; 4], length: usize) -> Vec<u8> {
        let mut header = vec![0; HEADER];
        header[..4].copy_from_slice(name);
        header[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        header
    }

    /// RSDP at 0, root table at 64, MADT at 256.
    fn tables(wide: bool, entries: &[u8]) -> Bytes {
        let mut bytes = vec![0; 512];
        bytes[..8].copy_from_slice(b"RSD PTR ");
        bytes[15] = if wide { 2 } else { 0 };
        bytes[if wide { 24 } else { 16 }] = 64;
        let mut root = header(if wide { b"XSDT" } else { b"RSDT" }, HEADER + 8);
        root.extend_from_slice(&256u64.to_le_bytes());
        bytes[64..64 + root.len()].copy_from_slice(&root);
        let mut madt = header(b"APIC", MADT_ENTRIES + entries.len());
        madt.extend_from_slice(&[0; 8]);
        madt.extend_from_slice(entries);
        bytes[256..256 + madt.len()].copy_from_slice(&madt);
        Bytes(bytes)
    }

    const ENTRIES: [u8; 38] = [
        0, 8, 0, 0, 1, 0, 0, 0, // enabled
        1, 6, 0, 0, 0, 0, // an IOAPIC
        0, 8, 1, 1, 0, 0, 0, 0, // disabled
        9, 16, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // x2APIC, enabled
    ];

    #[test]
    fn enabled_processors_are_counted_by_either_root() {
        for wide in [false, true] {
            assert_eq!(processors(&tables(wide, &ENTRIES), 0), Some(2));
        }
    }

    #[test]
    fn damaged_tables_end_the_count() {
        let good = tables(true, &ENTRIES).0;
        for cut in 0..good.len() {
            processors(&Bytes(good[..cut].to_vec()), 0);
        }
        assert_eq!(processors(&tables(true, &[0, 0, 1]), 0), Some(0), "no endless loop");
        assert_eq!(processors(&Bytes(vec![0; 64]), 0), None);
    }
}
