//! Snapshots: what is blessed of one scenario, and its canonical text.

use crate::figures::Figures;
use serde::{Deserialize, Serialize};

/// What was measured: two snapshots that agree here must agree in every tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Built {
    /// The hv-core image: the hash of what it was built from.
    pub core: String,
    /// The payload image, likewise.
    pub payload: String,
    /// QEMU's version.
    pub qemu: String,
    /// The compiler of both images.
    pub rustc: String,
}

/// A number that the payload reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// vCPU that reported it.
    pub vcpu: u16,
    /// Its name. A name that ends in `ticks` is a timing and is compared as one.
    pub label: String,
    /// The number.
    pub value: u64,
}

/// One kind of exit in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// `hlt`, or exit name and detail: `msr 0x830:W`, `io 0x71:PIN`.
    pub exit: String,
    /// How often, how long.
    pub figures: Figures,
}

/// One window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// vCPU whose window it is.
    pub vcpu: u16,
    /// Its name, as the payload gave it.
    pub label: String,
    /// Its length in TSC ticks.
    pub ticks: u64,
    /// Its exits, sorted by exit code and detail.
    pub exits: Vec<Row>,
}

/// What is blessed of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// What was measured.
    pub built: Built,
    /// How the scenario ended.
    pub outcome: String,
    /// What the payload reported, in order.
    pub values: Vec<Value>,
    /// Its windows, in order.
    pub windows: Vec<Window>,
}

impl Snapshot {
    /// The canonical text: JSON with one line per value and per row, so that a diff shows one
    /// line per fact.
    pub fn to_text(&self) -> String {
        let mut text = String::from("{\n");
        text += &format!("  \"built\": {},\n", json(&self.built));
        text += &format!("  \"outcome\": {},\n", json(&self.outcome));
        text += &format!("  \"values\": {},\n", list(self.values.iter().map(json), "  "));
        let windows = self.windows.iter().map(|window| {
            format!(
                "{{\n      \"vcpu\": {}, \"label\": {}, \"ticks\": {},\n      \"exits\": {}\n    }}",
                window.vcpu,
                json(&window.label),
                window.ticks,
                list(window.exits.iter().map(json), "      ")
            )
        });
        text += &format!("  \"windows\": {}\n}}", list(windows, "  "));
        text
    }

    /// Reads a canonical text, or any JSON of that shape.
    ///
    /// # Errors
    /// What serde says when it is no snapshot.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("snapshot types have string keys and no floats")
}

fn list(items: impl Iterator<Item = String>, indent: &str) -> String {
    let items: Vec<String> = items.map(|item| format!("\n{indent}  {item}")).collect();
    if items.is_empty() { "[]".into() } else { format!("[{}\n{indent}]", items.join(",")) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(exit: &str, count: u64, each: u64) -> Row {
        let mut histogram = vec![0; each.ilog2() as usize + 1];
        *histogram.last_mut().unwrap() = count as u32;
        let squares = u128::from(count) * u128::from(each) * u128::from(each);
        let sum = count * each;
        Row {
            exit: exit.into(),
            figures: Figures { count, sum, sum_squares: squares, min: each, max: each, histogram },
        }
    }

    pub(crate) fn snapshot() -> Snapshot {
        Snapshot {
            built: Built {
                core: "c1".into(),
                payload: "p1".into(),
                qemu: "10.0.2".into(),
                rustc: "1.95.0".into(),
            },
            outcome: "done".into(),
            values: vec![
                Value { vcpu: 0, label: "ipis".into(), value: 100 },
                Value { vcpu: 0, label: "round trip ticks".into(), value: 500 },
            ],
            windows: vec![Window {
                vcpu: 0,
                label: "loop".into(),
                ticks: 100_000,
                exits: vec![row("hlt", 100, 300), row("msr 0x830:W", 200, 400)],
            }],
        }
    }

    #[test]
    fn the_text_round_trips_and_has_a_line_per_fact() {
        let text = snapshot().to_text();
        assert_eq!(Snapshot::from_text(&text).unwrap(), snapshot());
        assert_eq!(text.lines().filter(|l| l.contains("\"exit\":")).count(), 2);
        assert!(text.lines().any(|l| l.trim() == r#"{"vcpu":0,"label":"ipis","value":100},"#));
    }

    #[test]
    fn an_empty_snapshot_round_trips() {
        let empty = Snapshot { values: vec![], windows: vec![], ..snapshot() };
        assert_eq!(Snapshot::from_text(&empty.to_text()).unwrap(), empty);
    }

    #[test]
    fn unknown_fields_are_refused() {
        let text = snapshot().to_text().replace("\"outcome\"", "\"outcom\"");
        assert!(Snapshot::from_text(&text).is_err());
    }
}
