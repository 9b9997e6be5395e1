//! The 8259 pair, for one line of the first.

use crate::apic;
use crate::cpu::write_port;
use trapline_defs::apic::offset;

const COMMAND: u16 = 0x20;
const DATA: u16 = 0x21;
const SECOND_COMMAND: u16 = 0xa0;
const SECOND_DATA: u16 = 0xa1;
/// Where the second one hangs.
const CASCADE: u8 = 2;
/// LVT: the vector comes from outside.
const EXTERNAL: u64 = 7 << 8;
/// OCW2: the interrupt of highest priority is ended.
const END: u8 = 0x20;

/// Opens line `irq` alone, through LINT0, with vectors from `base` on. The APIC is on.
pub fn open(irq: u8, base: u8) {
    for (command, data, base, cascade) in
        [(COMMAND, DATA, base, 1 << CASCADE), (SECOND_COMMAND, SECOND_DATA, base + 8, CASCADE)]
    {
        // Edge, four words; vectors; who hangs where; 8086.
        write_port(command, 0x11);
        for word in [base, cascade, 1] {
            write_port(data, word);
        }
    }
    write_port(SECOND_DATA, 0xff);
    write_port(DATA, !(1 << irq));
    apic::write(offset::LVT_LINT0, EXTERNAL);
}

/// Ends the interrupt in service.
#[inline(always)]
pub fn eoi() {
    write_port(COMMAND, END);
}
