//! Names of exits, in the spelling of today.

use trapline_abi::exit;

/// Names that perf had before, and has now. The first is that of the AVIC patches of 2016.
const OLD: [(&str, &str); 1] = [("avic_incomp_ipi", "avic_incomplete_ipi")];

/// Characters that perf left of a name before 2023 (spec pv-and-formats d.3).
const CUT: usize = 19;

/// The exit whose name is longer than that.
const LONG: u64 = 0x402;

/// The name of today, in lower case: `avic_incomp_ipi` is `avic_incomplete_ipi`, and a name that
/// was cut is whole again. Accesses are as perf has them: `0x80b:W`.
pub fn canonical(name: &str) -> String {
    if let Some((number, access)) = name.split_once(':') {
        return format!("{}:{}", number.to_ascii_lowercase(), access.to_ascii_uppercase());
    }
    let name = name.to_ascii_lowercase();
    if let Some((_, new)) = OLD.iter().find(|(old, _)| *old == name) {
        return (*new).into();
    }
    let whole = exit::name(LONG);
    if name.len() == CUT && whole.starts_with(&name) { whole.into() } else { name }
}
