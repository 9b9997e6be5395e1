//! Where things are: the workspace, its suites, the images.

use super::Arguments;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use trapline::images::Images;
use trapline::payload::Catalogue;
use trapline::suite::{self, Scenario, Suite};

impl Arguments {
    /// The workspace's folder.
    pub fn root(&self) -> anyhow::Result<PathBuf> {
        if let Some(root) = &self.root {
            if !root.is_dir() {
                bail!("the workspace {} is no folder: correct --root", root.display());
            }
            return Ok(root.clone());
        }
        let is_root =
            |folder: &&Path| folder.join("suites").is_dir() && folder.join("golden").is_dir();
        let here = std::env::current_dir().context("cannot tell the current folder")?;
        if let Some(root) = here.ancestors().find(is_root) {
            return Ok(root.into());
        }
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).parent().filter(is_root);
        built.map(Path::to_path_buf).context(
            "there is no workspace with suites/ and golden/ here: change into it, or name it with \
             --root",
        )
    }

    /// The images to run.
    pub fn images(&self) -> anyhow::Result<Images> {
        let Some(folder) = &self.images else { return Ok(Images::built()) };
        Images::in_folder(folder).map_err(|(path, error)| {
            anyhow::anyhow!("cannot read image {}: {error}; correct --images", path.display())
        })
    }
}

/// The suites that a command is about.
#[derive(Debug, clap::Args)]
pub struct Selection {
    /// Only scenarios whose `suite::name` contains one of these.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Suite files, or folders of them [default: suites/ of the workspace].
    #[arg(long = "suite", value_name = "FILE", num_args = 1..)]
    pub suites: Vec<PathBuf>,
}

impl Selection {
    /// Loads the suites, whole.
    pub fn load(&self, root: &Path, catalogue: &Catalogue) -> anyhow::Result<Vec<Suite>> {
        let default = vec![root.join("suites")];
        let paths = if self.suites.is_empty() { &default } else { &self.suites };
        Ok(suite::load(paths, catalogue)?)
    }

    /// Loads the scenarios that the filters choose: at least one.
    pub fn scenarios(&self, root: &Path, catalogue: &Catalogue) -> anyhow::Result<Vec<Scenario>> {
        let suites = self.load(root, catalogue)?;
        let all: Vec<_> = suites.into_iter().flat_map(|suite| suite.scenarios).collect();
        let total = all.len();
        let chosen: Vec<_> =
            all.into_iter().filter(|s| matches(&self.filters, &s.full_name())).collect();
        if chosen.is_empty() {
            let filters = self.filters.join("`, `");
            match total {
                0 => bail!("the suites hold no scenarios"),
                _ => bail!("none of {total} scenarios matches `{filters}`: see `trapline list`"),
            }
        }
        Ok(chosen)
    }
}

/// Whether a name contains one of the filters; without filters every name does.
pub fn matches(filters: &[String], name: &str) -> bool {
    filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
}
