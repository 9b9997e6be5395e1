//! Time, update in progress, setting and the divider.

use super::*;

#[test]
fn the_clock_starts_at_the_given_date_and_counts_seconds() {
    let mut guest = Guest::new();
    let date = [0x32, 9, 8, 7, 6];
    assert_eq!(date.map(|r| guest.read(r)), [0x20, 0x26, 0x01, 0x01, 0x05]);
    assert_eq!(guest.clock(), [0, 0, 0]);
    guest.wait(59 * SECOND);
    assert_eq!(guest.clock(), [0x00, 0x00, 0x59]);
    guest.wait(SECOND);
    assert_eq!(guest.clock(), [0x00, 0x01, 0x00]);
    guest.wait(365 * 86_400 * SECOND);
    assert_eq!(date.map(|r| guest.read(r)), [0x20, 0x27, 0x01, 0x01, 0x06]);
    assert_eq!(guest.clock(), [0x00, 0x01, 0x00]);
}

#[test]
fn rtc_016_uip_comes_244_us_before_the_update_and_time_is_stable_without_it() {
    let mut guest = Guest::new();
    guest.wait(SECOND - 244_200);
    assert_eq!(guest.read(A) & UIP, 0);
    assert_eq!(guest.clock(), [0, 0, 0]);
    guest.wait(200);
    assert_eq!(guest.read(A) & UIP, UIP);
    guest.wait(244_000 - 1);
    assert_eq!(guest.read(A) & UIP, UIP);
    assert_eq!([guest.read(0), guest.read(C) & UPDATE], [0, 0]);
    guest.wait(1);
    assert_eq!(guest.read(A) & UIP, 0);
    assert_eq!([guest.read(0), guest.read(C) & UPDATE], [1, UPDATE]);
}

#[test]
fn rtc_017_set_freezes_time_clears_uip_and_uie_and_releasing_resumes() {
    let mut guest = Guest::new();
    guest.write(A, 0x20);
    guest.wait(SECOND - 100_000);
    assert_eq!(guest.read(A) & UIP, UIP);
    guest.write(B, SET | UPDATE | HOUR_24);
    assert_eq!([guest.read(A) & UIP, guest.read(B)], [0, SET | HOUR_24]);
    guest.wait(10 * SECOND);
    assert_eq!([guest.clock()[2], guest.read(A) & UIP, guest.read(C)], [0, 0, 0]);
    guest.write(B, HOUR_24);
    // The chain went on: 100 us to its next second.
    guest.wait(100_000);
    assert_eq!([guest.clock()[2], guest.read(C)], [1, UPDATE]);
}

#[test]
fn rtc_017_time_written_while_set_is_the_time_that_goes_on() {
    let mut guest = Guest::new();
    guest.wait(SECOND / 4);
    guest.set_clock([0x23, 0x59, 0x58]);
    assert_eq!(guest.clock(), [0x23, 0x59, 0x58]);
    guest.wait(2 * SECOND);
    assert_eq!(guest.clock(), [0x00, 0x00, 0x00]);
    assert_eq!([7, 6].map(|r| guest.read(r)), [0x02, 0x06]);
}

#[test]
fn rtc_019_bcd_and_binary_show_the_same_time() {
    let mut guest = Guest::new();
    guest.set_clock([0x17, 0x42, 0x59]);
    guest.write(B, DM | HOUR_24);
    assert_eq!(guest.clock(), [17, 42, 59]);
    assert_eq!([0x32, 9].map(|r| guest.read(r)), [20, 26]);
    guest.wait(SECOND);
    assert_eq!(guest.clock(), [17, 43, 0]);
    guest.write(B, HOUR_24);
    assert_eq!(guest.clock(), [0x17, 0x43, 0x00]);
}

#[test]
fn rtc_019_a_time_set_in_binary_counts_in_binary() {
    let mut guest = Guest::new();
    guest.write(B, DM | HOUR_24);
    guest.set_clock([9, 59, 59]);
    guest.wait(SECOND);
    assert_eq!(guest.clock(), [10, 0, 0]);
}

#[test]
fn rtc_020_twelve_hours_go_round_twice_a_day() {
    let mut guest = Guest::new();
    guest.write(B, 0);
    let hours = [0x12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x10, 0x11];
    for half in [0x00, 0x80] {
        for hour in hours {
            assert_eq!(guest.clock()[0], hour | half);
            guest.wait(3600 * SECOND);
        }
    }
    assert_eq!(guest.clock()[0], 0x12);
    assert_eq!(guest.read(7), 0x02);
}

#[test]
fn rtc_020_an_alarm_at_one_in_the_afternoon_in_twelve_hours() {
    let mut guest = Guest::new();
    guest.write(A, 0x20);
    for (index, value) in [(1, 0x00), (3, 0x00), (5, 0x81)] {
        guest.write(index, value);
    }
    guest.write(B, ALARM);
    assert_eq!(guest.rtc.next_deadline(), Ns(13 * 3600 * SECOND));
}

#[test]
fn rtc_021_the_divider_holds_and_starts_half_a_second_before_an_update() {
    for hold in [0x60, 0x70] {
        let mut guest = Guest::new();
        guest.wait(SECOND / 3);
        guest.write(A, hold | 6);
        guest.read(C);
        guest.write(B, PERIODIC | UPDATE | HOUR_24);
        assert_eq!(guest.wait(10 * SECOND), 0);
        assert_eq!([guest.clock()[2], guest.read(C), guest.read(A) & UIP], [0; 3]);
        guest.write(A, 0x20);
        assert_eq!(guest.rtc.next_deadline(), guest.now.after(SECOND / 2));
        guest.wait(SECOND / 2);
        assert_eq!([guest.clock()[2], guest.read(C)], [1, IRQF | UPDATE]);
    }
}

#[test]
fn nonsense_in_the_time_registers_reads_back_until_the_next_update() {
    let mut guest = Guest::new();
    for index in [0, 2, 4, 6, 7, 8, 9, 0x32] {
        guest.write(index, 0xee);
        assert_eq!(guest.read(index), 0xee);
    }
    guest.wait(SECOND);
    assert_eq!(guest.clock(), [0x00, 0x00, 0x00], "23:59:59 is the nearest time");
}
