use super::*;
use crate::payload::tests::catalogue;
use crate::result::tests::SUITE;
use crate::rules::book::Rule;
use crate::rules::report::{Report, RuleReport};
use crate::suite::tests::scenarios;
use trapline_abi::exit;
use trapline_defs::{apic, msr};

fn report() -> Report {
    let rule = Rule {
        id: "HV-213".into(),
        statement: "the rule's sentence".into(),
        exit: None,
        tags: vec!["=K".into()],
        source: "KVM".into(),
        model_defined: true,
        set: "hyperv".into(),
    };
    let rules = vec![RuleReport { rule, tests: Vec::new(), scenarios: Vec::new() }];
    Report { rules, unknown: Vec::new() }
}

fn explain(term: &str) -> Result<String, String> {
    let (report, scenarios) = (report(), scenarios(SUITE, &catalogue()));
    let library = Library { rules: &report, claims: &[], scenarios: &scenarios };
    library.explain(term).map_err(|error| error.to_string())
}

#[test]
fn every_exit_that_has_a_name_has_a_cause() {
    let told: Vec<_> = exit_kinds().map(|exit| exit.name).collect();
    assert_eq!(told, exit::names().collect::<Vec<_>>());
    let of = |name: &str| exit_kinds().find(|exit| exit.name == name).unwrap().about;
    assert_eq!(of("read_cr8"), "the guest reads CR8");
    assert_eq!(of("write_dr7"), "the guest writes DR7");
    assert_eq!(of("PF excp"), "exception #PF, vector 14");
    assert_eq!(of("write_cr8_trap"), "the guest wrote CR8: the exit comes after the instruction");
}

#[test]
fn msrs_are_in_order_and_have_the_numbers_of_the_definitions() {
    assert!(MSRS.windows(2).all(|pair| pair[0].last < pair[1].first), "in order, and none twice");
    for (name, number) in [
        ("TSC", msr::TSC),
        ("APIC_BASE", msr::APIC_BASE),
        ("MISC_ENABLE", msr::MISC_ENABLE),
        ("PAT", msr::PAT),
        ("TSC_DEADLINE", msr::TSC_DEADLINE),
        ("MSR_KVM_WALL_CLOCK", msr::KVM_WALL_CLOCK_OLD),
        ("MSR_KVM_SYSTEM_TIME", msr::KVM_SYSTEM_TIME_OLD),
        ("MSR_KVM_WALL_CLOCK_NEW", msr::KVM_WALL_CLOCK),
        ("MSR_KVM_SYSTEM_TIME_NEW", msr::KVM_SYSTEM_TIME),
        ("MSR_KVM_STEAL_TIME", msr::KVM_STEAL_TIME),
        ("MSR_KVM_PV_EOI_EN", msr::KVM_PV_EOI),
        ("MSR_KVM_POLL_CONTROL", msr::KVM_POLL_CONTROL),
        ("EFER", msr::EFER),
        ("STAR", msr::STAR),
        ("LSTAR", msr::LSTAR),
        ("CSTAR", msr::CSTAR),
        ("SFMASK", msr::SFMASK),
        ("FS_BASE", msr::FS_BASE),
        ("GS_BASE", msr::GS_BASE),
        ("KERNEL_GS_BASE", msr::KERNEL_GS_BASE),
        ("TSC_AUX", msr::TSC_AUX),
        ("VM_CR", msr::VM_CR),
        ("VM_HSAVE_PA", msr::VM_HSAVE_PA),
        ("AVIC_DOORBELL", msr::AVIC_DOORBELL),
        ("X2APIC_TPR", apic::offset::to_msr(apic::offset::TPR)),
        ("X2APIC_EOI", apic::offset::to_msr(apic::offset::EOI)),
        ("X2APIC_ISR", apic::offset::to_msr(apic::offset::ISR)),
        ("X2APIC_ICR", apic::offset::to_msr(apic::offset::ICR)),
        ("X2APIC_SELF_IPI", apic::offset::to_msr(apic::offset::SELF_IPI)),
    ] {
        let known = MSRS.iter().find(|msr| msr.name == name);
        assert_eq!(known.map(|msr| msr.first), Some(number), "{name}");
    }
}

#[test]
fn a_name_is_found_however_it_is_written() {
    for term in ["HV-213", "hv-213", "hv213"] {
        let text = explain(term).unwrap();
        assert!(text.starts_with("rule HV-213 of rules/hyperv.toml, model-defined\n"), "{text}");
        assert!(text.contains("  says        the rule's sentence\n"), "{text}");
        assert!(text.contains("  host tests  none\n"), "{text}");
    }
    for term in ["hlt", "HLT", "0x78", "78h"] {
        let text = explain(term).unwrap();
        assert!(text.starts_with("exit hlt, code 0x78\n"), "{text}");
        assert!(text.contains("  counted by  self-ipi::hlt\n"), "{text}");
    }
    for term in ["0x830", "0x830:W", "x2apic-icr", "X2APIC_ICR"] {
        let text = explain(term).unwrap();
        assert!(text.contains("MSR 0x830, X2APIC_ICR\n"), "{text}");
        assert!(text.contains("  counted by  self-ipi::hlt\n"), "{text}");
    }
    let text = explain("0x811").unwrap();
    assert!(text.starts_with("MSR 0x810 to 0x817, X2APIC_ISR\n"), "{text}");
    assert!(text.contains("  counted by  none\n"), "{text}");
    let both = explain("0x10").unwrap();
    assert!(both.contains("exit write_cr0") && both.contains("MSR 0x10, TSC"), "{both}");
}

#[test]
fn what_nothing_is_called_gets_the_nearest_names() {
    for (term, near) in [
        ("HV-214", "`HV-213`"),
        ("vint", "`vintr`"),
        ("avic_incomplete", "`avic_incomplete_ipi`"),
        ("efr", "`EFER`"),
        ("eoi", "`HV_X64_MSR_EOI`"),
    ] {
        let error = explain(term).unwrap_err();
        assert!(error.contains(" is no rule, claim, exit or MSR (near are "), "{error}");
        assert!(error.contains(near), "{term}: {error}");
    }
    let error = explain("quite something else").unwrap_err();
    assert!(error.contains("`trapline rules` and `trapline claims` list the ids"), "{error}");
}
