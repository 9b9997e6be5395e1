use super::error::Source;
use super::*;
use crate::formula::Bound;
use crate::payload::Catalogue;
use crate::payload::tests::catalogue;
use std::path::Path;
use trapline_abi::plan::{Policy, Seed};
use trapline_abi::record::Outcome;

fn read(text: &str) -> Result<Suite, String> {
    let source = Source { path: Path::new("x.toml"), text };
    load::read(source, &catalogue()).map_err(|e| e.to_string())
}

/// The scenarios of a suite file's text, for the tests of other modules.
pub(crate) fn scenarios(text: &str, catalogue: &Catalogue) -> Vec<Scenario> {
    let source = Source { path: Path::new("x.toml"), text };
    load::read(source, catalogue).unwrap().scenarios
}

const GOOD: &str = r#"
[suite]
name = "self-ipi"
about = "IPIs."

[[scenario]]
name = "x2apic-{wait}"
about = "{n} times {wait}."
payload = "self-ipi"
matrix = { wait = ["hlt", "nop"] }
params = { n = 50 }
machine = { kvm = true, x2apic = false }
silicon = "none"
policy = "kvm-6.12"
seed = "hlt-evaluates"
vcpus = 2
cores = 1
budget = { ticks = 7 }
cite = "row 1"
fails = "hlt"

[scenario.expect]
msr = "2*n"
"msr 0x830:W" = "n"
hlt = 0
exits = ">= vcpus"
allow = ["interrupt"]
[scenario.expect.values]
ipis = "<= n"
[scenario.expect.warm]
ticks = "1..5"

[[scenario.when]]
is = { wait = ["hlt", "spin"], n = 50 }
cite = "row 2"
expect = { hlt = "n", outcome = "stuck" }

[[scenario]]
name = "plain"
payload = "exit-cost"
"#;

#[test]
fn a_matrix_makes_one_scenario_of_each_combination() {
    let suite = read(GOOD).unwrap();
    let names: Vec<_> = suite.scenarios.iter().map(Scenario::full_name).collect();
    assert_eq!(names, ["self-ipi::x2apic-hlt", "self-ipi::x2apic-nop", "self-ipi::plain"]);
    assert_eq!(suite.scenarios[1].about, "50 times nop.");
    let params = [50u64, 1, 0].map(u64::to_le_bytes).concat();
    assert_eq!(suite.scenarios[1].params.to_bytes(), params);
}

#[test]
fn every_key_arrives() {
    let scenario = &read(GOOD).unwrap().scenarios[0];
    assert!(
        !scenario.machine.kvm.is_empty()
            && !scenario.machine.x2apic
            && scenario.machine.tsc_deadline
    );
    assert_eq!(scenario.policy, Policy::Kvm612);
    assert_eq!(scenario.seed, Some(Seed::HltEvaluates));
    assert_eq!((scenario.vcpus, scenario.cores), (2, 1));
    assert_eq!(scenario.budget, Budget { ticks: 7, ..Budget::default() });
    assert_eq!((scenario.cite.as_str(), scenario.fails.as_deref()), ("row 1", Some("hlt")));
}

#[test]
fn a_condition_adds_its_expectations_only_where_it_holds() {
    let suite = read(GOOD).unwrap();
    let hlt = Subject::Code(0x78);
    let [first, second] = [0, 1].map(|i| &suite.scenarios[i].expect);
    assert_eq!(first.windows[&None].rules[&hlt].bound, Bound::Equal(50));
    assert_eq!(first.windows[&None].rules[&hlt].cite.as_deref(), Some("row 2"));
    assert_eq!(first.outcome, Outcome::Stuck);
    assert_eq!(second.windows[&None].rules[&hlt].bound, Bound::Equal(0));
    assert_eq!(second.outcome, Outcome::Done);
    for expect in [first, second] {
        assert_eq!(expect.values["ipis"].bound, Bound::AtMost(50));
        assert_eq!(expect.windows[&None].rules[&Subject::Exits].bound, Bound::AtLeast(2));
        let warm = &expect.windows[&Some("warm".into())];
        assert_eq!(warm.rules[&Subject::Ticks].bound, Bound::Within(1, 5));
        assert!(expect.windows[&None].allow.contains(&0x60));
    }
}

#[test]
fn a_scenario_that_says_nothing_has_the_defaults() {
    let scenario = &read(GOOD).unwrap().scenarios[2];
    assert_eq!(scenario.expect, Expect::default());
    assert_eq!((scenario.vcpus, scenario.cores, scenario.budget), (1, 1, Budget::default()));
    assert_eq!((scenario.silicon.as_str(), scenario.seed), ("none", None));
    assert_eq!(scenario.params.get("op").unwrap().text(), "cpuid");
    assert_eq!(scenario.params.get("n").unwrap().value, 10);
}

#[test]
fn mistakes_are_reported_with_line_column_and_a_hint() {
    for (from, to, message) in [
        (
            "payload = \"self-ipi\"",
            "paload = \"self-ipi\"",
            "x.toml:9:1: unknown key `paload` in a scenario (did you mean `payload`?)",
        ),
        (
            "payload = \"self-ipi\"",
            "payload = \"self-ip\"",
            "x.toml:9:11: unknown payload `self-ip` (did you mean `self-ipi`?)",
        ),
        ("payload = \"self-ipi\"\n", "", "x.toml:6:1: a scenario has no `payload`"),
        ("n = 50 }\nm", "m = 50 }\nm", "x.toml:11:12: payload `self-ipi` has no parameter `m`"),
        ("n = 50 }\nm", "n = \"x\" }\nm", "x.toml:11:16: `n` is a number, not `x`"),
        ("n = 50 }\nm", "n = -1 }\nm", "x.toml:11:16: an unsigned 64-bit number is wanted here"),
        (
            "n = 50 }\nm",
            "n = 1.5 }\nm",
            "x.toml:11:16: a string or number is wanted here, not a float",
        ),
        ("n = 50 }\nm", "wait = \"hlt\" }\nm", "x.toml:11:12: `wait` is already in the matrix"),
        ("\"nop\"]", "\"nap\"]", "x.toml:10:19: `wait` cannot be `nap` (did you mean `nop`?)"),
        ("\"nop\"]", "\"hlt\"]", "x.toml:7:8: scenario `x2apic-hlt` is there twice"),
        ("{ wait = [\"hlt\", \"nop\"] }", "{ wait = [] }", "`wait` has no values"),
        ("x2apic-{wait}", "x2apic-{wiat}", "unknown placeholder `{wiat}` (did you mean `wait`?)"),
        (
            "x2apic-{wait}",
            "x2apic-",
            "is there twice: put the matrix's parameters in the name, such as `{wait}`",
        ),
        ("x2apic-{wait}", "../x", "x.toml:7:8: the name `../x` must be of a-z"),
        (
            "kvm = true",
            "kmv = true",
            "x.toml:12:13: unknown key `kmv` in a machine (did you mean `kvm`?)",
        ),
        ("kvm = true", "kvm = 1", "x.toml:12:19: `kvm` is true, false, or a list of its switches"),
        (
            "kvm = true",
            "kvm = ['kvm-pv-eio']",
            "x.toml:12:20: unknown switch `kvm-pv-eio` (did you mean `kvm-pv-eoi`?)",
        ),
        (
            "kvm = true",
            "hyperv = ['hv-vpindex', 'hv-time', 'hv-stimer']",
            "x.toml:12:22: `hv-stimer` needs `hv-synic`: add it to the list, or take `hv-stimer` out",
        ),
        (
            "kvm-6.12",
            "kvm-6.11",
            "x.toml:14:10: unknown policy `kvm-6.11` (did you mean `kvm-6.12`?)",
        ),
        ("hlt-evaluates", "hlt", "x.toml:15:8: unknown seed `hlt`"),
        ("vcpus = 2", "vcpus = 0", "x.toml:16:9: the number of vCPUs is from 1 to 16"),
        (
            "cores = 1",
            "cores = 0",
            "x.toml:17:9: the number of cores is from 1 to that of vCPUs, 2",
        ),
        (
            "cores = 1",
            "cores = 3",
            "x.toml:17:9: the number of cores is from 1 to that of vCPUs, 2",
        ),
        (
            "ticks = 7",
            "tick = 7",
            "x.toml:18:12: unknown key `tick` in a budget (did you mean `ticks`?)",
        ),
        ("msr = \"2*n\"", "mrs = \"2*n\"", "x.toml:23:1: unknown exit `mrs` (did you mean `msr`?)"),
        ("msr = \"2*n\"", "msr = \"2*m\"", "x.toml:23:7: unknown parameter `m`"),
        ("msr = \"2*n\"", "msr = \"2*\"", "x.toml:23:7: a number, a parameter or `(` is missing"),
        ("msr = \"2*n\"", "msr = \"wait\"", "`wait` is the word `hlt`, not a number at column 1"),
        ("msr = \"2*n\"", "msr = \"n - 51\"", "50 - 51 is below zero at column 3"),
        (
            "\"interrupt\"",
            "\"interupt\"",
            "x.toml:27:10: unknown exit `interupt` (did you mean `interrupt`?)",
        ),
        (
            "\"hlt\", \"spin\"]",
            "\"hlt\", \"sipn\"]",
            "`wait` cannot be `sipn` (did you mean `spin`?)",
        ),
        ("is = { wait", "is = { wiat", "unknown parameter `wiat` (did you mean `wait`?)"),
        ("\"stuck\"", "\"stuk\"", "unknown outcome `stuk` (did you mean `stuck`?)"),
        (
            "[suite]",
            "[suites]",
            "x.toml:2:2: unknown key `suites` in a suite file (did you mean `suite`?)",
        ),
        ("name = \"plain\"", "name = plain", "x.toml:39:8: "),
        (
            "name = \"plain\"",
            "name = \"x2apic-nop\"",
            "x.toml:39:8: scenario `x2apic-nop` is there twice",
        ),
        ("name = \"plain\"", "name = 5", "x.toml:39:8: a string is wanted here, not an integer"),
        ("name = \"plain\"", "name = \"a\"\nname = \"b\"", "x.toml:40:1: duplicate key"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = read(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(message), "wanted: {message}\n   got: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn hv_011_a_switch_without_what_it_needs_is_refused_before_anything_runs() {
    let machine = |switches: &str| read(&GOOD.replacen("kvm = true", switches, 1));
    for (switches, missing) in [
        ("'hv-vpindex', 'hv-time', 'hv-stimer'", "`hv-stimer` needs `hv-synic`"),
        ("'hv-vpindex', 'hv-synic', 'hv-stimer'", "`hv-stimer` needs `hv-time`"),
        ("'hv-synic'", "`hv-synic` needs `hv-vpindex`"),
        ("'hv-ipi'", "`hv-ipi` needs `hv-vpindex`"),
    ] {
        let error = machine(&format!("hyperv = [{switches}]")).unwrap_err();
        assert!(error.contains(missing), "{switches}: {error}");
    }
    assert!(machine("hyperv = ['hv-vpindex', 'hv-time', 'hv-synic', 'hv-stimer']").is_ok());
}

#[test]
fn a_policy_without_avic_takes_no_settings_of_it() {
    let xen = GOOD.replacen("kvm-6.12", "xen-4.17", 1);
    assert_eq!(read(&xen).unwrap().scenarios[0].policy, Policy::Xen417);
    for (from, to, message) in [
        (
            "policy = ",
            "module = { avic = true }\npolicy = ",
            "x.toml:14:10: policy `xen-4.17` has no parameters of a module: Xen 4.17 has no AVIC; \
             take `module` out",
        ),
        (
            "kvm = true",
            "hyperv = ['hv-avic']",
            "x.toml:12:11: policy `xen-4.17` cannot recommend `hv-avic`: Xen 4.17 has no AVIC",
        ),
    ] {
        let error = read(&xen.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(message), "wanted: {message}\n   got: {error}");
    }
}

#[test]
fn an_axis_that_is_no_parameter_is_refused() {
    let error = read(&GOOD.replacen("matrix = { wait", "matrix = { wiat", 1)).unwrap_err();
    assert!(error.contains("has no parameter `wiat` (did you mean `wait`?)"), "{error}");
}

#[test]
fn a_folder_is_read_in_order_and_a_name_is_refused_the_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, suite: &str| {
        std::fs::write(folder.path().join(file), format!("[suite]\nname = \"{suite}\"\n")).unwrap();
    };
    write("b.toml", "second");
    write("a.toml", "first");
    write("notes.txt", "none");
    std::fs::write(folder.path().join("Cargo.toml"), "[package]").unwrap();
    let paths = [folder.path().to_path_buf()];
    let names = |suites: Vec<Suite>| suites.into_iter().map(|s| s.name).collect::<Vec<_>>();
    assert_eq!(names(load(&paths, &catalogue()).unwrap()), ["first", "second"]);
    write("c.toml", "first");
    let error = load(&paths, &catalogue()).unwrap_err().to_string();
    assert!(error.contains("c.toml:1:1: suite `first` is already in"), "{error}");
    let error = load(&["/nowhere/x.toml".into()], &catalogue()).unwrap_err().to_string();
    assert!(error.contains("cannot read suite /nowhere/x.toml"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_cut_of_a_suite_makes_it_panic(end in 0..GOOD.len()) {
        let _ = read(&GOOD[..end]);
    }
}
