use super::*;
use std::path::Path;

/// A text of the test data, imported.
fn seed(name: &str) -> Import {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../claims/tables").join(name)).unwrap()
}

fn perf(text: &str) -> Import {
    read(text.as_bytes()).unwrap()
}

/// The error of a text.
fn wrong(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

fn warnings_of(import: &Import) -> Vec<String> {
    import.warnings.iter().map(|w| format!("{}: {}", w.line, w.what)).collect()
}

/// Title, event, rows, all samples, and all time where it was printed.
fn outline(import: &Import) -> Vec<(&str, &str, usize, u64, Option<String>)> {
    let tables = import.tables.iter().map(|table| {
        let time = table.totals.as_ref().map(|totals| totals.time.to_string());
        (table.title.as_str(), table.event.as_str(), table.rows.len(), table.samples(), time)
    });
    tables.collect()
}

const HEAD: &str = "
Analyze events for all VMs, all VCPUs:

             VM-EXIT    Samples  Samples%     Time%    Min Time    Max Time         Avg time

";

/// A table with these lines below its head, which ends in line 5.
fn table(rows: &str) -> String {
    format!("{HEAD}{rows}")
}

#[test]
fn tables_with_no_break_spaces_and_quotations_are_read_once() {
    let import = seed("rtc-clock.txt");
    let (all, none) = ("all VMs, all VCPUs", None);
    assert_eq!(
        outline(&import),
        [
            (all, "VM-EXIT", 11, 1_324_394, Some("219105470.74".into())),
            (all, "IO Port Access", 3, 575_088, Some("1156983.53".into())),
            (all, "VM-EXIT", 13, 435_523, Some("135488497.29".into())),
            ("AVIC, neither stimer nor SynIC", "VM-EXIT", 4, 486_565, none.clone()),
            ("AVIC, stimer and SynIC", "VM-EXIT", 4, 64_413, none),
        ]
    );
    let io = &import.tables[0].rows[0];
    assert_eq!((io.name.as_str(), io.samples), ("io", 575_088));
    let figures = [io.samples_share, io.time_share, io.min, io.max, io.mean, io.error];
    let figures = figures.map(|figure| figure.unwrap().to_string());
    assert_eq!(figures, ["43.42", "1.96", "0.68", "100.62", "7.47", "0.13"]);
    let [cut, missing, cut_too, middle, quoted, quoted_too] = &import.warnings[..] else {
        panic!("{:#?}", import.warnings);
    };
    assert!(cut.what.contains("rows were cut") && cut_too.what.contains("rows were cut"));
    assert!(missing.what.contains("18090 to 18163 samples are missing"), "{missing:?}");
    assert!(middle.what.contains("15 rows at least: some are missing further up"), "{middle:?}");
    assert!(quoted.what.contains("quotation") && quoted_too.what.contains("quotation"));
    assert_eq!((cut.line, cut_too.line), (import.tables[3].line, import.tables[4].line));
}

#[test]
fn wrapped_rows_are_whole_and_agree_with_their_totals() {
    let import = seed("backing-page.txt");
    let all = "all VMs, all VCPUs";
    assert_eq!(
        outline(&import),
        [
            (all, "VM-EXIT", 7, 15_147, Some("91715.78".into())),
            (all, "VM-EXIT", 6, 1_910_559, Some("3229214.64".into())),
        ]
    );
    let npf = &import.tables[1].rows[0];
    assert_eq!(npf.max.unwrap().to_string(), "243.22");
    assert_eq!(npf.error.unwrap().to_string(), "0.04");
    let said = warnings_of(&import);
    assert_eq!(
        said,
        ["23: `avic_incomp_ipi` is `avic_incomplete_ipi` today, and is compared as that"]
    );
}

#[test]
fn the_browsers_columns_and_the_slips_of_a_mail_are_noticed() {
    let import = seed("idle-hlt.txt");
    assert_eq!(
        outline(&import),
        [
            ("Idle HLT off", "Event name", 3, 1_048_373, None),
            ("Idle HLT on", "Event name", 3, 788_172, None),
        ]
    );
    assert!(import.tables.iter().all(|table| table.unit == Unit::Ns));
    assert_eq!(import.tables[0].rows[0].time.unwrap().to_string(), "592573933");
    let [drawn] = &import.drawn[..] else { panic!("{:#?}", import.drawn) };
    assert_eq!(drawn.columns, ["full test run", "ipi test run", "eoi test run"]);
    let rows: Vec<_> =
        drawn.rows.iter().map(|r| (r.name.as_str(), r.figures[0].to_string())).collect();
    assert_eq!(rows, [("on", "5048.4".to_owned()), ("off", "4806.1".to_owned())]);
    let said = warnings_of(&import).join("\n");
    for slip in [
        "Time% 16.00 of `vintr` needs a total",
        "17 of `vintr`, or 61 of `msr` would fit",
        "a blank within `5048 .4`: read as 5048.4",
        "5.4 % is said of `full test run`, but `on` and `off` differ by 4.80 % of `on`, 5.04 %",
    ] {
        assert!(said.contains(slip), "no `{slip}` in\n{said}");
    }
    assert!(!said.contains("`ipi test run`") && !said.contains("`eoi test run`"), "{said}");
}

#[test]
fn a_drawn_table_of_seconds_is_read() {
    let import = seed("hackbench.txt");
    let [drawn] = &import.drawn[..] else { panic!("{:#?}", import.drawn) };
    assert_eq!(drawn.columns, ["2 vcpus (sec)", "3 vcpus (sec)"]);
    let rows = drawn.rows.iter().map(|row| {
        let figures: Vec<_> = row.figures.iter().map(Decimal::to_string).collect();
        (row.name.as_str(), figures.join(" "))
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(
        rows,
        [
            ("No AVIC w/o evtchn", "299.57 337.779".to_owned()),
            ("No AVIC w/  evtchn", "270.37 419.6064".to_owned()),
            ("AVIC w/  evtchn", "181.46 171.7957".to_owned()),
            ("AVIC w/o evtchn", "171.81 169.0858".to_owned()),
        ]
    );
    assert_eq!(import.warnings, []);
}

#[test]
fn the_wide_form_and_the_bare_browser_are_read() {
    let wide = perf(
        "Analyze events for pid(s) 7, VCPU 0:\n\n                                 VM-EXIT    Samples  \
         Samples%     Time%    Min Time    Max Time         Avg time\n\n               \
         avic_unaccelerated_access          2   100.00%   100.00%      1.00us      3.00us      \
         2.00us ( +-  50.00% )\n\nTotal Samples:2, Total events handled time:4.00us.\n",
    );
    assert_eq!(wide.tables[0].rows[0].name, "avic_unaccelerated_access");
    assert_eq!(wide.tables[0].title, "pid(s) 7, VCPU 0");
    assert_eq!(wide.warnings, []);
    let browser = perf(
        "Event name  Samples  Sample%  Time (ns)  Time%  Max Time (ns)  Min Time (ns)  \
         Mean Time (ns)\n hlt 3 100.00% 600 100.00% 300 100 200\n",
    );
    let hlt = &browser.tables[0].rows[0];
    assert_eq!([hlt.max, hlt.min, hlt.mean].map(|d| d.unwrap().value()), [300.0, 100.0, 200.0]);
}

#[test]
fn names_of_two_words_and_names_that_were_cut_are_known() {
    let import = perf(&table(
        "UD excp 1 50.00% 50.00% 1.00us 1.00us 1.00us ( +- 0.00% )\n\
         avic_unaccelerated_ 1 50.00% 50.00% 1.00us 1.00us 1.00us ( +- 0.00% )\n\n\
         Total Samples:2, Total events handled time:2.00us.\n",
    ));
    assert_eq!(import.tables[0].rows[0].name, "UD excp");
    assert_eq!(canonical("UD excp"), "ud excp");
    assert_eq!(canonical("avic_unaccelerated_"), "avic_unaccelerated_access");
    assert_eq!(canonical("0x80B:w"), "0x80b:W");
    assert_eq!(import.warnings.len(), 1, "{:?}", import.warnings);
}

#[test]
fn every_disagreement_is_a_warning() {
    let row = "io 10 100.00% 100.00% 1.00us 3.00us 2.00us ( +- 1.00% )\n";
    let end = "\nTotal Samples:10, Total events handled time:20.00us.\n";
    assert_eq!(perf(&table(&format!("{row}{end}"))).warnings, []);
    for (from, to, what) in [
        ("Samples:10", "Samples:11", "8: the rows have 10 samples, the totals 11"),
        ("time:20.00", "time:20.20", "8: the rows have 19.95 to 20.05 us, the totals 20.20 us"),
        ("10 100.00%", "10 99.00%", "6: Samples% of `io` is 99.00, but its figures give 100.000"),
        ("100.00% 1.00us", "90.00% 1.00us", "6: Time% of `io` is 90.00, but its figures give 99"),
        ("3.00us", "1.50us", "6: the mean of `io` is not between its shortest and its longest"),
        (" ( +- 1.00% )", "", "6: the row `io` ends before its last column"),
        (" 2.00us ( +- 1.00% )", "", "6: the row `io` ends before its last column"),
        (end, "", "4: this table has no totals"),
        (row, &format!("{row}io 0 0.00% 0.00% - - -\n"), "7: a second row `io`"),
        (row, &format!("hlt 0 0.00% 0.00%\n{row}"), "7: the row `io` has more samples"),
    ] {
        let text = table(&format!("{row}{end}")).replacen(from, to, 1);
        let said = match read(text.as_bytes()) {
            Ok(import) => warnings_of(&import).join("\n"),
            Err(error) => panic!("{error} in {text}"),
        };
        assert!(said.contains(what), "no `{what}` in `{said}`");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_line() {
    let row = "io 10 100.00% 100.00% 1.00us 3.00us 2.00us ( +- 1.00% )\n";
    for (text, message) in [
        (String::new(), "line 1: no table"),
        ("Dear all,\nsee below.\n".into(), "line 1: no table"),
        (table(&row.replace("io 10", "io 1x0")), "line 6: `io 1x0"),
        (table(&row.replace("100.00% 1.", "100,00% 1.")), "line 6: `100,00%` is no percentage"),
        (table(&row.replace("3.00us", "3.00ms")), "line 6: `3.00ms` is no time in us"),
        (table(&row.replace("3.00us", "-3.00us")), "line 6: `-3.00us` is no time in us"),
        (table(&row.replace("10", "99999999999999999999")), "line 6: `99999999999999999999`"),
        (table(&row.replace(" )", " ) x")), "line 6: `x` behind the last column"),
        (table(""), "line 4: the table has neither rows nor totals"),
        (table("words\n"), "line 6: `words` is no row"),
        (table(&format!("{row}words\n")), "line 7: `words` is no row"),
        (table(&format!("{row}Total Samples:x\n")), "line 7: `Total Samples:x` are no totals"),
        ("a\nTotal Samples:1, Total\n".into(), "line 2: totals without a table"),
        ("a Samples Samples% Cost\n".into(), "line 1: `cost` is no column"),
        ("a Samples Samples% Samples\n".into(), "line 1: the column `samples` is there twice"),
        ("a\nb\u{1b}[2J\n".into(), "line 2: there is a control character, U+001B"),
        ("| a | b |\n---------\n| x | 1 |\n| y | z |\n".into(), "line 4: `z` is no figure"),
        ("| a | b |\n---------\n| x | 1 |\n| y |\n".into(), "line 4: `| y |` is no row of 2 cells"),
    ] {
        let said = wrong(&text);
        assert!(said.starts_with(message), "`{said}` instead of `{message}` for {text}");
    }
    let said = read(b"a\nb\xff\n").unwrap_err().to_string();
    assert_eq!(said, "line 2: this is no UTF-8 text");
}

#[test]
fn an_import_survives_json_and_its_own_text() {
    for name in ["rtc-clock.txt", "backing-page.txt", "idle-hlt.txt", "hackbench.txt"] {
        let import = seed(name);
        let json: Import = serde_json::from_str(&import.to_json()).unwrap();
        assert_eq!(json, import);
        let again = perf(&text(&import));
        let figures = |import: &Import| {
            let mut tables = import.tables.clone();
            for table in &mut tables {
                table.line = 0;
                table.rows.iter_mut().for_each(|row| row.line = 0);
                table.totals.iter_mut().for_each(|totals| totals.line = 0);
            }
            let rows = |drawn: &Drawn| -> Vec<_> {
                drawn.rows.iter().map(|row| (row.name.clone(), row.figures.clone())).collect()
            };
            (tables, import.drawn.iter().map(rows).collect::<Vec<_>>())
        };
        assert_eq!(figures(&again), figures(&import), "{name}");
    }
}
