//! Instructions that exit and that the processor does not decode for us.
//!
//! An access to the APIC page is a nested page fault, a CR8 write an exit without its register
//! where there are no decode assists. Both need the instruction. Decoding costs some 250
//! instructions, so the last ones are kept, keyed by RIP and by the very bytes: correct under
//! self-modifying code, and a third cheaper than the cheapest decoder.

use yaxpeax_x86::amd64::{InstDecoder, Opcode, Operand, RegSpec};
use yaxpeax_x86::long_mode::register_class;

/// What an instruction does, as far as a policy emulates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Memory to register. `size` bytes are read; `extend` says how they fill `width` bytes.
    Load {
        /// Register number.
        register: u8,
        /// Bytes of the register that are written.
        width: u8,
        /// Sign extension instead of zeros.
        sign: bool,
    },
    /// Register to memory.
    Store {
        /// Register number.
        register: u8,
    },
    /// Constant to memory.
    StoreImmediate {
        /// The constant.
        value: u32,
    },
    /// XCHG.
    Exchange {
        /// Register number.
        register: u8,
    },
    /// MOV to a control register.
    WriteControl {
        /// Which.
        control: u8,
        /// Register number.
        register: u8,
    },
    /// MOV from a control register.
    ReadControl {
        /// Which.
        control: u8,
        /// Register number.
        register: u8,
    },
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Its length in bytes.
    pub length: u8,
    /// How many bytes of memory it accesses.
    pub size: u8,
    /// What it does.
    pub operation: Operation,
}

const KEPT: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Memo {
    rip: u64,
    bytes: [u64; 2],
    decoded: Decoded,
}

/// The decoder, with its memory.
#[derive(Debug)]
pub struct Decoder {
    memo: [Memo; KEPT],
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    const EMPTY: Memo = Memo {
        // No instruction starts at the last byte of the address space.
        rip: u64::MAX,
        bytes: [0; 2],
        decoded: Decoded { length: 0, size: 0, operation: Operation::StoreImmediate { value: 0 } },
    };

    /// A decoder that has seen nothing.
    pub const fn new() -> Self {
        Self { memo: [Self::EMPTY; KEPT] }
    }

    /// Forgets everything: scenarios must not help each other.
    pub fn reset(&mut self) {
        self.memo = [Self::EMPTY; KEPT];
    }

    /// The instruction with these bytes at `rip`, `None` if the policy does not emulate it.
    #[inline]
    pub fn decode(&mut self, rip: u64, bytes: [u64; 2]) -> Option<Decoded> {
        let memo = &mut self.memo[rip as usize % KEPT];
        if memo.rip == rip && memo.bytes == bytes {
            return Some(memo.decoded);
        }
        let decoded = decode(bytes)?;
        *memo = Memo { rip, bytes, decoded };
        Some(decoded)
    }
}

/// A general-purpose register's number; high bytes (AH..BH) are not emulated.
fn general(register: RegSpec) -> Option<(u8, u8)> {
    let width = match register.class() {
        register_class::Q => 8,
        register_class::D => 4,
        register_class::W => 2,
        register_class::RB => 1,
        register_class::B if register.num() < 4 => 1,
        _ => return None,
    };
    Some((register.num(), width))
}

#[cold]
#[inline(never)]
fn decode(bytes: [u64; 2]) -> Option<Decoded> {
    use yaxpeax_arch::LengthedInstruction;
    let (low, high) = (bytes[0].to_le_bytes(), bytes[1].to_le_bytes());
    let mut buffer = [0u8; 16];
    buffer[..8].copy_from_slice(&low);
    buffer[8..].copy_from_slice(&high);
    let instruction = InstDecoder::default().decode_slice(&buffer[..15]).ok()?;
    let length = instruction.len().to_const() as u8;
    let size = instruction.mem_size().and_then(|s| s.bytes_size()).unwrap_or(0);
    let (to, from) = (instruction.operand(0), instruction.operand(1));
    let is_control = |r: RegSpec| r.class() == register_class::CR;
    let operation = match (instruction.opcode(), to, from) {
        (Opcode::MOV, Operand::Register { reg: to }, Operand::Register { reg: from }) => {
            if is_control(to) {
                Operation::WriteControl { control: to.num(), register: general(from)?.0 }
            } else if is_control(from) {
                Operation::ReadControl { control: from.num(), register: general(to)?.0 }
            } else {
                return None;
            }
        }
        (Opcode::MOV | Opcode::MOVZX, Operand::Register { reg }, from) if from.is_memory() => {
            let (register, width) = general(reg)?;
            Operation::Load { register, width, sign: false }
        }
        (Opcode::MOVSX | Opcode::MOVSXD, Operand::Register { reg }, from) if from.is_memory() => {
            let (register, width) = general(reg)?;
            Operation::Load { register, width, sign: true }
        }
        (Opcode::MOV, to, Operand::Register { reg }) if to.is_memory() => {
            Operation::Store { register: general(reg)?.0 }
        }
        (Opcode::MOV, to, from) if to.is_memory() => {
            Operation::StoreImmediate { value: immediate(from)? }
        }
        (Opcode::XCHG, to, Operand::Register { reg }) if to.is_memory() => {
            Operation::Exchange { register: general(reg)?.0 }
        }
        (Opcode::XCHG, Operand::Register { reg }, from) if from.is_memory() => {
            Operation::Exchange { register: general(reg)?.0 }
        }
        _ => return None,
    };
    Some(Decoded { length, size, operation })
}

fn immediate(operand: Operand) -> Option<u32> {
    Some(match operand {
        Operand::ImmediateI8 { imm } => imm as u32,
        Operand::ImmediateU8 { imm } => u32::from(imm),
        Operand::ImmediateI16 { imm } => imm as u32,
        Operand::ImmediateU16 { imm } => u32::from(imm),
        Operand::ImmediateI32 { imm } => imm as u32,
        Operand::ImmediateU32 { imm } => imm,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<Decoded> {
        let mut buffer = [0x90u8; 16];
        buffer[..bytes.len()].copy_from_slice(bytes);
        let word = |at: usize| u64::from_le_bytes(buffer[at..at + 8].try_into().unwrap());
        Decoder::new().decode(0x1000, [word(0), word(8)])
    }

    fn is(bytes: &[u8], size: u8, operation: Operation) {
        let length = bytes.len() as u8;
        assert_eq!(decoded(bytes), Some(Decoded { length, size, operation }), "{bytes:02x?}");
    }

    #[test]
    fn the_forms_that_drivers_use_are_decoded() {
        use Operation::{Exchange, Load, Store, StoreImmediate};
        is(&[0x89, 0x88, 0xb0, 0, 0, 0], 4, Store { register: 1 });
        is(&[0x8b, 0x80, 0x20, 0, 0, 0], 4, Load { register: 0, width: 4, sign: false });
        is(&[0xc7, 0x87, 0xb0, 0, 0, 0, 0, 0, 0, 0], 4, StoreImmediate { value: 0 });
        is(&[0x44, 0x89, 0x8c, 0x98, 0xb0, 0, 0, 0], 4, Store { register: 9 });
        is(&[0x89, 0x04, 0x25, 0xb0, 0, 0xe0, 0x7e], 4, Store { register: 0 });
        is(&[0xa3, 0xb0, 0, 0xe0, 0xfe, 0, 0, 0, 0], 4, Store { register: 0 });
        is(&[0x87, 0x07], 4, Exchange { register: 0 });
        is(&[0x48, 0x8b, 0x07], 8, Load { register: 0, width: 8, sign: false });
        is(&[0x0f, 0xb6, 0x07], 1, Load { register: 0, width: 4, sign: false });
    }

    #[test]
    fn control_register_moves_are_decoded() {
        use Operation::{ReadControl, WriteControl};
        is(&[0x44, 0x0f, 0x22, 0xc0], 0, WriteControl { control: 8, register: 0 });
        is(&[0x41, 0x0f, 0x22, 0xe7], 0, WriteControl { control: 4, register: 15 });
        is(&[0x0f, 0x20, 0xe3], 0, ReadControl { control: 4, register: 3 });
    }

    #[test]
    fn what_is_not_emulated_is_refused() {
        for bytes in [&[0x0f, 0x0b][..], &[0xf3, 0xa4], &[0x88, 0x27], &[0x01, 0x07], &[0x06]] {
            assert_eq!(decoded(bytes), None, "{bytes:02x?}");
        }
    }

    #[test]
    fn changed_bytes_at_the_same_rip_are_decoded_anew() {
        let mut decoder = Decoder::new();
        let store = [u64::from_le_bytes([0x89, 0x07, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90]), 0];
        let load = [u64::from_le_bytes([0x8b, 0x07, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90]), 0];
        let first = decoder.decode(0x1000, store);
        assert_ne!(first, decoder.decode(0x1000, load));
        assert_eq!(first, decoder.decode(0x1000, store));
    }
}
