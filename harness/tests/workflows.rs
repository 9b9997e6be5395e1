//! The workflow files of ci/: they parse, what they name is there, and every command in them is one
//! that its program takes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn load(name: &str) -> Yaml {
    let text = fs::read_to_string(workspace().join("ci").join(name)).unwrap();
    let mut documents = YamlLoader::load_from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(documents.len(), 1, "{name}");
    documents.remove(0)
}

/// Every text of a file, keys left out.
fn texts<'y>(yaml: &'y Yaml, found: &mut Vec<&'y str>) {
    match yaml {
        Yaml::String(text) => found.push(text),
        Yaml::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Yaml::Hash(map) => map.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// The lines of a file's texts, with numbers for the variables of the services.
fn lines(yaml: &Yaml) -> Vec<String> {
    let mut all = Vec::new();
    texts(yaml, &mut all);
    let filled = |line: &str| {
        let mut line = line.trim().to_owned();
        while let Some((before, rest)) = line.split_once("${{") {
            let after = rest.split_once("}}").expect("an expression ends").1;
            line = format!("{before}1{after}");
        }
        line.replace("$CI_NODE_INDEX", "1").replace("$CI_NODE_TOTAL", "4")
    };
    all.into_iter().flat_map(str::lines).map(filled).collect()
}

/// The names that a job's `needs` has.
fn needs(job: &Yaml) -> Vec<String> {
    match &job["needs"] {
        Yaml::String(name) => vec![name.clone()],
        Yaml::Array(names) => names.iter().map(|n| n.as_str().unwrap().to_owned()).collect(),
        Yaml::BadValue => Vec::new(),
        other => panic!("needs {other:?}"),
    }
}

#[test]
fn every_command_of_the_workflows_is_taken() {
    for (name, wanted) in [("github.yml", 6), ("gitlab.yml", 6), ("lava.yaml", 1)] {
        let mut seen = 0;
        for line in lines(&load(name)) {
            let words: Vec<_> = line.split_whitespace().take_while(|word| *word != "&").collect();
            match words.as_slice() {
                ["./trapline", arguments @ ..] => {
                    // Help is given, and nothing done, once everything before it was understood.
                    let mut command = Command::new(env!("CARGO_BIN_EXE_trapline"));
                    let output = command.args(arguments).arg("--help").output().unwrap();
                    let said = String::from_utf8_lossy(&output.stderr);
                    assert!(output.status.success(), "{name}: {line}: {said}");
                    seen += 1;
                }
                [script, ..] if script.starts_with("ci/") => {
                    let file = workspace().join(script).metadata();
                    let file = file.unwrap_or_else(|e| panic!("{name}: {script}: {e}"));
                    assert!(file.permissions().mode() & 0o111 != 0, "{script} can be executed");
                    seen += 1;
                }
                _ => {}
            }
        }
        assert_eq!(seen, wanted, "commands of {name}");
    }
}

#[test]
fn scripts_refuse_what_they_cannot_use() {
    for script in ["archive", "partition", "setup", "test"] {
        let path = workspace().join("ci").join(script);
        assert!(Command::new("bash").arg("-n").arg(&path).status().unwrap().success(), "{script}");
    }
    let file = workspace().join("Cargo.toml");
    let file = file.to_str().unwrap();
    for (script, arguments, said) in [
        ("archive", &[][..], "usage: ci/archive FILE"),
        ("partition", &[file], "usage: ci/partition FILE N/M"),
        ("partition", &[file, "0/4"], "usage: ci/partition FILE N/M"),
        ("partition", &[file, "1/4"], "Cargo.toml is no archive of ci/archive"),
    ] {
        let script = workspace().join("ci").join(script);
        let output = Command::new(script).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    }
}

#[test]
fn the_github_workflow_is_whole() {
    let workflow = load("github.yml");
    assert!(!workflow["on"].is_badvalue() && !workflow["permissions"].is_badvalue());
    let jobs = workflow["jobs"].as_hash().unwrap();
    let names: BTreeSet<_> = jobs.keys().map(|name| name.as_str().unwrap().to_owned()).collect();
    let (mut uploaded, mut downloaded) = (Vec::new(), Vec::new());
    for (name, job) in jobs {
        assert!(!job["runs-on"].is_badvalue(), "{name:?}");
        assert!(needs(job).iter().all(|need| names.contains(need)), "{name:?}");
        // A part's number is below the number behind the slash.
        if let Some(parts) = job["strategy"]["matrix"]["part"].as_vec() {
            let numbers: Vec<_> = parts.iter().map(|part| part.as_i64().unwrap()).collect();
            assert_eq!(numbers, (1..=parts.len() as i64).collect::<Vec<_>>());
            let of = format!("/{}", parts.len());
            assert!(lines(job).iter().any(|line| line.contains(&of)), "{name:?}");
        }
        for step in job["steps"].as_vec().unwrap() {
            let uses = step["uses"].as_str();
            assert!(uses.is_some() != step["run"].as_str().is_some(), "{name:?}: {step:?}");
            let Some(uses) = uses else { continue };
            let (action, version) = uses.split_once('@').expect("a version");
            assert!(action.starts_with("actions/") && version.starts_with('v'), "{uses}");
            let with = &step["with"];
            let artifact = with["name"].as_str().or(with["pattern"].as_str());
            match action {
                "actions/upload-artifact" => uploaded.push(artifact.unwrap()),
                "actions/download-artifact" => downloaded.push(artifact.unwrap()),
                _ => {}
            }
        }
    }
    for artifact in downloaded {
        let prefix = artifact.trim_end_matches('*');
        assert!(uploaded.iter().any(|name| name.starts_with(prefix)), "{artifact}");
    }
}

#[test]
fn the_gitlab_pipeline_is_whole() {
    let pipeline = load("gitlab.yml");
    let stages: Vec<_> = pipeline["stages"].as_vec().unwrap().iter().collect();
    let jobs: Vec<_> = pipeline
        .as_hash()
        .unwrap()
        .iter()
        .filter(|(name, _)| !["stages", "default"].contains(&name.as_str().unwrap()))
        .collect();
    let names: Vec<_> = jobs.iter().map(|(name, _)| name.as_str().unwrap()).collect();
    assert_eq!(names, ["part", "result", "archive", "tests", "amd"]);
    let place = |job: &Yaml| stages.iter().position(|stage| **stage == job["stage"]);
    for (name, job) in &jobs {
        let stage = place(job).unwrap_or_else(|| panic!("{name:?} is of no stage"));
        assert!(!job["script"].as_vec().unwrap().is_empty(), "{name:?}");
        for need in needs(job) {
            let (_, needed) = jobs.iter().find(|(name, _)| name.as_str() == Some(&need)).unwrap();
            assert!(place(needed).unwrap() < stage, "{name:?} needs {need}");
        }
    }
}

#[test]
fn the_lava_job_has_what_a_job_needs_and_its_words_are_explained() {
    let job = load("lava.yaml");
    for key in ["job_name", "device_type", "priority", "visibility"] {
        assert!(job[key].as_str().is_some(), "{key}");
    }
    assert!(job["timeouts"]["job"]["minutes"].as_i64().unwrap() > 0);
    let actions = job["actions"].as_vec().unwrap();
    let kinds: Vec<_> =
        actions.iter().map(|action| action.as_hash().unwrap().keys().next().unwrap()).collect();
    assert_eq!(kinds, [&Yaml::String("deploy".into()), &Yaml::String("test".into())]);
    let readme = fs::read_to_string(workspace().join("ci/README.md")).unwrap();
    let text = fs::read_to_string(workspace().join("ci/lava.yaml")).unwrap();
    for word in ["DEVICE_TYPE", "ISO_URL", "DOCKER_IMAGE", "SERIAL"] {
        assert!(text.contains(word) && readme.contains(&format!("| `{word}` |")), "{word}");
    }
}
