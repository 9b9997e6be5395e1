//! A window's last exits, told as rounds where they repeat.

/// Longest round that is looked for.
const LONGEST: usize = 12;

/// Exits that came before, and a round that came so many times after them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rounds<'e> {
    pub before: &'e [String],
    pub round: &'e [String],
    pub times: usize,
}

/// The shortest round whose repetitions at the end cover the most; every exit by itself where none
/// repeats.
pub(super) fn find(exits: &[String]) -> Rounds<'_> {
    let mut best = Rounds { before: exits, round: &[], times: 0 };
    for length in 1..=LONGEST.min(exits.len() / 2) {
        let times = repetitions(exits, length);
        if times > 1 && times * length > best.times * best.round.len() {
            let (before, rest) = exits.split_at(exits.len() - times * length);
            best = Rounds { before, round: &rest[..length], times };
        }
    }
    best
}

fn repetitions(exits: &[String], length: usize) -> usize {
    let round = &exits[exits.len() - length..];
    exits.rchunks(length).take_while(|chunk| *chunk == round).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn repetitions_at_the_end_become_rounds() {
        let exits = words("x y a b c a b c a b c");
        let found = find(&exits);
        assert_eq!(found.before.join(" "), "x y");
        assert_eq!(found.round.join(" "), "a b c");
        assert_eq!(found.times, 3);
    }

    #[test]
    fn of_rounds_that_cover_as_much_the_shortest_is_taken() {
        let exits = words("a a a a");
        assert_eq!(find(&exits), Rounds { before: &[], round: &exits[..1], times: 4 });
    }

    #[test]
    fn what_does_not_repeat_stays_as_it_is() {
        let exits = words("a b c");
        assert_eq!(find(&exits), Rounds { before: &exits, round: &[], times: 0 });
        assert_eq!(find(&[]).times, 0);
    }
}
