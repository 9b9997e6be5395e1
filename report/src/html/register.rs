//! Names of the registers behind ports, MSRs and offsets of the APIC's page.

/// What an exit's detail is about: `ICR` for `msr` `0x830:W` and for `npf` `0x300:W`.
pub(super) fn name(exit: &str, detail: &str) -> Option<&'static str> {
    let number = detail.split(':').next()?.strip_prefix("0x")?;
    let number = u32::from_str_radix(number, 16).ok()?;
    match exit {
        "msr" if (0x800..0x900).contains(&number) => apic((number - 0x800) << 4),
        "msr" => msr(number),
        "npf" if detail.contains(':') => apic(number),
        "io" => port(number),
        "avic_unaccelerated_access" => apic(number),
        _ => None,
    }
}

/// An offset in the local APIC's page (APM vol. 2, table 16-2).
fn apic(offset: u32) -> Option<&'static str> {
    Some(match offset {
        0x20 => "ID",
        0x30 => "version",
        0x80 => "TPR",
        0x90 => "APR",
        0xa0 => "PPR",
        0xb0 => "EOI",
        0xc0 => "remote read",
        0xd0 => "LDR",
        0xe0 => "DFR",
        0xf0 => "SVR",
        0x100..=0x170 => "ISR",
        0x180..=0x1f0 => "TMR",
        0x200..=0x270 => "IRR",
        0x280 => "ESR",
        0x300 => "ICR",
        0x310 => "ICR high",
        0x320 => "LVT timer",
        0x330 => "LVT thermal",
        0x340 => "LVT performance",
        0x350 => "LVT LINT0",
        0x360 => "LVT LINT1",
        0x370 => "LVT error",
        0x380 => "initial count",
        0x390 => "current count",
        0x3e0 => "divide",
        0x3f0 => "self IPI",
        _ => return None,
    })
}

/// MSRs that the suites use: the processor's, KVM's (`asm/kvm_para.h`) and Hyper-V's (TLFS, chapter
/// on synthetic MSRs).
fn msr(number: u32) -> Option<&'static str> {
    Some(match number {
        0x10 => "TSC",
        0x1b => "APIC base",
        0x6e0 => "TSC deadline",
        0xc000_0080 => "EFER",
        0x4b56_4d04 => "KVM PV EOI",
        0x4000_0000 => "guest OS id",
        0x4000_0001 => "hypercall",
        0x4000_0002 => "VP index",
        0x4000_0020 => "reference time",
        0x4000_0021 => "reference TSC",
        0x4000_0070 => "Hyper-V EOI",
        0x4000_0071 => "Hyper-V ICR",
        0x4000_0072 => "Hyper-V TPR",
        0x4000_0073 => "VP assist page",
        0x4000_0080 => "SCONTROL",
        0x4000_0082 => "SIEFP",
        0x4000_0083 => "SIMP",
        0x4000_0084 => "EOM",
        0x4000_0090..=0x4000_009f => "SINT",
        0x4000_00b0 | 0x4000_00b2 | 0x4000_00b4 | 0x4000_00b6 => "stimer config",
        0x4000_00b1 | 0x4000_00b3 | 0x4000_00b5 | 0x4000_00b7 => "stimer count",
        _ => return None,
    })
}

fn port(number: u32) -> Option<&'static str> {
    Some(match number {
        0x20 | 0x21 | 0xa0 | 0xa1 => "8259",
        0x40..=0x43 => "8254",
        0x70 => "RTC index",
        0x71 => "RTC data",
        0x80 => "delay",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_register_by_all_its_ways() {
        assert_eq!(name("msr", "0x830:W"), Some("ICR"));
        assert_eq!(name("npf", "0x300:W"), Some("ICR"));
        assert_eq!(name("msr", "0x80b:W"), Some("EOI"));
        assert_eq!(name("io", "0x71:PIN"), Some("RTC data"));
        assert_eq!(name("msr", "0x40000093:W"), Some("SINT"));
        assert_eq!(name("npf", "gfn 0xfee00"), None);
        assert_eq!(name("cpuid", "leaf 0x1"), None);
        assert_eq!(name("hlt", ""), None);
    }
}
