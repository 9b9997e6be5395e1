//! Names that are near to one that is none.

/// How many are proposed.
const PROPOSED: usize = 4;
/// Below this nothing is near: Jaro and Winkler's measure, from 0 to 1.
const NEAR: f64 = 0.82;
/// How near a name is that contains the whole term.
const PART: f64 = 0.95;

/// A name without what people write differently: case, blanks, hyphens and underscores.
pub(super) fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, ' ' | '-' | '_' | '\t'));
    kept.flat_map(char::to_lowercase).collect()
}

/// ` (near are ...)`, or what to do where nothing is.
pub(super) fn hint<'n>(term: &str, names: impl Iterator<Item = &'n str>) -> String {
    let term = plain(term);
    let near = |name: &str| {
        let name = plain(name);
        // Who writes `eoi` may mean `HV_X64_MSR_EOI`, however long that is.
        let is_part = term.len() > 2 && name.contains(&term);
        strsim::jaro_winkler(&term, &name).max(if is_part { PART } else { 0.0 })
    };
    let mut scored: Vec<_> = names.map(|name| (near(name), name)).collect();
    scored.retain(|(score, _)| *score >= NEAR);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<_> = scored.iter().take(PROPOSED).map(|(_, name)| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => ": `trapline rules` and `trapline claims` list the ids, tables the exits".into(),
        names => format!(" (near are {})", names.join(", ")),
    }
}
