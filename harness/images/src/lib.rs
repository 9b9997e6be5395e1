//! The freestanding images: hv-core and the payloads.
//!
//! This crate's build script builds them; the library says where they are and what they were
//! made of. Whoever depends on it has them built before it runs, with no step in between.

use std::path::{Path, PathBuf};

/// A number for the sources of hv-core, their lock file and the compiler: the same in every
/// checkout, another one as soon as the image may differ.
pub const CORE_ID: &str = env!("TRAPLINE_CORE_ID");

/// The same for the payloads.
pub const PAYLOADS_ID: &str = env!("TRAPLINE_PAYLOADS_ID");

/// `rustc --version` of the compiler that built the images.
pub const RUSTC: &str = env!("TRAPLINE_RUSTC");

/// Where the images are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// hv-core's ELF file.
    pub core: &'static Path,
    /// Name and ELF file of each payload, sorted by name.
    pub payloads: Vec<(String, PathBuf)>,
}

/// The images that were built with this crate.
pub fn images() -> Images {
    let folder = Path::new(env!("TRAPLINE_PAYLOAD_DIR"));
    let payloads = env!("TRAPLINE_PAYLOADS")
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| (name.to_owned(), folder.join(name)))
        .collect();
    Images { core: Path::new(env!("TRAPLINE_CORE")), payloads }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_elf64(path: &Path) -> bool {
        let bytes = std::fs::read(path).unwrap();
        bytes.starts_with(b"\x7fELF\x02\x01\x01")
    }

    #[test]
    fn every_image_is_there_and_is_an_elf64_file() {
        let images = images();
        assert!(is_elf64(images.core), "{}", images.core.display());
        assert!(!images.payloads.is_empty());
        for (name, path) in &images.payloads {
            assert!(is_elf64(path), "{name}");
        }
    }

    #[test]
    fn no_image_knows_where_it_was_built() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let here = workspace.to_str().unwrap().as_bytes();
        let images = images();
        for path in images.payloads.iter().map(|(_, path)| path.as_path()).chain([images.core]) {
            let bytes = std::fs::read(path).unwrap();
            assert!(!bytes.windows(here.len()).any(|w| w == here), "{}", path.display());
        }
    }

    #[test]
    fn identities_are_sixteen_hexadecimal_digits() {
        for id in [CORE_ID, PAYLOADS_ID] {
            assert_eq!(id.len(), 16);
            assert!(id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        }
        assert!(RUSTC.starts_with("rustc "));
    }
}
