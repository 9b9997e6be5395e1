//! Finding QEMU.

use super::TargetError;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program.
const PROGRAM: &str = "qemu-system-x86_64";

/// The oldest usable version: TCG has x2APIC since 9.0 (spec avic.md 9).
pub const MINIMUM: Version = Version(9, 0, 0);

/// A QEMU version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Version {
    /// Reads the first line of `--version`.
    fn read(line: &str) -> Option<Self> {
        let number = line.split("version ").nth(1)?.split_whitespace().next()?;
        let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
        Some(Self(parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
    }
}

/// A QEMU that is new enough.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// The program.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

impl Qemu {
    /// Finds it: `TRAPLINE_QEMU` if set, else the first on `PATH`.
    ///
    /// # Errors
    /// When there is none, when it does not run, and when it is too old.
    pub fn find() -> Result<Self, TargetError> {
        Self::find_with(std::env::var_os("TRAPLINE_QEMU"), std::env::var_os("PATH"))
    }

    fn find_with(named: Option<OsString>, path: Option<OsString>) -> Result<Self, TargetError> {
        match named.filter(|name| !name.is_empty()) {
            Some(name) => Self::at(Path::new(&name)),
            None => {
                let path = path.unwrap_or_default();
                Self::at(&on_path(&path).ok_or(TargetError::NoQemu)?)
            }
        }
    }

    /// The QEMU at that path.
    ///
    /// # Errors
    /// When it does not run, is no QEMU, or is too old.
    pub fn at(path: &Path) -> Result<Self, TargetError> {
        let output = Command::new(path)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| TargetError::NotRunnable { path: path.to_owned(), source })?;
        let said = String::from_utf8_lossy(&output.stdout);
        let line = said.lines().next().unwrap_or_default();
        let Some(version) = Version::read(line) else {
            return Err(TargetError::NotQemu { path: path.to_owned(), said: line.to_owned() });
        };
        if version < MINIMUM {
            return Err(TargetError::TooOld { path: path.to_owned(), found: version });
        }
        // Boots run in folders of their own.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, version })
    }

    /// Whether QEMU's own folders hold a firmware file.
    pub fn has_firmware(&self, name: &str) -> bool {
        let Ok(output) =
            Command::new(&self.path).args(["-L", "help"]).stdin(Stdio::null()).output()
        else {
            return false;
        };
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .any(|folder| Path::new(folder.trim()).join(name).is_file())
    }
}

fn on_path(path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::super::fake::script;
    use super::*;

    #[test]
    fn versions_are_read_as_distributions_write_them() {
        let read = |line| Version::read(line);
        assert_eq!(
            read("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)"),
            Some(Version(10, 0, 2))
        );
        assert_eq!(read("QEMU emulator version 9.2.50 (v9.2.0-1-gabc)"), Some(Version(9, 2, 50)));
        assert_eq!(read("QEMU emulator version 9.1.0-rc2"), Some(Version(9, 1, 0)));
        assert_eq!(read("GNU bash, version"), None);
        assert_eq!(read(""), None);
        assert!(Version(9, 0, 0) >= MINIMUM && Version(8, 2, 9) < MINIMUM);
    }

    #[test]
    fn no_qemu_on_path_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = Qemu::find_with(None, Some(folder.path().into())).unwrap_err();
        assert!(matches!(error, TargetError::NoQemu));
        assert!(error.to_string().contains("ci/setup"));
    }

    #[test]
    fn a_wrong_variable_is_named() {
        let error = Qemu::find_with(Some("/no/such/qemu".into()), None).unwrap_err().to_string();
        assert!(error.contains("TRAPLINE_QEMU names `/no/such/qemu`"), "{error}");
    }

    #[test]
    fn an_old_qemu_is_refused_by_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let old = script(&folder, "echo 'QEMU emulator version 7.2.22 (Debian)'");
        let error = Qemu::find_with(Some(old.into()), None).unwrap_err().to_string();
        assert!(error.contains("is QEMU 7.2.22, but 9.0.0 or newer is needed"), "{error}");
        assert!(error.contains("ci/setup"), "{error}");
    }

    #[test]
    fn another_program_is_no_qemu() {
        let folder = tempfile::tempdir().unwrap();
        let other = script(&folder, "echo hello");
        let error = Qemu::at(&other).unwrap_err().to_string();
        assert!(error.contains("does not look like QEMU, it says: hello"), "{error}");
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let folder = tempfile::tempdir().unwrap();
        let new = script(&folder, "echo 'QEMU emulator version 10.1.0'");
        std::fs::rename(new, folder.path().join(PROGRAM)).unwrap();
        let qemu = Qemu::find_with(Some("".into()), Some(folder.path().into())).unwrap();
        assert_eq!(qemu.version, Version(10, 1, 0));
    }
}
