//! Virtual GIF.

use super::bench::{Bench, DONE, OPEN, PHYSICAL_BITS, host, silicon};
use crate::{AvicMode, Boundary, Exit, Feature, Knobs, Mode, Outcome, Processor, Taken};
use trapline_defs::apic::offset;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word4};

/// A guest with vGIF of this value.
fn vgif(mode: AvicMode, value: bool) -> Bench {
    let mut bench = Bench::ready(mode);
    bench.control.v_intr = bench.control.v_intr.with_v_gif_enable(true).with_v_gif(value);
    bench.enter();
    bench
}

fn saved(bench: &mut Bench) -> bool {
    bench.cpu.vmexit(&mut bench.control);
    bench.control.v_intr.v_gif()
}

#[test]
fn vgif_001_clgi_clears_the_virtual_gif_only() {
    let mut bench = vgif(AvicMode::Off, true);
    assert_eq!(bench.cpu.clgi(), DONE);
    let exit = Taken::Exit(Exit::intercept(ExitCode::INTR));
    assert_eq!(bench.at(Boundary { physical_interrupt: true, ..OPEN }), exit);
    assert!(!saved(&mut bench));
}

#[test]
fn vgif_002_stgi_sets_it_and_frees_what_was_held() {
    let mut bench = vgif(AvicMode::XAvic, false);
    bench.reenter(|_, ram| ram.set(0, offset::IRR, 0x50));
    assert_eq!(bench.boundary(), Taken::Nothing);
    assert_eq!(bench.cpu.stgi(), DONE);
    assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    assert!(saved(&mut bench));
}

#[test]
fn vgif_003_an_intercepted_clgi_exits_and_changes_nothing() {
    let mut bench = vgif(AvicMode::Off, true);
    bench.reenter(|c, _| c.intercept_4 = Word4::CLGI);
    assert_eq!(bench.cpu.clgi(), Outcome::Exit(Exit::intercept(ExitCode::CLGI)));
    assert!(saved(&mut bench));
}

#[test]
fn vgif_004_an_intercepted_stgi_exits_and_changes_nothing() {
    let mut bench = vgif(AvicMode::Off, false);
    bench.reenter(|c, _| c.intercept_4 = Word4::STGI);
    assert_eq!(bench.cpu.stgi(), Outcome::Exit(Exit::intercept(ExitCode::STGI)));
    assert!(!saved(&mut bench));
}

#[test]
fn vgif_005_without_the_enable_its_value_is_ignored() {
    let mut bench = vgif(AvicMode::XAvic, false);
    bench.reenter(|c, ram| {
        c.v_intr.set_v_gif_enable(false);
        ram.set(0, offset::IRR, 0x50);
    });
    assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    assert_eq!(bench.cpu.clgi(), Outcome::Physical);
    assert!(!saved(&mut bench));
}

#[test]
fn vgif_006_physical_events_exit_while_it_is_clear() {
    let mut bench = vgif(AvicMode::Off, false);
    let nmi = Taken::Exit(Exit::intercept(ExitCode::NMI));
    assert_eq!(bench.at(Boundary { physical_nmi: true, ..OPEN }), nmi);
    let intr = Taken::Exit(Exit::intercept(ExitCode::INTR));
    assert_eq!(bench.at(Boundary { physical_interrupt: true, ..OPEN }), intr);
}

#[test]
fn vgif_007_it_does_not_hold_an_injection_back() {
    // VMRUN accepts the word and leaves it to be delivered; nothing virtual follows.
    let mut bench = vgif(AvicMode::XAvic, false);
    bench.reenter(|c, ram| {
        c.event_injection = Event::interrupt(0x31);
        ram.set(0, offset::IRR, 0x50);
    });
    assert!(bench.cpu.in_guest());
    assert!(bench.control.event_injection.valid());
    assert_eq!(bench.boundary(), Taken::Nothing);
}

#[test]
fn vgif_008_it_holds_the_vintr_intercept_back_until_stgi() {
    let mut bench = vgif(AvicMode::Off, false);
    bench.reenter(|c, _| {
        c.v_intr = c.v_intr.with_v_irq(true).with_v_intr_prio(0xf);
        c.intercept_3 |= Word3::VINTR;
    });
    assert_eq!(bench.boundary(), Taken::Nothing);
    assert_eq!(bench.cpu.stgi(), DONE);
    assert_eq!(bench.boundary(), Taken::Exit(Exit::intercept(ExitCode::VINTR)));
}

#[test]
fn without_the_feature_the_enable_is_ignored() {
    let mut bench = vgif(AvicMode::XAvic, false);
    let silicon = silicon("zen5").with(Feature::VGif, Mode::Off);
    bench.cpu = Processor::new(silicon, Knobs::default(), host(0), PHYSICAL_BITS);
    bench.ram.set(0, offset::IRR, 0x50);
    bench.enter();
    assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    assert_eq!(bench.cpu.stgi(), Outcome::Physical);
}
