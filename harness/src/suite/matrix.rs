//! Matrices: one entry of a suite file that stands for many scenarios.

use super::error::{SuiteError, suggest};
use super::fields::Entry;
use std::collections::BTreeMap;

/// More than any suite needs, and few enough to notice a slip.
const MAX_COMBINATIONS: usize = 256;

/// Keys of a scenario that a matrix can vary beside the payload's parameters.
pub(super) const AXES: &[&str] = &["policy", "silicon", "vcpus"];

/// Texts that stand behind `{name}` placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bindings(pub BTreeMap<String, String>);

impl Bindings {
    /// Fills in the placeholders of `text`.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) =
                after.split_once('}').ok_or_else(|| format!("`{{` without `}}` in `{text}`"))?;
            let value = self.0.get(name).ok_or_else(|| {
                let hint = suggest(name, self.0.keys().map(String::as_str));
                format!("unknown placeholder `{{{name}}}`{hint}")
            })?;
            filled += before;
            filled += value;
            rest = after;
        }
        Ok(filled + rest)
    }
}

impl Bindings {
    /// These, and those of `axes` that are keys of the scenario.
    pub fn with_axes(mut self, axes: &Self) -> Self {
        let of_scenario = axes.0.iter().filter(|(axis, _)| AXES.contains(&axis.as_str()));
        self.0.extend(of_scenario.map(|(axis, text)| (axis.clone(), text.clone())));
        self
    }
}

/// All combinations of a `matrix = { parameter = [values] }`; one empty combination without one.
/// The last parameter in alphabetical order changes fastest.
pub(super) fn combinations(matrix: Option<Entry<'_>>) -> Result<Vec<Bindings>, SuiteError> {
    let mut all = vec![Bindings::default()];
    let Some(matrix) = matrix else { return Ok(all) };
    for (_, axis, values) in matrix.entries()? {
        let texts =
            values.list()?.iter().map(Entry::text_or_number).collect::<Result<Vec<_>, _>>()?;
        if texts.is_empty() {
            return Err(values.error(format!("`{axis}` has no values")));
        }
        if all.len() * texts.len() > MAX_COMBINATIONS {
            let message = format!("the matrix has more than {MAX_COMBINATIONS} combinations");
            return Err(matrix.error(message));
        }
        all = all
            .iter()
            .flat_map(|so_far| {
                texts.iter().map(move |text| {
                    let mut more = so_far.clone();
                    more.0.insert(axis.into(), text.clone());
                    more
                })
            })
            .collect();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in_and_unknown_ones_refused() {
        let bindings = Bindings([("wait".into(), "hlt".into()), ("n".into(), "5".into())].into());
        assert_eq!(bindings.fill("x2apic-{wait}-{n}"), Ok("x2apic-hlt-5".into()));
        assert_eq!(bindings.fill("plain"), Ok("plain".into()));
        let error = bindings.fill("{wai}").unwrap_err();
        assert_eq!(error, "unknown placeholder `{wai}` (did you mean `wait`?)");
        assert!(bindings.fill("{wait").unwrap_err().contains("without"));
    }
}
