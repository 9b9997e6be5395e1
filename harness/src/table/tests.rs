use super::*;
use crate::result::tests::{result, run, stats};
use crate::transcript::{Row, Stats};
use crate::verdict::{Judgement, Verdict};
use trapline_abi::exit::ExitKey;

#[test]
fn the_exit_table_has_perfs_columns() {
    let mut table = Table::new("VM-EXIT");
    table.add("msr", &stats(10, 400));
    table.add("msr", &stats(10, 300));
    table.add("hlt", &stats(10, 200));
    let expected = "

Analyze events for all VMs, all VCPUs:

                                 VM-EXIT    Samples  Samples%     Time%    Min Time    Max Time         Avg time

                                     msr         20    66.67%    77.78%      0.30us      0.40us      0.35us ( +-   3.28% )
                                     hlt         10    33.33%    22.22%      0.20us      0.20us      0.20us ( +-   0.00% )

Total Samples:30, Total events handled time:9.00us.

";
    assert_eq!(table.render("all VMs, all VCPUs", 1_000_000), expected);
}

/// The rows of the table in seeds/000 (`perf kvm stat` of a Windows guest), from their figures.
#[test]
fn a_table_of_the_field_is_reproduced() {
    let table_row =
        |count, sum, min, max| Stats { count, sum, sum_squares: 0, min, max, histogram: vec![] };

    let mut table = Table::new("IO Port Access");
    table.add("0x70:POUT", &table_row(287_544, 151_543_530, 400, 23_480));
    table.add("0x71:PIN", &table_row(226_154, 87_880_000, 310, 22_910));
    table.add("0x71:POUT", &table_row(61_390, 917_560_000, 12_920, 69_990));
    let text = table.render("all VMs, all VCPUs", 1_000_000);
    for row in [
        "0x70:POUT     287544    50.00%    13.10%      0.40us     23.48us      0.53us",
        "0x71:PIN     226154    39.33%     7.60%      0.31us     22.91us      0.39us",
        "0x71:POUT      61390    10.67%    79.31%     12.92us     69.99us     14.95us",
        "Total Samples:575088, Total events handled time:1156983.53us.",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
}

#[test]
fn ticks_become_time_by_the_tsc_frequency() {
    let mut table = Table::new("VM-EXIT");
    table.add("hlt", &stats(2, 3000));
    let text = table.render("x", 2_500_000);
    assert!(text.contains("1.20us      1.20us      1.20us"), "{text}");
    assert!(text.contains("handled time:2.40us."), "{text}");
}

#[test]
fn details_have_tables_of_their_own_where_there_are_any() {
    let mut run = run();
    let extra = |key| Row { key, stats: stats(1, 50) };
    let text = tables("s::x", &Measured::new(&run), 1_000_000);
    assert!(text.contains("Analyze events for s::x, window loop, VCPU 0:"));
    assert!(text.contains("MSR Access") && text.contains("0x830:W"));
    assert!(!text.contains("IO Port Access") && !text.contains("MMIO Access"));
    assert!(text.contains("Window: 9000 ticks, 9.00us."));
    run.windows[0].rows.push(extra(ExitKey::access(IOIO, 0x71, false)));
    run.windows[0].rows.push(extra(ExitKey::access(NPF, 0xb0, true)));
    run.windows[0].rows.push(extra(ExitKey::number(NPF, 0x123)));
    let text = tables("s::x", &Measured::new(&run), 1_000_000);
    assert!(text.contains("IO Port Access") && text.contains("0x71:PIN"));
    assert!(text.contains("MMIO Access") && text.contains("0xb0:W"));
    assert!(!text.contains("0x123"), "a page fault elsewhere is no APIC access");
}

#[test]
fn a_scenario_is_one_line_and_one_more_for_each_reason() {
    let mut scenario = result().scenarios.remove(0);
    assert_eq!(line(&scenario, 16), "PASS self-ipi::hlt     msr 20, hlt 10; 9000 ticks\n");
    scenario.judgement = Judgement::could_not_run("no QEMU");
    scenario.judgement.notes.push("old".into());
    scenario.measured = None;
    assert_eq!(line(&scenario, 16), "LOST self-ipi::hlt\n     no QEMU\n     note: old\n");
}

#[test]
fn the_summary_counts_verdicts_and_offers_blessing_only_when_only_goldens_differ() {
    let mut all = result();
    assert_eq!(
        summary(&all, Some(1.25)),
        "1 scenario: 1 passed in 1.2 s (tcg-icount, QEMU 10.0.2)\n"
    );
    all.scenarios.push(all.scenarios[0].clone());
    let judgement = &mut all.scenarios[1].judgement;
    (judgement.verdict, judgement.golden_differences) = (Verdict::Fail, 1);
    judgement.reasons.push("golden: x".into());
    all.problems.push("died".into());
    let text = summary(&all, None);
    assert!(text.starts_with("the target: died\n2 scenarios: 1 passed, 1 failed (tcg"), "{text}");
    assert!(text.contains("1 of them broke no rule"));
    all.scenarios[1].judgement.fail("a rule".into());
    assert!(!summary(&all, None).contains("trapline bless"));
}

#[test]
fn modeled_silicon_is_named_in_the_line_and_counted_in_the_summary() {
    let mut all = result();
    all.scenarios.push(all.scenarios[0].clone());
    all.scenarios[1].silicon = "zen4 vnmi=off (modeled: avic, x2avic)".into();
    let text = line(&all.scenarios[1], 0);
    assert_eq!(text, "PASS self-ipi::hlt  msr 20, hlt 10; 9000 ticks [zen4 vnmi=off]\n");
    assert!(summary(&all, None).contains("\n1 of them on silicon that hv-core modeled"));

    all.scenarios[1].silicon = "host (real: avic)".into();
    assert!(line(&all.scenarios[1], 0).ends_with(" ticks [host]\n"));
    assert!(!summary(&all, None).contains("modeled"));
}
