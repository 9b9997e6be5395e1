//! Messages that a guest sends to itself.

use super::*;
use crate::hyperv::message::SLOT_SIZE;

const POST: u64 = 0x5c;
const SINT: u32 = 2;
const SIM: u64 = 0x3000;
const MASKED: u64 = 1 << 16;

const fn page(n: u32) -> u64 {
    SIM + n as u64 * 0x1000
}

/// vCPUs with message pages, SINT 2 open at [`VECTOR`].
fn bench(vcpus: u32) -> Bench {
    let mut bench = Bench::new(vcpus);
    for n in 0..vcpus {
        bench.msr(n, hyperv::SIMP, page(n) | 1);
        bench.msr(n, hyperv::SINT0 + SINT, VECTOR.into());
    }
    bench
}

const fn connection(n: u32) -> u64 {
    (n * 16 + SINT) as u64
}

/// Posts one word from vCPU 0.
fn post(bench: &mut Bench, connection: u64, word: u64) -> u64 {
    bench.block(&[connection, 8 << 32 | 1, word]);
    bench.call(0, POST, BLOCK, 0)
}

fn word(bench: &Bench, n: u32, at: u64) -> u64 {
    bench.ram.read_u64(page(n) + u64::from(SINT) * SLOT_SIZE as u64 + at).unwrap()
}

fn more_wait(bench: &Bench, n: u32) -> bool {
    word(bench, n, 0) >> 40 & 1 != 0
}

/// Empties the slot: its message's word, if there was one.
fn take(bench: &mut Bench, n: u32) -> Option<u64> {
    if word(bench, n, 0) as u32 == 0 {
        return None;
    }
    bench.ram.put(page(n) + u64::from(SINT) * SLOT_SIZE as u64, &[0; 4]);
    Some(word(bench, n, 16))
}

fn eom(bench: &mut Bench, n: u32) {
    bench.msr(n, hyperv::EOM, 0);
}

#[test]
fn hv_055_hv_056_hv_224_a_message_arrives_whole_with_one_interrupt() {
    let mut bench = bench(2);
    let payload: Vec<u64> = (0..30).map(|n| n * 0x0101_0101).collect();
    bench.block(&[connection(1), 240 << 32 | 0x7fff_ffff]);
    bench.block(&[&[connection(1), 240 << 32 | 0x7fff_ffff], &payload[..]].concat());
    assert_eq!(bench.call(0, POST, BLOCK, 0), 0);
    assert_eq!(word(&bench, 1, 0), 240 << 32 | 0x7fff_ffff);
    assert_eq!(word(&bench, 1, 8), connection(1), "origin");
    for (at, &expected) in payload.iter().enumerate() {
        assert_eq!(word(&bench, 1, 16 + at as u64 * 8), expected);
    }
    assert_eq!(bench.hit(), 0b10);
    assert_eq!(bench.ram.read_u64(page(1) + 3 * 256), Some(0), "the next slot");
}

#[test]
fn hv_057_hv_058_hv_062_messages_come_one_by_one_and_in_order() {
    for target in 0..2 {
        let mut bench = bench(2);
        for n in 1..=3 {
            assert_eq!(post(&mut bench, connection(target), n), 0);
        }
        for n in 1..=3 {
            assert_eq!(bench.hit(), 1 << target, "one interrupt for message {n}");
            assert_eq!(more_wait(&bench, target), n < 3);
            assert_eq!(take(&mut bench, target), Some(n));
            eom(&mut bench, target);
        }
        assert_eq!((bench.hit(), take(&mut bench, target)), (0, None));
    }
}

#[test]
fn hv_059_eom_without_messages_does_nothing() {
    let mut bench = bench(1);
    bench.ram.put(page(0), &[0xaa; 4096]);
    let before = bench.ram.0.borrow().clone();
    eom(&mut bench, 0);
    assert_eq!(*bench.ram.0.borrow(), before);
    assert_eq!(bench.hit(), 0);
}

#[test]
fn hv_060_eom_before_the_slot_is_empty_delivers_nothing() {
    let mut bench = bench(1);
    post(&mut bench, connection(0), 1);
    post(&mut bench, connection(0), 2);
    bench.hit();
    eom(&mut bench, 0);
    assert_eq!((bench.hit(), more_wait(&bench, 0)), (0, true));
    assert_eq!(take(&mut bench, 0), Some(1));
}

#[test]
fn hv_061_an_eoi_of_the_sint_brings_the_next_message() {
    let mut bench = bench(1);
    post(&mut bench, connection(0), 1);
    post(&mut bench, connection(0), 2);
    for (vector, expected) in [(VECTOR - 16, None), (VECTOR, Some(2))] {
        take(&mut bench, 0);
        take_and_end(&mut bench, vector);
        assert_eq!(take(&mut bench, 0), expected);
    }
}

/// Ends an interrupt of vCPU 0 with that vector, which came and was taken meanwhile.
fn take_and_end(bench: &mut Bench, vector: u8) {
    let vcpu = &mut bench.vcpus[0];
    vcpu.lapic.load_vectors(Vectors::EMPTY, Vectors::EMPTY, Vectors::EMPTY);
    vcpu.lapic.accept(vector, false);
    vcpu.lapic.acknowledge(vector, false);
    let eoi = vcpu.lapic.eoi().unwrap();
    let (vm, vmcb) = (&mut bench.vm, &mut bench.vmcbs[0]);
    crate::msr::carry_out(vm, vcpu, vmcb, crate::lapic::Effect::Eoi(eoi));
    bench.go_on(0);
}

#[test]
fn hv_139_an_eoi_of_the_sint_lets_a_timer_try_again() {
    let mut bench = bench(1);
    post(&mut bench, connection(0), 1);
    bench.msr(0, hyperv::STIMER0_COUNT, 5);
    bench.msr(0, hyperv::STIMER0_CONFIG, u64::from(SINT) << 16 | 1);
    assert!(more_wait(&bench, 0));
    assert_eq!(take(&mut bench, 0), Some(1));
    take_and_end(&mut bench, VECTOR - 16);
    assert_eq!(word(&bench, 0, 0) as u32, 0, "another vector's EOI");
    take_and_end(&mut bench, VECTOR);
    assert_eq!((word(&bench, 0, 0) as u32, word(&bench, 0, 24)), (0x8000_0010, 5));
    assert_eq!(bench.hit(), 1);
}

#[test]
fn hv_095_behind_auto_eoi_only_eom_helps() {
    let mut bench = bench(1);
    bench.msr(0, hyperv::SINT0 + SINT, 1 << 17 | u64::from(VECTOR));
    post(&mut bench, connection(0), 1);
    post(&mut bench, connection(0), 2);
    bench.vcpus[0].lapic.acknowledge(VECTOR, true);
    take(&mut bench, 0);
    assert_eq!(bench.vcpus[0].lapic.eoi(), None, "nothing is in service");
    assert_eq!(take(&mut bench, 0), None);
    eom(&mut bench, 0);
    assert_eq!(take(&mut bench, 0), Some(2));
}

#[test]
fn hv_053_hv_063_a_masked_sint_gets_messages_without_interrupts() {
    let mut bench = bench(1);
    post(&mut bench, connection(0), 1);
    post(&mut bench, connection(0), 2);
    bench.hit();
    bench.msr(0, hyperv::SINT0 + SINT, MASKED | u64::from(VECTOR));
    take(&mut bench, 0);
    eom(&mut bench, 0);
    assert_eq!((bench.hit(), take(&mut bench, 0)), (0, Some(2)));
    assert_eq!((post(&mut bench, connection(0), 3), bench.hit()), (0, 0));
    assert_eq!(take(&mut bench, 0), Some(3));
}

#[test]
fn hv_064_without_a_page_or_the_synic_messages_wait() {
    let mut bench = bench(1);
    bench.msr(0, hyperv::SIMP, page(0));
    assert_eq!(post(&mut bench, connection(0), 1), 0);
    assert_eq!((bench.hit(), take(&mut bench, 0)), (0, None));
    bench.msr(0, hyperv::SIMP, page(0) | 1);
    bench.msr(0, hyperv::SCONTROL, 0);
    eom(&mut bench, 0);
    assert_eq!((bench.hit(), take(&mut bench, 0)), (0, None));
    bench.msr(0, hyperv::SCONTROL, 1);
    eom(&mut bench, 0);
    assert_eq!((bench.hit(), take(&mut bench, 0)), (1, Some(1)));
}

#[test]
fn hv_065_a_page_that_moved_gets_the_next_message() {
    let mut bench = bench(1);
    post(&mut bench, connection(0), 1);
    post(&mut bench, connection(0), 2);
    bench.hit();
    bench.msr(0, hyperv::SIMP, 0x6001);
    let old = bench.ram.0.borrow()[page(0) as usize..][..4096].to_vec();
    eom(&mut bench, 0);
    let slot = 0x6000 + u64::from(SINT) * 256;
    assert_eq!(
        (bench.ram.read_u64(slot), bench.ram.read_u64(slot + 16)),
        (Some(8 << 32 | 1), Some(2))
    );
    assert_eq!(bench.ram.0.borrow()[page(0) as usize..][..4096], old);
    assert_eq!(bench.hit(), 1);
}

#[test]
fn hv_070_an_apic_that_is_off_loses_the_interrupt_and_keeps_the_message() {
    let mut bench = bench(1);
    let _ = bench.vcpus[0].lapic.write_mmio(0xf0, 0xff, Ns(0));
    assert_eq!(post(&mut bench, connection(0), 1), 0);
    let _ = bench.vcpus[0].lapic.write_mmio(0xf0, 0x1ff, Ns(0));
    eom(&mut bench, 0);
    assert_eq!((bench.hit(), take(&mut bench, 0)), (0, Some(1)));
}

#[test]
fn hv_071_tpr_keeps_the_interrupt_back() {
    let mut bench = bench(1);
    bench.vcpus[0].lapic.set_tpr(VECTOR);
    post(&mut bench, connection(0), 1);
    assert_eq!(bench.vcpus[0].lapic.deliverable(), None);
    bench.vcpus[0].lapic.set_tpr(VECTOR - 16);
    assert_eq!(bench.hit(), 1);
}

#[test]
fn hv_072_hv_073_two_sints_of_one_vector_are_one_edge() {
    let mut bench = bench(1);
    bench.msr(0, hyperv::SINT0 + 3, VECTOR.into());
    post(&mut bench, connection(0), 1);
    post(&mut bench, connection(0) + 1, 2);
    assert_eq!(bench.vcpus[0].lapic.tmr(), &[0; 8]);
    assert_eq!(bench.hit(), 1);
    assert_eq!(
        (take(&mut bench, 0), bench.ram.read_u64(page(0) + 3 * 256 + 16)),
        (Some(1), Some(2))
    );
}

#[test]
fn hv_074_nothing_waits_after_a_reset() {
    let mut bench = bench(1);
    post(&mut bench, connection(0), 1);
    post(&mut bench, connection(0), 2);
    bench.hit();
    {
        let crate::vm::Devices { partition, inhibits, ports, .. } = &mut *bench.vm.devices();
        partition.reset();
        ports.reset();
        bench.vcpus[0].synic.reset(partition, inhibits);
    }
    bench.msr(0, hyperv::SIMP, page(0) | 1);
    bench.msr(0, hyperv::SINT0 + SINT, VECTOR.into());
    eom(&mut bench, 0);
    assert_eq!((bench.hit(), take(&mut bench, 0)), (0, None));
}

#[test]
fn hv_207_hv_208_hv_223_blocks_that_are_refused_queue_nothing() {
    let mut bench = bench(1);
    let block = |bench: &Bench, header: u64, to: u64| bench.block(&[to, header, 0]);
    block(&bench, 8 << 32 | 1, connection(0));
    assert_eq!(bench.call(0, FAST | POST, BLOCK, 0), 2);
    assert_eq!(bench.call(0, POST, BLOCK + 4, 0), 4);
    assert_eq!(bench.call(0, POST, BLOCK - 8, 0), 3, "crosses a page");
    assert_eq!(bench.call(0, POST, MEMORY, 0), 3, "not RAM");
    for (header, to, status) in [
        (241 << 32 | 1, connection(0), 3),
        (8 << 32, connection(0), 5),
        (8 << 32 | 0x8000_0001, connection(0), 5),
        (8 << 32 | 1, 16, 0x12),
        (8 << 32 | 1, 0xff_ffff, 0x12),
    ] {
        block(&bench, header, to);
        assert_eq!(bench.call(0, POST, BLOCK, 0), status, "{header:#x} to {to:#x}");
    }
    eom(&mut bench, 0);
    assert_eq!((bench.hit(), take(&mut bench, 0)), (0, None));
    // QEMU cuts an id to 24 bits.
    assert_eq!(post(&mut bench, 0x0100_0000 | connection(0), 7), 0);
    assert_eq!(take(&mut bench, 0), Some(7));
}

#[test]
fn hv_225_the_seventeenth_that_waits_is_refused() {
    let mut bench = bench(1);
    for n in 0..17 {
        assert_eq!(post(&mut bench, connection(0), n), 0, "{n}: one in the slot, sixteen wait");
    }
    assert_eq!(post(&mut bench, connection(0), 17), 0x13);
    for n in 0..17 {
        assert_eq!(take(&mut bench, 0), Some(n));
        eom(&mut bench, 0);
    }
}

#[test]
fn hv_232_a_synic_that_is_off_takes_no_message() {
    let mut bench = bench(2);
    bench.msr(1, hyperv::SCONTROL, 0);
    assert_eq!(post(&mut bench, connection(1), 1), 0x18);
    bench.msr(1, hyperv::SCONTROL, 1);
    eom(&mut bench, 1);
    assert_eq!((bench.hit(), take(&mut bench, 1)), (0, None));
}
