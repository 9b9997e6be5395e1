//! How hv-core speaks: records, framed, over COM1.
//!
//! Records are put into a buffer as they come up and leave when a scenario is over, so that the
//! slow serial line never stands inside one. Sequence numbers belong to the line, of which there
//! is one, so they are global; so is the buffer, for the panic handler's sake.

use crate::serial::Serial;
use core::fmt::{self, Write};
use spin::Mutex;
use trapline_abi::frame::{self, MAX_FRAME};
use trapline_abi::record::{Level, Record};

const BUFFER: usize = 1 << 20;

struct Line {
    serial: Serial,
    sequence: u32,
    buffered: usize,
    buffer: [u8; BUFFER],
}

static LINE: Mutex<Line> =
    Mutex::new(Line { serial: Serial::absent(), sequence: 0, buffered: 0, buffer: [0; BUFFER] });

impl Line {
    fn put(&mut self, record: &Record<'_>) {
        if BUFFER - self.buffered < MAX_FRAME {
            self.flush();
        }
        let room = &mut self.buffer[self.buffered..self.buffered + MAX_FRAME];
        // A record that does not fit uses its sequence number all the same: the reader sees the gap.
        if let Ok(bytes) = frame::encode(self.sequence, record, room) {
            self.buffered += bytes.len();
        }
        self.sequence += 1;
    }

    fn flush(&mut self) {
        let Self { serial, buffered, buffer, .. } = self;
        serial.send(&buffer[..*buffered]);
        *buffered = 0;
    }
}

/// Opens the line.
pub fn open() {
    LINE.lock().serial.open();
}

/// Puts a record into the buffer.
pub fn put(record: &Record<'_>) {
    LINE.lock().put(record);
}

/// Sends what is buffered.
pub fn flush() {
    LINE.lock().flush();
}

/// Sends what is buffered and waits until the last byte has left.
pub fn drain() {
    let mut line = LINE.lock();
    line.flush();
    line.serial.drain();
}

/// Puts a line for people.
pub fn log(level: Level, text: fmt::Arguments<'_>) {
    let mut line = Text::<256>::new();
    // A longer line is cut.
    let _ = line.write_fmt(text);
    put(&Record::Log { level, text: line.as_str() });
}

/// The last record: from the panic handler, which may have interrupted anything.
pub fn last_words(text: fmt::Arguments<'_>) {
    let Some(mut line) = LINE.try_lock() else { return };
    let mut words = Text::<512>::new();
    let _ = words.write_fmt(text);
    line.put(&Record::Panic { text: words.as_str() });
    line.flush();
    line.serial.drain();
}

/// Text of at most `N` bytes; more is cut.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = N - self.length;
        let mut fits = text.len().min(room);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.bytes[self.length..self.length + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}
