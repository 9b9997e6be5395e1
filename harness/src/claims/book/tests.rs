use super::*;

const SOUND: &str = r#"
[sources]
000 = "A letter"
[[claim]]
id = "CLM-01"
statement = "Less is more"
source = "000"
scenarios = { a = "s::x", b = "s::y" }
holds = ["a.hlt <= b.hlt"]
"#;

fn read(text: &str) -> Result<Vec<Claim>, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.toml"), text).unwrap();
    load(folder.path()).map(|book| book.claims).map_err(|e| e.to_string())
}

#[test]
fn a_claim_names_its_source_by_the_title() {
    assert_eq!(read(SOUND).unwrap()[0].source, "A letter");
}

#[test]
fn what_cannot_be_judged_is_refused_with_the_reason() {
    let second = "[[claim]]\nid = \"CLM-01\"\nstatement = \"x\"\nsource = \"000\"\nopen = \"y\"\n";
    let twice = SOUND.to_owned() + second;
    for (text, why) in [
        (SOUND.replace("CLM-01", "CLAIM-1"), "write it as CLM-NUMBER"),
        (SOUND.replace("Less is more", " "), "needs a statement"),
        (SOUND.replace("source = \"000\"", "source = \"001\""), "there is no source `001`"),
        (SOUND.replace("a.hlt <=", "c.hlt <="), "`c` names none of its `scenarios`"),
        (SOUND.replace("<= b.hlt", "<= 3"), "nothing is said of `b`"),
        (SOUND.replace("<= b", "b"), "is missing"),
        (SOUND.to_owned() + "open = \"x\"", "say either"),
        (SOUND.replace("holds =", "holding ="), "unknown field"),
        (twice, "is there twice"),
        ("[sources]\nclaim = []".into(), "x.toml"),
        ("claim = []\n[sources]".into(), "there are no claims"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
    assert!(load(Path::new("/nowhere")).unwrap_err().to_string().contains("/nowhere"));
}

#[test]
fn the_claims_are_44_without_a_hole_and_at_most_8_are_recorded_only() {
    let book = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../claims")).unwrap();
    let claims = book.claims;
    let ids: Vec<_> = claims.iter().map(|claim| claim.id.clone()).collect();
    assert_eq!(ids, (1..=44).map(|n| format!("CLM-{n:02}")).collect::<Vec<_>>());
    assert!(claims.iter().filter(|claim| claim.recorded.is_some()).count() <= 8);
}
