//! The files of a report.
//!
//! Everything is made in memory or in a folder beside before the first old file is touched, and a
//! folder that holds something else is left alone.

use super::traced::{File, TRACES};
use crate::target::file;
use std::path::{Path, PathBuf};
use trapline_golden::replace::{ReplaceError, Replacement};
use trapline_report::model::{Link, Report};
use trapline_report::{html, junit, kcidb, ktap};

/// The report's data, from which everything else is made.
pub const REPORT: &str = "report.json";
/// The page.
pub const PAGE: &str = "report.html";
/// The folder of raw records.
pub const RECORDS: &str = "records";
/// The decoded records, in the form that `trapline show --result` reads.
pub const RESULT: &str = "result.json";
/// All that is made of the report alone.
const FILES: [&str; 5] = [REPORT, PAGE, "junit.xml", "results.ktap", "kcidb.json"];

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is something else where the report should go.
    #[error(
        "{} has files, but no report.json of trapline among them: name an empty folder, or a \
         former report's", .0.display()
    )]
    Occupied(PathBuf),
    /// A file or folder cannot be read or written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The files cannot be replaced.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
}

/// Whether a report can go there: nothing is there, or a report.
///
/// # Errors
/// [`FolderError::Occupied`].
pub fn is_free(folder: &Path) -> Result<(), FolderError> {
    let unwritable = |source| FolderError::Unwritable { path: folder.into(), source };
    let mut entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(unwritable)?,
    };
    let is_empty = entries.next().is_none();
    // Of whichever version: what a newer one wrote is a report too.
    let is_report = || {
        let text = std::fs::read_to_string(folder.join(REPORT)).unwrap_or_default();
        text.contains("\"trapline-qualification-report\"")
    };
    if is_empty || is_report() { Ok(()) } else { Err(FolderError::Occupied(folder.into())) }
}

/// A record file to be, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// What it is.
    pub title: String,
    /// Its name in the folder of records.
    pub name: String,
    /// The file to copy.
    pub from: PathBuf,
}

/// The records of every boot, as they came over the wire.
pub fn raw(boots: &[PathBuf]) -> Vec<Raw> {
    let of = |(number, boot): (usize, &PathBuf)| Raw {
        title: format!("raw records of boot {number}"),
        name: format!("boot-{number}.records"),
        from: boot.join(file::SERIAL),
    };
    boots.iter().enumerate().map(of).collect()
}

/// How the report names them, and what they were decoded to.
pub fn links(raw: &[Raw]) -> Vec<Link> {
    let link =
        |title: &str, name: &str| Link { title: title.into(), path: format!("{RECORDS}/{name}") };
    let raw = raw.iter().map(|file| link(&file.title, &file.name));
    std::iter::once(link("decoded records", RESULT)).chain(raw).collect()
}

/// Every file that is made of the report alone.
pub fn renderings(report: &Report) -> [(&'static str, String); 5] {
    let texts = [
        report.to_json(),
        html::page(report),
        junit::text(report),
        ktap::text(report),
        kcidb::text(report),
    ];
    let mut names = FILES.into_iter();
    texts.map(|text| (names.next().unwrap_or_default(), text))
}

/// Writes all files of a report, with its raw records and `result`, what they were decoded to, and its
/// traces.
///
/// # Errors
/// See [`FolderError`].
pub fn write(
    folder: &Path,
    report: &Report,
    raw: &[Raw],
    result: &str,
    traced: &[File],
) -> Result<(), FolderError> {
    is_free(folder)?;
    let (records, traces) = (folder.join(RECORDS), folder.join(TRACES));
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |source| FolderError::Unwritable { path, source }
    };
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    let fresh =
        tempfile::Builder::new().prefix(".records-").tempdir_in(folder).map_err(at(&records))?;
    for file in raw {
        let to = fresh.path().join(&file.name);
        std::fs::copy(&file.from, &to).map_err(at(&to))?;
    }
    let decoded = fresh.path().join(RESULT);
    std::fs::write(&decoded, result).map_err(at(&decoded))?;
    let drawn =
        tempfile::Builder::new().prefix(".traces-").tempdir_in(folder).map_err(at(&traces))?;
    for file in traced {
        let to = drawn.path().join(&file.name);
        std::fs::write(&to, &file.bytes).map_err(at(&to))?;
    }
    let texts = renderings(report).map(|(name, text)| (folder.join(name), text));
    let staged = Replacement::stage(texts)?;
    for (fresh, old) in [(fresh, &records), (drawn, &traces)] {
        if old.exists() {
            std::fs::remove_dir_all(old).map_err(at(old))?;
        }
        std::fs::rename(fresh.keep(), old).map_err(at(old))?;
    }
    staged.commit()?;
    Ok(())
}
