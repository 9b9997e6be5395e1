//! The host tests that there are, read from the Rust sources.

use super::RulesError;
use crate::files::{entries, text};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A `#[test]` function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostTest {
    /// The package that it is in.
    pub package: String,
    /// Its name, without modules.
    pub name: String,
    /// Its file, from the workspace's folder on.
    pub file: PathBuf,
}

/// The tests of all packages below `folder` of the workspace.
///
/// # Errors
/// Files that cannot be read, and sources that are none.
pub fn tests(root: &Path, folder: &str) -> Result<Vec<HostTest>, RulesError> {
    let mut found = Vec::new();
    search(root, &root.join(folder), "", &mut found)?;
    Ok(found)
}

fn search(
    root: &Path,
    folder: &Path,
    package: &str,
    found: &mut Vec<HostTest>,
) -> Result<(), RulesError> {
    let manifest = folder.join("Cargo.toml");
    let package = if manifest.is_file() { self::package(&manifest)? } else { package.into() };
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                search(root, &path, &package, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let wrong = |why: String| RulesError::Source { path: path.clone(), why };
            let file = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
            let names = names(&text(&path)?).map_err(wrong)?;
            found.extend(names.into_iter().map(|name| HostTest {
                package: package.clone(),
                name,
                file: file.clone(),
            }));
        }
    }
    Ok(())
}

fn package(manifest: &Path) -> Result<String, RulesError> {
    #[derive(Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
    }
    let wrong =
        |e: toml::de::Error| RulesError::Source { path: manifest.into(), why: e.to_string() };
    let manifest: Manifest = toml::from_str(&text(manifest)?).map_err(wrong)?;
    Ok(manifest.package.name)
}

/// The names of the functions with a `#[test]` attribute, in macros such as `proptest!` too.
fn names(source: &str) -> Result<Vec<String>, String> {
    let tokens: TokenStream = source.parse().map_err(|e: proc_macro2::LexError| e.to_string())?;
    let mut found = Vec::new();
    collect(tokens, &mut found);
    Ok(found)
}

fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    let (mut is_test, mut after_hash) = (false, false);
    while let Some(token) = tokens.next() {
        let hash = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        match token {
            TokenTree::Group(group) if after_hash && group.delimiter() == Delimiter::Bracket => {
                is_test |= is_test_attribute(&group);
            }
            TokenTree::Group(group) => {
                // An item's body ends what attributes stood before it; `pub(crate)` does not.
                is_test &= group.delimiter() != Delimiter::Brace;
                collect(group.stream(), found);
            }
            TokenTree::Ident(ident) if ident == "fn" && is_test => {
                if let Some(TokenTree::Ident(name)) = tokens.peek() {
                    found.push(name.to_string());
                }
                is_test = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_test = false,
            _ => {}
        }
        after_hash = hash;
    }
}

/// `#[test]`; attributes of other test frameworks would end in `::test` with arguments or without.
fn is_test_attribute(attribute: &Group) -> bool {
    let tokens = attribute.stream().into_iter();
    let path: Vec<_> = tokens.take_while(|token| !matches!(token, TokenTree::Group(_))).collect();
    let all_of_a_path = path.iter().all(|token| match token {
        TokenTree::Ident(_) => true,
        TokenTree::Punct(punct) => punct.as_char() == ':',
        _ => false,
    });
    all_of_a_path && matches!(path.last(), Some(TokenTree::Ident(last)) if last == "test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SOURCE: &str = r###"
        //! #[test] fn in_a_comment() {}
        /* #[test] fn in_another() {} */
        const TEXT: &str = r#"#[test] fn in_a_string() {} "quoted" "#;
        fn helper<'a>(c: &'a str) -> char { '"' }
        #[test]
        fn plain() {}
        #[cfg(test)]
        mod tests {
            /// Says what it does.
            #[test]
            #[should_panic(expected = "no")]
            pub(crate) fn with_more_attributes() { fn inner() {} }
            fn not_a_test() {}
            #[cfg(not(test))]
            fn neither() {}
        }
        #[test]
        const NO_FUNCTION: u8 = 0;
        fn after_it() {}
        proptest::proptest! {
            #![proptest_config(ProptestConfig::with_cases(8))]
            #[test]
            fn in_proptest(a in 0..3u8, b: bool) { helper(a) }
            fn property_that_is_not_run(a in 0..3u8) {}
        }
        macro_rules! test { ($name:ident) => { #[test] fn $name() {} } }
        #[tokio::test]
        async fn of_another_framework() {}
    "###;

    #[test]
    fn only_test_functions_are_found() {
        let wanted = ["plain", "with_more_attributes", "in_proptest", "of_another_framework"];
        assert_eq!(names(SOURCE).unwrap(), wanted);
    }

    #[test]
    fn what_is_no_source_is_refused() {
        assert!(names("fn a( {").is_err());
    }

    #[test]
    fn tests_are_of_the_package_whose_folder_they_are_in() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("core/Cargo.toml", "[package]\nname = \"outer\""),
            ("core/src/lib.rs", "#[test] fn one() {}"),
            ("core/inner/Cargo.toml", "[package]\nname = \"inner\""),
            ("core/inner/src/deep/a.rs", "#[test] fn two() {}"),
            ("core/target/b.rs", "#[test] fn built() {}"),
            ("elsewhere.rs", "#[test] fn elsewhere() {}"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let test = |package: &str, name: &str, file: &str| HostTest {
            package: package.into(),
            name: name.into(),
            file: file.into(),
        };
        assert_eq!(
            tests(root.path(), "core").unwrap(),
            [
                test("inner", "two", "core/inner/src/deep/a.rs"),
                test("outer", "one", "core/src/lib.rs"),
            ]
        );
    }
}
