use super::page;
use crate::model::{Ended, Report};
use crate::{sample, store};
use std::path::Path;

#[test]
fn the_page_follows_from_the_json_alone() {
    for report in [sample::report(), sample::failing()] {
        let again = store::parse(&report.to_json(), Path::new("report.json")).unwrap();
        assert_eq!(page(&again), page(&report));
    }
}

#[test]
fn no_text_of_a_report_becomes_markup() {
    let html = page(&sample::failing());
    for text in ["<i>", "<b>", "<a mail>", "<records>", "<ignored>", "a < b"] {
        assert!(!html.contains(text), "{text}");
    }
    assert!(html.contains("&lt;a mail&gt;"));
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let html = page(&sample::report());
    for text in ["http://", "https://", "@import", "url(", " src="] {
        assert!(!html.contains(text), "{text}");
    }
}

#[test]
fn every_link_within_the_page_leads_somewhere() {
    let html = page(&sample::failing());
    let targets = html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next());
    let mut count = 0;
    for target in targets {
        assert!(html.contains(&format!("id=\"{target}\"")), "{target}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn the_verdict_comes_first_and_in_words() {
    for (report, word) in [(sample::report(), "Qualified"), (sample::failing(), "Not qualified")] {
        let html = page(&report);
        let main = html.split("<main>").nth(1).unwrap();
        let section = main.split("</section>").next().unwrap();
        assert!(section.contains("id=\"verdict\"") && section.contains(word), "{word}");
    }
}

#[test]
fn a_failure_shows_its_difference_and_its_last_exits() {
    let html = page(&sample::failing());
    let failures = html.split("id=\"failures\"").nth(1).unwrap();
    let failures = failures.split("</section>").next().unwrap();
    for text in ["count of hlt", "− golden", "msr 0x830:W", "0x1000a4", "expected 0, seen 3"] {
        assert!(failures.contains(text), "{text}");
    }
    assert!(!page(&sample::report()).contains("id=\"failures\""));
}

#[test]
fn a_report_of_nothing_is_a_page_too() {
    let mut report: Report = sample::report();
    report.scenarios.clear();
    report.rules.clear();
    report.claims.clear();
    assert!(page(&report).contains("A part") || page(&report).contains("The whole suite"));
    report.scenarios = vec![sample::report().scenarios.remove(0)];
    report.scenarios[0].measured = None;
    report.scenarios[0].ended = Ended::CouldNotRun;
    assert!(page(&report).contains("could not run"));
}
