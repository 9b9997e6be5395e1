//! Instructions that exit and that the processor does not decode for us.
//!
//! An access to the APIC page is a nested page fault, a CR8 write an exit without its register
//! where there are no decode assists. Both need the instruction. Decoding costs some 250
//! instructions and the walk of the guest's page tables another 75, so the last ones are kept with
//! the page table entries and the bytes that they came from, and used while those have not changed:
//! correct under self-modifying code and changed mappings, and cheaper than the cheapest decoder.

use crate::memory::{GuestMemory, Walk, fetch, within_page};
use yaxpeax_x86::amd64::{InstDecoder, Opcode, Operand, RegSpec};
use yaxpeax_x86::long_mode::register_class;

/// What an instruction does, as far as a policy emulates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Memory to register, zero-extended.
    Load,
    /// Memory to register, sign-extended.
    LoadSigned,
    /// Register to memory.
    Store,
    /// Constant to memory.
    StoreImmediate,
    /// XCHG of register and memory.
    Exchange,
    /// STOSB, STOSW, STOSD: RAX to memory at RDI. The immediate is 1 behind a REP.
    StoreString,
    /// MOV of a register to a control register.
    WriteControl,
    /// MOV of a control register to a register.
    ReadControl,
}

/// A decoded instruction: eight bytes, so that it travels in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Decoded {
    /// Its length in bytes.
    pub length: u8,
    /// What it does.
    pub operation: Operation,
    /// The general-purpose register's number.
    pub register: u8,
    /// Low nibble: how many bytes of memory it accesses. High nibble: how many of the register it
    /// writes, or which control register it names.
    sizes: u8,
    /// The constant.
    pub immediate: u32,
}

impl Decoded {
    fn new(length: u8, size: u8, operation: Operation) -> Self {
        Self { length, operation, register: 0, sizes: size & 15, immediate: 0 }
    }

    fn register(self, register: u8, width: u8) -> Self {
        Self { register, sizes: self.sizes | width << 4, ..self }
    }

    fn control(self, control: u8, register: u8) -> Self {
        self.register(register, control)
    }

    fn immediate(self, immediate: u32) -> Self {
        Self { immediate, ..self }
    }

    /// How many bytes of memory it accesses.
    #[inline]
    pub const fn size(self) -> u8 {
        self.sizes & 15
    }

    /// How many bytes of the register a load writes.
    #[inline]
    pub const fn width(self) -> u8 {
        self.sizes >> 4
    }

    /// Whether it loads 32 bits into a register, the upper half of which becomes zero.
    #[inline(always)]
    pub fn is_plain_load(self) -> bool {
        self.operation == Operation::Load && self.sizes == 0x44
    }

    /// Which control register a MOV names.
    #[inline]
    pub const fn control_register(self) -> u8 {
        self.sizes >> 4
    }
}

const KEPT: usize = 64;

/// One instruction, and what must still be so for it to be that instruction.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Memo {
    rip: u64,
    cr3: u64,
    bytes: [u64; 2],
    walk: Walk,
    decoded: Decoded,
}

impl Memo {
    /// Whether it is of that instruction, and nothing has changed since.
    #[inline(always)]
    fn is_of<M: GuestMemory>(&self, memory: &M, cr3: u64, rip: u64) -> bool {
        self.rip == rip
            && self.cr3 == cr3
            && self.walk.holds(memory)
            && memory.read_16(self.walk.physical) == Some(self.bytes)
    }
}

/// Where an instruction is kept that had to make room in its first place.
const fn second_place(rip: u64) -> usize {
    (rip as usize % KEPT) ^ (KEPT / 2)
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
        rip: 0,
        // No CR3 has reserved bits.
        cr3: u64::MAX,
        bytes: [0; 2],
        walk: Walk::NONE,
        decoded: Decoded {
            length: 0,
            operation: Operation::StoreImmediate,
            register: 0,
            sizes: 0,
            immediate: 0,
        },
    };

    /// A decoder that has seen nothing.
    pub const fn new() -> Self {
        Self { memo: [Self::EMPTY; KEPT] }
    }

    /// The instruction at a guest-virtual address, `None` if the policy does not emulate it.
    ///
    /// What is remembered is used only after the page table entries and the bytes were compared.
    #[inline(always)]
    pub fn decode<M: GuestMemory>(&mut self, memory: &M, cr3: u64, rip: u64) -> Option<Decoded> {
        let memo = &self.memo[rip as usize % KEPT];
        if memo.is_of(memory, cr3, rip) {
            return Some(memo.decoded);
        }
        self.look_further(memory, cr3, rip)
    }

    #[cold]
    #[inline(never)]
    fn look_further<M: GuestMemory>(&mut self, memory: &M, cr3: u64, rip: u64) -> Option<Decoded> {
        let memo = &self.memo[second_place(rip)];
        if memo.is_of(memory, cr3, rip) {
            return Some(memo.decoded);
        }
        self.learn(memory, cr3, rip)
    }

    #[cold]
    #[inline(never)]
    fn learn<M: GuestMemory>(&mut self, memory: &M, cr3: u64, rip: u64) -> Option<Decoded> {
        let bytes = fetch(memory, cr3, rip)?;
        let decoded = decode(bytes)?;
        if within_page(rip) {
            let walk = Walk::new(memory, cr3, rip)?;
            let first = rip as usize % KEPT;
            // Two instructions of one loop may want the same place: neither drives the other out.
            self.memo[second_place(rip)] = self.memo[first];
            self.memo[first] = Memo { rip, cr3, bytes, walk, decoded };
        }
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
    let is = |operation| Decoded::new(length, size, operation);
    Some(match (instruction.opcode(), to, from) {
        (Opcode::MOV, Operand::Register { reg: to }, Operand::Register { reg: from }) => {
            if is_control(to) {
                is(Operation::WriteControl).control(to.num(), general(from)?.0)
            } else if is_control(from) {
                is(Operation::ReadControl).control(from.num(), general(to)?.0)
            } else {
                return None;
            }
        }
        (Opcode::MOV | Opcode::MOVZX, Operand::Register { reg }, from) if from.is_memory() => {
            let (register, width) = general(reg)?;
            is(Operation::Load).register(register, width)
        }
        (Opcode::MOVSX | Opcode::MOVSXD, Operand::Register { reg }, from) if from.is_memory() => {
            let (register, width) = general(reg)?;
            is(Operation::LoadSigned).register(register, width)
        }
        (Opcode::MOV, to, Operand::Register { reg }) if to.is_memory() => {
            is(Operation::Store).register(general(reg)?.0, 0)
        }
        (Opcode::MOV, to, from) if to.is_memory() => {
            is(Operation::StoreImmediate).immediate(immediate(from)?)
        }
        (Opcode::XCHG, to, Operand::Register { reg }) if to.is_memory() => {
            is(Operation::Exchange).register(general(reg)?.0, size)
        }
        (Opcode::XCHG, Operand::Register { reg }, from) if from.is_memory() => {
            is(Operation::Exchange).register(general(reg)?.0, size)
        }
        (Opcode::STOS, ..) if size <= 4 => {
            let is_repeated = instruction.prefixes.rep_any();
            is(Operation::StoreString).immediate(is_repeated.into())
        }
        _ => return None,
    })
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
    use crate::memory::tests::Ram;

    const RIP: u64 = 0x5000;
    const CR3: u64 = 0x1000;

    fn decoded(bytes: &[u8]) -> Option<Decoded> {
        let ram = Ram::identity(0x10000);
        ram.put(RIP, &[0x90; 16]);
        ram.put(RIP, bytes);
        Decoder::new().decode(&ram, CR3, RIP)
    }

    /// The instruction is all of `bytes`, with these register, memory size and register width or
    /// control register.
    fn is(bytes: &[u8], operation: Operation, register: u8, size: u8, width: u8) {
        let found = decoded(bytes).unwrap_or_else(|| panic!("{bytes:02x?} is not decoded"));
        assert_eq!(
            (found.length, found.operation, found.register, found.size(), found.width()),
            (bytes.len() as u8, operation, register, size, width),
            "{bytes:02x?}"
        );
    }

    #[test]
    fn the_forms_that_drivers_use_are_decoded() {
        use Operation::{Exchange, Load, LoadSigned, Store, StoreImmediate};
        is(&[0x89, 0x88, 0xb0, 0, 0, 0], Store, 1, 4, 0);
        is(&[0x8b, 0x80, 0x20, 0, 0, 0], Load, 0, 4, 4);
        is(&[0xc7, 0x87, 0xb0, 0, 0, 0, 7, 0, 0, 0], StoreImmediate, 0, 4, 0);
        is(&[0x44, 0x89, 0x8c, 0x98, 0xb0, 0, 0, 0], Store, 9, 4, 0);
        is(&[0x89, 0x04, 0x25, 0xb0, 0, 0xe0, 0x7e], Store, 0, 4, 0);
        is(&[0xa3, 0xb0, 0, 0xe0, 0xfe, 0, 0, 0, 0], Store, 0, 4, 0);
        is(&[0x87, 0x0f], Exchange, 1, 4, 4);
        is(&[0x48, 0x8b, 0x07], Load, 0, 8, 8);
        is(&[0x0f, 0xb6, 0x0f], Load, 1, 1, 4);
        is(&[0x48, 0x63, 0x17], LoadSigned, 2, 4, 8);
        assert_eq!(decoded(&[0xc7, 0x07, 7, 0, 0, 0]).unwrap().immediate, 7);
    }

    #[test]
    fn control_register_moves_are_decoded() {
        is(&[0x44, 0x0f, 0x22, 0xc0], Operation::WriteControl, 0, 0, 8);
        is(&[0x41, 0x0f, 0x22, 0xe7], Operation::WriteControl, 15, 0, 4);
        is(&[0x0f, 0x20, 0xe3], Operation::ReadControl, 3, 0, 4);
    }

    #[test]
    fn what_is_not_emulated_is_refused() {
        for bytes in [&[0x0f, 0x0b][..], &[0xf3, 0xa4], &[0x88, 0x27], &[0x01, 0x07], &[0x06]] {
            assert_eq!(decoded(bytes), None, "{bytes:02x?}");
        }
    }

    #[test]
    fn changed_bytes_and_changed_mappings_are_noticed() {
        let ram = Ram::identity(0x10000);
        let mut decoder = Decoder::new();
        ram.put(RIP, &[0x89, 0x07, 0x90]);
        let store = decoder.decode(&ram, CR3, RIP);
        assert_eq!(store.unwrap().operation, Operation::Store);
        ram.put(RIP, &[0x8b, 0x07, 0x90]);
        assert_eq!(decoder.decode(&ram, CR3, RIP).unwrap().operation, Operation::Load);
        ram.put(RIP, &[0x89, 0x07, 0x90]);
        assert_eq!(decoder.decode(&ram, CR3, RIP), store);
        // The same address, mapped by 4 KiB pages to another page with another instruction.
        ram.put(0x7000, &[0x87, 0x07, 0x90]);
        ram.put(0x4000 + 5 * 8, &0x7003u64.to_le_bytes());
        ram.put(0x3000, &0x4003u64.to_le_bytes());
        assert_eq!(decoder.decode(&ram, CR3, RIP).unwrap().operation, Operation::Exchange);
    }

    #[test]
    fn two_instructions_that_want_one_place_are_both_kept() {
        let ram = Ram::identity(0x10000);
        let other = RIP + KEPT as u64;
        ram.put(RIP, &[0x89, 0x07, 0x90]);
        ram.put(other, &[0x8b, 0x07, 0x90]);
        let mut decoder = Decoder::new();
        for _ in 0..3 {
            assert_eq!(decoder.decode(&ram, CR3, RIP).unwrap().operation, Operation::Store);
            assert_eq!(decoder.decode(&ram, CR3, other).unwrap().operation, Operation::Load);
        }
        let kept = |rip| decoder.memo.iter().filter(|memo| memo.rip == rip).count();
        assert_eq!((kept(RIP), kept(other)), (1, 1), "each was learned once");
    }

    #[test]
    fn an_instruction_across_pages_is_decoded() {
        let ram = Ram::identity(0x10000);
        ram.put(0x5fff, &[0x89, 0x07]);
        let store = Decoder::new().decode(&ram, CR3, 0x5fff).unwrap();
        assert_eq!((store.operation, store.length), (Operation::Store, 2));
    }
}
