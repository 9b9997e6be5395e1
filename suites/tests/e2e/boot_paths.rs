//! Three ways to start hv-core, one result.

use crate::laboratory::{Laboratory, assert_same};
use trapline::collect::label;
use trapline::iso;
use trapline::suite::Scenario;
use trapline::target::Start;
use trapline_abi::record::BootPath;

/// One scenario or two of each suite.
fn scenarios(laboratory: &Laboratory) -> Vec<Scenario> {
    let names = [
        "apic-timer::periodic-hlt",
        "exit-cost::cpuid",
        "exit-cost::in",
        "rogue::wild-msrs",
        "rogue::triple-fault",
        "rtc-hammer::read",
        "rtc-hammer::service-once-rate3",
        "self-ipi::x2apic-icr-hlt",
        "self-ipi::xapic-spin",
        "synic-autoeoi::several",
        "tpr::cr8-hlt",
        "tpr::nibble-xapic",
    ];
    names.map(|name| laboratory.scenario(name).clone()).into()
}

fn assert_same_as_qboot(start: impl FnOnce(&Laboratory, &[Scenario]) -> Start, path: BootPath) {
    let laboratory = Laboratory::new();
    let scenarios = scenarios(&laboratory);
    let qboot = laboratory.run("qboot", &scenarios).transcript;
    assert_eq!(qboot.hello.unwrap().boot, BootPath::Pvh);
    let start = start(&laboratory, &scenarios);
    let other = laboratory.run_as("other", &scenarios, start, false).transcript;
    assert_eq!(other.hello.unwrap().boot, path);
    for (one, other) in qboot.scenarios.iter().zip(&other.scenarios) {
        assert_same("boot path", one, other);
    }
}

#[test]
fn pvh_under_seabios_gives_what_qboot_gives() {
    assert_same_as_qboot(|_, _| Start::SeaBios, BootPath::Pvh);
}

#[test]
fn the_grub_iso_gives_what_qboot_gives() {
    let make = |laboratory: &Laboratory, scenarios: &[Scenario]| {
        let image = laboratory.path("trapline.iso");
        let label = label::lines(&laboratory.images);
        iso::make(&laboratory.images.core, &laboratory.plan(scenarios), &label, &image).unwrap();
        Start::Iso(image)
    };
    assert_same_as_qboot(make, BootPath::Multiboot2);
}
