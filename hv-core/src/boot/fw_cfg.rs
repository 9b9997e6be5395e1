//! QEMU's fw_cfg device, by DMA: reading a file costs two dozen instructions whatever its size.

// UNSAFETY: port I/O, and a device that writes to memory.
#![expect(unsafe_code, reason = "port I/O and device DMA")]

use core::sync::atomic::{Ordering, fence};
use x86_64::instructions::port::Port;

const SELECTOR: u16 = 0x510;
const DATA: u16 = 0x511;
const DMA_HIGH: u16 = 0x514;
const DMA_LOW: u16 = 0x518;
const KEY_SIGNATURE: u16 = 0x00;
const KEY_ID: u16 = 0x01;
const KEY_DIRECTORY: u16 = 0x19;
const ID_DMA: u8 = 2;
const CONTROL_ERROR: u32 = 1;
const CONTROL_READ: u32 = 2;
const CONTROL_SELECT: u32 = 8;
const MAX_FILES: usize = 128;

/// Big endian, as the device reads it.
#[repr(C, align(16))]
struct Command {
    control: u32,
    length: u32,
    address: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct File {
    size: u32,
    select: u16,
    _reserved: u16,
    name: [u8; 56],
}

#[repr(C)]
struct Directory {
    count: u32,
    files: [File; MAX_FILES],
}

/// The device.
pub struct FwCfg(());

impl FwCfg {
    /// Looks for the device, with DMA.
    pub fn find() -> Option<Self> {
        let mut bytes = [0u8; 8];
        // SAFETY: on a machine without the device the ports read as ones.
        unsafe {
            let mut select = Port::<u16>::new(SELECTOR);
            let mut data = Port::<u8>::new(DATA);
            for (key, part) in [(KEY_SIGNATURE, 0..4), (KEY_ID, 4..8)] {
                select.write(key);
                for byte in &mut bytes[part] {
                    *byte = data.read();
                }
            }
        }
        (bytes[..4] == *b"QEMU" && bytes[4] & ID_DMA != 0).then_some(Self(()))
    }

    /// Reads the file with that name into `area`; returns its length.
    pub fn read_file(&mut self, name: &str, area: &mut [u8]) -> Result<usize, &'static str> {
        let mut directory = Directory {
            count: 0,
            files: [File { size: 0, select: 0, _reserved: 0, name: [0; 56] }; MAX_FILES],
        };
        let length = size_of::<Directory>() as u32;
        self.read(KEY_DIRECTORY, (&raw mut directory).cast(), length)?;
        let count = (u32::from_be(directory.count) as usize).min(MAX_FILES);
        let file = directory.files[..count]
            .iter()
            .find(|f| f.name.split(|&b| b == 0).next() == Some(name.as_bytes()))
            .ok_or("fw_cfg has no opt/trapline/plan; start QEMU with -fw_cfg")?;
        let size = u32::from_be(file.size);
        if size as usize > area.len() {
            return Err("the plan in fw_cfg is larger than a plan can be");
        }
        self.read(u16::from_be(file.select), area.as_mut_ptr(), size)?;
        Ok(size as usize)
    }

    /// `to` must have room for `length` bytes; every caller passes an object of its own.
    fn read(&mut self, key: u16, to: *mut u8, length: u32) -> Result<(), &'static str> {
        let control = u32::from(key) << 16 | CONTROL_SELECT | CONTROL_READ;
        let command = Command {
            control: control.to_be(),
            length: length.to_be(),
            address: (to as u64).to_be(),
        };
        let at = &raw const command as u64;
        fence(Ordering::SeqCst);
        // SAFETY: the device reads the command and writes `length` bytes to `to`, both ours.
        let state = unsafe {
            Port::<u32>::new(DMA_HIGH).write(((at >> 32) as u32).to_be());
            Port::<u32>::new(DMA_LOW).write((at as u32).to_be());
            loop {
                let state = u32::from_be((&raw const command.control).read_volatile());
                if state & !CONTROL_ERROR == 0 {
                    break state;
                }
                core::hint::spin_loop();
            }
        };
        fence(Ordering::SeqCst);
        if state == 0 { Ok(()) } else { Err("fw_cfg refused a DMA read") }
    }
}
