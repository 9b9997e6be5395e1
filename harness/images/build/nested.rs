//! The nested cargo call.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// What the images are built for: an ordinary target of every stable toolchain on a PC.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Variables of the outer cargo that the nested one may see: where its home is, how it reaches
/// registries, and the job server. Everything else (flags, wrappers such as clippy's, profiles,
/// target folders) would change the images.
const KEPT: [&str; 6] = [
    "CARGO_HOME",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
];

/// Builds hv-core and all payloads; returns the folder of the executables.
pub fn build(workspace: &Path, out: &Path) -> Result<PathBuf, String> {
    let target_dir = target_dir(out)?;
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    clean_environment(&mut command);
    command
        .current_dir(workspace)
        .args([
            "build",
            "--locked",
            "--package",
            "hv-core",
            "--package",
            "guest-payloads",
            "--bins",
        ])
        .args(["--features", "hv-core/image,guest-payloads/image", "--profile", "guest"])
        // With an explicit target, the flags below do not reach build scripts and macros.
        .args(["--target", TARGET, "--color", "never", "--target-dir"])
        .arg(&target_dir)
        // A user's `build.build-dir` would bring back the outer cargo's lock.
        .env("CARGO_BUILD_BUILD_DIR", &target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(workspace).join("\x1f"))
        .stdin(Stdio::null());
    if let Some(rustc) = env::var_os("RUSTC") {
        command.env("RUSTC", rustc);
    }
    let output = command.output().map_err(|e| format!("cannot start cargo for the images: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "the freestanding images did not build ({}):\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(target_dir.join(TARGET).join("guest"))
}

/// `<workspace target>/images`, found from OUT_DIR, `<target>/<profile>/build/<package>/out`.
fn target_dir(out: &Path) -> Result<PathBuf, String> {
    out.ancestors()
        .nth(4)
        .map(|target| target.join("images"))
        .ok_or_else(|| format!("{} is no OUT_DIR of cargo's", out.display()))
}

fn clean_environment(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let ours = name.starts_with("CARGO")
            || name.starts_with("RUSTC")
            || name.starts_with("RUSTDOC")
            || name.starts_with("RUSTFLAGS");
        if ours && !KEPT.iter().any(|kept| name.starts_with(kept)) {
            command.env_remove(name);
        }
    }
}

fn flags(workspace: &Path) -> Vec<String> {
    let mut flags = vec![
        // An interrupt on the interrupted stack would overwrite a red zone.
        "-Cno-redzone=yes".into(),
        // The images are linked at fixed addresses: no GOT loads on the exit path.
        "-Crelocation-model=static".into(),
        format!("--remap-path-prefix={}=/trapline", workspace.display()),
    ];
    if let Some(home) = cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    flags
}

fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")))
}

/// What `rustc --version` says of the compiler that builds the images.
pub fn rustc_version() -> Result<String, String> {
    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("--version")
        .output()
        .map_err(|e| format!("cannot run rustc: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// One executable per file (or folder) in guest-payloads/src/bin, by name.
pub fn payload_names(bins: &Path) -> Result<Vec<String>, String> {
    let cannot = |e| format!("cannot list {}: {e}", bins.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(bins).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let source = path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").exists();
        if let Some(name) = path.file_stem().filter(|_| source) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
