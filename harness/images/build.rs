//! Builds the freestanding images by a nested cargo call.
//!
//! The guest crates cannot be built in the outer call: cargo unifies features for one target, so
//! `serde/std` of the host crates would reach a `no_std` image (docs/decisions). A nested call
//! with its own target folder has its own features, its own flags and its own lock.

#[path = "build/identity.rs"]
mod identity;
#[path = "build/nested.rs"]
mod nested;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

fn main() {
    if let Err(message) = run() {
        // Cargo shows a failed build script's stderr whole.
        eprintln!("{message}");
        process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let workspace = workspace()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    // Core first, payloads after it: what each is made of.
    let core_sources = ["hv-core", "Cargo.toml", "Cargo.lock"];
    let payload_sources = ["guest-payloads", "hv-core", "Cargo.toml", "Cargo.lock"];
    for source in ["hv-core", "guest-payloads", "Cargo.toml", "Cargo.lock", "harness/images/build"]
    {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let rustc = nested::rustc_version()?;
    let payloads = nested::payload_names(&workspace.join("guest-payloads/src/bin"))?;
    let built = nested::build(&workspace, &out)?;

    // Copies, so that a later nested build for another outer profile or another checkout with
    // the same target folder cannot replace an image under a running test.
    let core = place(&built.join("hv-core"), &out)?;
    println!("cargo::rustc-env=TRAPLINE_CORE={}", core.display());
    for name in &payloads {
        place(&built.join(name), &out.join("payloads"))?;
    }
    println!("cargo::rustc-env=TRAPLINE_PAYLOAD_DIR={}", out.join("payloads").display());
    println!("cargo::rustc-env=TRAPLINE_PAYLOADS={}", payloads.join(","));
    let core_id = identity::of(&workspace, &core_sources, &rustc)?;
    let payloads_id = identity::of(&workspace, &payload_sources, &rustc)?;
    println!("cargo::rustc-env=TRAPLINE_CORE_ID={core_id}");
    println!("cargo::rustc-env=TRAPLINE_PAYLOADS_ID={payloads_id}");
    println!("cargo::rustc-env=TRAPLINE_RUSTC={rustc}");
    Ok(())
}

fn workspace() -> Result<PathBuf, String> {
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo did not set CARGO_MANIFEST_DIR")?;
    Path::new(&manifest)
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .ok_or_else(|| "harness/images is not inside the workspace".into())
}

fn place(image: &Path, folder: &Path) -> Result<PathBuf, String> {
    let to = folder.join(image.file_name().ok_or("an image without a name")?);
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(image, &to))
        .map_err(|e| format!("cannot copy {} to {}: {e}", image.display(), to.display()))?;
    Ok(to)
}
