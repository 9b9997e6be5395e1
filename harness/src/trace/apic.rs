//! APIC registers and messages in KVM's words.

use trapline_abi::exit::{Detail, Direction, ExitKey, MSR, NPF};

/// Registers that a guest writes, by their offset in the APIC's page.
const NAMES: &[(u32, &str)] = &[
    (0x020, "APIC_ID"),
    (0x030, "APIC_LVR"),
    (0x080, "APIC_TASKPRI"),
    (0x090, "APIC_ARBPRI"),
    (0x0a0, "APIC_PROCPRI"),
    (0x0b0, "APIC_EOI"),
    (0x0d0, "APIC_LDR"),
    (0x0e0, "APIC_DFR"),
    (0x0f0, "APIC_SPIV"),
    (0x280, "APIC_ESR"),
    (0x300, "APIC_ICR"),
    (0x310, "APIC_ICR2"),
    (0x320, "APIC_LVTT"),
    (0x330, "APIC_LVTTHMR"),
    (0x340, "APIC_LVTPC"),
    (0x350, "APIC_LVT0"),
    (0x360, "APIC_LVT1"),
    (0x370, "APIC_LVTERR"),
    (0x380, "APIC_TMICT"),
    (0x390, "APIC_TMCCT"),
    (0x3e0, "APIC_TDCR"),
    (0x3f0, "APIC_SELF_IPI"),
];

/// A register's name; its offset in hex where it has none.
pub fn name(offset: u32) -> String {
    let known = NAMES.iter().find(|(at, _)| *at == offset);
    known.map_or_else(|| format!("{offset:#x}"), |(_, name)| (*name).to_owned())
}

/// The register that an exit is about, and how.
pub fn register(key: ExitKey) -> Option<(u32, Direction)> {
    match (key.code(), key.detail()) {
        (MSR, Detail::Access(msr @ 0x800..=0x83f, direction)) => {
            Some(((msr - 0x800) << 4, direction))
        }
        (NPF, Detail::Access(offset, direction)) => Some((offset, direction)),
        _ => None,
    }
}

/// Delivery modes.
const MODES: [&str; 8] = ["Fixed", "LowPrio", "SMI", "Res3", "NMI", "INIT", "SIPI", "ExtINT"];
/// Shorthands.
const SHORTHANDS: [&str; 4] = ["dst", "self", "all", "all-but-self"];

/// ICR's shorthand: 0 none, 1 self, 2 all, 3 all but self.
pub fn shorthand(icr: u32) -> u32 {
    icr >> 18 & 3
}

/// Whether ICR's destination is an APIC id.
pub fn is_physical(icr: u32) -> bool {
    icr >> 11 & 1 == 0
}

/// ICR's delivery mode.
pub fn mode(icr: u32) -> &'static str {
    MODES[(icr >> 8 & 7) as usize]
}

/// `Fixed|physical|assert|edge|self`.
pub fn words(icr: u32) -> String {
    let bit = |at: u32, clear: &'static str, set: &'static str| {
        if icr >> at & 1 == 0 { clear } else { set }
    };
    format!(
        "{}|{}|{}|{}|{}",
        mode(icr),
        bit(11, "physical", "logical"),
        bit(14, "de-assert", "assert"),
        bit(15, "edge", "level"),
        SHORTHANDS[shorthand(icr) as usize]
    )
}
