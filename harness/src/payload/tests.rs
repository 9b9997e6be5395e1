use super::*;
use object::write;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};

/// An ELF file that holds nothing but a descriptor, or another section.
pub(crate) fn elf(section: &str, text: &str) -> Vec<u8> {
    let mut object =
        write::Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let id = object.add_section(vec![], section.into(), SectionKind::ReadOnlyData);
    object.append_section_data(id, text.as_bytes(), 1);
    object.write().unwrap()
}

/// A catalogue of made-up payloads with the parameters of real ones.
pub(crate) fn catalogue() -> Catalogue {
    let payload = |name: &str, text: &str| {
        let (about, params) = describe(text).unwrap();
        Payload { name: name.into(), path: format!("/nowhere/{name}").into(), about, params }
    };
    [
        payload(
            "self-ipi",
            "about Sends itself IPIs.\n\
             param n number 1000 How many.\n\
             param wait choice hlt|nop|spin hlt How it waits.\n\
             param send choice x2apic-icr|x2apic-self|xapic x2apic-icr How it sends.",
        ),
        payload("exit-cost", "param n number 10 How many.\nparam op choice cpuid|hlt cpuid What."),
    ]
    .into_iter()
    .collect()
}

fn read(bytes: &[u8]) -> Result<Payload, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    Payload::read("p", file.path()).map_err(|e| e.to_string())
}

#[test]
fn a_payload_is_described_by_its_elf_file() {
    let text = "about Does things.\nparam n number 5 How many.\nparam w choice a|b b Which.\n\0\0";
    let payload = read(&elf(descriptor::SECTION, text)).unwrap();
    assert_eq!(payload.about, "Does things.");
    assert_eq!(payload.params[0].kind, Kind::Number(5));
    assert_eq!(payload.params[1].kind, Kind::Choice(vec!["a".into(), "b".into()], 1));
    assert_eq!(payload.params[1].about, "Which.");
}

#[test]
fn what_is_no_payload_is_refused_with_the_reason() {
    for (bytes, why) in [
        (b"#!/bin/sh".to_vec(), "it is no ELF file"),
        (elf(".rodata", "about x"), "it has no section .trapline.descriptor"),
        (elf(descriptor::SECTION, "param n float 1.5"), "the bad line `param n float 1.5`"),
        (elf(descriptor::SECTION, "param n number 1\nparam n number 2"), "two parameters `n`"),
    ] {
        let error = read(&bytes).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let error = Payload::read("p", Path::new("/nowhere/p")).unwrap_err().to_string();
    assert!(error.contains("cannot read payload /nowhere/p"), "{error}");
}

#[test]
fn every_cut_of_a_payload_is_refused_or_complete() {
    let whole = elf(descriptor::SECTION, "about Does things.");
    for end in 0..whole.len() {
        if let Ok(payload) = read(&whole[..end]) {
            assert_eq!(payload.about, "Does things.", "cut at {end}");
        }
    }
}
