use super::*;
use tempfile::TempDir;

#[test]
fn missing_tools_are_named_by_their_packages() {
    let empty = TempDir::new().unwrap();
    let missing = missing_in(empty.path().as_os_str(), &empty.path().join("multiboot2.mod"));
    assert_eq!(missing, ["grub-common", "xorriso", "mtools", "grub-pc-bin"]);
    let error = IsoError::NoTools(missing).to_string();
    assert_eq!(
        error,
        "an ISO needs GRUB's tools: install the packages grub-common, xorriso, mtools, grub-pc-bin"
    );
    fs::write(empty.path().join("xorriso"), "").unwrap();
    let missing = missing_in(empty.path().as_os_str(), empty.path());
    assert_eq!(missing, ["grub-common", "mtools"]);
}

#[test]
fn grub_gets_the_plan_as_the_module_that_hv_core_looks_for() {
    let text = configuration(&["trapline-iso hv-core 12.".into()]);
    assert!(text.contains("\n    module2 /boot/plan opt/trapline/plan\n"), "{text}");
    assert!(text.contains("\n    multiboot2 /boot/hv-core\n"), "{text}");
    assert!(text.contains("{\n    echo \"trapline-iso hv-core 12.\"\n    multiboot2"), "{text}");
}

#[test]
fn an_iso_holds_the_image_and_the_plan_byte_for_byte() {
    assert_eq!(missing_tools(), [""; 0], "install what ci/setup installs for tests");
    let folder = TempDir::new().unwrap();
    let core = folder.path().join("core");
    fs::write(&core, b"an image").unwrap();
    let plan: Vec<u8> = (0..100_000u32).map(|i| (i * 7) as u8).collect();
    let out = folder.path().join("out.iso");
    make(&core, &plan, &[], &out).unwrap();
    for (name, bytes) in [("hv-core", &b"an image"[..]), ("plan", &plan)] {
        let to = folder.path().join(name);
        let output = Command::new("xorriso")
            .args(["-osirrox", "on", "-indev"])
            .arg(&out)
            .args(["-extract", &format!("/boot/{name}")])
            .arg(&to)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read(to).unwrap(), bytes, "{name}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 4, "nothing else is left behind: {left:?}");
}

#[test]
fn a_failed_iso_leaves_the_old_one() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.iso");
    fs::write(&out, b"old").unwrap();
    let error = make(Path::new("/no/such/image"), b"", &[], &out).unwrap_err().to_string();
    assert!(error.contains("/no/such/image"), "{error}");
    assert_eq!(fs::read(&out).unwrap(), b"old");
}
