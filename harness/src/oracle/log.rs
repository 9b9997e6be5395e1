//! QEMU's log of VM exits.

use super::OracleError;
use std::path::Path;

/// One `vmexit(...)!` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedExit {
    /// EXITCODE; VMEXIT_INVALID is all ones.
    pub code: u64,
    /// EXITINFO1.
    pub info1: u64,
    /// EXITINFO2.
    pub info2: u64,
    /// Guest RIP.
    pub rip: u64,
}

/// Reads a log file.
///
/// # Errors
/// When it cannot be read or is damaged.
pub fn read(path: &Path) -> Result<Vec<LoggedExit>, OracleError> {
    let bytes = std::fs::read(path)
        .map_err(|source| OracleError::File { path: path.to_owned(), source })?;
    parse(&String::from_utf8_lossy(&bytes))
}

/// The exits of a log, in order; all other lines are passed over.
///
/// # Errors
/// [`OracleError::Damaged`] when a line holds an exit and does not.
pub fn parse(text: &str) -> Result<Vec<LoggedExit>, OracleError> {
    let mut exits = Vec::new();
    for (number, line) in text.lines().enumerate() {
        // QEMU breaks off its own line when it injects a software event: `Injecting(0): SOFTvmexit(`.
        if let Some((_, rest)) = line.split_once("vmexit(") {
            let exit = fields(rest);
            exits.push(
                exit.ok_or_else(|| OracleError::Damaged {
                    line: number + 1,
                    text: line.to_owned(),
                })?,
            );
        }
    }
    Ok(exits)
}

fn fields(rest: &str) -> Option<LoggedExit> {
    let mut numbers =
        rest.strip_suffix(")!")?.split(", ").map(|digits| u64::from_str_radix(digits, 16).ok());
    let mut next = || numbers.next().flatten();
    // QEMU keeps 32 bits of the code.
    let code = match next()? {
        0xffff_ffff => u64::MAX,
        code => code,
    };
    let exit = LoggedExit { code, info1: next()?, info2: next()?, rip: next()? };
    numbers.next().is_none().then_some(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
vmrun! 0000000000212000
Injecting(0): SOFTvmexit(0000007c, 0000000000000001, 0000000000000000, 000000000010031e)!
Injecting(0): INTR 0x50 0
vmrun! 0000000000212000
vmexit(ffffffff, 0000000000000000, 0000000000000000, 0000000000100320)!
";

    #[test]
    fn exits_are_read_and_other_lines_passed_over() {
        let exits = parse(LOG).unwrap();
        assert_eq!(exits.len(), 2);
        assert_eq!(exits[0], LoggedExit { code: 0x7c, info1: 1, info2: 0, rip: 0x10_031e });
        assert_eq!(exits[1].code, u64::MAX);
    }

    #[test]
    fn a_torn_line_is_an_error_that_names_it() {
        let cut = &LOG[..LOG.len() - 10];
        let error = parse(cut).unwrap_err().to_string();
        assert!(error.starts_with("QEMU's log is damaged at line 5: vmexit("), "{error}");
    }
}
