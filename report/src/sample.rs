//! Small reports for tests.

use crate::judge;
use crate::model::*;
use std::collections::BTreeMap;

/// Everything that a report can hold, once; it qualifies.
pub fn report() -> Report {
    let mut report = Report {
        kind: Kind::Qualification,
        version: VERSION,
        generator: Generator { name: "trapline".into(), version: "0.1.0".into() },
        run: Run {
            started: "2026-11-30T21:00:00Z".into(),
            duration_ms: 42_300,
            repeats: 1,
            filters: Vec::new(),
            chosen: 2,
            total: 2,
            host_tests: HostTests::Run,
        },
        environment: environment(),
        verdict: Verdict {
            standing: Standing::Qualified,
            reasons: Vec::new(),
            waived: Vec::new(),
            limits: Vec::new(),
        },
        scenarios: vec![scenario("nothing", "none"), scenario("idle-hlt", "zen5")],
        rules: vec![
            rule("AVIC-001", Some(Ended::Pass)),
            Rule { scenarios: Vec::new(), ..rule("AVIC-002", None) },
        ],
        unknown_rules: Vec::new(),
        claims: vec![claim()],
        waivers: Vec::new(),
        problems: Vec::new(),
        artifacts: vec![Link { title: "raw <records>".into(), path: "records/0-0.bin".into() }],
    };
    report.scenarios[1].modeled = vec!["idle-hlt".into()];
    report.verdict = judge::judge(&report);
    report
}

/// The second scenario broke a rule and differs from its golden, and said where it was.
pub fn failing() -> Report {
    let mut report = report();
    let scenario = &mut report.scenarios[1];
    scenario.ended = Ended::Fail;
    scenario.broken = vec!["hlt in window `ipi` on vCPU 0: expected 0, seen 3 [<b>]".into()];
    scenario.differences = vec![Difference {
        what: "window ipi, vCPU 0: count of hlt".into(),
        golden: "0".into(),
        seen: "3".into(),
    }];
    let measured = scenario.measured.as_mut().unwrap();
    measured.checks[0].actual = 1;
    measured.postmortem = vec![Postmortem {
        vcpu: 0,
        rip: 0x10_0000,
        rsp: 0x20_0000,
        rflags: 2,
        cr2: 0,
        interrupt_shadow: false,
        halted: true,
        tpr: 0,
        ppr: 0xf0,
        irr: vec![0x30],
        isr: vec![0xf0],
        last: vec![LastExit { exit: "msr 0x830:W".into(), rip: 0x10_00a4, at: 5000 }],
    }];
    report.verdict = judge::judge(&report);
    report
}

fn environment() -> Environment {
    Environment {
        class: "tcg-icount".into(),
        accelerator: "tcg".into(),
        cpu: Some(TargetCpu {
            brand: "QEMU Virtual CPU".into(),
            signature: 0x60fb1,
            svm_features: 0x1001_0001,
            asids: 16,
            cores: 1,
            tsc_khz: 1_000_000,
        }),
        qemu: Qemu { version: "10.0.2".into(), arguments: vec!["-smp".into(), "1".into()] },
        build: Build {
            core: "c0".into(),
            payloads: "p0".into(),
            rustc: "rustc 1.95.0".into(),
            revision: Some("0123456789abcdef0123456789abcdef01234567".into()),
        },
        host: Host {
            cpu: HostCpu { model: Some("A & B".into()), online: 2, ..HostCpu::default() },
            kernel: Some("6.18".into()),
            modules: vec![Module {
                name: "kvm_amd".into(),
                parameters: BTreeMap::from([("avic".into(), "Y".into())]),
            }],
            ..Host::default()
        },
    }
}

fn stats(count: u64, each: u64) -> Stats {
    let mut histogram = vec![0; each.ilog2() as usize + 1];
    *histogram.last_mut().unwrap() = count as u32;
    Stats {
        count,
        sum: count * each,
        sum_squares: u128::from(count * each * each),
        min: each,
        max: each,
        histogram,
    }
}

fn exit(code: u64, name: &str, detail: &str, count: u64, each: u64) -> Exit {
    Exit { code, exit: name.into(), detail: detail.into(), stats: stats(count, each) }
}

fn scenario(name: &str, silicon: &str) -> Scenario {
    let mut exits =
        vec![exit(0x7c, "msr", "0x80b:W", 100, 400), exit(0x7c, "msr", "0x830:W", 100, 450)];
    if silicon == "none" {
        exits.insert(0, exit(0x78, "hlt", "", 100, 300));
    }
    Scenario {
        suite: "self-ipi".into(),
        name: name.into(),
        about: "An IPI to the own vCPU <i>.".into(),
        payload: "self-ipi".into(),
        params: BTreeMap::from([("n".into(), "100".into()), ("wait".into(), "hlt".into())]),
        machine: BTreeMap::from([("x2apic".into(), true)]),
        silicon: silicon.into(),
        modeled: Vec::new(),
        real: Vec::new(),
        policy: "kvm-6.12".into(),
        seed: None,
        must_fail_with: None,
        vcpus: 1,
        cores: 1,
        cite: "AVIC-001".into(),
        ended: Ended::Pass,
        broken: Vec::new(),
        differences: Vec::new(),
        notes: vec!["timings compared within 10 %".into()],
        timeline: None,
        measured: Some(Measured {
            outcome: "done".into(),
            detail: String::new(),
            ticks: 120_000,
            checks: vec![Check { vcpu: 0, label: "AVIC-001 a < b".into(), expected: 2, actual: 2 }],
            values: vec![Value { vcpu: 0, label: "ipis".into(), value: 100 }],
            windows: vec![Window {
                vcpu: 0,
                label: "ipi".into(),
                ticks: 100_000,
                exits,
                order: vec!["msr 0x830:W".into(), "hlt".into(), "msr 0x80b:W".into()],
            }],
            traps: vec![Trap { vcpu: 0, code: 0x7c, exit: "msr".into(), count: 210 }],
            logs: vec!["Info: said".into()],
            postmortem: Vec::new(),
        }),
        links: Vec::new(),
    }
}

fn rule(id: &str, test: Option<Ended>) -> Rule {
    Rule {
        id: id.into(),
        area: "avic".into(),
        statement: "MAX_INDEX < 256: accepted & <ignored>".into(),
        exit: Some("none".into()),
        tags: vec!["A".into()],
        source: "A §15.29.4.3".into(),
        model_defined: true,
        tests: test
            .map(|ended| HostTest {
                package: "trapline-silicon".into(),
                name: "avic_001_bit_13".into(),
                ended,
            })
            .into_iter()
            .collect(),
        scenarios: vec![Evidence {
            scenario: "self-ipi::nothing".into(),
            cite: true,
            check: true,
            ended: Ended::Pass,
        }],
    }
}

fn claim() -> Claim {
    Claim {
        id: "CLM-29".into(),
        statement: "Idle HLT removes hlt exits entirely.".into(),
        source: "[PATCH] <a mail>".into(),
        figures: "262080 and 0".into(),
        standing: ClaimStanding::Holds,
        scenarios: BTreeMap::from([
            ("a".into(), "self-ipi::nothing".into()),
            ("b".into(), "self-ipi::idle-hlt".into()),
        ]),
        comparisons: vec![Comparison {
            what: "b.hlt == 0".into(),
            expected: "0".into(),
            measured: "0".into(),
            holds: true,
        }],
        obstacles: Vec::new(),
        predicted: Vec::new(),
        note: String::new(),
        undecided: None,
    }
}
