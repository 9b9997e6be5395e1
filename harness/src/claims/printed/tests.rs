use super::*;
use crate::import::read;

fn table(rows: &str) -> Table {
    let text = format!(
        "Analyze events for all VMs, all VCPUs:\n\n             VM-EXIT    Samples  Samples%     \
         Time%    Min Time    Max Time         Avg time\n\n{rows}\n"
    );
    read(text.as_bytes()).unwrap().tables.remove(0)
}

const REPORT: &str = "
                 msr        200    66.45%    50.00%      1.00us      2.00us      1.50us ( +-   0.10% )
                 hlt        100    33.22%    49.00%      1.00us      2.00us      1.50us ( +-   0.10% )
                 nmi          1     0.33%     1.00%      1.00us      1.00us      1.00us ( +-   0.00% )

Total Samples:301, Total events handled time:451.00us.
";

#[test]
fn a_report_is_sorted_rounded_and_exact_where_there_is_one_sample() {
    let table = table(REPORT);
    assert_eq!(Property::Sorted.of(&table).unwrap(), "3 rows by falling samples");
    assert_eq!(Property::SharesRounded.of(&table).unwrap(), "3 percentages of 301");
    assert_eq!(Property::SinglesExact.of(&table).unwrap(), "1 with one sample, ±0.00 %");
    assert_eq!(Property::SharesCut.of(&table).unwrap_err(), "msr has 66.45 %, which is not whole");
}

#[test]
fn what_a_report_has_not_is_said_with_its_row() {
    let moved = REPORT.replace("hlt        100", "hlt        300");
    let error = Property::Sorted.of(&table(&moved)).unwrap_err();
    assert_eq!(error, "msr stands above hlt, and has fewer");
    let other = REPORT.replace("33.22%", "33.23%");
    let error = Property::SharesRounded.of(&table(&other)).unwrap_err();
    assert_eq!(error, "hlt has 33.23 %, and 33.2226 % of 301");
    let error = REPORT.replace("1.00us ( +-   0.00% )", "1.00us ( +-   0.02% )");
    let error = Property::SinglesExact.of(&table(&error)).unwrap_err();
    assert_eq!(error, "nmi has one sample, and another error than ±0.00 %");
    let without = REPORT.replace("nmi          1", "nmi          2");
    assert!(Property::SinglesExact.of(&table(&without)).is_err());
}

#[test]
fn percentages_that_rounding_gives_too_are_not_called_cut() {
    let rows = |a: &str, b: &str| {
        table(&format!(
            "                 msr        749    {a}%    50.00%      1.00us      2.00us      1.50us ( \
             +-   0.10% )\n                 hlt        251    {b}%    50.00%      1.00us      2.00us \
             1.50us ( +-   0.10% )\n"
        ))
    };
    // 74.9 and 25.1 of 1000.
    assert!(Property::SharesCut.of(&rows("74.00", "25.00")).is_ok());
    let both = Property::SharesCut.of(&rows("75.00", "25.00")).unwrap_err();
    assert!(both.starts_with("no total"), "{both}");
    let even = table(
        "                 msr        500    50.00%    50.00%      1.00us      2.00us      1.50us ( \
         +-   0.10% )\n                 hlt        500    50.00%    50.00%      1.00us      2.00us      \
         1.50us ( +-   0.10% )\n",
    );
    let error = Property::SharesCut.of(&even).unwrap_err();
    assert_eq!(error, "rounding gives the same percentages");
}
