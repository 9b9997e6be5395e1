//! The register access matrix (APM vol. 2 §15.29.3.1, Table 15-22).

/// What a read does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Read {
    /// Reads the backing page.
    Allow,
    /// Exit 402h, nothing done.
    Fault,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Write {
    /// Writes the backing page.
    Allow,
    /// Writes the backing page, then V_TPR.
    Tpr,
    /// Ends an interrupt, or exit 402h after the write.
    Eoi,
    /// Writes the backing page, then sends, or exit 401h.
    Icr,
    /// Exit 402h after the write.
    Trap,
    /// Exit 402h, nothing done.
    Fault,
}

/// One register's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Reads.
    pub read: Read,
    /// Writes.
    pub write: Write,
    /// The register has an x2APIC MSR. RDMSR and WRMSR of any other number are `#GP`.
    pub msr: bool,
}

/// The extended LVT, up to 570h (rev. 3.45; 530h in 3.44), whose row depends on CPUID.
const EXTENDED_LVT: core::ops::RangeInclusive<u8> = 0x50..=0x57;

/// The row of a slot, the offset's bits 11:4. `extended_lvt` is Fn8000_000A EDX bit 27.
#[inline]
pub fn row(slot: u8, extended_lvt: bool) -> Row {
    if extended_lvt && EXTENDED_LVT.contains(&slot) {
        return Row { read: Read::Allow, write: Write::Trap, msr: true };
    }
    ROWS[slot as usize]
}

static ROWS: [Row; 256] = {
    let mut rows = [of(0); 256];
    let mut slot = 0;
    while slot < 256 {
        rows[slot] = of(slot as u8);
        slot += 1;
    }
    rows
};

const fn of(slot: u8) -> Row {
    use Read::Fault as NoRead;
    use Write::{Eoi, Fault, Icr, Tpr, Trap};
    let (read, write, msr) = match slot {
        0x02 | 0x0d | 0x0f | 0x28 => (Read::Allow, Trap, true),
        0x03 | 0x0a => (Read::Allow, Fault, true),
        0x08 => (Read::Allow, Tpr, true),
        0x09 | 0x39 => (NoRead, Fault, true),
        0x0b => (Read::Allow, Eoi, true),
        0x0c | 0x0e => (Read::Allow, Trap, false),
        // ISR, TMR, IRR.
        0x10..=0x27 => (Read::Allow, Fault, true),
        0x30 => (Read::Allow, Icr, true),
        0x31 => (Read::Allow, Write::Allow, false),
        // The LVTs, then initial count and divide configuration.
        0x32..=0x38 | 0x3e => (Read::Allow, Trap, true),
        // Self-IPI; at this offset of the page there is plain memory.
        0x3f => (Read::Allow, Write::Allow, true),
        // Extended features, IER; and the extended LVT of a processor without EDX bit 27.
        0x40..=0x42 | 0x48..=0x4f | 0x50..=0x57 => (NoRead, Fault, true),
        0x58..=0xff => (NoRead, Fault, false),
        // Holes are memory.
        0x00..=0x01 | 0x04..=0x07 | 0x29..=0x2f | 0x3a..=0x3d | 0x43..=0x47 => {
            (Read::Allow, Write::Allow, false)
        }
    };
    Row { read, write, msr }
}
