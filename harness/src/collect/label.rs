//! The label of an ISO: which images it holds, as text that GRUB prints on the serial line.
//!
//! hv-core does not know its own identity, and the command that collects may be a later build than
//! the one that made the ISO. GRUB breaks lines at 80 columns, so that a fact has a line of its own,
//! and a checksum has the last one: a serial line loses bytes of text too.

use crate::images::Images;
use trapline_abi::frame::CRC;
use trapline_golden::snapshot::Built;

/// What a line starts with.
const MARK: &str = "trapline-iso";

/// The label's lines.
pub fn lines(images: &Images) -> Vec<String> {
    let facts =
        [("hv-core", &images.core_id), ("payloads", &images.payloads_id), ("rustc", &images.rustc)];
    let line = |(what, value): (&str, &String)| format!("{MARK} {what} {value};");
    let mut lines: Vec<_> = facts.into_iter().map(line).collect();
    let sum = sum(&images.core_id, &images.payloads_id, &images.rustc);
    lines.push(line(("sum", &sum)));
    lines
}

fn sum(core: &str, payloads: &str, rustc: &str) -> String {
    format!("{:08x}", CRC.checksum(format!("{core};{payloads};{rustc}").as_bytes()))
}

/// The label in a capture: what was printed last, because a board may be started twice. QEMU is not
/// in it. `None` unless it is whole.
pub fn read(bytes: &[u8]) -> Option<Built> {
    let text = String::from_utf8_lossy(bytes);
    let fact = |what: &str| {
        let (_, rest) = text.rsplit_once(&format!("{MARK} {what} "))?;
        let line = rest.split(['\r', '\n', '\x1b', '\0']).next()?;
        line.trim_end().strip_suffix(';').map(str::to_owned)
    };
    let [core, payload, rustc, seen] =
        [fact("hv-core")?, fact("payloads")?, fact("rustc")?, fact("sum")?];
    let whole = sum(&core, &payload, &rustc) == seen;
    whole.then(|| Built { core, payload, qemu: String::new(), rustc })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images() -> Images {
        Images {
            core: "hv-core".into(),
            payloads: Vec::new(),
            core_id: "dd05234a85c06f88".into(),
            payloads_id: "78fb4f2134912f58".into(),
            rustc: "rustc 1.95.0 (59807616e 2026-04-14)".into(),
        }
    }

    #[test]
    fn a_label_is_found_between_firmware_and_records() {
        let text = lines(&images()).join("\r\n");
        let bytes =
            [b"\x1b[0mSeaBIOS\r\n", text.as_bytes(), b"\r\n\x1b[2J\x00\x07\xff\x00"].concat();
        let built = read(&bytes).unwrap();
        assert_eq!(built.core, "dd05234a85c06f88");
        assert_eq!(built.payload, "78fb4f2134912f58");
        assert_eq!(built.rustc, "rustc 1.95.0 (59807616e 2026-04-14)");
    }

    #[test]
    fn no_line_of_it_is_broken_by_grub() {
        assert!(lines(&images()).iter().all(|line| line.len() < 80));
    }

    #[test]
    fn a_label_that_lost_bytes_is_none_and_never_another_one() {
        let text = lines(&images()).join("\n");
        let whole = read(text.as_bytes());
        assert!(whole.is_some());
        for at in 0..text.len() {
            assert_eq!(read(&text.as_bytes()[..at]), None, "cut at {at}");
            let mut lacking = text.clone().into_bytes();
            let lost = lacking.remove(at);
            let read = read(&lacking);
            assert!(read.is_none() || (lost == b'\n' && read == whole), "without {at}");
        }
    }
}
