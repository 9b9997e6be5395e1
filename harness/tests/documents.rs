//! The documents are true as far as a program can tell: links lead somewhere, named files exist,
//! commands parse, and the README's example loads.

use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use trapline::payload::Catalogue;
use trapline::suite;

/// Folders whose files the documents name by their path from the workspace.
const FOLDERS: [&str; 10] = [
    "hv-core",
    "guest-payloads",
    "harness",
    "suites",
    "golden",
    "report",
    "docs",
    "ci",
    ".config",
    ".github",
];

/// The payload that the README's reader is to write.
const EXAMPLE: &str = "cpuid-leaf";

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Files below `folder` with that extension, build results left out.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && (!name.starts_with('.') || name == ".github") {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

/// The workspace's files with that extension and their text, with a path for messages.
fn texts(extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(workspace(), extension, &mut found);
    found.sort();
    let relative = |path: &PathBuf| path.strip_prefix(workspace()).unwrap().to_owned();
    found.iter().map(|path| (relative(path), read(path))).collect()
}

fn documents() -> Vec<(PathBuf, String)> {
    let documents = texts("md");
    assert!(documents.len() > 10, "the documents are not where this test looks");
    documents
}

/// What stands between `open` and `close`, each time.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Vec<&'t str> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((inner, after)) =
        rest.split_once(open).and_then(|(_, after)| after.split_once(close))
    {
        found.push(inner);
        rest = after;
    }
    found
}

/// The text outside of code blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The bodies of the code blocks in that language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    between(text, &format!("```{language}\n"), "```")
}

/// The anchors that headings get.
fn anchors(text: &str) -> BTreeSet<String> {
    let slug = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    prose(text)
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| slug(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    for (document, text) in documents() {
        for link in between(&prose(&text), "](", ")") {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let here = workspace().join(&document);
            let target = if file.is_empty() { here } else { here.parent().unwrap().join(file) };
            let found =
                target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !found {
                wrong.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "broken links:\n{}", wrong.join("\n"));
}

#[test]
fn every_named_file_exists() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (document, text) in documents() {
        for name in between(&prose(&text).replace('\n', " "), "`", "`") {
            let known =
                FOLDERS.iter().any(|f| name.strip_prefix(f).is_some_and(|r| r.starts_with('/')));
            if !known || name.contains(['*', ' ']) || name.contains(EXAMPLE) {
                continue;
            }
            seen += 1;
            if !workspace().join(name).exists() {
                wrong.push(format!("{}: {name}", document.display()));
            }
        }
    }
    assert!(seen > 100, "only {seen} names were found");
    assert!(wrong.is_empty(), "named, but not there:\n{}", wrong.join("\n"));
}

#[test]
fn every_document_that_code_names_exists_and_every_gap_has_its_heading() {
    let gaps = anchors(&read(&workspace().join("docs/tcg.md")));
    let mut wrong = Vec::new();
    for (source, text) in texts("rs").into_iter().chain(texts("toml")) {
        if source.ends_with("tests/documents.rs") {
            continue;
        }
        for rest in text.split("docs/").skip(1) {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-./".contains(c)));
            let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            if !workspace().join("docs").join(name).exists() {
                wrong.push(format!("{}: docs/{name}", source.display()));
            }
            let gap = rest.strip_prefix("tcg.md T").map(|r| r.split(|c: char| !c.is_ascii_digit()));
            if let Some(number) = gap.and_then(|mut digits| digits.next())
                && !gaps.iter().any(|heading| heading.starts_with(&format!("t{number}-")))
            {
                wrong.push(format!("{}: gap T{number}", source.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "named, but not there:\n{}", wrong.join("\n"));
}

#[test]
fn the_gaps_of_tcg_are_numbered_without_a_hole() {
    let text = read(&workspace().join("docs/tcg.md"));
    let numbers: Vec<u32> =
        between(&text, "\n### T", ":").iter().map(|n| n.parse().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
    assert!(numbers.len() >= 25);
}

#[test]
fn every_decision_says_context_decision_rejected_and_price() {
    let folder = Path::new("docs/decisions");
    let decisions: Vec<_> =
        documents().into_iter().filter(|(d, _)| d.starts_with(folder)).collect();
    for (place, (document, text)) in decisions.iter().enumerate() {
        let name = document.file_name().unwrap().to_str().unwrap();
        let number = format!("{:04}", place + 1);
        assert!(name.starts_with(&number), "{name} is decision {number}");
        assert!(text.starts_with(&format!("# {number} ")), "{name}'s title");
        let headings: Vec<_> = text.lines().filter(|l| l.starts_with("## ")).collect();
        let wanted = ["## Context", "## Decision", "## Rejected", "## Price"];
        assert_eq!(headings, wanted, "{name}");
    }
    assert!(decisions.len() >= 10);
}

/// `trapline` command lines: those of console blocks and workflows, and those in prose.
fn commands() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, text) in documents() {
        let lines = blocks(&text, "console").into_iter().flat_map(str::lines);
        found.extend(lines.filter_map(|l| l.strip_prefix("$ ./trapline ")).map(str::to_owned));
        let prose = prose(&text).replace('\n', " ");
        for name in between(&prose, "`", "`") {
            let command = name.strip_prefix("./").unwrap_or(name).strip_prefix("trapline ");
            found.extend(command.map(str::to_owned));
        }
    }
    for (_, text) in texts("yml") {
        let lines = text.lines().filter_map(|l| l.split_once("run: ./trapline "));
        found.extend(lines.map(|(_, command)| command.to_owned()));
    }
    found
}

#[test]
fn every_trapline_command_is_one_that_trapline_takes() {
    let commands = commands();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        // What follows a pipe or a redirection is the shell's.
        let words = command.split(['|', '>']).next().unwrap_or_default().split_whitespace();
        let words: Vec<_> = words.map(|w| if w == "N" { "2" } else { w }).collect();
        // Help is given, and nothing done, once everything before it was understood.
        let output = Command::new(env!("CARGO_BIN_EXE_trapline"))
            .args(&words)
            .arg("--help")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`trapline {command}`: {said}");
    }
}

/// An ELF file with a descriptor section, made of the README's `payload!` block.
fn payload(block: &str, path: &Path) {
    let mut descriptor = String::new();
    for line in block.lines().map(str::trim) {
        let quoted = between(line, "\"", "\"").first().copied().unwrap_or_default();
        if line.starts_with("about: ") {
            descriptor += &format!("about {quoted}\n");
        } else if let Some(parameter) = line.strip_prefix("number ") {
            let (name, rest) = parameter.split_once(" = ").unwrap();
            let default = rest.split_once(',').unwrap().0;
            descriptor += &format!("param {name} number {default} {quoted}\n");
        }
    }
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let name = trapline_abi::descriptor::SECTION.as_bytes().to_vec();
    let section = object.add_section(vec![], name, SectionKind::ReadOnlyData);
    object.append_section_data(section, descriptor.as_bytes(), 1);
    fs::write(path, object.write().unwrap()).unwrap();
}

#[test]
fn the_readmes_example_loads_and_selects_its_own_payload() {
    let readme = read(&workspace().join("README.md"));
    let rust = blocks(&readme, "rust");
    let [block] = rust[..] else { panic!("the README has one payload") };
    let toml = blocks(&readme, "toml").into_iter().find(|t| t.starts_with("[suite]"));
    let toml = toml.expect("the README has a suite");
    assert!(toml.lines().count() <= 10, "ten lines, as the README says");
    let folder = tempfile::tempdir().unwrap();
    let (elf, suite_file) = (folder.path().join("payload"), folder.path().join("example.toml"));
    payload(block, &elf);
    fs::write(&suite_file, toml).unwrap();
    assert!(readme.contains(&format!("guest-payloads/src/bin/{EXAMPLE}.rs")));
    let catalogue = Catalogue::read([(EXAMPLE, elf.as_path())]).unwrap();
    let suites = suite::load(&[suite_file], &catalogue).unwrap_or_else(|e| panic!("{e}"));
    assert!(!suites[0].scenarios.is_empty());
    assert!(suites[0].scenarios.iter().all(|scenario| scenario.payload == EXAMPLE));
}

#[test]
fn every_payload_and_suite_is_in_the_readme() {
    let readme = read(&workspace().join("README.md"));
    let mut missing = Vec::new();
    for (folder, extension) in [("guest-payloads/src/bin", "rs"), ("suites", "toml")] {
        for entry in fs::read_dir(workspace().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let wanted = path.extension().is_some_and(|e| e == extension) && name != "Cargo";
            if wanted && !readme.contains(&format!("`{name}`")) {
                missing.push(format!("{folder}/{name}"));
            }
        }
    }
    assert!(missing.is_empty(), "not in the README: {missing:?}");
}
