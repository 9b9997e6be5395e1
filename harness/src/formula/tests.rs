use super::*;

fn names(name: &str) -> Result<u64, String> {
    match name {
        "n" => Ok(100),
        "max" => Ok(u64::MAX),
        _ => Err(format!("unknown parameter `{name}`")),
    }
}

fn bound(text: &str) -> Bound {
    Formula::parse(text).unwrap().bound(&names).unwrap()
}

fn error(text: &str) -> String {
    match Formula::parse(text) {
        Ok(formula) => formula.bound(&names).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn arithmetic_has_the_usual_precedence_and_goes_from_left_to_right() {
    for (text, value) in [
        ("2*n", 200),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("100 - 10 - 5", 85),
        ("100 / 10 / 5", 2),
        ("17 % 5 * 2", 4),
        ("== n + 1", 101),
        ("0x10 + 1_000", 1016),
        ("  n  ", 100),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(bound(text), Bound::Equal(value), "{text}");
    }
}

#[test]
fn bounds_allow_their_ends() {
    for (text, yes, no) in [
        ("n", vec![100], vec![99, 101]),
        ("<= 2*n", vec![0, 200], vec![201]),
        (">= n/2", vec![50, u64::MAX], vec![49]),
        ("1..n-1", vec![1, 99], vec![0, 100]),
        ("5..5", vec![5], vec![4, 6]),
    ] {
        let bound = bound(text);
        assert!(yes.iter().all(|&n| bound.allows(n)), "{text}");
        assert!(!no.iter().any(|&n| bound.allows(n)), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_named_with_its_column() {
    for (text, message) in [
        ("", "a number, a parameter or `(` is missing at column 1"),
        ("2*", "a number, a parameter or `(` is missing at column 3"),
        ("2 n", "unexpected `n` at column 3"),
        ("(1 + 2", "`)` is missing at column 7"),
        ("1 $ 2", "unexpected `$` at column 3"),
        ("1 + ?", "unexpected `?` at column 5"),
        ("3x", "`3x` is no unsigned 64-bit number at column 1"),
        ("0x", "`0x` is no unsigned 64-bit number at column 1"),
        ("18446744073709551616", "is no unsigned 64-bit number at column 1"),
        ("< 3", "unexpected `<` at column 1"),
        ("1..2..3", "unexpected `.` at column 5"),
        ("1 + é", "unexpected `é` at column 5"),
        ("é1", "unexpected `é` at column 1"),
    ] {
        let error = error(text);
        assert!(error.contains(message), "{text}: {error}");
        assert!(error.ends_with(&format!("of formula `{text}`")), "{error}");
    }
}

#[test]
fn what_cannot_be_computed_is_an_error_and_never_a_value() {
    for (text, message) in [
        ("m", "unknown parameter `m` at column 1"),
        ("2*(n - 101)", "100 - 101 is below zero at column 6"),
        ("max + 1", "overflows at column 5"),
        ("max * 2", "overflows at column 5"),
        ("n / (1 - 1)", "100 / 0 divides by zero at column 3"),
        ("n % 0", "100 % 0 divides by zero at column 3"),
        ("n..1", "the range ends at 1, before its start at 100 at column 4"),
    ] {
        let error = error(text);
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn endless_nesting_is_refused_before_the_stack_is() {
    let text = "(".repeat(100_000);
    assert!(Formula::parse(&text).unwrap_err().message.contains("nested"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,40}") {
        if let Ok(formula) = Formula::parse(&text) {
            let _ = formula.bound(&names);
        }
    }

    #[test]
    fn sums_agree_with_u64(a in 0u64..1 << 40, b in 0u64..1 << 40, c in 1u64..1000) {
        let text = format!("{a} + {b} * {c} - {b} % {c}");
        proptest::prop_assert_eq!(bound(&text), Bound::Equal(a + b * c - b % c));
    }
}
