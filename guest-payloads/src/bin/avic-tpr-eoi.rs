//! TPR, CR8, PPR and EOI under AVIC (APM vol. 2 §15.29.3.1, §15.29.8.1, §15.21.4, chapter 16).
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, code, control, v_intr};
use guest_payloads::trial::{self, NONE, chosen, fresh, one, outcome};
use guest_payloads::{apic, call::check, cpu, interrupt, payload};
use trapline_defs::apic::offset::{EOI, IRR, ISR, PPR, TMR, TPR};

payload! {
    about: "Writes and reads TPR, CR8 and EOI under AVIC, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" } = "xapic", "The APIC's interface.";
    run: run;
}

fn run(Params { registers }: Params) {
    trial::prepare(registers == Registers::X2Apic);
    copies();
    gating();
    classes();
    ends();
    level();
    if registers == Registers::X2Apic {
        fresh();
        let gp = interrupt::may_fault(2, || cpu::write_msr(0x80b, 1));
        chosen("AVIC-095 WRMSR 80Bh, 1 is #GP", 1, u64::from(gp));
        chosen("AVIC-095 and no exit", NONE, outcome());
    }
}

fn page(register: u16) -> u64 {
    lab::page(0, register).into()
}

/// The two copies of the task priority.
fn copies() {
    apic::write(TPR, 0x35);
    check("AVIC-077 TPR := 35h exits", NONE, outcome());
    check("AVIC-077 BP[080]", 0x35, page(TPR));
    check("AVIC-077 V_TPR", 3, lab::v_tpr());
    check("AVIC-077 PPR with ISR empty", 0x35, page(PPR));

    fresh();
    cpu::write_cr8(5);
    check("AVIC-078 CR8 := 5 exits", NONE, outcome());
    check("AVIC-078 V_TPR", 5, lab::v_tpr());
    check("AVIC-078 BP[080]", 0x50, page(TPR));
    let has_avic = page(TPR) == 0x50;

    for masking in [v_intr::MASKING, 0] {
        if masking == 0 && !has_avic {
            // CR8 would be the host's.
            continue;
        }
        fresh();
        lab::set_page(0, TPR, 0x90);
        lab::change(control::V_INTR, 0xf | v_intr::MASKING, 2 | masking);
        let (cr8, tpr) = (cpu::read_cr8(), apic::read(TPR));
        cpu::write_cr8(6);
        let after = lab::v_tpr() << 8 | page(TPR);
        lab::change(control::V_INTR, 0, v_intr::MASKING);
        let label = |with, without| if masking != 0 { with } else { without };
        check(label("AVIC-079 CR8 is V_TPR", "AVIC-080 CR8 is V_TPR unmasked"), 2, cr8);
        check(label("AVIC-079 TPR is BP[080]", "AVIC-080 TPR is BP[080] unmasked"), 0x90, tpr);
        check(label("AVIC-079 CR8 := 6 sets both", "AVIC-080 CR8 := 6 sets both"), 0x660, after);
        check(label("AVIC-079 exits", "AVIC-080 exits"), NONE, outcome());
    }

    fresh();
    lab::change(control::INTERCEPT_CR, 0, 1 << 24);
    lab::clear();
    cpu::write_cr8(7);
    lab::change(control::INTERCEPT_CR, 1 << 24, 0);
    check("AVIC-081 intercepted CR8 write", one(code::WRITE_CR8), outcome());
    check("AVIC-081 V_TPR", 0, lab::v_tpr());
    check("AVIC-081 BP[080]", 0, page(TPR));
}

/// Which copy gates, and when it is looked at.
fn gating() {
    fresh();
    lab::set_page(0, TPR, 0xf0);
    trial::request(0x40);
    check("AVIC-082 BP[080] F0h, V_TPR 0: 40h", 0x40, trial::open());

    fresh();
    lab::set_v_tpr(0xf);
    trial::request(0x40);
    check("AVIC-083 V_TPR F holds 40h", 0, trial::open());
    check("AVIC-083 IRR", 0x40, trial::top(IRR));

    for by_cr8 in [false, true] {
        fresh();
        apic::write(TPR, 0xf0);
        trial::request(0x40);
        cpu::sti_nop();
        let before = trial::taken();
        if by_cr8 {
            cpu::write_cr8(0);
        } else {
            apic::write(TPR, 0);
        }
        cpu::cli();
        check("AVIC-084 held by TPR F0h", 0, before);
        check("AVIC-084 taken when TPR is lowered", 0x40, trial::taken());
        check("AVIC-084 exits", NONE, outcome());

        fresh();
        trial::request(0x40);
        if by_cr8 {
            cpu::write_cr8(5);
        } else {
            apic::write(TPR, 0x50);
        }
        check("AVIC-085 TPR raised while IF=0", 0, trial::open());
        check("AVIC-085 IRR", 0x40, trial::top(IRR));
    }
}

/// Only a strictly higher class is delivered.
fn classes() {
    fresh();
    lab::set_v_tpr(4);
    trial::request(0x4f);
    check("AVIC-086 V_TPR 4 holds 4Fh", 0, trial::open());
    trial::request(0x50);
    check("AVIC-086 but not 50h", 0x50, trial::open());

    fresh();
    trial::serve(0x45);
    trial::request(0x4a);
    check("AVIC-087 ISR 45h holds 4Ah", 0, trial::open());
    trial::request(0x51);
    check("AVIC-087 but not 51h", 0x51, trial::open());
}

/// The guest writes EOI with interrupts on; what was taken.
fn end(value: u64) -> u64 {
    lab::clear();
    cpu::sti_nop();
    apic::write(EOI, value);
    cpu::cli();
    trial::taken()
}

fn ends() {
    fresh();
    trial::serve(0x40);
    trial::request(0x31);
    lab::set_page(0, PPR, 0x40);
    check("AVIC-088 EOI lets 31h in", 0x31, end(0));
    check("AVIC-088 ISR", 0x31, trial::top(ISR));
    check("AVIC-088 PPR", 0x30, page(PPR));
    end(0);
    check("AVIC-088 ISR is empty", 0, trial::top(ISR));
    check("AVIC-088 PPR is 0", 0, page(PPR));
    check("AVIC-088 exits", NONE, outcome());

    fresh();
    trial::serve(0x40);
    trial::serve(0x60);
    end(0);
    check("AVIC-089 the highest leaves, 40h stays", 0x40, trial::top(ISR));
    check("AVIC-089 PPR", 0x40, page(PPR));
    check("AVIC-089 exits", NONE, outcome());

    fresh();
    trial::serve(0x40);
    trial::serve(0x60);
    lab::set_vector(0, TMR, 0x40, true);
    end(0);
    check("AVIC-091 level below edge exits", NONE, outcome());
    check("AVIC-091 ISR", 0x40, trial::top(ISR));

    fresh();
    trial::serve(0x60);
    lab::set_vector(0, TMR, 0x70, true);
    end(0);
    check("AVIC-092 TMR of what is not served", NONE, outcome());
    check("AVIC-092 ISR", 0, trial::top(ISR));

    fresh();
    end(0);
    chosen("AVIC-093 EOI of nothing exits", NONE, outcome());
    chosen("AVIC-093 PPR", 0, page(PPR));

    if !apic::is_x2apic() {
        fresh();
        trial::serve(0x60);
        end(0x1234_5678);
        check("AVIC-094 EOI of another value exits", NONE, outcome());
        check("AVIC-094 ISR", 0, trial::top(ISR));
    }
}

fn level() {
    fresh();
    trial::serve(0x40);
    lab::set_vector(0, TMR, 0x40, true);
    trial::request(0x31);
    check("AVIC-090 nothing is taken", 0, end(0));
    let exit = lab::exit(0);
    check("AVIC-090 EOI of a level interrupt", one(code::NO_ACCEL), outcome());
    check("AVIC-090 EXITINFO1", 0x1_0000_00b0, exit.info_1 & 0x1_0000_0ff0);
    check("AVIC-090 EXITINFO2", 0x40, exit.info_2 & 0xff);
    chosen("AVIC-090 ISR", 0x40, trial::top(ISR));
    // The hypervisor ends it.
    lab::set_vector(0, ISR, 0x40, false);
    check("AVIC-096 31h at the next VMRUN", 0x31, trial::open());
}
