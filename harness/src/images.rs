//! The images that are run: hv-core and the payloads.

use crate::payload::{Catalogue, PayloadError};
use std::path::{Path, PathBuf};
use trapline_abi::frame::CRC;

/// A payload's name and ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadFile {
    /// The name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// Where the images are, and what they were made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// hv-core's ELF file.
    pub core: PathBuf,
    /// The payloads, sorted by name.
    pub payloads: Vec<PayloadFile>,
    /// Another value as soon as hv-core may differ.
    pub core_id: String,
    /// The same for the payloads.
    pub payloads_id: String,
    /// The compiler that built them.
    pub rustc: String,
}

impl Images {
    /// The images that were built with this command.
    pub fn built() -> Self {
        let images = trapline_images::images();
        let file = |(name, path)| PayloadFile { name, path };
        Self {
            core: images.core.into(),
            payloads: images.payloads.into_iter().map(file).collect(),
            core_id: trapline_images::CORE_ID.into(),
            payloads_id: trapline_images::PAYLOADS_ID.into(),
            rustc: trapline_images::RUSTC.into(),
        }
    }

    /// The images in a folder: `hv-core`, and the payloads in `payloads/`. Their identities are
    /// made from their bytes, and their compiler is unknown, so that a golden of built images is
    /// compared with tolerance.
    ///
    /// # Errors
    /// The file or folder that cannot be read, and why.
    pub fn in_folder(folder: &Path) -> Result<Self, (PathBuf, std::io::Error)> {
        let crc = |path: &Path| {
            let bytes = std::fs::read(path).map_err(|e| (path.to_path_buf(), e))?;
            Ok(CRC.checksum(&bytes))
        };
        let core = folder.join("hv-core");
        let core_crc = crc(&core)?;
        let payload_folder = folder.join("payloads");
        let unreadable = |e| (payload_folder.clone(), e);
        let mut payloads = Vec::new();
        for entry in std::fs::read_dir(&payload_folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            payloads.push(PayloadFile { name, path: entry.path() });
        }
        payloads.sort_by(|a, b| a.name.cmp(&b.name));
        let mut all = Vec::new();
        for payload in &payloads {
            all.extend_from_slice(payload.name.as_bytes());
            all.extend_from_slice(&crc(&payload.path)?.to_le_bytes());
        }
        Ok(Self {
            core,
            payloads,
            core_id: format!("crc32-{core_crc:08x}"),
            payloads_id: format!("crc32-{:08x}", CRC.checksum(&all)),
            rustc: "unknown".into(),
        })
    }

    /// What the payloads say about themselves.
    ///
    /// # Errors
    /// See [`PayloadError`].
    pub fn catalogue(&self) -> Result<Catalogue, PayloadError> {
        Catalogue::read(self.payloads.iter().map(|p| (p.name.as_str(), p.path.as_path())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("payloads")).unwrap();
        for file in ["hv-core", "payloads/b", "payloads/a"] {
            std::fs::write(folder.path().join(file), file).unwrap();
        }
        folder
    }

    #[test]
    fn a_folders_images_are_identified_by_their_bytes() {
        let folder = folder();
        let images = Images::in_folder(folder.path()).unwrap();
        let names: Vec<_> = images.payloads.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(Images::in_folder(folder.path()).unwrap(), images);
        std::fs::write(folder.path().join("payloads/a"), "other").unwrap();
        let other = Images::in_folder(folder.path()).unwrap();
        assert_ne!(other.payloads_id, images.payloads_id);
        assert_eq!(other.core_id, images.core_id);
    }

    #[test]
    fn a_missing_image_is_named() {
        let folder = folder();
        std::fs::remove_file(folder.path().join("hv-core")).unwrap();
        let (path, _) = Images::in_folder(folder.path()).unwrap_err();
        assert!(path.ends_with("hv-core"));
    }
}
