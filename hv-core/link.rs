//! Link arguments of a freestanding image, for the build scripts of the packages that have one.

/// Links the binaries of the package that is being built, and nothing else, with that script of its
/// folder.
pub fn freestanding(script: &str) {
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let script = format!("{dir}/{script}");
    println!("cargo::rerun-if-changed={script}");
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        // rustc puts -pie first; the last one wins.
        "-no-pie",
        "-Wl,--build-id=none",
        "-Wl,-z,norelro",
        "-Wl,-z,max-page-size=0x1000",
    ] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{script}");
}
