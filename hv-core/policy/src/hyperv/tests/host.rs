//! Writes by the host, and VM reset.

use super::*;
use crate::avic::tests::bench::{Bench, FEATURES};
use crate::hyperv::{host, timer};
use crate::memory::GuestMemory;
use crate::vm::Devices;

const ALL: [(u32, u64); 10] = [
    (GUEST_OS_ID, 1),
    (HYPERCALL, 0x5001),
    (VP_RUNTIME, 77),
    (REFERENCE_TSC, 0x6001),
    (SCONTROL, 1),
    (SIEFP, 0x7001),
    (SIMP, 0x8001),
    (VP_ASSIST_PAGE, 0x9001),
    (STIMER0_CONFIG, timer::AUTO_ENABLE | 3 << 16),
    (STIMER0_CONFIG + 1, 1000),
];

fn write(bench: &mut Bench, vcpu: u32, msr: u32, value: u64) -> Result<Effect, Gp> {
    let vm = &bench.vm;
    let Devices { partition, inhibits, .. } = &mut *vm.devices();
    host::write(partition, inhibits, &mut bench.vcpus[vcpu as usize], msr, value, Ns(1_000_000))
}

#[test]
fn hv_039_a_restore_zeroes_no_page_enables_no_timer_and_interrupts_nobody() {
    let mut bench = Bench::new(1);
    for (msr, value) in ALL {
        let effect = write(&mut bench, 0, msr, value).unwrap();
        assert!(!matches!(effect, Effect::ZeroPage { .. }), "{msr:#x}");
    }
    for sint in 0..16 {
        // Any vector: the reset value comes back, and so does what no guest could write.
        write(&mut bench, 0, SINT0 + sint, u64::from(sint)).unwrap();
    }
    for (msr, value) in ALL.into_iter().filter(|&(msr, _)| msr != VP_RUNTIME) {
        let Vcpu { synic, stimers, assist, .. } = &bench.vcpus[0];
        let partition = &bench.vm.devices().partition;
        let read = match msr {
            VP_ASSIST_PAGE => Ok(assist.value()),
            _ => read_msr(partition, synic, stimers, msr, Ns(0)),
        };
        assert_eq!(read, Ok(value), "{msr:#x}");
    }
    let vcpu = &bench.vcpus[0];
    assert_eq!(vcpu.runtime.at(Ns(2_000_000)), 77);
    assert_eq!(vcpu.stimers.next_deadline(), Ns::NEVER);
    assert!(!vcpu.lapic.is_posted(3) && vcpu.lapic.highest_isr().is_none());
    // The local APIC is not restored through Hyper-V's names.
    for msr in [EOI, ICR, TPR] {
        assert_eq!(write(&mut bench, 0, msr, 0), Err(Gp));
    }
    assert_eq!(write(&mut bench, 0, SVERSION, 1), Ok(Effect::None));
    assert_eq!(write(&mut bench, 0, SVERSION, 2), Err(Gp));
}

#[test]
fn hv_135_155_a_restored_count_starts_nothing_by_itself() {
    let mut bench = Bench::new(1);
    for value in [0, timer::AUTO_ENABLE] {
        write(&mut bench, 0, STIMER0_CONFIG, value).unwrap();
        write(&mut bench, 0, STIMER0_CONFIG + 1, value).unwrap();
        assert_eq!(bench.vcpus[0].stimers.next_deadline(), Ns::NEVER);
        assert_eq!(bench.vcpus[0].stimers.read(0), value);
    }
    // One that ran goes on.
    let config = timer::ENABLE | 3 << 16;
    write(&mut bench, 0, STIMER0_CONFIG, config).unwrap();
    write(&mut bench, 0, STIMER0_CONFIG + 1, 100_000).unwrap();
    let stimers = &bench.vcpus[0].stimers;
    assert_eq!(stimers.next_deadline(), stimers.clock.when(100_000));
}

/// Others send to it by the copy that the partition keeps.
#[test]
fn hv_039_senders_see_what_was_restored() {
    let mut bench = Bench::new(1);
    write(&mut bench, 0, SIEFP, 0x7001).unwrap();
    write(&mut bench, 0, SINT0 + 2, 0x50).unwrap();
    write(&mut bench, 0, SCONTROL, 0).unwrap();
    let view = *bench.vm.devices().partition.view(0);
    assert_eq!((view.enabled, view.event_page, view.vectors[2]), (false, Some(0x7000), Some(0x50)));
    write(&mut bench, 0, SCONTROL, 1).unwrap();
    write(&mut bench, 0, SIEFP, 0x7000).unwrap();
    let view = *bench.vm.devices().partition.view(0);
    assert_eq!((view.enabled, view.event_page), (true, None));
}

#[test]
fn hv_117_a_restored_source_counts_and_a_reset_value_releases() {
    let mut bench = Bench::new(2);
    let on = Ok(Effect::SintChanged { transitions: 1 });
    assert_eq!(write(&mut bench, 1, SINT0, AUTO_EOI | 0x40), on);
    assert_eq!(bench.vm.devices().partition.auto_eoi_users(), 1);
    assert!(bench.vm.devices().inhibits.has(Reason::Hyperv));
    assert_eq!(write(&mut bench, 1, SINT0, MASKED), on);
    assert_eq!(bench.vm.devices().partition.auto_eoi_users(), 0);
    assert!(!bench.vm.devices().inhibits.has(Reason::Hyperv));
}

#[test]
fn hv_119_a_restored_vm_counts_as_the_saved_one_in_any_order() {
    // Of four vCPUs the first and the last use AutoEOI, one of them twice.
    let saved = [
        [AUTO_EOI | 0x40, AUTO_EOI | 0x41],
        [0x40, MASKED],
        [AUTO_EOI | MASKED | 0x40, MASKED],
        [MASKED, AUTO_EOI | 0x50],
    ];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        let mut bench = Bench::with(4, FEATURES, None);
        for vcpu in order {
            for (sint, value) in (0..).zip(saved[vcpu as usize]) {
                write(&mut bench, vcpu, SINT0 + sint, value).unwrap();
            }
        }
        assert_eq!(bench.vm.devices().partition.auto_eoi_users(), 2);
        assert!(bench.vm.devices().inhibits.has(Reason::Hyperv));
    }
}

/// KVM 6.12 does not know the locked bit, and CPUID (leaf 3 EDX bit 18) does not offer it: bit 1 is stored,
/// and locks nothing. A reset clears it like the rest.
#[test]
fn hv_032_245_the_locked_bit_is_not_offered_and_locks_nothing() {
    let mut vm = Vm::new(1);
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    vm.write(0, HYPERCALL, 0x5003).unwrap();
    assert_eq!(vm.read(0, HYPERCALL), Ok(0x5003));
    vm.write(0, HYPERCALL, 0x6001).unwrap();
    assert_eq!(vm.read(0, HYPERCALL), Ok(0x6001));
    vm.write(0, HYPERCALL, 0x6003).unwrap();
    vm.partition.reset();
    assert_eq!(vm.read(0, HYPERCALL), Ok(0));
    vm.write(0, GUEST_OS_ID, 1).unwrap();
    vm.write(0, HYPERCALL, 0x7001).unwrap();
    assert_eq!(vm.read(0, HYPERCALL), Ok(0x7001));
}

/// A timer's message that waits for its slot does not outlive the reset.
#[test]
fn hv_074_154_a_reset_forgets_timers_and_what_they_had_to_say() {
    let mut bench = Bench::new(1);
    let page = 0x8000;
    let bring_up = [
        (SIMP, page | 1),
        (SINT0 + 3, 0x40),
        (STIMER0_CONFIG, timer::ENABLE | 3 << 16),
        (STIMER0_CONFIG + 1, 100),
    ];
    for (msr, value) in bring_up {
        bench.write_msr(0, msr, value).unwrap();
    }
    let slot = page + 3 * 256;
    bench.ram.put(slot, &[1]);
    bench.vcpus[0].expire_stimers(&bench.ram, Ns(1_000_000));
    let (vm, vcpu) = (&bench.vm, &mut bench.vcpus[0]);
    {
        let Devices { partition, inhibits, .. } = &mut *vm.devices();
        vcpu.reset_hyperv(partition, inhibits);
        partition.reset();
    }
    assert_eq!(vcpu.stimers.next_deadline(), Ns::NEVER);
    assert!((0..16).all(|sint| vcpu.synic.vector(sint).is_none()));
    for (msr, value) in &bring_up[..2] {
        bench.write_msr(0, *msr, *value).unwrap();
    }
    bench.ram.put(slot, &[0]);
    bench.write_msr(0, EOM, 0).unwrap();
    bench.vcpus[0].expire_stimers(&bench.ram, Ns(2_000_000));
    assert_eq!(bench.ram.read_u64(slot), Some(0));
    assert!(!bench.vcpus[0].lapic.is_posted(0x40));
}

/// What RESET asks for, of all parts of the interface that a vCPU and its VM have.
#[test]
fn hv_033_035_a_reset_leaves_nothing_of_what_was_written() {
    let mut bench = Bench::new(1);
    for (msr, value) in ALL {
        write(&mut bench, 0, msr, value).unwrap();
    }
    write(&mut bench, 0, SINT0, AUTO_EOI | 0x40).unwrap();
    let vm = &bench.vm;
    let Devices { partition, inhibits, .. } = &mut *vm.devices();
    let vcpu = &mut bench.vcpus[0];
    vcpu.reset_hyperv(partition, inhibits);
    partition.reset();
    assert_eq!((partition.auto_eoi_users(), inhibits.has(Reason::Hyperv)), (0, false));
    assert_eq!(
        (partition.guest_os_id(), partition.hypercall(), partition.reference_tsc()),
        (0, 0, 0)
    );
    assert_eq!((vcpu.assist.value(), vcpu.pv_eoi.enabled()), (0, false));
    assert_eq!((vcpu.stimers.read(0), vcpu.stimers.read(1)), (0, 0));
    assert_eq!([SIEFP, SIMP, SINT0].map(|msr| vcpu.synic.read(msr)), [Ok(0), Ok(0), Ok(MASKED)]);
}
