//! What explains the command and its words: `explain`, completions and manual pages.

use crate::fixture::{Ended, Workspace};
use std::path::Path;
use std::process::Command;

/// The command in this checkout, with its rules and claims.
fn here(arguments: &[&str]) -> Ended {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trapline"));
    command.args(arguments).arg("--root").arg(root).output().unwrap().into()
}

#[test]
fn rules_claims_exits_and_msrs_are_explained() {
    here(&["explain", "HV-213", "clm-29", "vintr", "0x830"]).expect(
        0,
        &[
            "rule HV-213 of rules/hyperv.toml",
            "  host tests  trapline-policy hv_213_",
            "claim CLM-29\n",
            "  scenario    a = avic::self-ipi-nothing",
            "exit vintr, code 0x64\n",
            "MSR 0x830, X2APIC_ICR\n",
        ],
    );
    let ended = here(&["explain", "vintr", "HV-9999"]).expect(2, &["`HV-9999` is no rule, claim"]);
    assert_eq!(ended.out, "", "half an answer looks like a whole one");
}

#[test]
fn completions_know_the_commands_and_their_options() {
    let workspace = Workspace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = workspace.trapline(&["completions", shell]).expect(0, &["merge"]).out;
        assert!(script.contains("partition") && script.contains("collect"), "{shell}");
    }
    workspace
        .shell("$TRAPLINE completions bash > c && exec bash -c '. ./c && complete -p trapline'")
        .expect(0, &["_trapline"]);
    workspace.trapline(&["completions", "cmd"]).expect(2, &["bash", "possible values"]);
}

#[test]
fn there_is_a_manual_page_of_every_command() {
    let workspace = Workspace::new();
    workspace.trapline(&["man", "--out", "man/man1"]).expect(0, &["pages in man/man1"]);
    let main = workspace.read("man/man1/trapline.1");
    for page in workspace.files("man") {
        let name = page.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains(".TH trapline"), "{name}: {text}");
        assert!(name == "trapline" || text.contains("Examples:"), "{name}");
        assert!(main.contains(&name.replace('-', "\\-")), "{name} is in the main page");
    }
    assert!(workspace.path("man/man1/trapline-run.1").is_file());
    std::fs::write(workspace.path("file"), "in the way").unwrap();
    workspace.trapline(&["man", "--out", "file/man1"]).expect(2, &["error: ", "file/man1"]);
}
