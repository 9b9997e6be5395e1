//! SINTs: vectors, AutoEOI per vector, delivery.

use super::*;
use crate::hyperv::message::{Delivery, Message, SLOT_SIZE};

#[test]
fn hv_050_an_unmasked_vector_below_16_faults_and_changes_nothing() {
    let mut vm = Vm::new(1);
    vm.sint(0, 2, 0x40);
    for vector in 0..16 {
        for extra in [0, AUTO_EOI, 0x4_0000] {
            assert_eq!(vm.write(0, SINT0 + 2, extra | vector), Err(Gp));
        }
    }
    assert_eq!(vm.read(0, SINT0 + 2), Ok(0x40));
    assert_eq!(vm.count(), 0);
}

#[test]
fn hv_051_the_reset_value_may_be_written() {
    let mut vm = Vm::new(1);
    for vector in 0..16 {
        assert_eq!(vm.sint(0, 0, MASKED | vector), 0);
        assert_eq!(vm.read(0, SINT0), Ok(MASKED | vector));
    }
}

#[test]
fn hv_052_the_first_and_the_last_vector_are_accepted() {
    let mut vm = Vm::new(1);
    for vector in [16, 255] {
        vm.sint(0, 15, vector);
        assert_eq!(vm.read(0, SINT15), Ok(vector));
        assert_eq!(vm.synics[0].vector(15), Some(vector as u8));
    }
}

fn send(vm: &Vm, vcpu: usize, sint: usize, slot: &mut [u8; SLOT_SIZE]) -> Delivery {
    let message = Message::new(1, 0, &[1, 2]).unwrap();
    let synic = &vm.synics[vcpu];
    synic.deliver(sint, synic.message_slot(sint).map(|_| slot), &message)
}

#[test]
fn hv_053_a_masked_sint_gets_its_message_and_no_interrupt() {
    let mut vm = Vm::new(1);
    vm.write(0, SIMP, 0x3001).unwrap();
    vm.sint(0, 1, MASKED | 0x40);
    let mut slot = [0; SLOT_SIZE];
    assert_eq!(send(&vm, 0, 1, &mut slot), Delivery::Masked);
    assert_eq!(slot[0], 1);
}

#[test]
fn hv_054_kvm_interrupts_a_polling_sint_too() {
    let mut vm = Vm::new(1);
    vm.write(0, SIMP, 0x3001).unwrap();
    vm.sint(0, 1, 0x4_0040);
    let interrupt = Delivery::Interrupt { vector: 0x40 };
    assert_eq!(send(&vm, 0, 1, &mut [0; SLOT_SIZE]), interrupt);
}

#[test]
fn hv_055_057_064_delivery_needs_a_page_and_a_free_slot() {
    let mut vm = Vm::new(2);
    vm.sint(0, 1, 0x40);
    vm.sint(1, 1, 0x50);
    let mut slot = [0; SLOT_SIZE];
    assert_eq!(send(&vm, 0, 1, &mut slot), Delivery::NoPage);
    assert_eq!(slot, [0; SLOT_SIZE]);
    vm.write(0, SIMP, 0x3001).unwrap();
    assert_eq!(send(&vm, 0, 1, &mut slot), Delivery::Interrupt { vector: 0x40 });
    assert_eq!(send(&vm, 0, 1, &mut slot), Delivery::Busy);
    assert_eq!((slot[0], slot[5]), (1, 1));
    assert_eq!(send(&vm, 1, 1, &mut [0; SLOT_SIZE]), Delivery::NoPage);
}

#[test]
fn hv_056_slots_are_256_bytes_apart() {
    let mut vm = Vm::new(1);
    vm.write(0, SIMP, 0x3001).unwrap();
    assert_eq!(vm.synics[0].message_slot(0), Some(0x3000));
    assert_eq!(vm.synics[0].message_slot(15), Some(0x3f00));
}

#[test]
fn hv_067_after_a_change_of_vector_only_the_new_one_is_connected() {
    let mut vm = Vm::new(1);
    vm.sint(0, 1, 0x40);
    vm.sint(0, 1, 0x50);
    assert_eq!([0x40, 0x50].map(|v| vm.synics[0].has_vector(v)), [false, true]);
    assert_eq!(vm.synics[0].vector(1), Some(0x50));
}

#[test]
fn hv_087_auto_eoi_belongs_to_the_vector_on_that_vcpu() {
    let mut vm = Vm::new(2);
    vm.sint(0, 1, AUTO_EOI | 0x40);
    for vector in 0..=255 {
        assert_eq!(vm.synics[0].is_auto_eoi(vector), vector == 0x40);
        assert!(!vm.synics[1].is_auto_eoi(vector));
    }
}

#[test]
fn hv_088_any_auto_eoi_sint_of_a_shared_vector_makes_it_auto_eoi() {
    let mut vm = Vm::new(1);
    vm.sint(0, 1, 0x40);
    assert!(!vm.synics[0].is_auto_eoi(0x40));
    vm.sint(0, 2, AUTO_EOI | 0x40);
    assert!(vm.synics[0].is_auto_eoi(0x40));
    vm.sint(0, 2, AUTO_EOI | MASKED | 0x40);
    assert!(!vm.synics[0].is_auto_eoi(0x40));
    vm.sint(0, 2, AUTO_EOI | 0x40);
    vm.sint(0, 2, 0x40);
    assert!(!vm.synics[0].is_auto_eoi(0x40));
    assert!(vm.synics[0].has_vector(0x40));
}
