//! One iteration of what a scenario does over and over: from one exit of its most frequent kind to the next.

use super::timeline::{Track, What, exit_name};
use std::collections::BTreeMap;

/// Where an iteration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// The exit that it starts with, and that the next one starts with.
    pub between: String,
    /// From, in ticks.
    pub from: u64,
    /// To, in ticks.
    pub to: u64,
}

/// Fewer are no rounds.
const LEAST: usize = 3;

/// The iteration in the middle; `None` where no kind of exit comes three times. Of kinds that are equally
/// frequent it is the one that comes first. Marks are the payload's, not the guest's.
pub fn iteration(tracks: &[Track]) -> Option<Iteration> {
    let mut kinds = BTreeMap::<(usize, String), Vec<u64>>::new();
    for (vcpu, track) in tracks.iter().enumerate() {
        for slice in &track.slices {
            if let What::Exit(trap) = &slice.what {
                kinds.entry((vcpu, exit_name(trap))).or_default().push(slice.from);
            }
        }
    }
    kinds.retain(|(_, name), times| name != "mark" && times.len() >= LEAST);
    let most = kinds.values().map(Vec::len).max()?;
    let first = kinds.into_iter().filter(|(_, times)| times.len() == most);
    let ((_, between), times) = first.min_by_key(|(_, times)| times[0])?;
    let middle = (times.len() - 1) / 2;
    Some(Iteration { between, from: times[middle], to: times[middle + 1] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::timeline::Slice;
    use trapline_abi::exit::ExitKey;
    use trapline_abi::trace::Trap;

    fn exit(at: u64, code: u64) -> Slice {
        let trap = Trap {
            at,
            key: ExitKey::plain(code).0,
            code,
            info_1: 0,
            info_2: 0,
            interrupted: 0,
            rip: 0,
            value: 0,
            rax: 0,
        };
        Slice { from: at, to: at + 1, what: What::Exit(trap) }
    }

    #[test]
    fn it_is_the_middle_one_of_the_most_frequent_kind_that_comes_first() {
        const HLT: u64 = 0x78;
        const VINTR: u64 = 0x64;
        let slices = (0..5).flat_map(|n| [exit(n * 100, HLT), exit(n * 100 + 50, VINTR)]).collect();
        let other = Track { slices: vec![exit(7, HLT)], marks: Vec::new() };
        let tracks = [other, Track { slices, marks: Vec::new() }];
        let found = iteration(&tracks).unwrap();
        assert_eq!(found, Iteration { between: "hlt".into(), from: 200, to: 300 });
        assert_eq!(iteration(&tracks[..1]), None);
    }
}
