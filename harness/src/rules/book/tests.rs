use super::*;
use std::collections::BTreeMap;
use std::fs;

fn workspace() -> Vec<Rule> {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../rules")).unwrap()
}

#[test]
fn every_family_has_as_many_rules_as_its_specification() {
    let mut counts = BTreeMap::new();
    for rule in workspace() {
        *counts.entry((rule.set.clone(), rule.family().to_owned())).or_insert(0) += 1;
    }
    let count = |set: &str, family: &str| counts[&(set.to_owned(), family.to_owned())];
    let avic = ["AVIC", "AVH", "IHLT", "VNMI", "VGIF"].map(|family| count("avic", family));
    assert_eq!(avic, [179, 32, 31, 13, 8]);
    assert_eq!(avic.iter().sum::<i32>(), 263);
    assert_eq!((count("hyperv", "HV"), count("hyperv", "RTC")), (199, 32));
    let kvm: i32 = counts.iter().filter(|((set, _), _)| set == "kvm").map(|(_, n)| n).sum();
    let paravirtual = ["HC", "PVC", "PVI"].map(|family| count("kvm", family));
    assert_eq!((kvm, paravirtual), (30, [8, 3, 5]));
    assert_eq!(count("xen", "XEN"), 12);
    assert_eq!(counts.values().sum::<i32>(), 263 + 199 + 32 + 30 + 12);
}

#[test]
fn numbers_have_no_hole_where_the_specification_has_none() {
    let rules = workspace();
    for (family, last) in
        [("AVIC", 179), ("AVH", 32), ("IHLT", 31), ("VNMI", 13), ("VGIF", 8), ("RTC", 32)]
    {
        for number in 1..=last {
            let id = format!("{family}-{number:03}");
            assert!(rules.iter().any(|rule| rule.id == id), "{id}");
        }
    }
}

#[test]
fn model_decisions_are_marked() {
    for rule in workspace() {
        let decided = rule.tags.iter().any(|tag| {
            matches!(tag.as_str(), "D" | "O" | "=C")
                || tag.strip_prefix('P').is_some_and(|point| point.parse::<u32>().is_ok())
        });
        assert_eq!(rule.model_defined, decided, "{}: {:?}", rule.id, rule.tags);
        assert!(!rule.statement.contains("[D]") || rule.model_defined, "{}", rule.id);
    }
}

#[test]
fn corrected_rules_say_what_the_corrections_say() {
    let rules = workspace();
    let rule = |id: &str| rules.iter().find(|rule| rule.id == id).unwrap();
    assert!(rule("HV-111").statement.contains("two transitions"));
    assert!(rule("RTC-005").statement.starts_with("Power-on"));
    assert!(rule("HV-220").statement.contains("status 0"));
    for id in ["AVIC-012", "AVIC-116", "AVIC-128", "AVIC-138", "IHLT-018", "HV-111"] {
        assert!(rule(id).model_defined, "{id}");
    }
}

fn refused(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    load(folder.path()).unwrap_err().to_string()
}

#[test]
fn wrong_rules_are_refused_with_the_file_and_the_reason() {
    let rule = "[[rule]]\nid = \"HV-001\"\nstatement = \"s\"\ntags = []\nsource = \"K\"\n";
    let said = refused(&[("a.toml", rule), ("b.toml", rule)]);
    assert!(said.contains("b.toml") && said.contains("HV-001 is there twice"), "{said}");
    let said = refused(&[("a.toml", &rule.replace("HV-001", "hv 1"))]);
    assert!(said.contains("`hv 1` is no rule id"), "{said}");
    let said = refused(&[("a.toml", &rule.replace("\"s\"", "\" \""))]);
    assert!(said.contains("HV-001 needs a statement"), "{said}");
    assert!(refused(&[("a.toml", &format!("{rule}model-defined = true\n"))]).contains("unknown"));
    assert!(refused(&[]).contains("there are no rules"));
}
