//! HLT and Idle HLT.

use super::bench::{Bench, DONE, OPEN, PHYSICAL_BITS, host, silicon};
use crate::{AvicMode, Boundary, Chance, Exit, Feature, Halt, Knobs, Mode, Processor, Rip, Taken};
use trapline_defs::apic::offset;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word4, Word5};
use trapline_defs::vintr::VIntr;
use trapline_defs::vmcb::{CleanBits, ControlArea};

use AvicMode::{Off, X2Avic, XAvic};

const HLT: Halt = Halt::Exit(Exit::intercept(ExitCode::HLT));
const IDLE: Halt = Halt::Exit(Exit::intercept(ExitCode::IDLE_HLT));
const VINTR: Taken = Taken::Exit(Exit::intercept(ExitCode::VINTR));

/// A guest with Idle HLT intercepted and the VMCB changed as given.
fn idle(mode: AvicMode, change: impl FnOnce(&mut ControlArea)) -> Bench {
    let mut bench = Bench::ready(mode);
    bench.control.intercept_5 = Word5::IDLE_HLT;
    change(&mut bench.control);
    bench.enter();
    bench
}

/// A guest without AVIC that has V_IRQ pending with this priority.
fn v_irq(priority: u8, change: impl FnOnce(VIntr) -> VIntr) -> Bench {
    idle(Off, |c| {
        let word = c.v_intr.with_v_irq(true).with_v_intr_prio(priority).with_v_intr_vector(0x60);
        c.v_intr = change(word);
    })
}

/// HLT with IF=1.
fn halt(bench: &Bench) -> Halt {
    bench.cpu.halt(0, true)
}

/// A guest under AVIC with these vectors requested at VMRUN.
fn requested(mode: AvicMode, vectors: &[u8], change: impl FnOnce(&mut ControlArea)) -> Bench {
    let mut bench = idle(mode, change);
    bench.reenter(|_, ram| vectors.iter().for_each(|&vector| ram.set(0, offset::IRR, vector)));
    bench
}

#[test]
fn ihlt_001_with_nothing_pending_hlt_exits() {
    for mode in [Off, XAvic, X2Avic] {
        assert_eq!(halt(&idle(mode, |_| {})), IDLE);
    }
    let Halt::Exit(exit) = IDLE else { unreachable!() };
    assert_eq!((exit.info_1, exit.info_2, exit.rip), (0, 0, Rip::At));
    assert!(exit.saves_next_rip());
}

#[test]
fn ihlt_002_the_plain_intercept_wins() {
    for mode in [Off, XAvic, X2Avic] {
        assert_eq!(halt(&idle(mode, |c| c.intercept_3 |= Word3::HLT)), HLT);
    }
}

#[test]
fn ihlt_003_the_plain_intercept_does_not_look_at_what_is_pending() {
    for mode in [XAvic, X2Avic] {
        let bench = requested(mode, &[0x50], |c| c.intercept_3 |= Word3::HLT);
        assert_eq!(halt(&bench), HLT);
    }
    let mut bench = v_irq(8, |word| word);
    bench.reenter(|c, _| c.intercept_3 |= Word3::HLT);
    assert_eq!(halt(&bench), HLT);
}

#[test]
fn ihlt_004_without_idle_hlt_the_plain_intercept_exits() {
    for pending in [&[][..], &[0x50]] {
        let bench = requested(XAvic, pending, |c| {
            c.intercept_5 = Word5::empty();
            c.intercept_3 |= Word3::HLT;
        });
        assert_eq!(halt(&bench), HLT);
    }
}

#[test]
fn ihlt_005_without_intercepts_the_guest_halts_and_a_doorbell_wakes_it() {
    for mode in [XAvic, X2Avic] {
        let mut bench = idle(mode, |c| c.intercept_5 = Word5::empty());
        assert_eq!(halt(&bench), Halt::Halts);
        assert_eq!(bench.boundary(), Taken::Nothing);
        bench.ram.set(0, offset::IRR, 0x50);
        bench.doorbell();
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn ihlt_006_sti_hlt_with_v_irq_takes_it_after_hlt() {
    let mut bench = v_irq(8, |word| word);
    assert_eq!(bench.at(Boundary { shadow: true, ..OPEN }), Taken::Nothing);
    assert_eq!(halt(&bench), Halt::Halts);
    assert_eq!(bench.boundary(), Taken::Interrupt(0x60));
    assert!(!bench.cpu.v_intr().v_irq());
}

#[test]
fn ihlt_007_the_vintr_intercept_fires_after_hlt() {
    let mut bench = v_irq(8, |word| word);
    bench.reenter(|c, _| c.intercept_3 |= Word3::VINTR);
    assert_eq!(halt(&bench), Halt::Halts);
    assert_eq!(bench.boundary(), VINTR);
    assert!(bench.cpu.v_intr().v_irq());
}

#[test]
fn ihlt_008_a_priority_equal_to_v_tpr_is_not_pending() {
    assert_eq!(halt(&v_irq(5, |word| word.with_v_tpr(5))), IDLE);
    assert_eq!(halt(&v_irq(6, |word| word.with_v_tpr(5))), Halt::Halts);
}

#[test]
fn ihlt_009_v_ign_tpr_makes_any_priority_pending() {
    let bench = v_irq(2, |word| word.with_v_tpr(5).with_v_ign_tpr(true));
    assert_eq!(halt(&bench), Halt::Halts);
}

#[test]
fn ihlt_010_a_pending_nmi_is_taken_after_hlt() {
    let nmi = |c: &mut ControlArea| c.v_intr = c.v_intr.with_v_nmi_enable(true).with_v_nmi(true);
    for mode in [Off, XAvic, X2Avic] {
        let mut bench = idle(mode, nmi);
        assert_eq!(bench.at(Boundary { shadow: true, ..OPEN }), Taken::Nothing);
        assert_eq!(halt(&bench), Halt::Halts);
        assert_eq!(bench.boundary(), Taken::Nmi);
    }
}

#[test]
fn ihlt_011_a_masked_nmi_is_pending_and_does_not_wake_model_defined() {
    let mut bench = idle(Off, |c| {
        c.v_intr = c.v_intr.with_v_nmi_enable(true).with_v_nmi(true).with_v_nmi_mask(true);
    });
    assert_eq!(halt(&bench), Halt::Halts);
    assert_eq!(bench.boundary(), Taken::Nothing);
}

#[test]
fn ihlt_012_without_vnmi_its_pending_bit_is_ignored_model_defined() {
    assert_eq!(halt(&idle(Off, |c| c.v_intr.set_v_nmi(true))), IDLE);
}

#[test]
fn ihlt_013_what_vmrun_found_deliverable_is_pending() {
    for mode in [XAvic, X2Avic] {
        let mut bench = requested(mode, &[0x50], |_| {});
        assert_eq!(halt(&bench), Halt::Halts);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn ihlt_014_a_request_without_a_doorbell_is_not_pending_model_defined() {
    for mode in [XAvic, X2Avic] {
        let bench = idle(mode, |_| {});
        bench.ram.set(0, offset::IRR, 0x50);
        assert_eq!(halt(&bench), IDLE);
    }
}

#[test]
fn ihlt_015_a_doorbell_before_hlt_makes_it_pending() {
    for mode in [XAvic, X2Avic] {
        let mut bench = idle(mode, |_| {});
        bench.ram.set(0, offset::IRR, 0x50);
        bench.doorbell();
        assert_eq!(bench.at(Boundary { shadow: true, ..OPEN }), Taken::Nothing);
        assert_eq!(halt(&bench), Halt::Halts);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn ihlt_016_a_class_that_v_tpr_masks_is_not_pending_model_defined() {
    for mode in [XAvic, X2Avic] {
        let bench = requested(mode, &[0x5f], |c| c.v_intr.set_v_tpr(5));
        assert_eq!(halt(&bench), IDLE);
    }
}

#[test]
fn ihlt_017_a_class_that_is_in_service_is_not_pending_model_defined() {
    for mode in [XAvic, X2Avic] {
        let mut bench = requested(mode, &[0x51], |_| {});
        bench.reenter(|_, ram| ram.set(0, offset::ISR, 0x58));
        assert_eq!(halt(&bench), IDLE);
    }
}

#[test]
fn ihlt_018_cli_hlt_with_an_interrupt_pending_parks_the_guest_model_defined() {
    let mut bench = requested(X2Avic, &[0x50], |c| c.v_intr.set_v_intr_masking(true));
    assert_eq!(bench.cpu.halt(0, false), Halt::Halts);
    let closed = Boundary { interrupts: false, ..OPEN };
    assert_eq!(bench.at(closed), Taken::Nothing);
    let tick = Boundary { physical_interrupt: true, ..closed };
    assert_eq!(bench.at(tick), Taken::Exit(Exit::intercept(ExitCode::INTR)));
    // The other reading of the sources is a knob.
    let knobs = Knobs { idle_hlt_ignores_if: false, ..Knobs::default() };
    bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), PHYSICAL_BITS);
    bench.enter();
    assert_eq!(bench.cpu.halt(0, false), IDLE);
    assert_eq!(bench.cpu.halt(0, true), Halt::Halts);
}

#[test]
fn ihlt_019_cli_hlt_with_nothing_pending_exits() {
    for mode in [Off, XAvic, X2Avic] {
        assert_eq!(idle(mode, |_| {}).cpu.halt(0, false), IDLE);
    }
}

#[test]
fn ihlt_020_a_clear_vgif_makes_nothing_less_pending_model_defined() {
    let held = |word: VIntr| word.with_v_gif_enable(true).with_v_gif(false);
    assert_eq!(halt(&v_irq(8, held)), Halt::Halts);
    let mut bench = requested(XAvic, &[0x50], |c| c.v_intr = held(c.v_intr));
    assert_eq!(halt(&bench), Halt::Halts);
    assert_eq!(bench.boundary(), Taken::Nothing);
}

#[test]
fn ihlt_021_an_injected_event_does_not_count() {
    for mode in [Off, XAvic, X2Avic] {
        let bench = idle(mode, |c| c.event_injection = Event::interrupt(0x31));
        assert_eq!(halt(&bench), IDLE);
    }
}

#[test]
fn ihlt_022_above_ring_0_hlt_is_gp_before_any_intercept() {
    for cpl in 1..4 {
        assert_eq!(idle(Off, |_| {}).cpu.halt(cpl, true), Halt::Gp);
        let bench = idle(Off, |c| c.intercept_3 |= Word3::HLT);
        assert_eq!(bench.cpu.halt(cpl, true), Halt::Gp);
    }
}

#[test]
fn ihlt_023_the_intercept_is_bit_6_of_word_5() {
    assert_eq!(Word5::IDLE_HLT.bits(), 1 << 6);
    let bench = idle(Off, |c| {
        c.intercept_4 = Word4::from_bits_retain(1 << 6);
        c.intercept_5 = Word5::empty();
    });
    assert_eq!(halt(&bench), Halt::Halts);
}

#[test]
fn ihlt_024_without_the_feature_the_bit_is_ignored_model_defined() {
    let off = silicon("zen5").with(Feature::IdleHlt, Mode::Off);
    for silicon in [off, silicon("zen4")] {
        let mut bench = idle(Off, |_| {});
        bench.cpu = Processor::new(silicon, Knobs::default(), host(0), PHYSICAL_BITS);
        bench.enter();
        assert_eq!(halt(&bench), Halt::Halts);
    }
}

#[test]
fn ihlt_025_a_set_clean_bit_may_keep_the_old_intercepts() {
    let mut bench = idle(Off, |c| c.intercept_5 = Word5::empty());
    let knobs = Knobs { keep_clean: Chance::Always, ..Knobs::default() };
    bench.cpu = Processor::new(silicon("zen5"), knobs, host(0), PHYSICAL_BITS);
    bench.enter();
    bench.reenter(|c, _| {
        c.intercept_5 = Word5::IDLE_HLT;
        c.clean = CleanBits::INTERCEPTS;
    });
    assert_eq!(halt(&bench), Halt::Halts);
    bench.reenter(|c, _| c.clean = CleanBits::all().difference(CleanBits::INTERCEPTS));
    assert_eq!(halt(&bench), IDLE);
}

#[test]
fn ihlt_026_a_physical_interrupt_exits_before_or_after_hlt_not_with_it() {
    let mut bench = requested(XAvic, &[0x50], |_| {});
    let at = Boundary { physical_interrupt: true, ..OPEN };
    let exit = Taken::Exit(Exit::intercept(ExitCode::INTR));
    assert_eq!(bench.at(at), exit, "before");
    assert_eq!(halt(&bench), Halt::Halts);
    assert_eq!(bench.at(at), exit, "after");
    assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
}

#[test]
fn ihlt_027_an_interrupt_made_pending_after_the_exit_is_taken_at_the_next_vmrun_model_defined() {
    for mode in [XAvic, X2Avic] {
        let mut bench = idle(mode, |_| {});
        assert_eq!(halt(&bench), IDLE);
        bench.reenter(|_, ram| ram.set(0, offset::IRR, 0x50));
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn ihlt_028_hlt_again_with_an_interrupt_pending_does_not_exit() {
    for mode in [XAvic, X2Avic] {
        let mut bench = idle(mode, |_| {});
        assert_eq!(halt(&bench), IDLE);
        bench.reenter(|_, ram| ram.set(0, offset::IRR, 0x50));
        assert_eq!(halt(&bench), Halt::Halts);
        assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    }
}

#[test]
fn ihlt_031_the_exit_comes_before_hlt_retires_and_before_any_trap_of_it_model_defined() {
    let Halt::Exit(exit) = halt(&idle(Off, |_| {})) else { panic!("no exit") };
    assert_eq!((exit.code, exit.rip), (ExitCode::IDLE_HLT, Rip::At));
}

#[test]
fn a_doorbell_after_the_exit_is_found_at_the_next_vmrun() {
    let mut bench = idle(X2Avic, |_| {});
    assert_eq!(halt(&bench), IDLE);
    bench.cpu.vmexit(&mut bench.control);
    bench.ram.set(0, offset::IRR, 0x50);
    bench.doorbell();
    bench.enter();
    assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    assert_eq!(bench.write(offset::EOI, 0), DONE);
}
