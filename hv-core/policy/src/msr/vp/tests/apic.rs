//! EOI, ICR and TPR.

use super::*;
use crate::handle::Next;

#[test]
fn hv_024_eoi_cannot_be_read() {
    for mut bench in ways(1) {
        assert_eq!(bench.read_msr(0, EOI), None);
        assert_eq!(bench.write_msr(0, EOI, 0), Some(Next::Enter));
    }
}

#[test]
fn hv_025_upper_bits_of_eoi_and_tpr_fault_and_change_nothing() {
    for mut bench in ways(1) {
        bench.write_msr(0, TPR, 0x30).unwrap();
        bench.serve(0, 0x61);
        for bit in [32, 40, 63] {
            assert_eq!(bench.write_msr(0, EOI, 1 << bit), None);
            assert_eq!(bench.write_msr(0, TPR, 1 << bit | 0x70), None);
        }
        assert_eq!(bench.top(0, offset::ISR), Some(0x61));
        assert_eq!(bench.read_msr(0, TPR), Some(0x30));
        // The low half of an EOI is not looked at.
        assert_eq!(bench.write_msr(0, EOI, 0xffff_ffff), Some(Next::Enter));
        assert_eq!(bench.top(0, offset::ISR), None);
    }
}

#[test]
fn hv_037_tpr_is_one_register_with_three_names() {
    for mut bench in ways(1) {
        bench.write_msr(0, TPR, 0x50).unwrap();
        let lapic = &bench.vcpus[0].lapic;
        assert_eq!(lapic.peek(offset::TPR, Ns(0)), Some(0x50));
        assert_eq!(bench.vmcb(0).control.v_intr.v_tpr(), 5);
        if bench.avic() {
            assert_eq!(bench.page(0).load(offset::TPR), 0x50);
        }
        // MOV to CR8, which exits nowhere.
        bench.vmcb(0).control.v_intr.set_v_tpr(7);
        assert_eq!(bench.read_msr(0, TPR), Some(0x70));
    }
}

#[test]
fn hv_038_reserved_bits_of_icr_fault_and_busy_is_never_read() {
    for mut bench in ways(1) {
        bench.write_msr(0, ICR, TO_SELF | 0x41).unwrap();
        for bit in [13, 16, 17].into_iter().chain(20..32) {
            assert_eq!(bench.write_msr(0, ICR, 1 << bit | ASSERT | 0x51), None, "bit {bit}");
        }
        assert_eq!(bench.read_msr(0, ICR), Some(TO_SELF | 0x41));
        bench.write_msr(0, ICR, 1 << 12 | TO_SELF | 0x42).unwrap();
        assert_eq!(bench.read_msr(0, ICR), Some(TO_SELF | 0x42));
    }
}

#[test]
fn hv_189_191_eoi_retires_the_highest_vector_only_and_lets_the_next_one_in() {
    for mut bench in ways(1) {
        bench.serve(0, 0x41);
        bench.serve(0, 0x61);
        bench.write_msr(0, EOI, 0).unwrap();
        assert_eq!(bench.top(0, offset::ISR), Some(0x41));
        // 31h waits for the end of 41h.
        bench.write_msr(0, ICR, TO_SELF | 0x31).unwrap();
        assert_eq!((bench.injected(0), bench.top(0, offset::IRR)), (None, Some(0x31)));
        bench.write_msr(0, EOI, 0).unwrap();
        if bench.avic() {
            // VMRUN delivers it: nothing in the page is in its way any more.
            assert_eq!(bench.page(0).load(offset::PPR), 0);
            assert_eq!(bench.page(0).deliverable(), Some(0x31));
        } else {
            assert_eq!(bench.injected(0), Some(Event::interrupt(0x31)));
        }
    }
}

#[test]
fn hv_190_eoi_of_a_level_triggered_vector_reaches_the_ioapic() {
    for mut bench in ways(1) {
        route(&mut bench, 9, 1 << 15 | 0x61);
        raise(&mut bench, 9);
        bench.evaluate(0);
        if bench.avic() {
            // What the processor does at VMRUN.
            assert!(bench.page(0).clear(offset::IRR, 0x61));
            bench.page(0).set(offset::ISR, 0x61);
        }
        assert!(remote_irr(&bench, 9));
        // The line is still high: it would be sent again, and await the next EOI.
        let _ = bench.vm.devices().ioapic.set_line(9, false);
        bench.write_msr(0, EOI, 0).unwrap();
        assert!(!remote_irr(&bench, 9));
    }
}

#[test]
fn hv_192_195_what_becomes_deliverable_is_taken_before_the_next_instruction() {
    for mut bench in ways(1) {
        let taken = |bench: &mut Bench, vector| {
            if bench.avic() {
                assert_eq!(bench.page(0).deliverable(), Some(vector));
                assert!(bench.page(0).clear(offset::IRR, vector));
            } else {
                assert_eq!(bench.injected(0), Some(Event::interrupt(vector)));
                bench.write_msr(0, EOI, 0).unwrap();
            }
        };
        bench.write_msr(0, ICR, TO_SELF | 0x41).unwrap();
        taken(&mut bench, 0x41);
        bench.write_msr(0, TPR, 0x50).unwrap();
        bench.write_msr(0, ICR, TO_SELF | 0x51).unwrap();
        assert_eq!(bench.injected(0), None);
        assert!(!bench.avic() || bench.page(0).deliverable().is_none());
        bench.write_msr(0, TPR, 0x40).unwrap();
        taken(&mut bench, 0x51);
    }
}

#[test]
fn hv_193_ipis_go_to_physical_and_logical_destinations() {
    for mut bench in ways(3) {
        let x2apic = bench.vcpus[0].lapic.mode() == crate::lapic::Mode::X2Apic;
        let at = |id: u64| if x2apic { id << 32 } else { id << 56 };
        if !x2apic {
            for n in 0..3 {
                let value = 1 << (24 + n);
                let _ = bench.vcpus[n as usize].lapic.write_mmio(offset::LDR, value, Ns(0));
                bench.map_changed(n);
            }
        }
        bench.write_msr(0, ICR, at(2) | ASSERT | 0x42).unwrap();
        bench.write_msr(0, ICR, at(1 << 1) | 1 << 11 | ASSERT | 0x43).unwrap();
        for n in 0..3 {
            bench.vm.collect(&mut bench.vcpus[n as usize]);
        }
        let waiting = [0, 1, 2].map(|n| bench.top(n, offset::IRR));
        assert_eq!(waiting, [None, Some(0x43), Some(0x42)]);
    }
}

#[test]
fn hv_194_nmi_init_and_sipi_are_sent_as_by_the_apic() {
    for mut bench in ways(2) {
        let x2apic = bench.vcpus[0].lapic.mode() == crate::lapic::Mode::X2Apic;
        let to = if x2apic { 1 << 32 } else { 1u64 << 56 } | ASSERT;
        for mode in [4, 5, 6u64] {
            bench.write_msr(0, ICR, to | mode << 8 | 0x08).unwrap();
        }
        let letters = bench.vm.collect(&mut bench.vcpus[1]);
        assert_eq!((letters.nmis, letters.init, letters.sipi), (1, true, Some(8)));
        // An INIT to the bootstrap vCPU ends the scenario here, too.
        let next = bench.write_msr(0, ICR, ASSERT | 5 << 8).unwrap();
        assert_eq!(next, Next::Stop(crate::handle::Stop::Init));
    }
}
