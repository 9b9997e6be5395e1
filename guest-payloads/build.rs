//! Link arguments of the payloads. They reach only this package's binaries.

fn main() {
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let script = format!("{dir}/payload.ld");
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
