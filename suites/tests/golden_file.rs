//! The files that `trapline bless` writes are the files that insta writes.

use trapline_golden::file;
use trapline_golden::snapshot::{Built, Snapshot};

#[test]
fn insta_reads_what_bless_writes_and_would_write_the_same() {
    let text = || "x".to_owned();
    let built = Built { core: text(), payload: text(), qemu: text(), rustc: text() };
    let snapshot = Snapshot { built, outcome: "done".into(), values: vec![], windows: vec![] };
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours.snap"), folder.path().join("theirs.snap"));
    std::fs::write(&ours, file::to_text(&snapshot)).unwrap();
    let read = insta::Snapshot::from_file(&ours).unwrap();
    assert_eq!(read.as_text().unwrap().to_string().trim(), snapshot.to_text());
    assert_eq!(read.metadata().source(), Some(file::SOURCE));
    read.save(&theirs).unwrap();
    assert_eq!(std::fs::read_to_string(theirs).unwrap(), std::fs::read_to_string(ours).unwrap());
}
