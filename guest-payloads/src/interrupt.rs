//! The IDT, and handlers.
//!
//! Handlers run on the interrupted stack and may nest. The precompiled core library uses the red
//! zone in two functions, but payloads open interrupts only in their own code, which is built
//! without one.

// UNSAFETY: descriptor tables and interrupt entry.
#![expect(unsafe_code, reason = "the IDT and its entries")]

use core::arch::{asm, naked_asm};
use core::cell::UnsafeCell;
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A handler.
pub type Handler = fn();
/// A handler of several vectors, which is told which of them it is.
pub type SharedHandler = fn(u8);

#[repr(C, align(4096))]
struct Idt(UnsafeCell<[[u64; 2]; 256]>);

// SAFETY: written once before it is loaded; after that only the processor reads it.
unsafe impl Sync for Idt {}

static IDT: Idt = Idt(UnsafeCell::new([[0; 2]; 256]));

static HANDLERS: [AtomicPtr<()>; 256] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 256];

static SHARED_HANDLERS: [AtomicPtr<()>; 256] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; 256];

static ANY: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Faults that a handler is told to step over: how often it happened.
static FAULTS: AtomicU64 = AtomicU64::new(0);
/// Length of the instruction that may fault; 0 if none may.
static MAY_FAULT: AtomicU64 = AtomicU64::new(0);

/// The page that holds the IDT, to evict it.
pub fn idt_page() -> &'static impl Sized {
    &IDT
}

/// Calls `handler` on interrupt `vector` (32 to 255), which it must end itself, or on an NMI (2).
pub fn on(vector: u8, handler: Handler) {
    HANDLERS[usize::from(vector)].store(handler as *mut (), Ordering::Relaxed);
}

/// As [`on`], for vectors that have no handler of their own.
pub fn on_each(vectors: impl IntoIterator<Item = u8>, handler: SharedHandler) {
    for vector in vectors {
        SHARED_HANDLERS[usize::from(vector)].store(handler as *mut (), Ordering::Relaxed);
    }
}

/// Calls `handler`, with the vector and where it came, for all that have no handler of their own, faults
/// included.
pub fn on_any(handler: fn(u8, u64)) {
    ANY.store(handler as *mut (), Ordering::Relaxed);
}

/// Makes `entry` itself the handler of a vector: nothing is saved for it.
pub fn gate(vector: u8, entry: extern "C" fn()) {
    let entry = entry as *const () as u64;
    let low = entry & 0xffff | 8 << 16 | 0x8e00 << 32 | (entry >> 16 & 0xffff) << 48;
    // SAFETY: an entry that the processor does not read now; a wrong one is the payload's result.
    unsafe { (*IDT.0.get())[usize::from(vector)] = [low, entry >> 32] };
}

/// Runs an instruction of that length that may raise `#GP`; true if it did.
pub fn may_fault(length: u64, instruction: impl FnOnce()) -> bool {
    let before = FAULTS.load(Ordering::Relaxed);
    MAY_FAULT.store(length, Ordering::Relaxed);
    instruction();
    MAY_FAULT.store(0, Ordering::Relaxed);
    FAULTS.load(Ordering::Relaxed) != before
}

/// 256 entries of 16 bytes: an error code where the processor pushes none, and the vector.
#[unsafe(naked)]
extern "C" fn entries() {
    naked_asm!(
        ".set vector, 0",
        ".rept 256",
        ".balign 16",
        ".if !(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17)",
        "push 0",
        ".endif",
        "push vector",
        "jmp {common}",
        ".set vector, vector + 1",
        ".endr",
        common = sym common,
    )
}

#[repr(C)]
struct Frame {
    vector: u64,
    error_code: u64,
    rip: u64,
    cs: u64,
    flags: u64,
    rsp: u64,
}

/// Saves what a Rust function may change; SSE state too, because Rust uses it by itself.
#[unsafe(naked)]
extern "C" fn common() {
    naked_asm!(
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "push rbp",
        "mov rbp, rsp",
        "lea rdi, [rbp + 80]",
        "sub rsp, 512",
        "and rsp, -16",
        "fxsave64 [rsp]",
        "call {dispatch}",
        "fxrstor64 [rsp]",
        "mov rsp, rbp",
        "pop rbp",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "add rsp, 16",
        "iretq",
        dispatch = sym dispatch,
    )
}

extern "C" fn dispatch(frame: &mut Frame) {
    let handler = HANDLERS[frame.vector as usize & 255].load(Ordering::Relaxed);
    if !handler.is_null() {
        // SAFETY: only `on` stores there, and only handlers.
        let handler: Handler = unsafe { transmute::<*mut (), Handler>(handler) };
        return handler();
    }
    let shared = SHARED_HANDLERS[frame.vector as usize & 255].load(Ordering::Relaxed);
    if !shared.is_null() {
        // SAFETY: only `on_each` stores there, and only shared handlers.
        let shared: SharedHandler = unsafe { transmute::<*mut (), SharedHandler>(shared) };
        return shared(frame.vector as u8);
    }
    let step = MAY_FAULT.load(Ordering::Relaxed);
    if frame.vector == 13 && step != 0 {
        FAULTS.fetch_add(1, Ordering::Relaxed);
        frame.rip += step;
        return;
    }
    let any = ANY.load(Ordering::Relaxed);
    if !any.is_null() {
        // SAFETY: only `on_any` stores there, and only such handlers.
        let any: fn(u8, u64) = unsafe { transmute::<*mut (), fn(u8, u64)>(any) };
        return any(frame.vector as u8, frame.rip);
    }
    panic!(
        "unexpected vector {:#x}, error code {:#x}, at {:#x}",
        frame.vector, frame.error_code, frame.rip
    );
}

/// The guest's segments: null, 64-bit code, data.
static GDT: [u64; 3] = [0, 0x00af_9b00_0000_ffff, 0x00cf_9300_0000_ffff];

#[repr(C, packed)]
struct TableRegister {
    limit: u16,
    base: u64,
}

/// Fills the IDT and loads it and the GDT; once, on the first vCPU.
pub fn load() {
    let first = entries as *const () as u64;
    let first = first.next_multiple_of(16);
    for vector in 0..256u64 {
        let entry = first + vector * 16;
        let low = entry & 0xffff | 8 << 16 | 0x8e00 << 32 | (entry >> 16 & 0xffff) << 48;
        // SAFETY: nothing reads the table yet.
        unsafe { (*IDT.0.get())[vector as usize] = [low, entry >> 32] };
    }
    load_tables();
}

/// Loads GDT and IDT.
pub fn load_tables() {
    let idt = TableRegister { limit: 4095, base: core::ptr::from_ref(&IDT) as u64 };
    let gdt = TableRegister { limit: 23, base: core::ptr::from_ref(&GDT) as u64 };
    // SAFETY: both tables are static; CS and the data segments are reloaded from the new GDT.
    unsafe {
        asm!(
            "lgdt [{gdt}]",
            "push 8",
            "lea {scratch}, [rip + 2f]",
            "push {scratch}",
            "retfq",
            "2:",
            "mov {scratch:e}, 16",
            "mov ds, {scratch:e}",
            "mov es, {scratch:e}",
            "mov ss, {scratch:e}",
            "lidt [{idt}]",
            gdt = in(reg) &gdt,
            idt = in(reg) &idt,
            scratch = out(reg) _,
        );
    }
}
