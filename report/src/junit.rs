//! `junit.xml`, for CI systems: the elements and attributes that the schema of Jenkins' xUnit plugin
//! (`junit-10.xsd`) knows, and no others.

use crate::cases::{Case, Outcome, Suite, suites};
use crate::model::Report;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::io;

/// The report as JUnit XML, with a line end.
pub fn text(report: &Report) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(report, &mut writer).expect("memory can be written to");
    String::from_utf8(writer.into_inner()).expect("what was written is text") + "\n"
}

type Xml = Writer<Vec<u8>>;

fn write(report: &Report, xml: &mut Xml) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let suites = suites(report);
    let sum = |of: &dyn Fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>().to_string();
    let seconds = format!("{}.{:03}", report.run.duration_ms / 1000, report.run.duration_ms % 1000);
    let attributes = [
        ("name", "trapline"),
        ("tests", &sum(&|suite| suite.cases.len())),
        ("failures", &sum(&failures)),
        ("errors", &sum(&errors)),
        ("time", &seconds),
    ];
    within(xml, "testsuites", &attributes, |xml| {
        suites.iter().try_for_each(|suite| self::suite(report, suite, xml))
    })
}

fn failures(suite: &Suite) -> usize {
    suite.count(|outcome| *outcome == Outcome::Failed)
}

fn errors(suite: &Suite) -> usize {
    suite.count(|outcome| *outcome == Outcome::Broken)
}

fn suite(report: &Report, suite: &Suite, xml: &mut Xml) -> io::Result<()> {
    let skipped = |o: &Outcome| matches!(o, Outcome::Skipped(_) | Outcome::Waived(_));
    let attributes = [
        ("name", suite.name.as_str()),
        ("tests", &suite.cases.len().to_string()),
        ("failures", &failures(suite).to_string()),
        ("errors", &errors(suite).to_string()),
        ("skipped", &suite.count(skipped).to_string()),
        ("timestamp", &report.run.started),
    ];
    let environment = &report.environment;
    let revision = environment.build.revision.as_deref().unwrap_or("unknown");
    let properties = [
        ("environment", environment.class.as_str()),
        ("qemu", &environment.qemu.version),
        ("revision", revision),
    ];
    within(xml, "testsuite", &attributes, |xml| {
        within(xml, "properties", &[], |xml| {
            properties.iter().try_for_each(|(name, value)| {
                empty(xml, "property", &[("name", name), ("value", value)])
            })
        })?;
        suite.cases.iter().try_for_each(|case| self::case(&suite.name, case, xml))
    })
}

fn case(suite: &str, case: &Case, xml: &mut Xml) -> io::Result<()> {
    let class = format!("trapline.{suite}");
    let attributes = [("name", case.name.as_str()), ("classname", &class)];
    let first = case.lines.first().map_or("", String::as_str);
    let (element, message, kind) = match &case.outcome {
        Outcome::Passed => return empty(xml, "testcase", &attributes),
        Outcome::Failed => ("failure", first, "fail"),
        Outcome::Broken => ("error", first, "could-not-run"),
        Outcome::Waived(why) => ("skipped", why.as_str(), "waived"),
        Outcome::Skipped(why) => ("skipped", why.as_str(), "skipped"),
    };
    within(xml, "testcase", &attributes, |xml| {
        let attributes = [("message", message), ("type", kind)];
        let start = start(element, &attributes);
        if case.lines.is_empty() {
            return xml.write_event(Event::Empty(start));
        }
        xml.write_event(Event::Start(start))?;
        xml.write_event(Event::Text(BytesText::new(&clean(&case.lines.join("\n")))))?;
        xml.write_event(Event::End(BytesEnd::new(element)))
    })
}

fn start<'e>(element: &'e str, attributes: &[(&str, &str)]) -> BytesStart<'e> {
    let mut start = BytesStart::new(element);
    for (name, value) in attributes {
        start.push_attribute((*name, clean(value).as_str()));
    }
    start
}

fn empty(xml: &mut Xml, element: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
    xml.write_event(Event::Empty(start(element, attributes)))
}

fn within(
    xml: &mut Xml,
    element: &str,
    attributes: &[(&str, &str)],
    inside: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    xml.write_event(Event::Start(start(element, attributes)))?;
    inside(xml)?;
    xml.write_event(Event::End(BytesEnd::new(element)))
}

/// XML 1.0 has no way to write most control characters, which a guest's log can hold.
fn clean(text: &str) -> String {
    let is_bad =
        |c: char| c.is_control() && !"\t\n\r".contains(c) || "\u{fffe}\u{ffff}".contains(c);
    text.replace(is_bad, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Ended, Waiver, WaiverState};
    use crate::{model::Subject, sample};

    #[test]
    fn cases_are_counted_and_escaped() {
        let xml = text(&sample::failing());
        assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"trapline\" tests=\"5\" failures=\"1\" errors=\"0\" time=\"42.300\">\n"), "{xml}");
        let failure = "<testcase name=\"idle-hlt\" classname=\"trapline.self-ipi\">\n      <failure \
            message=\"hlt in window `ipi` on vCPU 0: expected 0, seen 3 [&lt;b&gt;]\" type=\"fail\">";
        assert!(xml.contains(failure), "{xml}");
        assert!(xml.contains("golden 0, seen 3</failure>"), "{xml}");
        assert!(
            xml.contains("<skipped message=\"nothing exercises it\" type=\"skipped\"/>"),
            "{xml}"
        );
    }

    #[test]
    fn what_is_waived_is_skipped_with_the_waiver() {
        let mut report = sample::failing();
        report.scenarios[1].ended = Ended::CouldNotRun;
        assert!(text(&report).contains("<error "));
        report.waivers.push(Waiver {
            subject: Subject::Scenario("self-ipi::idle-hlt".into()),
            environment: "tcg-icount".into(),
            reason: "known".into(),
            owner: "me".into(),
            expires: "2027-01-31".into(),
            state: WaiverState::Applies,
        });
        let xml = text(&report);
        assert!(xml.contains("<skipped message=\"waived by me until 2027-01-31: known\""), "{xml}");
        assert!(!xml.contains("<error "));
    }

    #[test]
    fn control_characters_do_not_spoil_the_file() {
        let mut report = sample::failing();
        report.scenarios[1].broken = vec!["a\u{1b}[31m\u{0}b\nc".into()];
        let xml = text(&report);
        assert!(xml.contains("a\u{fffd}[31m\u{fffd}b"), "{xml}");
    }
}
