//! Tables in the form of `perf kvm stat report` (spec pv-and-formats d.3).
//!
//! Every column, percentage and the `+-` are computed as perf does, from ticks that are turned
//! into nanoseconds by the TSC frequency. Times run from #VMEXIT to the next VMRUN, the guest's
//! own time is never in them; under icount a nanosecond is an instruction of hv-core.

mod perf;
mod summary;

pub use perf::Table;
pub use summary::{line, summary};

use crate::result::{Measured, MeasuredWindow};
use std::fmt::Write;
use trapline_abi::exit::{self, IOIO, MSR, NPF};

/// All tables of a scenario: for each window the exits, then the ports, MSRs and APIC page
/// accesses behind them where there are any.
pub fn tables(name: &str, measured: &Measured, tsc_khz: u32) -> String {
    let mut text = String::new();
    for window in &measured.windows {
        let title = format!("{name}, window {}, VCPU {}", window.label, window.vcpu);
        for table in of_window(window) {
            text += &table.render(&title, tsc_khz);
        }
        let ticks = window.ticks;
        let _ = writeln!(text, "Window: {ticks} ticks, {:.2}us.\n", micros(ticks, tsc_khz));
    }
    text
}

/// The tables of all windows and vCPUs together.
pub fn whole(measured: &Measured) -> Vec<Table> {
    let mut whole: Vec<Table> = Vec::new();
    for table in measured.windows.iter().flat_map(of_window) {
        match whole.iter_mut().find(|sum| sum.head() == table.head()) {
            Some(sum) => table.rows().for_each(|(name, stats)| sum.add(name, stats)),
            None => whole.push(table),
        }
    }
    whole
}

/// The table that an exit's details are in: `MSR Access` of `msr`.
pub(crate) fn detail_head(exit: &str) -> Option<&'static str> {
    DETAILS.iter().find(|(_, code)| exit::name(*code) == exit).map(|(head, _)| *head)
}

/// An exit's name without what a golden writes between it and a number: `cpuid leaf` is `cpuid`.
pub(crate) fn exit_name(exit: &str) -> &str {
    [" leaf", " gfn", " nr"].into_iter().find_map(|word| exit.strip_suffix(word)).unwrap_or(exit)
}

/// The tables behind that of the exits, by their code.
const DETAILS: [(&str, u64); 3] =
    [("IO Port Access", IOIO), ("MSR Access", MSR), ("MMIO Access", NPF)];

/// The tables of a window that have rows; the exit table comes first, even without rows.
fn of_window(window: &MeasuredWindow) -> Vec<Table> {
    let mut exits = Table::new("VM-EXIT");
    let mut details = DETAILS.map(|(head, code)| (Table::new(head), code));
    for exit in &window.exits {
        exits.add(&exit.exit, &exit.stats);
        for (table, code) in &mut details {
            // A nested page fault without a direction is no access to the APIC page.
            if exit.code == *code && exit.detail.contains(':') {
                table.add(&exit.detail, &exit.stats);
            }
        }
    }
    let details = details.into_iter().map(|(table, _)| table).filter(|t| !t.is_empty());
    std::iter::once(exits).chain(details).collect()
}

/// Ticks as nanoseconds, as perf counts them: whole.
fn nanos(ticks: u64, tsc_khz: u32) -> u128 {
    u128::from(ticks) * 1_000_000 / u128::from(tsc_khz.max(1))
}

fn micros(ticks: u64, tsc_khz: u32) -> f64 {
    nanos(ticks, tsc_khz) as f64 / 1000.0
}

#[cfg(test)]
mod tests;
