//! The serial line itself: a device that is read until hv-core says goodbye.

use crate::transcript::Decoder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, isatty, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// Bits per second, as hv-core and GRUB set it.
pub const SPEED: u32 = 115_200;

/// How listening ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// hv-core said goodbye.
    Goodbye,
    /// The other end hung up.
    HungUp,
    /// Nothing came for that long.
    Silent(Duration),
}

/// Opens a device without waiting for its carrier, and makes a terminal pass every byte as it is.
///
/// # Errors
/// Whatever the system says.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let readable = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty())
        .or_else(|_| rustix::fs::open(path, readable, Mode::empty()));
    let file = File::from(opened?);
    if isatty(&file) {
        let mut settings = tcgetattr(&file)?;
        settings.make_raw();
        settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
        settings.set_speed(SPEED)?;
        tcsetattr(&file, OptionalActions::Now, &settings)?;
    }
    Ok(file)
}

/// Reads until hv-core says goodbye, the other end hangs up, or nothing comes for `silence`. `watch`
/// sees the decoder after every arrival.
///
/// # Errors
/// Whatever the system says.
pub fn listen(
    mut line: File,
    silence: Duration,
    watch: &mut dyn FnMut(&Decoder),
) -> io::Result<(Vec<u8>, End)> {
    let mut bytes = Vec::new();
    let mut decoder = Decoder::default();
    let mut buffer = [0; 4096];
    let wait = Timespec::try_from(silence).map_err(io::Error::other)?;
    loop {
        let mut ready = [PollFd::new(&line, PollFlags::IN)];
        match poll(&mut ready, Some(&wait)) {
            Ok(0) => return Ok((bytes, End::Silent(silence))),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match line.read(&mut buffer) {
            Ok(0) => return Ok((bytes, End::HungUp)),
            Ok(count) => {
                bytes.extend_from_slice(&buffer[..count]);
                decoder.push(&buffer[..count]);
                watch(&decoder);
                if decoder.has_ended() {
                    return Ok((bytes, End::Goodbye));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pseudo terminal whose other end is gone says so.
            Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                return Ok((bytes, End::HungUp));
            }
            Err(error) => return Err(error),
        }
    }
}
