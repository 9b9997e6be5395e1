use super::*;

fn names(name: &str) -> Result<u64, String> {
    match name {
        "a.msr" => Ok(200),
        "a.n" => Ok(100),
        "b.io.0x70:POUT" => Ok(7),
        _ => Err(format!("there is no `{name}`")),
    }
}

#[test]
fn both_sides_are_computed_and_shown() {
    for (text, holds, shown) in [
        ("a.msr == 2*a.n", true, "200 == 200"),
        ("a.msr==a.n", false, "200 is not 100"),
        ("a.n <= a.msr/2", true, "100 <= 100"),
        ("a.msr <= 5*a.n", true, "200 <= 500"),
        ("a.n >= a.msr", false, "100 is not at least 200"),
        ("b.io.0x70:POUT + 3 == 10", true, "10 == 10"),
    ] {
        let compared = Predicate::parse(text).unwrap().compare(&names).unwrap();
        assert_eq!((compared.holds, compared.text.as_str()), (holds, shown), "{text}");
    }
}

#[test]
fn what_is_no_comparison_is_refused() {
    for (text, why) in [
        ("a.msr", "is missing"),
        ("a.msr = 2", "is missing"),
        ("a.msr == 1..2", "a range is none"),
        ("== 2", "is missing"),
        ("a.msr <= == 2", "unexpected"),
        ("a. == 2", "unexpected `.`"),
    ] {
        let error = Predicate::parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn what_cannot_be_computed_is_an_error_and_never_holds() {
    for text in ["a.x == 0", "a.n - a.msr <= 0", "a.n / 0 == 0"] {
        assert!(Predicate::parse(text).unwrap().compare(&names).is_err(), "{text}");
    }
    assert_eq!(Predicate::parse("a.n == 2*b.x").unwrap().names(), ["a.n", "b.x"]);
}
