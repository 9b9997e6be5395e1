//! Events: what is injected at the next entry, and when that is decided.
//!
//! KVM decides only when something asked for it (KVM_REQ_EVENT, here [`Lapic::event_request`]).
//! In particular the HLT exit does not ask: a vector that arrived with IF clear waits in its V_IRQ
//! window, and the window's exit, not the HLT exit, injects it (rules HLT-2 and WIN-1; the order
//! msr, hlt, vintr, msr of seeds/003).
//!
//! [`Lapic::event_request`]: crate::lapic::Lapic::event_request

mod xen;

use crate::avic::{inhibits, post};
use crate::inhibit::Reason;
use crate::memory::GuestMemory;
use crate::pv_eoi::Taken;
use crate::vcpu::Vcpu;
use crate::vm::{Vm, beside};
use trapline_abi::plan::Seed;
use trapline_defs::apic::offset;
use trapline_defs::event::{Event, EventKind};
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::{TlbControl, Vmcb};

/// RFLAGS.IF.
pub const RFLAGS_IF: u64 = 1 << 9;
/// RFLAGS.TF.
const RFLAGS_TF: u64 = 1 << 8;
/// CR8 writes in the CR intercept word.
const CR8_WRITE: u32 = 1 << (16 + 8);
/// The priority of KVM's window: above every V_TPR (rule WIN-2).
const WINDOW_PRIORITY: u8 = 15;

/// A vCPU's events that are not in its local APIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// An exception that an emulated instruction raised.
    pub exception: Event,
    /// An event whose delivery an exit cut short; it goes first (rule INJ-1).
    pub interrupted: Event,
    /// NMIs that wait; two at most, as on hardware (one in delivery, one latched).
    pub nmis: u8,
    /// An NMI's handler runs: NMIs are masked until its IRET.
    pub nmi_masked: bool,
    /// The IRET intercept fired at this RIP; the mask ends when that instruction is done.
    pub iret_at: Option<u64>,
    /// The guest takes one step on the way to an NMI.
    pub stepping: bool,
    /// Xen took the vCPU down: it executed HLT with interrupts off, and only INIT and SIPI bring it back.
    pub is_down: bool,
    /// Interrupts injected so far, repetitions included.
    pub injections: u64,
    /// The interrupt that was injected last as a software event, and RIP then (see [`injection`]).
    soft: Option<(u8, u64)>,
}

impl Events {
    /// Makes an NMI pending.
    pub fn nmi(&mut self) {
        let limit = if self.nmi_masked { 1 } else { 2 };
        self.nmis = (self.nmis + 1).min(limit);
    }
}

/// Flushes the guest's translations at the next entry.
pub fn flush_tlb(vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    vmcb.control.tlb_control = TlbControl::FLUSH_ALL;
    // Once: the exit after it takes the order back.
    vcpu.attention = true;
}

/// Whether the guest can take an interrupt at its next instruction.
#[inline]
pub fn interrupts_open(vmcb: &Vmcb) -> bool {
    vmcb.save.rflags & RFLAGS_IF != 0 && vmcb.control.interrupt_shadow & 1 == 0
}

/// Takes back an event whose delivery this exit cut short.
///
/// QEMU's TCG reports an interrupted interrupt as an exception (spec avic.md T4), with an
/// error code for vectors that never have one as interrupts: the vector tells them apart.
fn take_back(vm: &Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    let event = vmcb.control.exit_int_info;
    vmcb.control.exit_int_info = Event::new();
    vcpu.events.interrupted = match event.kind() {
        EventKind::Software if vcpu.events.soft == Some((event.vector(), vmcb.save.rip)) => {
            Event::interrupt(event.vector())
        }
        // RIP is on the INT n, which runs again by itself.
        EventKind::Software | EventKind::Reserved => return,
        EventKind::Nmi => {
            vcpu.events.nmi_masked = false;
            Event::nmi()
        }
        EventKind::Interrupt => Event::interrupt(event.vector()),
        EventKind::Exception if event.vector() >= 32 => Event::interrupt(event.vector()),
        EventKind::Exception if event.vector() == 2 => {
            vcpu.events.nmi_masked = false;
            Event::nmi()
        }
        // INT3 and INTO run again by themselves, too.
        EventKind::Exception if matches!(event.vector(), 3 | 4) => return,
        EventKind::Exception => event,
    };
    if vm.seed == Some(Seed::InjectionLost) {
        vcpu.events.interrupted = Event::new();
    }
    vcpu.lapic.event_request = true;
}

/// Decides what the next entry injects. Called only after a request.
#[inline]
pub fn evaluate<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) {
    if vcpu.avic.active {
        post::flush(vm.avic, vcpu);
    }
    let nothing_waits = !vcpu.lapic.irr_pending()
        && !vcpu.events.interrupted.valid()
        && !vcpu.events.exception.valid()
        && vcpu.events.nmis == 0
        && vm.beside_apic() == 0;
    if nothing_waits && vcpu.lapic.enabled() && !vcpu.pv_eoi.enabled() {
        // What is left of the evaluation: no vector waits behind TPR (rule CR8-1).
        vcpu.lapic.event_request = false;
        set_cr8_intercept(vmcb, false);
        return;
    }
    evaluate_in_full(vm, vcpu, vmcb, memory);
}

#[inline(never)]
fn evaluate_in_full<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) {
    if vm.beside_apic() & beside::XEN_POLICY != 0 {
        return xen::evaluate(vm, vcpu, vmcb, memory);
    }
    vcpu.lapic.event_request = false;
    // An earlier evaluation for the same entry may have injected already: nothing goes over it.
    let injected = vmcb.control.event_injection.valid() || inject_one(vm, vcpu, vmcb);
    vcpu.lapic.event_request |= vcpu.events.exception.valid();
    if vcpu.events.nmis > 0 {
        if vm.features.vnmi {
            hand_to_processor(vcpu, vmcb, injected);
        } else {
            inject_nmi(vcpu, vmcb, injected);
        }
    }
    if let Some(source) = injectable(vm, vcpu, memory) {
        let room = !vmcb.control.event_injection.valid();
        if room && interrupts_open(vmcb) {
            let vector = source.acknowledge(vm, vcpu);
            vmcb.control.event_injection = injection(vm, vcpu, vmcb, vector);
        }
        if injectable(vm, vcpu, memory).is_some() {
            open_window(vmcb);
            if vm.features.avic {
                // AVIC would ignore the window (INH-2).
                inhibits::change(vm, vcpu, Reason::IrqWindow, true);
            }
        }
    }
    if vcpu.lapic.enabled() {
        let intercept = vcpu.lapic.cr8_intercept();
        set_cr8_intercept(vmcb, intercept);
        if vcpu.pv_eoi.enabled() && vcpu.lapic.pv_eoi_possible() {
            offer_pv_eoi(vcpu, memory);
        }
    }
}

/// What comes before any new event: one that was interrupted, or an exception.
fn inject_one(vm: &Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb) -> bool {
    let events = &mut vcpu.events;
    let mut event = if events.interrupted.valid() { events.interrupted } else { events.exception };
    if !event.valid() {
        return false;
    }
    if events.interrupted.valid() {
        events.interrupted = Event::new();
        match event.kind() {
            EventKind::Interrupt => event = injection(vm, vcpu, vmcb, event.vector()),
            EventKind::Nmi if !vm.features.vnmi => mask_nmis(vcpu, vmcb),
            _ => {}
        }
    } else {
        events.exception = Event::new();
    }
    vmcb.control.event_injection = event;
    // An exception that waits behind an interrupted event asks again.
    vcpu.lapic.event_request |= vcpu.events.exception.valid();
    true
}

/// The EVENTINJ word of an interrupt.
///
/// QEMU's TCG forgets to take note that it delivered one of type 0: should its time slice end
/// before the guest's next exit, it delivers it again (docs/tcg.md T24). It delivers software
/// events properly, and pushes the same RIP for them (T6), so under TCG an interrupt goes in as
/// one. A gate's privilege is checked for those: in ring 3 it stays type 0.
#[inline]
fn injection(vm: &Vm, vcpu: &mut Vcpu, vmcb: &Vmcb, vector: u8) -> Event {
    vcpu.events.injections += 1;
    if vm.soft_injection && vmcb.save.cpl == 0 {
        vcpu.events.soft = Some((vector, vmcb.save.rip));
        // Good for the next exit only: later, that vector at that RIP is an INT n of the guest.
        vcpu.attention = true;
        Event::interrupt(vector).with_kind(EventKind::Software)
    } else {
        Event::interrupt(vector)
    }
}

fn inject_nmi(vcpu: &mut Vcpu, vmcb: &mut Vmcb, injected: bool) {
    let shadow = vmcb.control.interrupt_shadow & 1 != 0;
    if !injected && !vcpu.events.nmi_masked && !shadow {
        vcpu.events.nmis -= 1;
        vmcb.control.event_injection = Event::nmi();
        mask_nmis(vcpu, vmcb);
    } else if vcpu.events.nmi_masked && vcpu.events.iret_at.is_none() {
        // The IRET intercept is armed already and will ask again.
    } else {
        // As KVM: one step to where the NMI can be taken.
        vmcb.save.rflags |= RFLAGS_TF;
        vcpu.events.stepping = true;
    }
}

/// With VNMI the processor keeps one NMI pending and the mask, and KVM sees neither IRET nor a step
/// (Linux 6.12 process_nmi, svm_set_vnmi_pending). A second NMI is injected, if it can be at once.
#[cold]
fn hand_to_processor(vcpu: &mut Vcpu, vmcb: &mut Vmcb, injected: bool) {
    let v_intr = &mut vmcb.control.v_intr;
    let masked = v_intr.v_nmi_mask();
    let room = 2 - u8::from(masked) - u8::from(v_intr.v_nmi());
    vcpu.events.nmis = vcpu.events.nmis.min(room);
    if vcpu.events.nmis > 0 && !v_intr.v_nmi() {
        v_intr.set_v_nmi(true);
        vcpu.events.nmis -= 1;
    }
    let shadow = vmcb.control.interrupt_shadow & 1 != 0;
    if vcpu.events.nmis > 0 && !injected && !masked && !shadow {
        vcpu.events.nmis -= 1;
        vmcb.control.event_injection = Event::nmi();
    }
}

/// Whether NMIs are masked: the processor knows with VNMI, else the software does.
#[inline]
pub fn nmis_masked(vm: &Vm, vcpu: &Vcpu, vmcb: &Vmcb) -> bool {
    if vm.features.vnmi { vmcb.control.v_intr.v_nmi_mask() } else { vcpu.events.nmi_masked }
}

fn mask_nmis(vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    vcpu.events.nmi_masked = true;
    vmcb.control.intercept_3 |= Word3::IRET;
}

/// The IRET of an NMI handler is about to run: its intercept goes, and the mask ends with it.
pub fn iret(vm: &Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    vmcb.control.intercept_3.remove(Word3::IRET);
    if vm.features.xen {
        return xen::iret(vcpu, vmcb);
    }
    vcpu.events.iret_at = Some(vmcb.save.rip);
    vcpu.attention = true;
    vcpu.lapic.event_request = true;
}

/// After an exit behind such an IRET: NMIs are open again.
fn iret_done(vcpu: &mut Vcpu, vmcb: &Vmcb) {
    if vcpu.events.iret_at.is_some_and(|rip| rip != vmcb.save.rip) {
        vcpu.events.iret_at = None;
        vcpu.events.nmi_masked = false;
        vcpu.lapic.event_request = true;
    }
}

/// The single step on the way to an NMI is over.
pub fn stepped(vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    vmcb.save.rflags &= !RFLAGS_TF;
    vcpu.events.stepping = false;
    vcpu.lapic.event_request = true;
}

/// Where a deliverable vector comes from.
#[derive(Clone, Copy)]
enum Source {
    /// The vector of Xen's global callback.
    Callback(u8),
    Pic,
    Apic(u8),
}

impl Source {
    fn acknowledge(self, vm: &mut Vm, vcpu: &mut Vcpu) -> u8 {
        match self {
            // The guest ends it, by the flag in its memory.
            Self::Callback(vector) => vector,
            Self::Pic => vm.acknowledge_pic(),
            Self::Apic(vector) => {
                let auto_eoi = vcpu.synic.is_auto_eoi(vector);
                vcpu.lapic.acknowledge(vector, auto_eoi);
                vector
            }
        }
    }
}

#[inline]
fn injectable<M: GuestMemory>(vm: &Vm, vcpu: &Vcpu, memory: &M) -> Option<Source> {
    let beside = vm.beside_apic();
    if beside != 0
        && let Some(source) = beside_apic(vm, vcpu, memory, beside)
    {
        return Some(source);
    }
    vcpu.lapic.deliverable().map(Source::Apic)
}

/// What comes from beside the local APIC, in the order of KVM (kvm_cpu_has_extint) and Xen
/// (hvm_vcpu_has_pending_irq).
#[cold]
fn beside_apic<M: GuestMemory>(vm: &Vm, vcpu: &Vcpu, memory: &M, beside: u32) -> Option<Source> {
    if beside & beside::CALLBACK != 0
        && let Some(vector) = vm.xen().callback()
        && vm.xen().is_upcall_pending(memory, vcpu.index)
    {
        return Some(Source::Callback(vector));
    }
    (beside & beside::PIC != 0 && vcpu.lapic.accepts_pic()).then_some(Source::Pic)
}

/// Whether an interrupt waits that priorities would let through. Under AVIC those of the local APIC
/// are in the backing page.
#[inline]
pub fn pending<M: GuestMemory>(vm: &Vm, vcpu: &Vcpu, memory: &M) -> bool {
    let waits = match vm.beside_apic() {
        0 => vcpu.lapic.deliverable().is_some(),
        beside if beside & beside::XEN_POLICY != 0 => xen::pending(vm, vcpu, memory),
        _ => injectable(vm, vcpu, memory).is_some(),
    };
    waits
        || vm.features.avic
            && vm.seed != Some(Seed::BlockWithoutLook)
            && post::is_pending(vm.avic, vcpu)
}

/// Opens KVM's window: a dummy V_IRQ whose exit says that the guest can take an interrupt.
#[inline]
fn open_window(vmcb: &mut Vmcb) {
    vmcb.control.v_intr.set_v_irq(true);
    vmcb.control.v_intr.set_v_intr_prio(WINDOW_PRIORITY);
    vmcb.control.intercept_3 |= Word3::VINTR;
}

/// The window's exit closes it, and nothing else does (rule WIN-1).
#[inline]
pub fn window_opened(vm: &Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    vmcb.control.v_intr.set_v_irq(false);
    vmcb.control.v_intr.set_v_intr_prio(0);
    vmcb.control.intercept_3.remove(Word3::VINTR);
    vcpu.lapic.event_request = true;
    if vm.features.avic {
        inhibits::change(vm, vcpu, Reason::IrqWindow, false);
    }
}

#[inline]
pub(crate) fn set_cr8_intercept(vmcb: &mut Vmcb, on: bool) {
    let word = vmcb.control.intercept_cr & !CR8_WRITE;
    vmcb.control.intercept_cr = if on { word | CR8_WRITE } else { word };
}

/// Whether the local APIC's TPR is what the guest's V_TPR says, low nibble included.
#[inline(always)]
pub fn tpr_in_sync(vcpu: &Vcpu, vmcb: &Vmcb) -> bool {
    vmcb.control.v_intr.v_tpr() << 4 == vcpu.lapic.tpr()
}

/// Takes over what the guest and the processor left behind at this exit.
#[cold]
#[inline(never)]
pub fn settle<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) {
    // Where CR8 writes do not exit, V_TPR is the guest's word. KVM takes it over after every exit,
    // so the low nibble of a TPR written by MSR or MMIO is lost at the next one (rule TPR-1).
    if !tpr_in_sync(vcpu, vmcb) && vmcb.control.intercept_cr & CR8_WRITE == 0 {
        // Xen keeps it.
        let low = if vm.features.xen { vcpu.lapic.tpr() & 0xf } else { 0 };
        vcpu.lapic.set_tpr(vmcb.control.v_intr.v_tpr() << 4 | low);
    }
    if vcpu.avic.active {
        settle_page(vm, vcpu, vmcb);
    }
    if vmcb.control.exit_int_info.valid() {
        take_back(vm, vcpu, vmcb);
    }
    vcpu.events.soft = None;
    if vcpu.events.iret_at.is_some() {
        iret_done(vcpu, vmcb);
    }
    if vcpu.pv_eoi.pending() {
        settle_pv_eoi(vm, vcpu, memory);
    }
    vmcb.control.tlb_control = TlbControl::NONE;
    vcpu.attention = vcpu.events.iret_at.is_some() || vcpu.avic.active;
}

/// Under AVIC the page has a TPR of its own, whose low nibble is lost like that of the software APIC.
#[cold]
#[inline(never)]
fn settle_page(vm: &Vm, vcpu: &Vcpu, vmcb: &Vmcb) {
    let page = vm.avic.page(vcpu.index);
    let tpr = vmcb.control.v_intr.v_tpr() << 4;
    if page.load(offset::TPR) != u32::from(tpr) {
        page.store(offset::TPR, u32::from(tpr));
        let service = page.vectors(offset::ISR).highest().unwrap_or(0) & 0xf0;
        page.store(offset::PPR, u32::from(tpr.max(service)));
    }
}

#[cold]
fn offer_pv_eoi<M: GuestMemory>(vcpu: &mut Vcpu, memory: &M) {
    let highest = vcpu.lapic.highest_isr();
    if let Some(address) = vcpu.pv_eoi.to_guest(false, highest, |_| false) {
        memory.write_u8(address, 1);
        vcpu.attention = true;
    }
}

/// After an exit with an offer out: the guest took it, which is its EOI, or it is withdrawn.
fn settle_pv_eoi<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, memory: &M) {
    let address = vcpu.pv_eoi.address();
    match vcpu.pv_eoi.from_guest(memory.read_u8(address).unwrap_or(0)) {
        Taken::Withdraw => {
            memory.write_u8(address, 0);
        }
        Taken::Eoi => {
            if let Some(eoi) = vcpu.lapic.eoi() {
                vm.end_of_interrupt(vcpu, eoi);
            }
        }
    }
}
