//! Rule ids where they are named: at the start of a test's name, and in free text.

use super::book::Rule;
use std::collections::BTreeSet;

/// The ids that are rules, and the families they are of.
#[derive(Debug)]
pub struct Ids {
    known: BTreeSet<String>,
    families: BTreeSet<String>,
}

/// Ids that were named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Rules.
    pub rules: BTreeSet<String>,
    /// Ids of a known family that are no rules.
    pub unknown: BTreeSet<String>,
}

impl Ids {
    /// The ids of these rules.
    pub fn new(rules: &[Rule]) -> Self {
        Self {
            known: rules.iter().map(|rule| rule.id.clone()).collect(),
            families: rules.iter().map(|rule| rule.family().into()).collect(),
        }
    }

    /// The ids that a test's name starts with. `hv_102_hv_103_`, `hv_102_103_` and
    /// `hv_100_to_103_` name several; bare numbers must rise and be as long as the first, so that
    /// `rtc_008_2048_ticks` names one.
    pub fn in_test_name(&self, name: &str) -> Named {
        let words: Vec<_> = name.split('_').collect();
        let (mut named, mut at) = (Named::default(), 0);
        while let [family, number, ..] = words[at..] {
            let family = family.to_ascii_uppercase();
            let id = format!("{family}-{}", number.to_ascii_uppercase());
            if !self.families.contains(&family) || !(is_number(number) || self.known.contains(&id))
            {
                break;
            }
            self.add(id, &mut named);
            at += 2;
            let mut last = number;
            loop {
                let follows =
                    |word: &&str| is_number(word) && word.len() == last.len() && *word > last;
                let (from, next, step) = match words[at..] {
                    ["to", next, ..] if follows(&next) => (value(last) + 1, next, 2),
                    [next, ..] if follows(&next) => (value(next), next, 1),
                    _ => break,
                };
                for number in from..=value(next) {
                    self.add(format!("{family}-{number:0width$}", width = next.len()), &mut named);
                }
                (last, at) = (next, at + step);
            }
        }
        named
    }

    /// The ids that a text names, written out: `RTC-008, RTC-011`.
    pub fn in_text(&self, text: &str) -> Named {
        let mut named = Named::default();
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let Some((family, number)) = word.split_once('-') else { continue };
            let is_rule = self.known.contains(word);
            if is_rule || (is_number(number) && self.families.contains(family)) {
                self.add(word.into(), &mut named);
            }
        }
        named
    }

    fn add(&self, id: String, named: &mut Named) {
        let to = if self.known.contains(&id) { &mut named.rules } else { &mut named.unknown };
        to.insert(id);
    }
}

/// At most three digits: so many have the longest ids.
fn is_number(word: &str) -> bool {
    (1..=3).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}

fn value(number: &str) -> u32 {
    number.parse().expect("at most three digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Ids {
        let known = "HV-100 HV-101 HV-102 HV-103 HV-106 RTC-008 RTC-011 RTC-P CR8-1 INH-1 INH-2";
        let known: BTreeSet<String> = known.split(' ').map(str::to_owned).collect();
        let family = |id: &String| id.split_once('-').unwrap().0.to_owned();
        Ids { families: known.iter().map(family).collect(), known }
    }

    #[track_caller]
    fn name(name: &str, rules: &[&str], unknown: &[&str]) {
        let named = ids().in_test_name(name);
        assert_eq!(Vec::from_iter(&named.rules), rules, "{name}");
        assert_eq!(Vec::from_iter(&named.unknown), unknown, "{name}");
    }

    #[test]
    fn a_name_starts_with_one_id_or_several() {
        name("rtc_011_reading_c_clears_it", &["RTC-011"], &[]);
        name("hv_102_hv_103_rtc_011_count_once", &["HV-102", "HV-103", "RTC-011"], &[]);
        name("hv_102_103_106_count_once", &["HV-102", "HV-103", "HV-106"], &[]);
        name("hv_100_to_103_count", &["HV-100", "HV-101", "HV-102", "HV-103"], &[]);
        name("cr8_1_the_intercept", &["CR8-1"], &[]);
        name("inh_1_2_reasons", &["INH-1", "INH-2"], &[]);
        name("rtc_p_a_tick", &["RTC-P"], &[]);
        name("hv_106", &["HV-106"], &[]);
    }

    #[test]
    fn numbers_that_are_no_ids_name_nothing() {
        name("rtc_008_2048_ticks", &["RTC-008"], &[]);
        name("hv_106_100_times", &["HV-106"], &[]);
        name("hv_core_comes_up", &[], &[]);
        name("rtc_ended", &[], &[]);
        name("the_first_hv_106", &[], &[]);
        name("hv", &[], &[]);
        name("hv_4096_bytes", &[], &[]);
    }

    #[test]
    fn ids_that_are_no_rules_are_told_apart() {
        name("hv_999_nothing", &[], &["HV-999"]);
        name("hv_11_nothing", &[], &["HV-11"]);
        name("hv_102_104_count", &["HV-102"], &["HV-104"]);
        name("rtc_011_hv_107_both", &["RTC-011"], &["HV-107"]);
    }

    #[test]
    fn texts_name_ids_written_out() {
        let named = ids().in_text("corrections.md 4 CR8-1; RTC-008,RTC-011: hv-106, CLM-30, HV-9");
        assert_eq!(Vec::from_iter(&named.rules), ["CR8-1", "RTC-008", "RTC-011"]);
        assert_eq!(Vec::from_iter(&named.unknown), ["HV-9"]);
        assert_eq!(ids().in_text("XRTC-011 RTC-011x RTC-PIE HV-"), Named::default());
        assert!(ids().in_text("RTC-P under AVIC").rules.contains("RTC-P"));
    }
}
