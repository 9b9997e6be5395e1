use super::*;
use crate::bless::bless;
use crate::result::tests::result;
use crate::result::{RunResult, save_last};

fn changed(change: impl FnOnce(&mut RunResult)) -> Side {
    let mut result = result();
    change(&mut result);
    Side::of("b.json", &result)
}

fn against(b: &Side) -> Comparison {
    compare(&Side::of("a.json", &result()), b, false)
}

#[test]
fn equal_results_have_no_differences_and_tables_only_when_asked_for() {
    let same = changed(|_| ());
    let comparison = against(&same);
    assert_eq!(comparison.different, 0);
    assert!(comparison.text.contains("SAME self-ipi::hlt\nno differences"));
    let all = compare(&same, &same, true).text;
    assert!(all.contains("msr 0x830:W") && all.contains("1.000"), "{all}");
}

#[test]
fn a_difference_has_its_ratio() {
    let comparison = against(&changed(|r| {
        let window = &mut r.scenarios[0].measured.as_mut().unwrap().windows[0];
        window.ticks = 18_000;
        window.exits[0].stats.count = 15;
        window.exits[0].stats.sum = 4500;
    }));
    assert_eq!(comparison.different, 1);
    let text = &comparison.text;
    assert!(text.contains("window loop, vCPU 0: count of hlt: A 10, B 15"), "{text}");
    assert!(text.contains("length in ticks: A 9000, B 18000"), "{text}");
    let row = text.lines().find(|l| l.trim_start().starts_with("hlt ")).unwrap();
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells, ["hlt", "10", "15", "1.500", "200.00", "300.00", "1.500"]);
    assert!(text.contains("2.000") && text.ends_with("1 scenario differs\n"));
}

#[test]
fn another_build_is_compared_with_tolerance() {
    let drift = |ticks| {
        against(&changed(|r| {
            r.environment.built.core = "c2".into();
            r.scenarios[0].measured.as_mut().unwrap().windows[0].ticks = ticks;
        }))
    };
    assert_eq!(drift(9900).different, 0);
    assert!(drift(9900).text.contains("hv-core differs between A and B"));
    assert_eq!(drift(9901).different, 1);
}

#[test]
fn a_scenario_on_one_side_only_differs_but_not_from_the_goldens() {
    let none = changed(|r| r.scenarios.clear());
    let comparison = against(&none);
    assert!(comparison.text.contains("DIFF self-ipi::hlt: only in A"));
    assert_eq!(comparison.different, 1);
    let golden = Side { is_golden: true, ..Side::of("golden", &result()) };
    assert_eq!(compare(&golden, &none, false).different, 0);
    assert_eq!(compare(&none, &golden, false).different, 0);
}

#[test]
fn last_and_golden_are_read_from_the_workspace() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(Side::read("last", root.path()), Err(SideError::Store(_))));
    assert!(matches!(Side::read("golden", root.path()), Err(SideError::Unlistable { .. })));
    save_last(root.path(), &result()).unwrap();
    bless(&result(), &root.path().join("golden"), &|_| true).unwrap();
    let last = Side::read("last", root.path()).unwrap();
    let golden = Side::read("golden", root.path()).unwrap();
    assert_eq!(last.scenarios, golden.scenarios);
    assert_eq!(compare(&golden, &last, false).different, 0);
}
