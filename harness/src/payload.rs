//! Payloads: what there is to run, read from the ELF files without running them.

use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trapline_abi::boot::MAX_PARAMS;
use trapline_abi::descriptor::{self, Line};

/// Why a file is no payload.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// It cannot be read.
    #[error("cannot read payload {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no ELF file, or one without a usable descriptor.
    #[error("{} is no payload: {why}", path.display())]
    NotAPayload {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// What a parameter can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An unsigned number, with its default.
    Number(u64),
    /// One of these words; the default is the word at that place.
    Choice(Vec<String>, usize),
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// What it can be.
    pub kind: Kind,
    /// What it means.
    pub about: String,
}

/// One payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Its name.
    pub name: String,
    /// Its ELF file.
    pub path: PathBuf,
    /// What it does.
    pub about: String,
    /// Its parameters, in the order in which it receives them.
    pub params: Vec<Param>,
}

impl Payload {
    /// Reads an ELF file's descriptor (section [`descriptor::SECTION`]).
    ///
    /// # Errors
    /// See [`PayloadError`].
    pub fn read(name: &str, path: &Path) -> Result<Self, PayloadError> {
        let bytes = std::fs::read(path)
            .map_err(|source| PayloadError::Unreadable { path: path.into(), source })?;
        let refuse = |why| PayloadError::NotAPayload { path: path.into(), why };
        let text = section(&bytes).map_err(refuse)?;
        let (about, params) = describe(&text).map_err(refuse)?;
        Ok(Self { name: name.into(), path: path.into(), about, params })
    }

    /// What the parameter of that name can be.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.params.iter().find(|p| p.name == name).map(|p| &p.kind)
    }
}

fn section(elf: &[u8]) -> Result<String, String> {
    let file = object::File::parse(elf).map_err(|e| format!("it is no ELF file ({e})"))?;
    let section = file
        .section_by_name(descriptor::SECTION)
        .ok_or_else(|| format!("it has no section {}", descriptor::SECTION))?;
    let data = section.data().map_err(|e| format!("its descriptor is cut short ({e})"))?;
    String::from_utf8(data.to_vec()).map_err(|_| "its descriptor is not UTF-8".into())
}

fn describe(text: &str) -> Result<(String, Vec<Param>), String> {
    let (mut about, mut params) = (String::new(), Vec::<Param>::new());
    for line in descriptor::lines(text) {
        match line.map_err(|line| format!("its descriptor has the bad line `{line}`"))? {
            Line::About(text) => about = text.into(),
            Line::Param(param) => {
                if params.iter().any(|p| p.name == param.name) {
                    return Err(format!("its descriptor has two parameters `{}`", param.name));
                }
                let (name, about) = (param.name.into(), param.about.into());
                params.push(Param { name, about, kind: kind(&param.kind) });
            }
        }
    }
    if params.len() > MAX_PARAMS {
        return Err(format!("it has {} parameters, {MAX_PARAMS} fit", params.len()));
    }
    Ok((about, params))
}

fn kind(kind: &descriptor::ParamKind<'_>) -> Kind {
    match *kind {
        descriptor::ParamKind::Number { default } => Kind::Number(default),
        descriptor::ParamKind::Choice { words, default } => {
            let words: Vec<String> = words.split('|').map(Into::into).collect();
            let place = words.iter().position(|w| w == default).unwrap_or_default();
            Kind::Choice(words, place)
        }
    }
}

/// All payloads, by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue(BTreeMap<String, Payload>);

impl Catalogue {
    /// Reads the named ELF files.
    ///
    /// # Errors
    /// See [`PayloadError`].
    pub fn read<'a>(
        images: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Result<Self, PayloadError> {
        let read = |(name, path)| Ok((String::from(name), Payload::read(name, path)?));
        images.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The payload of that name.
    pub fn get(&self, name: &str) -> Option<&Payload> {
        self.0.get(name)
    }

    /// All payloads, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Payload> {
        self.0.values()
    }
}

impl FromIterator<Payload> for Catalogue {
    fn from_iter<T: IntoIterator<Item = Payload>>(payloads: T) -> Self {
        Self(payloads.into_iter().map(|p| (p.name.clone(), p)).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests;
