//! COM1.

// UNSAFETY: owning a device by its port number.
#![expect(unsafe_code, reason = "claims the ports of COM1")]

use uart_16550::Uart16550;
use uart_16550::backend::PioBackend;
use uart_16550::spec::registers::LSR;
use uart_16550::{BaudRate, Config};

/// The serial line that records leave by.
pub struct Serial(Option<Uart16550<PioBackend>>);

impl Serial {
    /// No line yet.
    pub const fn absent() -> Self {
        Self(None)
    }

    /// Initialises COM1; stays absent when there is none.
    pub fn open(&mut self) {
        // SAFETY: nothing else in hv-core uses these ports, and guests never reach them.
        let Ok(mut uart) = (unsafe { Uart16550::new_port(0x3f8) }) else { return };
        if uart.init(Config { baud_rate: BaudRate::Baud115200, ..Config::DEFAULT }).is_ok() {
            self.0 = Some(uart);
        }
    }

    /// Sends all bytes, waiting for room (THRE) before each.
    pub fn send(&mut self, bytes: &[u8]) {
        if let Some(uart) = &mut self.0 {
            uart.send_bytes_exact(bytes);
        }
    }

    /// Waits until the last byte has left (TEMT).
    pub fn drain(&mut self) {
        if let Some(uart) = &mut self.0 {
            while !uart.lsr().contains(LSR::TRANSMITTER_EMPTY) {
                core::hint::spin_loop();
            }
        }
    }
}
