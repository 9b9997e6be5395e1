//! The git revision that a result belongs to.

use std::path::Path;
use std::process::{Command, Stdio};

/// The commit that `root` has checked out, with `-dirty` behind it when tracked files differ from
/// it. `None` without git, or outside of a repository.
pub fn of(root: &Path) -> Option<String> {
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let changes = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    // Without optional locks: a result must not get in the way of a person's git.
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_a_repository_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of(folder.path()), None);
        assert_eq!(of(&folder.path().join("missing")), None);
    }
}
