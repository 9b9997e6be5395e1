//! A number for what an image was made of.

use crc::{CRC_64_XZ, Crc, Digest};
use std::path::Path;
use std::{fs, io};

const CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

/// 16 hexadecimal digits over the compiler's version and the names and bytes of all `sources`
/// (files and folders, relative to the workspace). The same in every checkout.
pub fn of(workspace: &Path, sources: &[&str], rustc: &str) -> Result<String, String> {
    let mut digest = CRC.digest();
    add(&mut digest, rustc.as_bytes());
    for source in sources {
        walk(&mut digest, workspace, source)
            .map_err(|e| format!("cannot read {}: {e}", workspace.join(source).display()))?;
    }
    Ok(format!("{:016x}", digest.finalize()))
}

fn walk(digest: &mut Digest<'_, u64>, workspace: &Path, name: &str) -> io::Result<()> {
    let path = workspace.join(name);
    if path.is_dir() {
        let mut names = Vec::new();
        for entry in fs::read_dir(&path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        return names
            .iter()
            .try_for_each(|inner| walk(digest, workspace, &format!("{name}/{inner}")));
    }
    add(digest, name.as_bytes());
    add(digest, &fs::read(path)?);
    Ok(())
}

/// The length first, so that bytes cannot move from one item into the next unnoticed.
fn add(digest: &mut Digest<'_, u64>, bytes: &[u8]) {
    digest.update(&(bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}
