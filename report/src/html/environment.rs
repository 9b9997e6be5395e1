//! Where it ran, and of what it was made.

use super::mark;
use crate::figures::{count, duration};
use crate::model::{HostTests, Report, TargetCpu};
use maud::{Markup, html};
use std::collections::BTreeMap;

const UNKNOWN: &str = "not known";

pub(super) fn section(report: &Report) -> Option<Markup> {
    let environment = &report.environment;
    let host = &environment.host;
    Some(html! {
        div.cards {
            div.card {
                h3 { "Target" }
                dl {
                    (row("Class", &environment.class))
                    (row("Executed by", &environment.accelerator))
                    (row("QEMU", &environment.qemu.version))
                    (known("Firmware", firmware(&environment.qemu.arguments)))
                    @if let Some(cpu) = &environment.cpu { (target(cpu)) }
                }
            }
            div.card {
                h3 { "Machine" }
                dl {
                    (known("Processor", host.cpu.model.as_deref()))
                    (known("Signature", host.cpu.signature.as_deref()))
                    (known("Microcode", host.cpu.microcode.as_deref()))
                    (row("Online", &count(u64::from(host.cpu.online))))
                    (known("Firmware", host.firmware.as_deref()))
                    (known("Product", host.product.as_deref()))
                    (known("Kernel", host.kernel.as_deref()))
                    (known("System", host.system.as_deref()))
                }
            }
            div.card {
                h3 { "Build" }
                dl {
                    (known("Revision", environment.build.revision.as_deref()))
                    (row("hv-core", &environment.build.core))
                    (row("Payloads", &environment.build.payloads))
                    (row("Compiler", &environment.build.rustc))
                }
            }
            div.card {
                h3 { "Run" }
                dl {
                    (row("Started", &report.run.started))
                    (row("Duration", &duration(report.run.duration_ms)))
                    (row("Repeats", &report.run.repeats.to_string()))
                    (row("Scenarios", &format!("{} of {}", report.run.chosen, report.run.total)))
                    (row("Host tests", &host_tests(&report.run.host_tests)))
                }
            }
        }
        (features(report))
        (modules(report))
        details {
            summary { "QEMU’s arguments" }
            p.code { code { (environment.qemu.arguments.join(" ")) } }
        }
        (artifacts(report))
    })
}

fn row(name: &str, value: &str) -> Markup {
    html! { dt { (name) } dd { (value) } }
}

fn known(name: &str, value: Option<&str>) -> Markup {
    row(name, value.unwrap_or(UNKNOWN))
}

/// The firmware that QEMU was told to start with.
fn firmware(arguments: &[String]) -> Option<&str> {
    let at = arguments.iter().position(|argument| argument == "-bios")?;
    arguments.get(at + 1).map(String::as_str)
}

fn target(cpu: &TargetCpu) -> Markup {
    html! {
        (row("Processor", &cpu.brand))
        (row("Signature", &format!("{:#x}", cpu.signature)))
        (row("SVM features", &format!("{:#010x}", cpu.svm_features)))
        (row("ASIDs", &cpu.asids.to_string()))
        (row("Cores", &cpu.cores.to_string()))
        (row("TSC", &format!("{} kHz", count(u64::from(cpu.tsc_khz)))))
    }
}

fn host_tests(tests: &HostTests) -> String {
    match tests {
        HostTests::Run => "run with this report".into(),
        HostTests::Earlier(when) => format!("from an earlier run, {when}"),
        HostTests::NotRun(why) => format!("not run: {why}"),
    }
}

/// Which features were the processor's own, and which hv-core played.
fn features(report: &Report) -> Markup {
    let mut features: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for scenario in &report.scenarios {
        for feature in &scenario.modeled {
            features.entry(feature).or_default().0 += 1;
        }
        for feature in &scenario.real {
            features.entry(feature).or_default().1 += 1;
        }
    }
    let profiles = report.scenarios.iter().fold(BTreeMap::new(), |mut profiles, scenario| {
        *profiles.entry(scenario.silicon.as_str()).or_insert(0u64) += 1;
        profiles
    });
    html! {
        h3 { "Features of the silicon, by scenarios" }
        @if features.is_empty() {
            p { "No scenario used any." }
        } @else {
            div.scroll role="region" aria-label="Features of the silicon" tabindex="0" {
                table.small {
                    thead { tr { th scope="col" { "Feature" } th.n scope="col" { "Modeled" } th.n scope="col" { "Real" } } }
                    tbody {
                        @for (feature, (modeled, real)) in &features {
                            tr { th scope="row" { (feature) } td.n { (count(*modeled)) } td.n { (count(*real)) } }
                        }
                    }
                }
            }
        }
        p.note {
            "Profiles: "
            @for (at, (profile, scenarios)) in profiles.iter().enumerate() {
                @if at > 0 { ", " }
                code { (profile) } " " (count(*scenarios))
            }
            ". What is modeled is evidence about the hypervisor, not about a processor."
        }
    }
}

fn modules(report: &Report) -> Markup {
    let modules = &report.environment.host.modules;
    html! {
        @if !modules.is_empty() {
            details {
                summary { "Kernel modules and their parameters" }
                @for module in modules {
                    p { code { (module.name) } }
                    @if !module.parameters.is_empty() {
                        dl.columns {
                            @for (name, value) in &module.parameters { (row(name, value)) }
                        }
                    }
                }
            }
        }
    }
}

fn artifacts(report: &Report) -> Markup {
    html! {
        @if !report.artifacts.is_empty() {
            details {
                summary { "Raw records and other files" }
                ul { @for link in &report.artifacts { li { (mark::file(link)) } } }
            }
        }
    }
}
