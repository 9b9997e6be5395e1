//! The guest's general-purpose registers.

use trapline_defs::vmcb::Vmcb;

/// Those that VMRUN does not switch: all but RAX and RSP, which the VMCB holds. The world switch
/// moves them by offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Gprs {
    /// RBX.
    pub rbx: u64,
    /// RCX.
    pub rcx: u64,
    /// RDX.
    pub rdx: u64,
    /// RSI.
    pub rsi: u64,
    /// RDI.
    pub rdi: u64,
    /// RBP.
    pub rbp: u64,
    /// R8.
    pub r8: u64,
    /// R9.
    pub r9: u64,
    /// R10.
    pub r10: u64,
    /// R11.
    pub r11: u64,
    /// R12.
    pub r12: u64,
    /// R13.
    pub r13: u64,
    /// R14.
    pub r14: u64,
    /// R15.
    pub r15: u64,
}

impl Gprs {
    /// The register with that number in instruction encodings (0 RAX, 4 RSP, 15 R15).
    pub fn register<'a>(&'a mut self, vmcb: &'a mut Vmcb, number: u8) -> &'a mut u64 {
        match number & 15 {
            0 => &mut vmcb.save.rax,
            1 => &mut self.rcx,
            2 => &mut self.rdx,
            3 => &mut self.rbx,
            4 => &mut vmcb.save.rsp,
            5 => &mut self.rbp,
            6 => &mut self.rsi,
            7 => &mut self.rdi,
            8 => &mut self.r8,
            9 => &mut self.r9,
            10 => &mut self.r10,
            11 => &mut self.r11,
            12 => &mut self.r12,
            13 => &mut self.r13,
            14 => &mut self.r14,
            _ => &mut self.r15,
        }
    }

    /// Writes a register as an instruction with that operand size (1, 2, 4 or 8 bytes) does: four
    /// bytes clear the upper half, one and two leave the rest alone.
    pub fn write_register(&mut self, vmcb: &mut Vmcb, number: u8, size: u8, value: u64) {
        let register = self.register(vmcb, number);
        *register = match size {
            1 => *register & !0xff | value & 0xff,
            2 => *register & !0xffff | value & 0xffff,
            4 => value & 0xffff_ffff,
            _ => value,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_merge_as_the_operand_size_says() {
        let (mut gprs, mut vmcb) = (Gprs::default(), Vmcb::zeroed());
        for (size, expected) in [
            (1, 0xffff_ffff_ffff_ff44),
            (2, 0xffff_ffff_ffff_3344),
            (4, 0x1122_3344),
            (8, 0x99_1122_3344),
        ] {
            for number in 0..16 {
                *gprs.register(&mut vmcb, number) = u64::MAX;
                gprs.write_register(&mut vmcb, number, size, 0x99_1122_3344);
                assert_eq!(*gprs.register(&mut vmcb, number), expected, "register {number}");
            }
        }
    }
}
