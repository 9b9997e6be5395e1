//! From the loader to the payload, and the end.

// UNSAFETY: the entry point, and a function that the payload defines.
#![expect(unsafe_code, reason = "entered from outside")]

use crate::{BootPage, call, cpu, interrupt, smp};
use core::arch::naked_asm;
use core::fmt::Write;
use core::panic::PanicInfo;

const STACK: usize = 16384;

#[repr(C, align(4096))]
struct Stack(core::cell::UnsafeCell<[u8; STACK]>);

// SAFETY: only the processor uses it, as the one vCPU's stack.
unsafe impl Sync for Stack {}

static BOOT_STACK: Stack = Stack(core::cell::UnsafeCell::new([0; STACK]));

unsafe extern "Rust" {
    fn trapline_payload(page: &BootPage);
}

/// Entered by the loader with the boot page's address in RDI and no stack.
///
/// # Safety
/// Only the loader enters here, once.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn _start() -> ! {
    naked_asm!(
        "cld",
        "lea rsp, [rip + {stack} + {size}]",
        "xor ebp, ebp",
        "call {main}",
        "ud2",
        stack = sym BOOT_STACK,
        size = const STACK,
        main = sym main,
    )
}

extern "C" fn main(page: &'static BootPage) -> ! {
    assert!(page.magic == trapline_abi::boot::MAGIC, "no boot page");
    assert!(page.protocol == trapline_abi::PROTOCOL, "another protocol version");
    interrupt::load();
    smp::set_vcpus(page.vcpus);
    cpu::set_tsc_khz(page.tsc_khz);
    // SAFETY: the payload's `payload!` block defines it with this signature.
    unsafe { trapline_payload(page) };
    call::done()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    struct Message {
        bytes: [u8; 192],
        length: usize,
    }
    impl Write for Message {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            for &byte in text.as_bytes() {
                if let Some(room) = self.bytes.get_mut(self.length) {
                    *room = byte;
                    self.length += 1;
                }
            }
            Ok(())
        }
    }
    let mut message = Message { bytes: [0; 192], length: 0 };
    // What does not fit is cut.
    let _ = write!(message, "{info}");
    call::panic(&message.bytes[..message.length])
}
