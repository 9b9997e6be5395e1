//! hv-core's own failure: a record, and an end of its own.

use crate::{debug_exit, records};
use core::panic::PanicInfo;
use trapline_abi::debug_exit::PANIC;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    records::last_words(format_args!("{info}"));
    debug_exit::end(PANIC)
}
