//! What one exit costs: the difference of two windows, per round trip.
//!
//! The payload `exit-cost` runs one loop twice: with a NOP (window `loop`), and with the
//! instruction that exits in its place (window `op`). What the second takes longer, divided by the
//! repetitions, is one round trip: world switch, handling, accounting. Under icount a tick is an
//! instruction, so the figure is exact and the same on every machine.

use crate::result::{Measured, RunResult};

/// The payload that measures.
pub const PAYLOAD: &str = "exit-cost";

/// Most instructions that a round trip may take under icount, by the silicon and the payload's `op`:
/// CPUID with full accounting and the exit ring; an access to the APIC page by nested page fault and
/// decoding, warm; and what the model of x2AVIC absorbs: an EOI, and a self-IPI that waits for IF.
pub const LIMITS: &[(&str, &str, u64)] = &[
    ("none", "cpuid", 150),
    ("none", "xapic-eoi", 300),
    ("none", "xapic-read", 300),
    ("none", "xapic-write", 300),
    ("zen4", "x2apic-eoi", 250),
    ("zen4", "self-ipi", 250),
];

/// One operation's cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The operation.
    pub op: String,
    /// The described silicon.
    pub silicon: String,
    /// Repetitions.
    pub rounds: u64,
    /// Exits in window `op`.
    pub exits: u64,
    /// Ticks that one round trip takes, in hundredths.
    pub hundredths: u64,
    /// The most that it may take, in ticks.
    pub limit: Option<u64>,
}

impl Cost {
    /// Whether it keeps its limit.
    pub fn holds(&self) -> bool {
        self.limit.is_none_or(|limit| self.hundredths <= limit * 100)
    }

    /// Ticks with two decimals.
    pub fn ticks(&self) -> String {
        format!("{}.{:02}", self.hundredths / 100, self.hundredths % 100)
    }
}

/// The costs that a result holds, in its order.
pub fn of(result: &RunResult) -> Vec<Cost> {
    let scenarios = result.scenarios.iter().filter(|s| s.payload == PAYLOAD);
    scenarios
        .filter_map(|scenario| {
            let op = scenario.params.get("op")?;
            let rounds = scenario.params.get("n")?.parse().ok()?;
            let silicon = scenario.silicon.split(' ').next()?;
            cost(op, silicon, rounds, scenario.measured.as_ref()?)
        })
        .collect()
}

fn cost(op: &str, silicon: &str, rounds: u64, measured: &Measured) -> Option<Cost> {
    let window = |label| measured.windows.iter().find(|window| window.label == label);
    let (base, with) = (window("loop")?, window("op")?);
    let extra = with.ticks.checked_sub(base.ticks)?;
    Some(Cost {
        op: op.into(),
        silicon: silicon.into(),
        rounds,
        exits: with.exits.iter().map(|exit| exit.stats.count).sum(),
        hundredths: (extra * 100).checked_div(rounds)?,
        limit: LIMITS
            .iter()
            .find(|&&(on, name, _)| (on, name) == (silicon, op))
            .map(|&(_, _, limit)| limit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::MeasuredWindow;
    use crate::result::tests::run;

    fn measured(base: u64, op: u64) -> Measured {
        let window = |label: &str, ticks| MeasuredWindow {
            vcpu: 0,
            label: label.into(),
            ticks,
            exits: Vec::new(),
            order: Vec::new(),
        };
        let windows = vec![window("loop", base), window("op", op)];
        Measured { windows, ..Measured::new(&run()) }
    }

    #[test]
    fn the_loop_is_taken_off() {
        let cost = cost("cpuid", "none", 1000, &measured(5_049, 155_049)).unwrap();
        assert_eq!((cost.ticks(), cost.holds()), ("150.00".to_owned(), true));
        let cost = super::cost("cpuid", "none", 1000, &measured(5_049, 155_059)).unwrap();
        assert_eq!((cost.ticks(), cost.holds()), ("150.01".to_owned(), false));
        assert!(
            super::cost("rdmsr", "none", 10, &measured(0, 1_000_000)).unwrap().holds(),
            "no limit"
        );
    }

    #[test]
    fn what_cannot_be_compared_is_no_cost() {
        assert_eq!(cost("cpuid", "none", 1000, &measured(9, 8)), None);
        assert_eq!(cost("cpuid", "none", 0, &measured(1, 8)), None);
        let mut one = measured(1, 8);
        one.windows.truncate(1);
        assert_eq!(cost("cpuid", "none", 1000, &one), None);
    }
}
