//! Single features of the model, around one guest.

use super::super::{Around, Model, Seen, Underneath};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trapline_abi::machine::Machine;
use trapline_defs::apic::offset;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word4};
use trapline_defs::vintr::VIntr;
use trapline_defs::vmcb::{NestedControl, Vmcb};
use trapline_policy::cpuid::Host;
use trapline_policy::memory::GuestMemory;
use trapline_policy::vcpu::Vcpu;
use trapline_silicon::{Enumeration, Knobs, Memory, Silicon};
use zerocopy::FromZeros;

const PAGE: u64 = 0x1000;
const IF: u64 = 1 << 9;
const TF: u64 = 1 << 8;

/// The backing page, and nothing else.
struct Ram(Vec<AtomicU32>);

impl Ram {
    fn word(&self, address: u64) -> &AtomicU32 {
        &self.0[((address - PAGE) / 4) as usize]
    }
}

impl Memory for Ram {
    fn load32(&self, address: u64) -> u32 {
        self.word(address).load(SeqCst)
    }
    fn store32(&self, address: u64, value: u32) {
        self.word(address).store(value, SeqCst);
    }
    fn load64(&self, address: u64) -> u64 {
        u64::from(self.load32(address)) | u64::from(self.load32(address + 4)) << 32
    }
    fn fetch_or32(&self, address: u64, bits: u32) -> u32 {
        self.word(address).fetch_or(bits, SeqCst)
    }
    fn fetch_and32(&self, address: u64, bits: u32) -> u32 {
        self.word(address).fetch_and(bits, SeqCst)
    }
    fn barrier(&self) {}
}

/// A guest without RAM: no instruction of these tests has to be decoded.
struct NoRam;

impl GuestMemory for NoRam {
    fn size(&self) -> u64 {
        0
    }
    fn read_u64(&self, _address: u64) -> Option<u64> {
        None
    }
    fn write_u8(&self, _address: u64, _value: u8) -> bool {
        false
    }
}

struct Bench {
    model: Model,
    vcpu: Vcpu,
    vmcb: Vmcb,
    ram: Ram,
}

/// A guest at RIP 1000h with interrupts on, not entered; 060h has these bits.
fn bench(change: impl FnOnce(VIntr) -> VIntr) -> Bench {
    bench_of("zen4", change)
}

fn bench_of(silicon: &str, change: impl FnOnce(VIntr) -> VIntr) -> Bench {
    let silicon = Silicon::read(silicon, Enumeration::of(0, 0)).unwrap();
    let underneath =
        Underneath { host_id: 0, physical_bits: 40, closed_map: 0, soft_injection: false };
    let host = Host { vendor: [0; 12], signature: 0, brand: [0; 48], physical_bits: 40 };
    let machine = Machine { tsc_deadline: false, ..Machine::PLAIN };
    let mut vmcb = Vmcb::new_zeroed();
    let control = &mut vmcb.control;
    control.v_intr = change(VIntr::new());
    control.intercept_3 = Word3::INTR | Word3::NMI;
    control.nested_control = NestedControl::NP_ENABLE;
    control.avic_apic_bar = 0xfee0_0000;
    control.avic_backing_page = PAGE;
    vmcb.save.rip = 0x1000;
    vmcb.save.rflags = IF | 2;
    Bench {
        model: Model::new(silicon, Knobs::default(), underneath),
        vcpu: Vcpu::new(&machine, &host, 1_000_000, 0, 1),
        vmcb,
        ram: Ram((0..1024).map(|_| AtomicU32::new(0)).collect()),
    }
}

impl Bench {
    fn enter(&mut self) {
        self.model.enter(0x7000, &mut self.vmcb, &self.ram).unwrap();
    }

    fn leave(&mut self) {
        self.model.leave(&mut self.vmcb);
    }

    /// The processor underneath exits with this code.
    fn trap(&mut self, code: ExitCode) -> Seen {
        self.vmcb.control.exit_code = code;
        let around = Around { guest: &NoRam, memory: &self.ram, leaf: || None, saved: true };
        self.model.trap(&mut self.vcpu, &mut self.vmcb, &around, |_| {})
    }

    fn request(&self, vector: u32) {
        self.ram.fetch_or32(
            PAGE + u64::from(offset::IRR) + u64::from(vector / 32) * 16,
            1 << (vector % 32),
        );
    }
}

#[test]
fn avic_080_cr8_is_v_tpr_without_v_intr_masking_too() {
    let mut bench = bench(|word| word.with_avic_enable(true).with_v_tpr(2));
    bench.enter();
    let underneath = bench.vmcb.control.v_intr;
    assert!(underneath.v_intr_masking(), "or MOV from CR8 would read the host's TPR");
    assert_eq!(underneath.v_tpr(), 2);
    bench.leave();
    assert!(!bench.vmcb.control.v_intr.v_intr_masking());
}

#[test]
fn v_tpr_underneath_is_the_guest_s_only_where_its_cr8_is() {
    for (avic, masking, expected) in
        [(true, true, 2), (true, false, 2), (false, true, 7), (false, false, 2)]
    {
        let word =
            |word: VIntr| word.with_avic_enable(avic).with_v_intr_masking(masking).with_v_tpr(2);
        let mut bench = bench(word);
        bench.enter();
        bench.vmcb.control.v_intr.set_v_tpr(7);
        assert_eq!(bench.trap(ExitCode::INTR), Seen::Interrupt);
        bench.leave();
        assert_eq!(bench.vmcb.control.v_intr.v_tpr(), expected, "AVIC {avic}, masking {masking}");
    }
}

#[test]
fn vgif_001_stgi_and_clgi_move_vgif_and_what_it_holds_goes_in() {
    let mut bench =
        bench(|word| word.with_avic_enable(true).with_v_gif_enable(true).with_v_gif(true));
    bench.enter();
    assert_eq!(bench.trap(ExitCode::CLGI), Seen::Absorbed);
    assert_eq!(bench.vmcb.save.rip, 0x1003);
    assert!(!bench.vmcb.control.v_intr.v_gif(), "or a window would open underneath");
    bench.leave();
    assert!(!bench.vmcb.control.v_intr.v_gif());
    assert_eq!(bench.vmcb.control.intercept_4, Word4::empty());
    bench.request(0x40);
    bench.enter();
    assert!(!bench.vmcb.control.event_injection.valid());
    assert_eq!(bench.trap(ExitCode::STGI), Seen::Absorbed);
    assert_eq!(bench.vmcb.control.event_injection.vector(), 0x40);
    bench.leave();
    assert!(bench.vmcb.control.v_intr.v_gif());
}

#[test]
fn vgif_003_an_intercepted_clgi_is_an_exit() {
    let mut bench = bench(|word| word.with_v_gif_enable(true).with_v_gif(true));
    bench.vmcb.control.intercept_4 = Word4::CLGI;
    bench.enter();
    assert_eq!(bench.trap(ExitCode::CLGI), Seen::Exit);
    bench.leave();
    assert!(bench.vmcb.control.v_intr.v_gif());
    assert_eq!(bench.vmcb.save.rip, 0x1000);
}

#[test]
fn vnmi_007_an_nmi_that_vgif_holds_is_not_stepped_to() {
    for held in [true, false] {
        let mut bench =
            bench(|word| word.with_v_nmi_enable(true).with_v_nmi(true).with_v_gif_enable(held));
        bench.vmcb.control.interrupt_shadow = 1;
        bench.enter();
        assert_eq!(bench.vmcb.save.rflags & TF == 0, held, "vGIF holds it: {held}");
        bench.leave();
        assert_eq!(bench.vmcb.save.rflags & TF, 0);
    }
}

#[test]
fn vnmi_012_silicon_without_vnmi_is_stepped_for_no_nmi() {
    let mut bench = bench_of("zen4 vnmi=off", |word| word.with_v_nmi_enable(true).with_v_nmi(true));
    bench.enter();
    assert_eq!(bench.vmcb.save.rflags & TF, 0);
    assert!(!bench.vmcb.control.event_injection.valid());
}

#[test]
fn avic_167_a_physical_interrupt_that_waits_goes_before_the_irr() {
    for waits in [true, false] {
        let mut bench = bench(|word| word.with_avic_enable(true).with_v_intr_masking(true));
        bench.request(0x40);
        bench.model.interrupt_waits = waits;
        bench.enter();
        assert_eq!(bench.vmcb.control.event_injection.valid(), !waits);
        bench.leave();
        let word = bench.ram.load32(PAGE + u64::from(offset::IRR) + 0x20);
        assert_eq!(word & 1 != 0, waits, "IRR is untouched if the exit comes first");
    }
}
