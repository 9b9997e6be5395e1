//! Cluster IPIs.

use super::*;

const PLAIN: u64 = 0x0b;
const EXTENDED: u64 = 0x15;
const SPARSE: u64 = 0;
const EVERYBODY: u64 = 1;

const fn header(words: u64) -> u64 {
    words << 17
}

/// The same call in memory and in registers: its status, and whom it hit.
fn both(bench: &mut Bench, first: u64, mask: u64) -> [(u64, u64); 2] {
    bench.block(&[first, mask]);
    let slow = (bench.call(0, PLAIN, BLOCK, 0), bench.hit());
    let fast = (bench.call(0, FAST | PLAIN, first, mask), bench.hit());
    [slow, fast]
}

/// The same extended call in memory and in XMM registers, which have to come to the same (HV-221).
fn extended(bench: &mut Bench, length: u64, first: u64, format: u64, set: &[u64]) -> (u64, u64) {
    bench.block(&[first, format]);
    for (at, word) in set.iter().enumerate() {
        bench.ram.put(BLOCK + 16 + at as u64 * 8, &word.to_le_bytes());
    }
    let slow = (bench.call(0, header(length) | EXTENDED, BLOCK, 0), bench.hit());
    bench.xmm.0[..set.len()].copy_from_slice(set);
    let fast = (bench.call(0, header(length) | FAST | EXTENDED, first, format), bench.hit());
    assert_eq!(slow, fast);
    slow
}

#[test]
fn hv_206_hv_208_blocks_in_memory() {
    let mut bench = Bench::new(4);
    // KVM asks for no alignment.
    for off in 0..8 {
        bench.ram.put(BLOCK + off, &u64::from(VECTOR).to_le_bytes());
        bench.ram.put(BLOCK + off + 8, &0b0110u64.to_le_bytes());
        assert_eq!((bench.call(0, PLAIN, BLOCK + off, 0), bench.hit()), (0, 0b0110));
    }
    for address in [MEMORY, MEMORY - 8, u64::MAX, u64::MAX - 15] {
        for code in [PLAIN, header(1) | EXTENDED] {
            assert_eq!(bench.call(0, code, address, 0), 3, "{address:#x}");
        }
    }
    assert_eq!(bench.hit(), 0);
}

/// Not the choice 3: KVM 6.12 reads on in the next page.
#[test]
fn hv_207_a_block_may_cross_pages_in_kvm_mode() {
    let mut bench = Bench::new(2);
    bench.ram.put(BLOCK - 8, &u64::from(VECTOR).to_le_bytes());
    bench.ram.put(BLOCK, &0b11u64.to_le_bytes());
    assert_eq!((bench.call(0, PLAIN, BLOCK - 8, 0), bench.hit()), (0, 0b11));
}

#[test]
fn hv_211_vectors_below_16_and_above_255_are_3_in_kvm_mode() {
    let mut bench = Bench::new(2);
    for vector in [0, 0x0f, 0x100, 0xffff_ffff] {
        assert_eq!(both(&mut bench, vector, 0b11), [(3, 0); 2]);
        assert_eq!(extended(&mut bench, 1, vector, SPARSE, &[1, 0b11]), (3, 0));
        assert_eq!(extended(&mut bench, 0, vector, EVERYBODY, &[0]), (3, 0));
    }
    // KVM does not come so far with an empty sparse set.
    assert_eq!(extended(&mut bench, 0, 0x0f, SPARSE, &[0]), (0, 0));
}

#[test]
fn hv_212_in_registers_what_is_above_the_vector_has_to_be_zero() {
    let mut bench = Bench::new(2);
    let result = both(&mut bench, 1 << 32 | u64::from(VECTOR), 0b11);
    assert_eq!(result, [(0, 0b11), (3, 0)]);
}

#[test]
fn hv_213_exactly_those_of_the_mask_get_one_edge() {
    for mask in 0..16 {
        let mut bench = Bench::new(4);
        assert_eq!(both(&mut bench, VECTOR.into(), mask), [(0, mask); 2]);
        assert!(bench.vcpus.iter().all(|vcpu| vcpu.lapic.tmr() == &[0; 8]));
    }
}

#[test]
fn hv_214_vcpus_that_are_not_there_are_passed_over() {
    let mut bench = Bench::new(3);
    assert_eq!(both(&mut bench, VECTOR.into(), u64::MAX), [(0, 0b111); 2]);
    assert_eq!(extended(&mut bench, 1, VECTOR.into(), SPARSE, &[2, u64::MAX]), (0, 0));
}

#[test]
fn hv_215_nobody_is_success() {
    let mut bench = Bench::new(2);
    assert_eq!(both(&mut bench, VECTOR.into(), 0), [(0, 0); 2]);
}

#[test]
fn hv_216_an_ipi_to_oneself_is_there_at_once() {
    let mut bench = Bench::new(2);
    bench.vcpus[0].lapic.event_request = false;
    bench.call(0, FAST | PLAIN, VECTOR.into(), 1);
    assert!(bench.vcpus[0].lapic.event_request, "evaluated before the next instruction");
    assert_eq!(bench.hit(), 1);
}

#[test]
fn hv_217_auto_eoi_is_each_targets_own() {
    let mut bench = Bench::new(2);
    bench.msr(1, hyperv::SINT0 + 4, 1 << 17 | u64::from(VECTOR));
    bench.call(0, FAST | PLAIN, VECTOR.into(), 0b11);
    let in_service: Vec<_> = bench
        .vcpus
        .iter_mut()
        .map(|vcpu| {
            let vector = vcpu.lapic.deliverable().unwrap();
            vcpu.lapic.acknowledge(vector, vcpu.synic.is_auto_eoi(vector));
            vcpu.lapic.highest_isr()
        })
        .collect();
    assert_eq!(in_service, [Some(VECTOR), None]);
}

/// A VM has 16 vCPUs at most, so that the second and third banks name nobody; what is left of the rule is
/// that they are skipped in order.
#[test]
fn hv_218_banks_that_are_valid_follow_each_other() {
    let mut bench = Bench::new(6);
    assert_eq!(extended(&mut bench, 2, VECTOR.into(), SPARSE, &[0x5, 0x21, 0x4]), (0, 0x21));
    assert_eq!(extended(&mut bench, 2, VECTOR.into(), SPARSE, &[0x6, 0x21, 0x4]), (0, 0));
}

#[test]
fn hv_219_the_header_is_as_long_as_there_are_banks() {
    let mut bench = Bench::new(2);
    for (length, valid) in [(0, 1), (2, 1), (1, 0), (1, 3), (1, u64::MAX)] {
        for format in [SPARSE, EVERYBODY] {
            let result = extended(&mut bench, length, VECTOR.into(), format, &[valid, 3, 3]);
            assert_eq!(result, (3, 0), "{length} for {valid:#x}");
        }
    }
}

#[test]
fn hv_220_all_are_all_and_any_other_format_is_sparse_in_kvm_mode() {
    let mut bench = Bench::new(4);
    assert_eq!(extended(&mut bench, 0, VECTOR.into(), EVERYBODY, &[0]), (0, 0b1111));
    assert_eq!(extended(&mut bench, 1, VECTOR.into(), 2, &[1, 0b0100]), (0, 0b0100));
}

#[test]
fn hv_221_registers_hold_eleven_banks() {
    let mut bench = Bench::new(2);
    bench.xmm = Xmm([0xfff, 0b10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bench.call(0, header(12) | FAST | EXTENDED, VECTOR.into(), SPARSE), 3);
    bench.xmm.0[0] = 0x7ff;
    assert_eq!(bench.call(0, header(11) | FAST | EXTENDED, VECTOR.into(), SPARSE), 0);
    assert_eq!(bench.hit(), 0b10);
}

#[test]
fn hv_222_an_ipi_by_hypercall_kicks_a_target_that_sleeps_or_runs() {
    use crate::mailbox::State;
    for state in [State::Asleep, State::Guest] {
        let mut bench = Bench::new(3);
        bench.vm.mailbox(2).set_state(state);
        let (vcpu, vmcb) = (&mut bench.vcpus[0], &mut bench.vmcbs[0]);
        (vcpu.gprs.rcx, vcpu.gprs.rdx, vcpu.gprs.r8) = (FAST | PLAIN, VECTOR.into(), 0b100);
        crate::hypercall::answer(&bench.vm, vcpu, vmcb, &bench.ram, &bench.xmm);
        assert_eq!(vcpu.kicks, 0b100);
    }
}

#[test]
fn an_apic_that_is_off_takes_no_ipi_and_xapic_ids_do_not_matter() {
    let mut bench = Bench::new(3);
    let _ = bench.vcpus[1].lapic.write_mmio(0xf0, 0xff, Ns(0));
    let _ = bench.vcpus[2].lapic.write_mmio(0x20, 0x0900_0000, Ns(0));
    for n in 1..3 {
        bench.publish(n);
    }
    assert_eq!(both(&mut bench, VECTOR.into(), 0b111), [(0, 0b101); 2]);
}
