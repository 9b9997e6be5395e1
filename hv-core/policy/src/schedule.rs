//! Which of a core's vCPUs runs, and how long.
//!
//! Round robin: a vCPU runs until it blocks, or until its slice is over while another one of the core
//! is ready. One that is woken waits for that, too: nobody is preempted before the slice's end. Alone on
//! its core a vCPU has no slice, and the core no timer for one.

use trapline_abi::plan::MAX_VCPUS;

/// A slice in nanoseconds of guest time, from when the vCPU was switched in.
pub const SLICE: u64 = 100_000;

const _: () = assert!(MAX_VCPUS as u32 <= u32::BITS);

/// The vCPUs of core `core` of `cores`, one bit each: vCPU v runs on core v % cores.
pub fn vcpus_of(core: u32, cores: u32, vcpus: u32) -> u32 {
    (core..vcpus.min(u32::BITS)).step_by(cores.max(1) as usize).fold(0, |mask, v| mask | 1 << v)
}

/// The turns of one core. Times are of one clock, whichever its owner uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    vcpus: u32,
    current: u32,
    slice_ends: u64,
    wakes_at: u64,
    /// Who is next if ready, one bit or none.
    favored: u32,
}

impl Schedule {
    /// The turns of these vCPUs, one bit each; the first of them is the current one.
    pub const fn new(vcpus: u32) -> Self {
        let current = vcpus.trailing_zeros() % u32::BITS;
        Self { vcpus, current, slice_ends: u64::MAX, wakes_at: u64::MAX, favored: 0 }
    }

    /// All of them, one bit each.
    pub const fn vcpus(&self) -> u32 {
        self.vcpus
    }

    /// Whose turn it is.
    pub const fn current(&self) -> u32 {
        self.current
    }

    /// All but the current one, one bit each.
    pub const fn others(&self) -> u32 {
        self.vcpus & !(1 << self.current)
    }

    /// When the earliest deadline of a blocked other one is.
    pub const fn wakes_at(&self) -> u64 {
        self.wakes_at
    }

    /// Puts one in front of the others, once: the current one yields to it.
    pub const fn favor(&mut self, vcpu: u32) {
        self.favored = 1 << vcpu;
    }

    /// Whose turn is next, if one of `ready` is ready: the favored one, else the first behind the current one.
    pub fn next(&self, ready: u32) -> Option<u32> {
        let ready = ready & self.others();
        let favored = ready & self.favored;
        if favored != 0 {
            return Some(favored.trailing_zeros());
        }
        let behind = ready & !(2u32 << self.current).wrapping_sub(1);
        let among = if behind != 0 { behind } else { ready };
        (among != 0).then(|| among.trailing_zeros())
    }

    /// Gives the turn to `vcpu`. While it runs, no other one's deadline moves.
    pub fn switch(&mut self, vcpu: u32, slice_ends: u64, wakes_at: u64) {
        (self.current, self.slice_ends, self.wakes_at) = (vcpu, slice_ends, wakes_at);
        self.favored = 0;
    }

    /// When the core has to look again, for the sake of the others: at the slice's end where one of them
    /// is ready, else when one may become so.
    pub fn alarm(&self, is_one_ready: bool) -> u64 {
        if is_one_ready { self.slice_ends } else { self.wakes_at }
    }

    /// Whether the current one has had its slice.
    pub fn is_over(&self, now: u64) -> bool {
        now >= self.slice_ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vcpu_has_one_core_and_the_cores_are_filled_evenly() {
        for vcpus in 1..=u32::from(MAX_VCPUS) {
            for cores in 1..=vcpus {
                let masks: Vec<u32> = (0..cores).map(|c| vcpus_of(c, cores, vcpus)).collect();
                assert_eq!(masks.iter().fold(0, |all, mask| all | mask), (1 << vcpus) - 1);
                let counts = || masks.iter().map(|mask| mask.count_ones());
                assert_eq!(counts().sum::<u32>(), vcpus);
                assert!(counts().max().unwrap() - counts().min().unwrap() <= 1);
            }
        }
        assert_eq!(vcpus_of(1, 2, 5), 0b01010);
    }

    #[test]
    fn turns_go_round_and_leave_out_who_is_not_ready() {
        let mut schedule = Schedule::new(0b1010_1010);
        assert_eq!(schedule.current(), 1);
        let mut seen = Vec::new();
        for _ in 0..6 {
            let next = schedule.next(0b1000_1010).unwrap();
            schedule.switch(next, 0, 0);
            seen.push(next);
        }
        assert_eq!(seen, [3, 7, 1, 3, 7, 1]);
    }

    #[test]
    fn who_is_yielded_to_is_next_once_and_only_if_ready() {
        let mut schedule = Schedule::new(0b1111);
        schedule.favor(2);
        assert_eq!(schedule.next(0b1010), Some(1));
        assert_eq!(schedule.next(0b1110), Some(2));
        schedule.switch(2, 0, 0);
        assert_eq!(schedule.next(0b1111), Some(3));
        schedule.favor(2);
        assert_eq!(schedule.next(0b1111), Some(3), "nobody yields to oneself");
    }

    #[test]
    fn nobody_else_is_next_if_nobody_else_is_ready() {
        let schedule = Schedule::new(0b101);
        assert_eq!(schedule.next(0b011), None);
        assert_eq!(schedule.next(0b111), Some(2));
        assert_eq!(Schedule::new(1 << 31).next(u32::MAX), None);
        assert_eq!(Schedule::new(1).others(), 0);
    }

    #[test]
    fn a_slice_ends_only_where_another_one_is_ready() {
        let mut schedule = Schedule::new(0b11);
        schedule.switch(1, 1000, 5000);
        assert_eq!(schedule.alarm(true), 1000);
        assert_eq!(schedule.alarm(false), 5000);
        assert!(!schedule.is_over(999) && schedule.is_over(1000));
        assert_eq!(Schedule::new(0b1).alarm(false), u64::MAX);
    }

    proptest::proptest! {
        #[test]
        fn nobody_waits_for_more_turns_than_there_are_others(
            vcpus in 1u32..=0xffff, waiting in 0u32..16, noise: [u32; 16],
        ) {
            let waiting = 1 << waiting & vcpus;
            let mut schedule = Schedule::new(vcpus);
            if schedule.current() == waiting.trailing_zeros() {
                return Ok(());
            }
            for ready in noise.iter().take(vcpus.count_ones() as usize) {
                let Some(next) = schedule.next(ready | waiting) else { break };
                schedule.switch(next, 0, 0);
                if next == waiting.trailing_zeros() {
                    return Ok(());
                }
            }
            proptest::prop_assert_eq!(waiting, 0);
        }
    }
}
