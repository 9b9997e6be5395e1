//! The scenarios: one TOML file per suite in this crate's folder (`trapline::suite` describes the
//! form), and the test target `scenarios` that makes a test of each.

use std::path::Path;

/// The folder of the suite files.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The workspace.
pub fn workspace() -> &'static Path {
    folder().parent().unwrap_or(folder())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_holds_the_suites_and_the_goldens() {
        assert!(workspace().join("golden").is_dir());
        let names = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name());
        let suites = names.filter(|n| n.to_str().is_some_and(|n| n.ends_with(".toml")));
        assert!(suites.count() > 1, "Cargo.toml alone is no suite");
    }
}
