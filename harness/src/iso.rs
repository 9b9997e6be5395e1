//! `trapline iso`: hv-core and a plan on a bootable CD image, for machines without QEMU's
//! `-kernel`: GRUB loads hv-core by Multiboot2 and the plan as a module.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trapline_abi::plan::FILE_NAME;

/// Programs that grub-mkrescue needs, itself first, with the Debian packages that hold them.
const TOOLS: [(&str, &str); 3] =
    [("grub-mkrescue", "grub-common"), ("xorriso", "xorriso"), ("mformat", "mtools")];

/// GRUB's own BIOS modules; they are no program.
const MODULES: (&str, &str) = ("/usr/lib/grub/i386-pc/multiboot2.mod", "grub-pc-bin");

/// Why there is no ISO.
#[derive(Debug, thiserror::Error)]
pub enum IsoError {
    /// Tools are missing, as Debian package names.
    #[error("an ISO needs GRUB's tools: install the packages {}", .0.join(", "))]
    NoTools(Vec<&'static str>),
    /// A file operation failed.
    #[error("cannot write `{}`: {source}", path.display())]
    File {
        /// On what.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// grub-mkrescue failed.
    #[error("grub-mkrescue failed ({status}):\n{said}")]
    Failed {
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it printed.
        said: String,
    },
}

/// The packages whose tools are not on this machine.
pub fn missing_tools() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    missing_in(&path, Path::new(MODULES.0))
}

fn missing_in(path: &OsStr, modules: &Path) -> Vec<&'static str> {
    let there = |tool: &str| std::env::split_paths(path).any(|folder| folder.join(tool).is_file());
    let mut missing: Vec<_> =
        TOOLS.iter().filter(|(tool, _)| !there(tool)).map(|(_, package)| *package).collect();
    if !modules.exists() {
        missing.push(MODULES.1);
    }
    missing
}

/// Writes the ISO to `out`, whole or not at all. GRUB prints the lines of `label` before it starts
/// hv-core: [`crate::collect::label`].
///
/// # Errors
/// Missing tools, files that cannot be written, and whatever grub-mkrescue says.
pub fn make(core: &Path, plan: &[u8], label: &[String], out: &Path) -> Result<(), IsoError> {
    let missing = missing_tools();
    if !missing.is_empty() {
        return Err(IsoError::NoTools(missing));
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| IsoError::File { path, source }
    };
    // Beside the result, so that the last step is a rename within one file system.
    let folder = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let work = tempfile::tempdir_in(folder).map_err(failed(folder))?;
    let root = work.path().join("root");
    let grub = root.join("boot/grub");
    fs::create_dir_all(&grub).map_err(failed(&grub))?;
    fs::copy(core, root.join("boot/hv-core")).map_err(failed(core))?;
    fs::write(root.join("boot/plan"), plan).map_err(failed(&root))?;
    fs::write(grub.join("grub.cfg"), configuration(label)).map_err(failed(&grub))?;
    let image = work.path().join("image.iso");
    let output = Command::new("grub-mkrescue")
        .arg("-o")
        .args([&image, &root])
        .stdin(Stdio::null())
        .output()
        .map_err(failed(Path::new("grub-mkrescue")))?;
    if !output.status.success() || !image.exists() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(IsoError::Failed { status: output.status, said });
    }
    fs::rename(&image, out).map_err(failed(out))
}

/// GRUB talks on COM1 too, so that a machine without a screen can be followed; hv-core's frames
/// survive text in front of them.
fn configuration(label: &[String]) -> String {
    let echo: String = label.iter().map(|line| format!("    echo \"{line}\"\n")).collect();
    format!(
        "serial --unit=0 --speed=115200\n\
         terminal_input console serial\n\
         terminal_output console serial\n\
         set timeout=0\n\
         menuentry \"Trapline\" {{\n\
         {echo}\
         \x20   multiboot2 /boot/hv-core\n\
         \x20   module2 /boot/plan {FILE_NAME}\n\
         \x20   boot\n\
         }}\n"
    )
}

#[cfg(test)]
#[path = "iso_tests.rs"]
mod tests;
