//! How the host tests ended last: nextest's JUnit report.

use super::RulesError;
use super::report::Last;
use super::sources::HostTest;
use crate::files::text;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::collections::BTreeMap;
use std::path::Path;

/// Verdicts by package and function name. Two functions of one name in a package share the worse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestVerdicts(BTreeMap<(String, String), Last>);

impl TestVerdicts {
    /// How a test ended.
    pub fn last(&self, test: &HostTest) -> Last {
        let key = (test.package.clone(), test.name.clone());
        self.0.get(&key).copied().unwrap_or(Last::NotRun)
    }

    fn add(&mut self, suite: &str, case: &str, last: Last) {
        // Suites are binaries, `package` or `package::binary`; cases are paths, `module::function`.
        let package = suite.split("::").next().unwrap_or_default();
        let function = case.rsplit("::").next().unwrap_or_default();
        let verdict = self.0.entry((package.into(), function.into())).or_insert(last);
        *verdict = last.max(*verdict);
    }
}

/// Reads a report.
///
/// # Errors
/// A file that cannot be read, or is none.
pub fn read(path: &Path) -> Result<TestVerdicts, RulesError> {
    parse(&text(path)?).map_err(|why| RulesError::Junit { path: path.into(), why })
}

/// Reads a report; where there is none, nothing was run.
///
/// # Errors
/// See [`read`].
pub fn read_if_there(path: &Path) -> Result<TestVerdicts, RulesError> {
    if path.exists() { read(path) } else { Ok(TestVerdicts::default()) }
}

fn parse(xml: &str) -> Result<TestVerdicts, String> {
    let mut reader = Reader::from_str(xml);
    let mut verdicts = TestVerdicts::default();
    let mut suite = None;
    let mut case: Option<(String, Last)> = None;
    let mut is_whole = false;
    loop {
        let event = reader.read_event().map_err(|e| e.to_string())?;
        match &event {
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                "testsuite" => suite = Some(name(tag)?),
                "testcase" => case = Some((name(tag)?, Last::Pass)),
                "failure" | "error" => {
                    if let Some((_, last)) = &mut case {
                        *last = Last::Fail;
                    }
                }
                "skipped" => case = None,
                _ => {}
            },
            Event::Eof if is_whole => return Ok(verdicts),
            Event::Eof => return Err("it has no whole <testsuites>".into()),
            _ => {}
        }
        let ended = |element: &str| match &event {
            Event::End(tag) => tag.name().as_ref() == element,
            Event::Empty(tag) => tag.name().as_ref() == element,
            _ => false,
        };
        is_whole |= ended("testsuites");
        if let Some((case, last)) = case.take_if(|_| ended("testcase")) {
            let suite = suite.as_deref().ok_or("a <testcase> stands outside of a <testsuite>")?;
            verdicts.add(suite, &case, last);
        }
    }
}

fn name(tag: &BytesStart<'_>) -> Result<String, String> {
    let attribute = tag.try_get_attribute("name").map_err(|e| e.to_string())?;
    let attribute = attribute.ok_or_else(|| format!("a <{}> has no name", tag.name().as_ref()))?;
    let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|e| e.to_string())?;
    Ok(value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="5" failures="1" errors="1" uuid="1" time="0.5">
    <testsuite name="trapline-policy" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="rtc::tests::rtc_011_a" classname="trapline-policy" time="0.1">
        </testcase>
        <testcase name="rtc::tests::rtc_008_b" classname="trapline-policy" time="0.1">
            <failure message="panicked &lt;here&gt;" type="test failure">at a.rs</failure>
            <system-out>said</system-out>
        </testcase>
        <testcase name="rtc::tests::skipped" classname="trapline-policy"><skipped/></testcase>
    </testsuite>
    <testsuite name="hv-core::bin/hv-core" tests="2">
        <testcase name="rtc_008_b" classname="hv-core"/>
        <testcase name="other::rtc_011_a" classname="hv-core"><error type="exec"/></testcase>
        <testcase name="rtc_011_a" classname="hv-core"/>
    </testsuite>
</testsuites>"#;

    fn last(verdicts: &TestVerdicts, package: &str, name: &str) -> Last {
        let (package, name) = (package.into(), name.into());
        verdicts.last(&HostTest { package, name, file: "a.rs".into() })
    }

    #[test]
    fn cases_are_found_by_package_and_function() {
        let verdicts = parse(REPORT).unwrap();
        assert_eq!(last(&verdicts, "trapline-policy", "rtc_011_a"), Last::Pass);
        assert_eq!(last(&verdicts, "trapline-policy", "rtc_008_b"), Last::Fail);
        assert_eq!(last(&verdicts, "trapline-policy", "skipped"), Last::NotRun);
        assert_eq!(last(&verdicts, "hv-core", "rtc_008_b"), Last::Pass);
        assert_eq!(last(&verdicts, "hv-core", "missing"), Last::NotRun);
    }

    #[test]
    fn of_two_cases_of_one_name_the_worse_counts() {
        assert_eq!(last(&parse(REPORT).unwrap(), "hv-core", "rtc_011_a"), Last::Fail);
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for text in ["", "no XML", "<html></html>", "<testsuites><testcase name='a'/>"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let cut = &REPORT[..REPORT.len() / 2];
        assert!(parse(cut).is_err(), "a report that was cut off");
    }

    #[test]
    fn no_report_means_that_nothing_was_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("junit.xml");
        assert_eq!(read_if_there(&path).unwrap(), TestVerdicts::default());
        assert!(read(&path).is_err());
    }
}
