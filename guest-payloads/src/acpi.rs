//! ACPI's tables, as far as they are about clocks.

// UNSAFETY: memory that firmware filled.
#![expect(unsafe_code, reason = "tables at addresses that other tables name")]

/// Where firmware leaves the pointer to all others, on a 16-byte border (ACPI 6.4, 5.2.5.1).
const SEARCHED: core::ops::Range<u64> = 0xe_0000..0x10_0000;
const HEADER: usize = 36;
const FADT_BOOT_ARCH: usize = 109;
const RTC_ABSENT: u8 = 1 << 5;
const WAET_FLAGS: usize = 36;
const RTC_GOOD: u8 = 1;

fn bytes(address: u64, length: usize) -> &'static [u8] {
    // SAFETY: RAM below the payload, mapped one to one, which nobody writes while it runs.
    unsafe { core::slice::from_raw_parts(address as *const u8, length) }
}

fn adds_up(bytes: &[u8]) -> bool {
    bytes.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte)) == 0
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn table(address: u64) -> Option<&'static [u8]> {
    let length = word(&bytes(address, HEADER)[4..8]) as usize;
    Some(bytes(address, length)).filter(|table| adds_up(table))
}

/// A table by its signature.
fn find(signature: &[u8; 4]) -> Option<&'static [u8]> {
    let rsdp = SEARCHED
        .step_by(16)
        .map(|address| bytes(address, HEADER))
        .find(|rsdp| rsdp.starts_with(b"RSD PTR ") && adds_up(rsdp))?;
    let xsdt = table(word(&rsdp[24..32]))?;
    let mut tables = xsdt[HEADER..].chunks_exact(8).filter_map(|entry| table(word(entry)));
    tables.find(|table| table.starts_with(signature))
}

/// Whether the FADT, of revision 5 or later, says that there is no RTC.
pub fn rtc_is_absent() -> bool {
    find(b"FACP").is_some_and(|fadt| fadt[8] >= 5 && fadt[FADT_BOOT_ARCH] & RTC_ABSENT != 0)
}

/// Whether WAET says that the RTC ticks on though register C is not read.
pub fn rtc_is_good() -> bool {
    find(b"WAET").is_some_and(|waet| waet[WAET_FLAGS] & RTC_GOOD != 0)
}
