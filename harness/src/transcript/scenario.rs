//! What one scenario said.

use super::Stats;
use serde::{Deserialize, Serialize};
use trapline_abi::exit::ExitKey;
use trapline_abi::record::{Level, Outcome};
use trapline_abi::trace::Event;
use trapline_silicon::Feature;

/// One scenario of a boot. Times are TSC ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioRun {
    /// Its place in the plan.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Which features of the silicon were modeled and which real.
    #[serde(default)]
    pub silicon: Used,
    /// Its log lines.
    pub logs: Vec<(Level, String)>,
    /// What the payload compared.
    pub checks: Vec<Check>,
    /// What the payload reported.
    pub values: Vec<Value>,
    /// Its windows, in the order they ended.
    pub windows: Vec<Window>,
    /// All its traps by vCPU and code.
    pub traps: Vec<Trap>,
    /// Where its vCPUs were, when it ended badly.
    pub postmortem: Vec<Postmortem>,
    /// What its vCPUs did, if it was traced, each one's events in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<(u16, Event)>,
    /// How it ended; `None` when the target died, fell silent or lost the record.
    pub end: Option<End>,
}

/// Features of the silicon, by name, that a scenario ran with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Played by hv-core.
    pub modeled: Vec<String>,
    /// The processor's own.
    pub real: Vec<String>,
}

impl Used {
    /// From the record's bits.
    pub(super) fn of(modeled: u8, real: u8) -> Self {
        let names = |mask: u8| {
            let has = |feature: &Feature| mask >> *feature as u8 & 1 != 0;
            Feature::ALL.into_iter().filter(has).map(|f| f.name().to_owned()).collect()
        };
        Self { modeled: names(modeled), real: names(real) }
    }

    /// Whether hv-core played any of them: exits are then not the same as traps.
    pub fn is_modeled(&self) -> bool {
        !self.modeled.is_empty()
    }

    /// A description and what became of it: `zen4 (modeled: avic, x2avic, vnmi, vgif)`.
    pub fn describe(&self, silicon: &str) -> String {
        let parts: Vec<String> = [("modeled", &self.modeled), ("real", &self.real)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(word, names)| format!("{word}: {}", names.join(", ")))
            .collect();
        if parts.is_empty() { silicon.into() } else { format!("{silicon} ({})", parts.join("; ")) }
    }
}

/// Two numbers that a payload compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Who compared them.
    pub vcpu: u16,
    /// What they are.
    pub label: String,
    /// What the rule says.
    pub expected: u64,
    /// What was seen.
    pub actual: u64,
}

impl Check {
    /// Whether the two are equal.
    pub fn holds(&self) -> bool {
        self.expected == self.actual
    }
}

/// A number that a payload reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// Who reported it.
    pub vcpu: u16,
    /// Its name.
    pub label: String,
    /// The number.
    pub value: u64,
}

/// The counted part of a payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Whose window.
    pub vcpu: u16,
    /// Its name.
    pub label: String,
    /// How long it was.
    pub ticks: u64,
    /// Its exits.
    pub rows: Vec<Row>,
    /// Its last exits, at most 64, oldest first. As text: `0x` and 16 hexadecimal digits each.
    #[serde(with = "super::text_form::keys")]
    pub order: Vec<ExitKey>,
}

/// One row of a window's exit table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What is counted. As text: `0x` and 16 hexadecimal digits.
    #[serde(with = "super::text_form::key")]
    pub key: ExitKey,
    /// The figures.
    pub stats: Stats,
}

/// All traps of one code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// Who took them.
    pub vcpu: u16,
    /// The exit code.
    pub code: u64,
    /// How many.
    pub count: u64,
}

/// Where a vCPU was when its scenario ended badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postmortem {
    /// The vCPU.
    pub vcpu: u16,
    /// Guest RIP.
    pub rip: u64,
    /// Guest RSP.
    pub rsp: u64,
    /// Guest RFLAGS.
    pub rflags: u64,
    /// Guest CR2.
    pub cr2: u64,
    /// Interrupt shadow (VMCB 068h).
    pub interrupt_shadow: bool,
    /// Whether it was halted.
    pub halted: bool,
    /// Local APIC TPR.
    pub tpr: u8,
    /// Local APIC PPR.
    pub ppr: u8,
    /// Vectors that are set in the local APIC's IRR.
    pub irr: Vec<u8>,
    /// Vectors that are set in the local APIC's ISR.
    pub isr: Vec<u8>,
    /// Its last exits, oldest first.
    pub last: Vec<LastExit>,
}

/// One of the last exits before a bad end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastExit {
    /// What it was. As text: `0x` and 16 hexadecimal digits.
    #[serde(with = "super::text_form::key")]
    pub key: ExitKey,
    /// Guest RIP.
    pub rip: u64,
    /// When, since the scenario's start.
    pub at: u64,
}

/// How a scenario ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How.
    pub outcome: Outcome,
    /// What there is to say about it.
    pub detail: String,
    /// When, since the scenario's start.
    pub ticks: u64,
}

/// The vectors whose bit is set, vector 0 in the first byte's lowest bit.
pub(super) fn vectors(bits: &[u8]) -> Vec<u8> {
    (0..=u8::MAX)
        .filter(|&v| bits.get(usize::from(v / 8)).is_some_and(|byte| byte >> (v % 8) & 1 != 0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_from_the_bit_map() {
        let mut bits = [0; 32];
        bits[0] = 1;
        bits[4] = 0x80;
        bits[31] = 0x80;
        assert_eq!(vectors(&bits), [0, 39, 255]);
        assert!(vectors(&[]).is_empty());
    }
}
