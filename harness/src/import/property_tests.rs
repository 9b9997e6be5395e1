use super::*;
use crate::table;
use crate::transcript::Stats;
use proptest::prelude::*;

/// Lines that look like perf's, or nearly.
fn line() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "Analyze events for all VMs:",
        "VM-EXIT Samples Samples% Time% Min Time Max Time Avg time",
        "Event name Samples Sample% Time (ns) Time%",
        "io",
        "hlt",
        "12",
        "0",
        "43.42%",
        "7 %",
        "0.68us",
        "( +- 0.13% )",
        "+-",
        "|",
        "----",
        "....",
        ">",
        "\u{a0}",
        "Total Samples:12, Total events handled time:9.00us.",
        "Time",
        "-",
        "(~5.4%)",
        "\"b\"",
        "| a | b |",
        "18446744073709551616",
        "999999999999999%",
    ]);
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

fn durations() -> impl Strategy<Value = Stats> {
    prop::collection::vec(0..100_000_000_u64, 1..6).prop_map(|all| Stats {
        count: all.len() as u64,
        sum: all.iter().sum(),
        sum_squares: all.iter().map(|&d| u128::from(d) * u128::from(d)).sum(),
        min: all.iter().copied().min().unwrap_or(0),
        max: all.iter().copied().max().unwrap_or(0),
        histogram: Vec::new(),
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn arbitrary_lines_are_refused_or_read(lines in prop::collection::vec(line(), 0..24)) {
        if let Ok(import) = read(lines.join("\n").as_bytes()) {
            let _ = text(&import);
            let json: Import = serde_json::from_str(&import.to_json()).unwrap();
            prop_assert_eq!(json, import);
        }
    }

    #[test]
    fn a_truncated_report_never_panics(at in 0..2000_usize) {
        let whole = include_bytes!("../../../claims/tables/backing-page.txt");
        let _ = read(&whole[..at.min(whole.len())]);
    }

    #[test]
    fn our_own_tables_come_back_with_the_same_figures_and_no_warning(
        rows in prop::collection::btree_map("[a-z][a-z_]{0,18}", durations(), 0..12),
        khz in 1_000_000..5_000_000_u32,
    ) {
        let mut own = table::Table::new("VM-EXIT");
        rows.iter().for_each(|(name, stats)| own.add(name, stats));
        let text = own.render("suite::name, window loop, VCPU 0", khz);
        let import = read(text.as_bytes()).unwrap();
        let read = &import.tables[0];
        prop_assert_eq!(&import.warnings, &[]);
        prop_assert_eq!(&read.title, "suite::name, window loop, VCPU 0");
        prop_assert_eq!(read.rows.len(), rows.len());
        prop_assert_eq!(read.samples(), rows.values().map(|stats| stats.count).sum::<u64>());
        for row in &read.rows {
            let stats = &rows[&row.name];
            prop_assert_eq!(row.samples, stats.count);
            let us = |ticks: u64| ticks as f64 * 1000.0 / f64::from(khz);
            for (read, ticks) in [(row.min, us(stats.min)), (row.max, us(stats.max))] {
                // Two decimals, of whole nanoseconds.
                prop_assert!((read.unwrap().value() - ticks).abs() < 0.0062);
            }
            prop_assert!((row.mean.unwrap().value() - us(stats.sum) / stats.count as f64).abs() < 0.0062);
            let error = row.error.unwrap().value();
            prop_assert!((error - stats.relative_error()).abs() < 0.0051);
        }
    }
}
