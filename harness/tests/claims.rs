//! `trapline claims` on made-up workspaces: what it says without a boot.

use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

const SUITE: &str =
    "[suite]\nname = \"made-up\"\n[[scenario]]\nname = \"one\"\npayload = \"self-ipi\"\n";

const CLAIMS: &str = r#"
[sources]
000 = "A letter"
[[claim]]
id = "CLM-01"
statement = "One is one"
source = "000"
scenarios = { a = "made-up::one" }
holds = ["a.hlt == a.n"]
[[claim]]
id = "CLM-02"
statement = "Two is two"
source = "000"
recorded = "only silicon knows"
"#;

fn workspace(claims: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let files =
        [("suites/made-up.toml", SUITE), ("claims/made-up.toml", claims), ("golden/README", "")];
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[track_caller]
fn claims(root: &TempDir, arguments: &[&str], code: i32, says: &[&str]) {
    said(root, "claims", arguments, code, says);
}

#[track_caller]
fn said(root: &TempDir, command: &str, arguments: &[&str], code: i32, says: &[&str]) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_trapline"))
        .arg(command)
        .args(arguments)
        .env("TRAPLINE_ROOT", root.path())
        .output()
        .unwrap();
    let said = String::from_utf8([stdout, stderr].concat()).unwrap();
    assert_eq!(status.code(), Some(code), "{said}");
    for line in says {
        assert!(said.contains(line), "no `{line}` in\n{said}");
    }
}

#[test]
fn a_claim_that_needs_no_run_is_listed_without_one() {
    let root = workspace(CLAIMS);
    let says =
        ["CLM-02 recorded  Two is two\n", "why: only silicon knows", "1 claim: 0 hold, 1 rec"];
    claims(&root, &["clm-02"], 0, &says);
    claims(&root, &["CLM-02", "--format", "json"], 0, &["\"standing\": \"recorded\""]);
}

const COST: &str = "
[[cost]]
source = '000'
machine = 'an old one'
tables = ['letter.txt/1']
";

#[test]
fn means_of_documents_are_printed_and_missing_ones_named() {
    let root = workspace(&(CLAIMS.to_owned() + COST));
    let predict = |arguments: &[&str], code, says: &[&str]| {
        said(&root, "predict", arguments, code, says);
    };
    predict(&[], 2, &["[[cost]]: `letter.txt/1`: tables/letter.txt is not there"]);
    let folder = root.path().join("claims/tables");
    fs::create_dir_all(&folder).unwrap();
    let table = "Analyze events for all VMs, all VCPUs:\n\n   VM-EXIT    Samples  Samples%     Time%    \
        Min Time    Max Time         Avg time\n\n       msr         10   100.00%   100.00%      1.00us      \
        2.00us      1.50us ( +-   0.10% )\n";
    fs::write(folder.join("letter.txt"), table).unwrap();
    predict(
        &["--means"],
        0,
        &["A  an old one: A letter", "msr                          1.50        10"],
    );
    predict(&[], 2, &["last.json"]);
    let root = workspace(CLAIMS);
    said(&root, "predict", &["--means"], 2, &["no [[cost]] in claims/"]);
}

#[test]
fn mistakes_are_named_before_anything_runs() {
    let root = workspace(CLAIMS);
    claims(&root, &["CLM-9"], 2, &["none of 2 claims matches `CLM-9`"]);
    claims(&root, &["--result", "/nowhere.json"], 2, &["/nowhere.json"]);
    let root = workspace(&CLAIMS.replace("made-up::one", "made-up::two"));
    claims(&root, &[], 2, &["a claim names the scenario made-up::two, which is in no suite"]);
    let root = workspace(&CLAIMS.replace("a.hlt ==", "a.hlt =>"));
    claims(&root, &[], 2, &["made-up.toml: CLM-01:"]);
    let root = workspace("[sources");
    claims(&root, &[], 2, &["made-up.toml"]);
    fs::remove_dir_all(root.path().join("claims")).unwrap();
    claims(&root, &[], 2, &["cannot read", "claims"]);
}
