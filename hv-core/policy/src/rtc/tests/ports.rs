//! Ports, registers A to D, reset and RAM.

use super::*;

#[test]
fn rtc_003_bit_7_of_the_index_masks_nmis_and_selects_nothing() {
    let mut guest = Guest::new();
    guest.rtc.write(INDEX_PORT, 0x80 | B, guest.now);
    assert!(guest.rtc.nmi_masked());
    assert_eq!(guest.rtc.read(DATA_PORT, guest.now), HOUR_24);
    guest.rtc.write(INDEX_PORT, B, guest.now);
    assert!(!guest.rtc.nmi_masked());
    assert_eq!(guest.rtc.read(DATA_PORT, guest.now), HOUR_24);
}

#[test]
fn rtc_004_the_index_port_reads_ff() {
    let mut guest = Guest::new();
    guest.rtc.write(INDEX_PORT, 0x05, guest.now);
    assert_eq!(guest.rtc.read(INDEX_PORT, guest.now), 0xff);
}

#[test]
fn rtc_005_power_on_values() {
    let mut guest = Guest::new();
    assert_eq!([A, B, C, D].map(|r| guest.read(r)), [0x26, 0x02, 0x00, 0x80]);
}

#[test]
fn rtc_006_uip_is_not_writable() {
    let mut guest = Guest::new();
    guest.write(A, 0xff);
    assert_eq!(guest.read(A), 0x7f);
    guest.write(A, 0xa6);
    assert_eq!(guest.read(A), 0x26);
}

#[test]
fn rtc_007_writes_to_c_and_d_change_nothing() {
    let mut guest = Guest::new();
    guest.wait(10 * MILLISECOND);
    guest.write(C, 0xff);
    guest.write(D, 0x00);
    assert_eq!([guest.read(D), guest.read(C), guest.read(C)], [0x80, PERIODIC, 0]);
}

#[test]
fn rtc_022_reset_clears_enables_and_flags_and_keeps_date_and_modes() {
    let mut guest = Guest::new();
    guest.set_clock([0x12, 0x34, 0x56]);
    guest.write(A, 0x25);
    guest.write(B, 0x7f);
    guest.write(0x40, 0xa5);
    guest.wait(10 * MILLISECOND);
    assert!(guest.rtc.irq());
    guest.rtc.reset(guest.now);
    assert!(!guest.rtc.irq());
    assert_eq!(guest.rtc.next_deadline(), Ns::NEVER);
    assert_eq!([A, B, C, D].map(|r| guest.read(r)), [0x25, 0x07, 0x00, 0x80]);
    assert_eq!(guest.clock(), [12, 34, 56]);
    assert_eq!(guest.read(0x40), 0xa5);
}

#[test]
fn ram_is_every_byte_from_0e_to_7f_but_the_century() {
    let mut guest = Guest::new();
    for index in 0x0e..0x80 {
        guest.write(index, index ^ 0x5a);
    }
    for index in (0x0e..0x80).filter(|&i| i != 0x32) {
        assert_eq!(guest.read(index), index ^ 0x5a);
    }
}

#[test]
fn other_ports_are_not_answered() {
    let mut guest = Guest::new();
    guest.rtc.write(INDEX_PORT, B, guest.now);
    guest.rtc.write(0x72, C, guest.now);
    assert_eq!(guest.rtc.read(0x73, guest.now), 0xff);
    assert_eq!(guest.rtc.read(DATA_PORT, guest.now), HOUR_24);
}
