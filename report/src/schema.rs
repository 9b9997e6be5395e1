//! The JSON Schema of a report, out of the model itself.

use crate::model::{Report, VERSION};
use schemars::generate::SchemaSettings;

/// Where the schema says it is from.
pub fn id() -> String {
    format!("urn:trapline:qualification-report:{VERSION}")
}

/// The schema's text (JSON Schema 2020-12), with a line end.
pub fn text() -> String {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Report>();
    schema.insert("$id".into(), id().into());
    schema.insert("title".into(), "Trapline qualification report".into());
    let json = serde_json::to_string_pretty(&schema);
    json.expect("a schema has string keys and no floats") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use serde_json::Value;

    const COMMITTED: &str = include_str!("../schema/report-1.schema.json");

    fn errors(report: &Value) -> Vec<String> {
        let schema = serde_json::from_str(COMMITTED).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        validator.iter_errors(report).map(|error| error.to_string()).collect()
    }

    fn json(report: &Report) -> Value {
        serde_json::from_str(&report.to_json()).unwrap()
    }

    #[test]
    fn the_committed_schema_is_that_of_the_model() {
        let hint = "write it with `trapline render --schema`, and raise VERSION where old reports \
                    would no longer be read";
        assert!(COMMITTED == text(), "report/schema/report-1.schema.json is old: {hint}");
    }

    #[test]
    fn reports_validate() {
        for report in [sample::report(), sample::failing()] {
            assert_eq!(errors(&json(&report)), [""; 0]);
        }
    }

    #[test]
    fn what_is_no_report_does_not() {
        let whole = json(&sample::report());
        let change = |path: &str, value: Value| {
            let mut report = whole.clone();
            *report.pointer_mut(path).unwrap() = value;
            errors(&report)
        };
        for (path, value) in [
            ("/kind", Value::from("other")),
            ("/version", Value::from(2)),
            ("/scenarios/0/ended", Value::from("passed")),
            ("/scenarios/0/vcpus", Value::from(-1)),
            ("/scenarios/0/measured/windows/0/exits/0/stats/sum_squares", Value::from("1e9")),
            ("/verdict/standing", Value::Null),
        ] {
            assert_ne!(change(path, value), [""; 0], "{path}");
        }
        let mut more = whole.clone();
        more["verdict"]["opinion"] = "fine".into();
        assert_ne!(errors(&more), [""; 0]);
        let mut less = whole;
        less.as_object_mut().unwrap().remove("rules");
        assert_ne!(errors(&less), [""; 0]);
    }
}
