//! The ACPI tables of a guest's machine, as far as they say something about its clocks.
//!
//! An RSDP where firmware leaves one, an XSDT, the FADT and Microsoft's WAET. There is no DSDT and no
//! MADT: no payload looks for devices. There is no HPET table either, as in a Windows guest that libvirt
//! makes: whoever follows the tables takes another clock.

use trapline_abi::machine::Machine;
use trapline_policy::pm_timer;

/// Where they are: on a 16-byte border between E_0000h and F_FFFFh, as the search goes (ACPI 6.4, 5.2.5.1).
pub const ADDRESS: u64 = 0xf_0000;
/// Their length.
pub const LENGTH: usize = WAET + WAET_LENGTH;

const RSDP_LENGTH: usize = 36;
/// The RSDP's part that version 1 knew has a checksum of its own.
const RSDP_FIRST: usize = 20;
const HEADER: usize = 36;
const XSDT: usize = 0x40;
const XSDT_LENGTH: usize = HEADER + 2 * 8;
const FADT: usize = 0x80;
const FADT_LENGTH: usize = 276;
const WAET: usize = 0x1a0;
const WAET_LENGTH: usize = HEADER + 4;

/// FADT: offsets of fields (ACPI 6.4, table 5.9).
mod fadt {
    pub const PM_TMR_BLK: usize = 76;
    pub const PM_TMR_LEN: usize = 91;
    pub const CENTURY: usize = 108;
    pub const IAPC_BOOT_ARCH: usize = 109;
    pub const FLAGS: usize = 112;
    pub const X_PM_TMR_BLK: usize = 208;
    /// IAPC_BOOT_ARCH: "CMOS RTC not present".
    pub const RTC_ABSENT: u16 = 1 << 5;
    /// Flags: WBINVD works. Not among them: the timer has 32 bits.
    pub const WBINVD: u32 = 1;
}

/// WAET's flags (Microsoft, "Windows ACPI Emulated Devices Table" 1.0).
mod waet {
    /// Register C need not be read.
    pub const RTC_GOOD: u32 = 1;
    /// One read of the PM timer is enough.
    pub const PM_TIMER_GOOD: u32 = 1 << 1;
}

/// The tables of a machine, for [`ADDRESS`].
pub fn tables(machine: &Machine) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    fadt(&mut bytes[FADT..], machine);
    let flags = waet::PM_TIMER_GOOD | if machine.rtc_good { waet::RTC_GOOD } else { 0 };
    put(&mut bytes[WAET..], HEADER, &flags.to_le_bytes());
    for (index, table) in [FADT, WAET].into_iter().enumerate() {
        let address = ADDRESS + table as u64;
        put(&mut bytes[XSDT..], HEADER + index * 8, &address.to_le_bytes());
    }
    head(&mut bytes[XSDT..], b"XSDT", 1, XSDT_LENGTH);
    head(&mut bytes[FADT..], b"FACP", 6, FADT_LENGTH);
    head(&mut bytes[WAET..], b"WAET", 1, WAET_LENGTH);
    rsdp(&mut bytes);
    bytes
}

fn fadt(table: &mut [u8], machine: &Machine) {
    let boot = if machine.rtc_absent { fadt::RTC_ABSENT } else { 0 };
    put(table, fadt::PM_TMR_BLK, &u32::from(pm_timer::PORT).to_le_bytes());
    table[fadt::PM_TMR_LEN] = 4;
    table[fadt::CENTURY] = 0x32;
    put(table, fadt::IAPC_BOOT_ARCH, &boot.to_le_bytes());
    put(table, fadt::FLAGS, &fadt::WBINVD.to_le_bytes());
    // I/O space, 32 bits, accessed as such; then the address.
    put(table, fadt::X_PM_TMR_BLK, &[1, 32, 0, 3]);
    put(table, fadt::X_PM_TMR_BLK + 4, &u64::from(pm_timer::PORT).to_le_bytes());
}

fn rsdp(bytes: &mut [u8]) {
    put(bytes, 0, b"RSD PTR ");
    put(bytes, 9, b"TRPLIN");
    bytes[15] = 2;
    put(bytes, 20, &(RSDP_LENGTH as u32).to_le_bytes());
    put(bytes, 24, &(ADDRESS + XSDT as u64).to_le_bytes());
    bytes[8] = missing(&bytes[..RSDP_FIRST]);
    bytes[32] = missing(&bytes[..RSDP_LENGTH]);
}

/// The header of a table whose other bytes are there already.
fn head(table: &mut [u8], signature: &[u8; 4], revision: u8, length: usize) {
    put(table, 0, signature);
    put(table, 4, &(length as u32).to_le_bytes());
    table[8] = revision;
    put(table, 10, b"TRPLINTRAPLINE");
    put(table, 24, &1u32.to_le_bytes());
    put(table, 28, b"TRPL");
    put(table, 32, &1u32.to_le_bytes());
    table[9] = missing(&table[..length]);
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

/// What makes the sum of all bytes zero.
fn missing(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0u8, |sum, &byte| sum.wrapping_sub(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bytes: &[u8]) -> u8 {
        bytes.iter().fold(0, |sum, &byte| sum.wrapping_add(byte))
    }

    fn word(bytes: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    /// Every table that the RSDP leads to.
    fn follow(bytes: &[u8]) -> Vec<&[u8]> {
        assert_eq!((&bytes[..8], sum(&bytes[..20]), sum(&bytes[..36])), (&b"RSD PTR "[..], 0, 0));
        let table = |address: u64| {
            let table = &bytes[(address - ADDRESS) as usize..];
            let length = u32::from_le_bytes(table[4..8].try_into().unwrap()) as usize;
            assert_eq!(sum(&table[..length]), 0);
            &table[..length]
        };
        let xsdt = table(word(bytes, 24));
        assert_eq!(&xsdt[..4], b"XSDT");
        (36..xsdt.len()).step_by(8).map(|at| table(word(xsdt, at))).collect()
    }

    #[test]
    fn every_table_is_found_and_adds_up() {
        let bytes = tables(&Machine::PLAIN);
        let names: Vec<_> = follow(&bytes).iter().map(|table| table[..4].to_vec()).collect();
        assert_eq!(names, [b"FACP".to_vec(), b"WAET".to_vec()]);
        assert!(ADDRESS.is_multiple_of(16) && ADDRESS + LENGTH as u64 <= 0x10_0000);
    }

    #[test]
    fn rtc_030_the_fadt_says_whether_there_is_an_rtc() {
        for rtc_absent in [false, true] {
            let bytes = tables(&Machine { rtc_absent, ..Machine::PLAIN });
            let fadt = follow(&bytes)[0];
            assert!(fadt[8] >= 5, "before revision 5 the bit means nothing");
            assert_eq!(fadt[109] & 0x20 != 0, rtc_absent);
            assert_eq!(fadt[76..80], 0x608u32.to_le_bytes());
        }
    }

    #[test]
    fn rtc_031_waet_says_whether_c_has_to_be_read() {
        for rtc_good in [false, true] {
            let bytes = tables(&Machine { rtc_good, ..Machine::PLAIN });
            assert_eq!(follow(&bytes)[1][36] & 1 != 0, rtc_good);
        }
    }
}
