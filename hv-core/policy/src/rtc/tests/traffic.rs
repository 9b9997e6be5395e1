//! Whatever a guest does to the ports, the chip keeps its promises.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u16),
    Write(u16, u8),
    Register(u8, u8),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let port = prop_oneof![8 => Just(INDEX_PORT), 8 => Just(DATA_PORT), 1 => any::<u16>()];
    let wait = prop_oneof![
        4 => 0..2_000_000u64,
        2 => 0..3 * SECOND,
        1 => 0..1u64 << 56,
    ];
    prop_oneof![
        port.clone().prop_map(Step::Read),
        (port, any::<u8>()).prop_map(|(port, value)| Step::Write(port, value)),
        (0u8..0x10, any::<u8>()).prop_map(|(index, value)| Step::Register(index, value)),
        wait.prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn irqf_is_always_what_flags_and_enables_make_of_it(steps in prop::collection::vec(step(), 1..80)) {
        let mut guest = Guest::new();
        for step in steps {
            match step {
                Step::Read(port) => _ = guest.rtc.read(port, guest.now),
                Step::Write(port, value) => guest.rtc.write(port, value, guest.now),
                Step::Register(index, value) => guest.write(index, value),
                Step::Wait(ns) => {
                    let before = guest.rtc.irq();
                    let due = guest.rtc.next_deadline() <= guest.now.after(ns);
                    guest.now = guest.now.after(ns);
                    guest.rtc.advance(guest.now);
                    // No edge without a deadline, no deadline without an edge.
                    prop_assert_eq!(guest.rtc.irq(), before || due);
                }
            }
            prop_assert!(guest.rtc.next_deadline() == Ns::NEVER || guest.rtc.next_deadline() > guest.now);
            let mut copy = Guest { rtc: guest.rtc.clone(), now: guest.now };
            let line = copy.rtc.irq();
            let enables = copy.read(B) & FLAGS;
            let c = copy.read(C);
            prop_assert_eq!(c & IRQF != 0, c & enables != 0);
            prop_assert_eq!(c & 0x0f, 0);
            prop_assert_eq!(line, c & IRQF != 0);
            prop_assert!(!copy.rtc.irq());
            prop_assert_eq!(copy.read(C), 0);
            prop_assert_eq!(copy.read(D), 0x80);
        }
    }

    /// Looking often or seldom makes no difference: laziness cannot be seen.
    #[test]
    fn the_time_and_the_flags_do_not_depend_on_when_the_chip_was_looked_at(
        a in 0x20u8..0x30,
        b in any::<u8>(),
        alarm in any::<[u8; 3]>(),
        waits in prop::collection::vec(0..40 * SECOND, 1..30),
    ) {
        let mut often = Guest::new();
        often.write(A, a);
        often.write(B, b & !SET);
        for (index, value) in [1, 3, 5].into_iter().zip(alarm) {
            often.write(index, value & 0xdf);
        }
        let mut once = Guest { rtc: often.rtc.clone(), now: often.now };
        for wait in waits {
            often.wait(wait);
            often.clock();
            once.now = once.now.after(wait);
        }
        once.rtc.advance(once.now);
        prop_assert_eq!(often.rtc.irq(), once.rtc.irq());
        prop_assert_eq!(often.clock(), once.clock());
        prop_assert_eq!(often.read(C), once.read(C));
        prop_assert_eq!(often.rtc.next_deadline(), once.rtc.next_deadline());
    }
}
