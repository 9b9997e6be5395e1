//! Replacement: many files written so that each one is old or new, never torn.
//!
//! Every text is first written and synced to a temporary file in its own folder; only when all of
//! them are on disk is each renamed over its target. A full disk or a read-only folder therefore
//! changes nothing at all, and an interruption in the second half leaves whole files only.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Why files were not replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// A folder or temporary file could not be written; every target is as it was.
    #[error("cannot write {}: {source}; nothing was changed", path.display())]
    Stage {
        /// The file to be replaced.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A rename failed.
    #[error(
        "cannot replace {}: {source}; {done} of {of} files were replaced before it, each whole: \
         mend that and run the command again", path.display()
    )]
    Commit {
        /// The file to be replaced.
        path: PathBuf,
        /// How many were replaced before it.
        done: usize,
        /// How many there are.
        of: usize,
        /// Why.
        source: std::io::Error,
    },
}

/// Texts that are safely on disk, beside the files that they will replace.
#[derive(Debug)]
pub struct Replacement {
    staged: Vec<(NamedTempFile, PathBuf)>,
    done: usize,
}

impl Replacement {
    /// Writes each file's bytes beside its target, and creates the folders that are missing.
    ///
    /// # Errors
    /// [`ReplaceError::Stage`]; the temporary files are removed again.
    pub fn stage<B: AsRef<[u8]>>(
        files: impl IntoIterator<Item = (PathBuf, B)>,
    ) -> Result<Self, ReplaceError> {
        let staged = files
            .into_iter()
            .map(|(path, bytes)| match write_beside(&path, bytes.as_ref()) {
                Ok(file) => Ok((file, path)),
                Err(source) => Err(ReplaceError::Stage { path, source }),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { staged, done: 0 })
    }

    /// Renames every text over its target; returns how many there were.
    ///
    /// # Errors
    /// [`ReplaceError::Commit`].
    pub fn commit(mut self) -> Result<usize, ReplaceError> {
        while self.commit_next()? {}
        Ok(self.done)
    }

    /// Renames one text over its target; `false` when none is left.
    ///
    /// # Errors
    /// [`ReplaceError::Commit`].
    pub fn commit_next(&mut self) -> Result<bool, ReplaceError> {
        if self.staged.is_empty() {
            return Ok(false);
        }
        let of = self.done + self.staged.len();
        let (file, path) = self.staged.remove(0);
        let renamed = file.persist(&path).map_err(|e| e.error).and_then(|_| sync_folder(&path));
        match renamed {
            Ok(()) => self.done += 1,
            Err(source) => return Err(ReplaceError::Commit { path, done: self.done, of, source }),
        }
        Ok(true)
    }
}

fn write_beside(path: &Path, bytes: &[u8]) -> std::io::Result<NamedTempFile> {
    let folder = folder(path);
    std::fs::create_dir_all(folder)?;
    // Temporary files are private by default; a golden is as public as the umask allows.
    let mut file = tempfile::Builder::new()
        .prefix(".bless-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn files(dir: &Path, text: &str) -> Vec<(PathBuf, String)> {
        ["a", "b", "c"].map(|name| (dir.join("sub").join(name), text.to_owned())).into()
    }

    fn read(dir: &Path) -> Vec<String> {
        ["a", "b", "c"].map(|name| fs::read_to_string(dir.join("sub").join(name)).unwrap()).into()
    }

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir.join("sub")).unwrap().count()
    }

    #[test]
    fn all_files_are_replaced_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["old", "new"] {
            assert_eq!(Replacement::stage(files(dir.path(), text)).unwrap().commit().unwrap(), 3);
            assert_eq!(read(dir.path()), [text; 3]);
        }
        assert_eq!(entries(dir.path()), 3);
    }

    #[test]
    fn an_interruption_leaves_each_file_old_or_new() {
        let dir = tempfile::tempdir().unwrap();
        Replacement::stage(files(dir.path(), "old")).unwrap().commit().unwrap();
        let mut half = Replacement::stage(files(dir.path(), "new")).unwrap();
        assert_eq!(read(dir.path()), ["old"; 3], "staging must not touch a target");
        assert!(half.commit_next().unwrap());
        drop(half);
        assert_eq!(read(dir.path()), ["new", "old", "old"]);
        assert_eq!(entries(dir.path()), 3);
    }

    #[test]
    fn one_unwritable_target_changes_none() {
        let dir = tempfile::tempdir().unwrap();
        Replacement::stage(files(dir.path(), "old")).unwrap().commit().unwrap();
        // A path below a file: unwritable for root too, whom permission bits do not stop.
        let mut bad = files(dir.path(), "new");
        bad.push((dir.path().join("sub/a/below"), "new".into()));
        let error = Replacement::stage(bad).unwrap_err();
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        assert_eq!(read(dir.path()), ["old"; 3]);
        assert_eq!(entries(dir.path()), 3);
    }

    #[test]
    fn a_failing_rename_says_what_was_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sub/b/inside")).unwrap();
        let new = files(dir.path(), "new");
        let error = Replacement::stage(new).unwrap().commit().unwrap_err();
        assert!(error.to_string().contains("1 of 3 files were replaced"), "{error}");
        assert_eq!(fs::read_to_string(dir.path().join("sub/a")).unwrap(), "new");
        assert!(!dir.path().join("sub/c").exists());
    }

    #[test]
    fn the_file_is_readable_by_others() {
        let dir = tempfile::tempdir().unwrap();
        Replacement::stage(files(dir.path(), "x")).unwrap().commit().unwrap();
        let mode = fs::metadata(dir.path().join("sub/a")).unwrap().permissions().mode();
        let plain = dir.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode, fs::metadata(plain).unwrap().permissions().mode());
    }
}
