//! Subjects: what an expectation is about.

use super::error::suggest;
use std::fmt;
use trapline_abi::exit::{self, Detail, Direction, ExitKey};

/// What a number is expected of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The window's length in TSC ticks: `ticks`.
    Ticks,
    /// All exits of the window that are not allowed anyway: `exits`.
    Exits,
    /// Exits with one code: `msr`.
    Code(u64),
    /// Exits with one code and number, and one direction or both: `io 0x70:POUT`, `io 0x71`.
    Detail(u64, u32, Option<Direction>),
}

impl Subject {
    /// Reads a subject.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "ticks" => return Ok(Self::Ticks),
            "exits" => return Ok(Self::Exits),
            _ => {}
        }
        if let Some(code) = exit::code(text) {
            return Ok(Self::Code(code));
        }
        let Some((name, number)) = text.rsplit_once(" 0x") else {
            let names = exit::names().chain(["ticks", "exits"]);
            return Err(format!("unknown exit `{text}`{}", suggest(text, names)));
        };
        // The tables print `leaf 0x1`, `gfn 0x10` and `nr 0x1` where there is no direction.
        let name = [" leaf", " gfn", " nr"]
            .into_iter()
            .find_map(|word| name.strip_suffix(word))
            .unwrap_or(name);
        let code = exit::code(name)
            .ok_or_else(|| format!("unknown exit `{name}`{}", suggest(name, exit::names())))?;
        let (number, direction) = match number.split_once(':') {
            None => (number, None),
            Some((number, "R")) if code != exit::IOIO => (number, Some(Direction::Read)),
            Some((number, "W")) if code != exit::IOIO => (number, Some(Direction::Write)),
            Some((number, "PIN")) if code == exit::IOIO => (number, Some(Direction::Read)),
            Some((number, "POUT")) if code == exit::IOIO => (number, Some(Direction::Write)),
            Some((_, word)) => {
                let words = if code == exit::IOIO { ":PIN or :POUT" } else { ":R or :W" };
                return Err(format!("the direction of {name} is {words}, not :{word}"));
            }
        };
        match u32::from_str_radix(number, 16) {
            Ok(number) => Ok(Self::Detail(code, number, direction)),
            Err(_) => Err(format!("`0x{number}` is no 32-bit number")),
        }
    }

    /// Whether an exit counts for it.
    pub fn covers(&self, key: ExitKey) -> bool {
        match *self {
            Self::Ticks => false,
            Self::Exits => true,
            Self::Code(code) => key.code() == code,
            Self::Detail(code, number, direction) => {
                key.code() == code
                    && match key.detail() {
                        Detail::None => false,
                        Detail::Number(n) => n == number && direction.is_none(),
                        Detail::Access(n, d) => n == number && direction.is_none_or(|w| w == d),
                    }
            }
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ticks => f.write_str("ticks"),
            Self::Exits => f.write_str("exits"),
            Self::Code(code) => f.write_str(exit::name(code)),
            Self::Detail(code, number, None) => write!(f, "{} {number:#x}", exit::name(code)),
            Self::Detail(code, number, Some(direction)) => {
                let key = ExitKey::access(code, number, direction == Direction::Write);
                write!(f, "{} {key}", exit::name(code))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trapline_abi::exit::{CPUID, IOIO, MSR, NPF};

    #[test]
    fn subjects_are_read_as_the_tables_print_them() {
        for (text, subject) in [
            ("ticks", Subject::Ticks),
            ("exits", Subject::Exits),
            ("hlt", Subject::Code(0x78)),
            ("PF excp", Subject::Code(0x4e)),
            ("msr 0x830:W", Subject::Detail(MSR, 0x830, Some(Direction::Write))),
            ("io 0x71", Subject::Detail(IOIO, 0x71, None)),
            ("io 0x71:PIN", Subject::Detail(IOIO, 0x71, Some(Direction::Read))),
            ("npf 0xb0:R", Subject::Detail(NPF, 0xb0, Some(Direction::Read))),
        ] {
            assert_eq!(Subject::parse(text), Ok(subject.clone()));
            assert_eq!(subject.to_string(), text);
        }
        for text in ["cpuid leaf 0x80000001", "cpuid 0x80000001"] {
            assert_eq!(Subject::parse(text), Ok(Subject::Detail(CPUID, 0x8000_0001, None)));
        }
        assert_eq!(Subject::parse("npf gfn 0xfee00"), Ok(Subject::Detail(NPF, 0xfee00, None)));
    }

    #[test]
    fn what_is_none_is_refused_with_a_hint() {
        for (text, message) in [
            ("hltt", "unknown exit `hltt` (did you mean `hlt`?)"),
            ("mrs 0x830", "unknown exit `mrs` (did you mean `msr`?)"),
            ("io 0x70:OUT", "the direction of io is :PIN or :POUT, not :OUT"),
            ("msr 0x830:POUT", "the direction of msr is :R or :W, not :POUT"),
            ("msr 0x", "`0x` is no 32-bit number"),
            ("msr 0x123456789", "`0x123456789` is no 32-bit number"),
        ] {
            let error = Subject::parse(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_subject_covers_its_exits_and_no_others() {
        let both = Subject::parse("io 0x71").unwrap();
        let read = Subject::parse("io 0x71:PIN").unwrap();
        let (input, output) =
            (ExitKey::access(IOIO, 0x71, false), ExitKey::access(IOIO, 0x71, true));
        assert!(both.covers(input) && both.covers(output));
        assert!(read.covers(input) && !read.covers(output));
        assert!(!both.covers(ExitKey::access(MSR, 0x71, false)));
        assert!(!both.covers(ExitKey::access(IOIO, 0x70, false)));
        assert!(Subject::Code(IOIO).covers(input));
        assert!(Subject::Exits.covers(input) && !Subject::Ticks.covers(input));
        assert!(Subject::parse("cpuid 0x1").unwrap().covers(ExitKey::number(CPUID, 1)));
    }
}
