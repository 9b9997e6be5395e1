//! `trapline import`.

use crate::fixture::Workspace;
use std::fs;

/// A text of the test data.
pub fn data(name: &str) -> String {
    format!("{}/../claims/tables/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A report whose counts are those of the fixture's scenario.
pub const REPORT: &str = "
Analyze events for all VMs, all VCPUs:

             VM-EXIT    Samples  Samples%     Time%    Min Time    Max Time         Avg time

                 MSR         20    66.67%    77.78%      0.70us      0.70us      0.70us ( +-   0.00% )
                 HLT         10    33.33%    22.22%      0.40us      0.40us      0.40us ( +-   0.00% )

Total Samples:30, Total events handled time:18.00us.
";

#[test]
fn import_prints_every_table_and_what_is_odd() {
    let workspace = Workspace::new();
    for (name, texts) in [
        ("rtc-clock.txt", &["Table 5", "219105470.74us", "15 rows at least"][..]),
        ("backing-page.txt", &["Table 2", "( +-  23.67% )", "`avic_incomplete_ipi` today"]),
        ("idle-hlt.txt", &["Time (ns)", "5048.4", "17 of `vintr`", "5.4 % is said"]),
        ("hackbench.txt", &["No AVIC w/o evtchn", "419.6064"]),
    ] {
        workspace.trapline(&["import", "perf", &data(name)]).expect(0, texts);
    }
    let shell = format!("$TRAPLINE import perf - --format json < '{}'", data("hackbench.txt"));
    workspace.shell(&shell).expect(0, &["\"kind\": \"perf-import\"", "\"419.6064\""]);
}

#[test]
fn an_import_replaces_an_import_and_nothing_else() {
    let workspace = Workspace::new();
    let output = workspace.path("seed.json");
    let output = output.to_str().unwrap();
    let (first, second) = (data("idle-hlt.txt"), data("backing-page.txt"));
    let import = |file: &str, more: &[&str]| {
        let arguments = [&["import", "perf", file, "--output", output], more].concat();
        workspace.trapline(&arguments)
    };
    import(&first, &[]).expect(0, &["seed.json with 3 tables", "warning: line "]);
    import(&second, &[]).expect(0, &["seed.json with 2 tables"]);
    let good = workspace.read("seed.json");

    fs::write(workspace.path("broken.txt"), REPORT.replace("0.70us", "0.7.0us")).unwrap();
    let broken = workspace.path("broken.txt");
    let message = "broken.txt: line 6: `0.7.0us` is no time in us";
    import(broken.to_str().unwrap(), &["--force"]).expect(2, &["error: ", message]);
    assert_eq!(workspace.read("seed.json"), good);

    for other in ["hello\n", "{}\n", "{\"kind\": 7}\n"] {
        fs::write(output, other).unwrap();
        import(&first, &[]).expect(2, &["seed.json exists and is no import", "--force"]);
        assert_eq!(workspace.read("seed.json"), other);
    }
    import(&second, &["--force"]).expect(0, &[]);
    for odd in ["/dev/null", "."] {
        let arguments = ["import", "perf", &first, "--force", "--output", odd];
        workspace.trapline(&arguments).expect(2, &["is no regular file"]);
    }
    assert_eq!(workspace.read("seed.json"), good);
}

#[test]
fn hostile_text_is_refused_with_its_line() {
    let workspace = Workspace::new();
    let cases: [(&[u8], &str); 5] = [
        (b"", "line 1: no table"),
        (b"\xff\xfe\x00", "line 1: this is no UTF-8 text"),
        (b"a\n\x1b[31mb\n", "line 2: there is a control character, U+001B"),
        (b"x Samples Samples% Samples%\n", "line 1: the column"),
        (b"x Samples Samples%\nio 999999999999999999999 1%\n", "line 2: `999999999999999999999`"),
    ];
    for (bytes, message) in cases {
        fs::write(workspace.path("hostile.txt"), bytes).unwrap();
        let ended = workspace.trapline(&["import", "perf", "hostile.txt"]);
        let ended = ended.expect(2, &["error: hostile.txt: ", message]);
        assert_eq!(ended.out, "");
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    }
    workspace.trapline(&["import", "perf", "none.txt"]).expect(2, &["cannot read none.txt"]);
    workspace.trapline(&["import", "perf", "/dev/zero"]).expect(2, &["larger than 16 MiB"]);
}
