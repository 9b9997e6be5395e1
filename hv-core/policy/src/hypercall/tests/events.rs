//! Event flags.

use super::*;

const SIGNAL: u64 = 0x5d;
const SINT: u32 = 5;
const SIEF: u64 = 0x3000;
const CONNECTION: u64 = 16 + SINT as u64;

/// Two vCPUs; the second has an event page and SINT 5.
fn bench() -> Bench {
    let mut bench = Bench::new(2);
    bench.msr(1, hyperv::SIEFP, SIEF | 1);
    bench.msr(1, hyperv::SINT0 + SINT, VECTOR.into());
    bench
}

fn signal(bench: &mut Bench, event: u64) -> u64 {
    bench.call(0, FAST | SIGNAL, event, 0)
}

fn flags(bench: &Bench) -> u64 {
    bench.ram.read_u64(SIEF + u64::from(SINT) * 256).unwrap()
}

#[test]
fn hv_068_a_flag_interrupts_when_it_is_set_and_not_again() {
    let mut bench = bench();
    // Others of the byte are the guest's.
    bench.ram.put(SIEF + u64::from(SINT) * 256, &[0xf0]);
    assert_eq!((signal(&mut bench, CONNECTION), flags(&bench), bench.hit()), (0, 0xf1, 0b10));
    assert_eq!((signal(&mut bench, CONNECTION), flags(&bench), bench.hit()), (0, 0xf1, 0));
    bench.ram.put(SIEF + u64::from(SINT) * 256, &[0]);
    bench.block(&[CONNECTION]);
    assert_eq!((bench.call(0, SIGNAL, BLOCK, 0), flags(&bench), bench.hit()), (0, 1, 0b10));
    let page = bench.ram.0.borrow()[SIEF as usize..][..4096].iter().filter(|&&b| b != 0).count();
    assert_eq!(page, 1, "and no other flag");
}

#[test]
fn hv_069_hv_232_what_takes_no_events_is_said() {
    for (msr, value) in [
        (hyperv::SINT0 + SINT, 1 << 16 | u64::from(VECTOR)),
        (hyperv::SIEFP, SIEF),
        (hyperv::SCONTROL, 0),
    ] {
        let mut bench = bench();
        bench.msr(1, msr, value);
        assert_eq!((signal(&mut bench, CONNECTION), flags(&bench), bench.hit()), (0x18, 0, 0));
    }
}

#[test]
fn hv_206_hv_208_blocks_of_events_are_aligned_and_ram() {
    let mut bench = bench();
    for off in 1..8 {
        assert_eq!(bench.call(0, SIGNAL, BLOCK + off, 0), 4);
    }
    // KVM calls memory that it cannot read not aligned, too.
    assert_eq!(bench.call(0, SIGNAL, MEMORY, 0), 4);
    assert_eq!(bench.hit(), 0);
}

#[test]
fn hv_226_flags_and_connections_that_are_not_there() {
    let mut bench = bench();
    for (event, status) in [
        (1 << 32 | CONNECTION, 0x11),
        (2048 << 32 | CONNECTION, 0x11),
        // The flag comes before reserved bits, and those before the connection.
        (1 << 48 | 1 << 32 | CONNECTION, 0x11),
        (1 << 48 | CONNECTION, 3),
        (1 << 24 | CONNECTION, 3),
        (1 << 63 | 0xff_ffff, 3),
        (0xff_ffff, 0x12),
        (32, 0x12),
    ] {
        assert_eq!(signal(&mut bench, event), status, "{event:#x}");
    }
    assert_eq!((flags(&bench), bench.hit()), (0, 0));
}
