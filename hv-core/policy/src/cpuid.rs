//! What CPUID says to a guest.
//!
//! The answers are fixed when a scenario starts; CPUID is the most frequent exit there is, so the
//! way to one is a table that a shift and an exclusive-or index. The few leaves whose answer
//! depends on ECX, and everything that does not exist, take the slow path.
//!
//! The guest is a plain AMD processor with the baseline of x86-64: nothing that hv-core would have
//! to emulate and does not (no SVM, XSAVE, MTRR, machine check, PAT), and nothing taken from the
//! host but its name, so that the counts of a guest do not depend on where it runs.

mod hyperv;
mod hypervisor;
mod kvm;
#[cfg(test)]
mod tests;
mod xen;

use trapline_abi::machine::Machine;

/// The registers that CPUID writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// What a guest may know of the processor it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Vendor, as Fn0000_0000 spells it in EBX, EDX, ECX.
    pub vendor: [u8; 12],
    /// Family, model and stepping: Fn0000_0001 EAX.
    pub signature: u32,
    /// Name: Fn8000_0002 to Fn8000_0004.
    pub brand: [u8; 48],
    /// Physical address bits: Fn8000_0008 EAX bits 7:0.
    pub physical_bits: u8,
}

/// The vCPU that the table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vcpu {
    /// Its initial APIC ID.
    pub apic_id: u32,
    /// How many vCPUs the VM has.
    pub count: u32,
    /// Its TSC's frequency in kHz.
    pub tsc_khz: u32,
}

/// The hypervisor range has its own bit 30, extended leaves bit 31.
const CLASSES: usize = 4;
const SLOTS_OF_CLASS: usize = 32;
const SLOTS: usize = CLASSES * SLOTS_OF_CLASS;

/// Where a leaf is, if it is in the table. The leaves 4000_0000h, 4000_0100h, 4000_0200h and 4000_FF00h
/// and their next neighbours fall on different slots.
#[inline]
const fn slot(leaf: u32) -> usize {
    let low = (leaf ^ (leaf >> 5)) as usize % SLOTS_OF_CLASS;
    (leaf >> 30) as usize * SLOTS_OF_CLASS + low
}

/// Topology, the processor's one leaf with subleaves.
const TOPOLOGY: u32 = 0xb;
const LAST_STANDARD: u32 = TOPOLOGY;
const LAST_EXTENDED: u32 = 0x8000_0008;

/// Fn0000_0001 EDX bit: there is a local APIC.
const EDX_APIC: u32 = 1 << 9;

/// One vCPU's answers.
#[derive(Clone, Debug)]
pub struct CpuidTable {
    /// The leaf whose answer is in that slot. 0 marks an empty one: leaf 0 has slot 0.
    leaves: [u32; SLOTS],
    answers: [Registers; SLOTS],
    /// The last answer of the slow path.
    made: Registers,
    /// Xen's leaf about time, which has subleaves; 0: there is none.
    xen_time: u32,
    vcpu: Vcpu,
}

impl CpuidTable {
    /// The answers for one vCPU of a machine.
    pub fn new(machine: &Machine, host: &Host, vcpu: Vcpu) -> Self {
        let none = Registers::default();
        let mut table =
            Self { leaves: [0; SLOTS], answers: [none; SLOTS], made: none, xen_time: 0, vcpu };
        table.fill_standard(machine, host);
        table.fill_extended(host);
        hypervisor::fill(&mut table, machine, host);
        table
    }

    /// The answer, if it is in the table and not for the slow path to make.
    #[inline(always)]
    pub fn known(&self, leaf: u32) -> Option<&Registers> {
        let slot = slot(leaf);
        (self.leaves[slot] == leaf).then(|| &self.answers[slot])
    }

    /// The answer to CPUID with that EAX and ECX. What does not exist is zero, as on AMD.
    ///
    /// It is a reference, and the table mutable for the slow path to leave its answer in: a value
    /// would cross the branch through the stack.
    pub fn get(&mut self, leaf: u32, subleaf: u32) -> &Registers {
        let slot = slot(leaf);
        if self.leaves[slot] == leaf { &self.answers[slot] } else { self.slow(leaf, subleaf) }
    }

    /// Follows APIC_BASE: a disabled APIC disappears from Fn0000_0001, as KVM has it.
    pub fn set_apic_enabled(&mut self, enabled: bool) {
        let edx = &mut self.answers[slot(1)].edx;
        *edx = if enabled { *edx | EDX_APIC } else { *edx & !EDX_APIC };
    }

    #[cold]
    fn slow(&mut self, leaf: u32, subleaf: u32) -> &Registers {
        self.made = match leaf {
            TOPOLOGY => self.topology(subleaf),
            _ if leaf == self.xen_time => xen::time(self.vcpu.tsc_khz, subleaf),
            _ => Registers::default(),
        };
        &self.made
    }

    /// Threads, cores and the x2APIC ID (APM vol. 3, Fn0000_000B): one thread per core.
    fn topology(&self, subleaf: u32) -> Registers {
        const THREADS: u32 = 1;
        const CORES: u32 = 2;
        let (eax, ebx, kind) = match subleaf {
            0 => (0, 1, THREADS),
            1 => (self.id_bits(), self.vcpu.count, CORES),
            _ => (0, 0, 0),
        };
        Registers { eax, ebx, ecx: subleaf & 0xff | kind << 8, edx: self.vcpu.apic_id }
    }

    /// Bits of an APIC ID that tell the vCPUs apart.
    fn id_bits(&self) -> u32 {
        self.vcpu.count.next_power_of_two().trailing_zeros()
    }

    fn put(&mut self, leaf: u32, answer: Registers) {
        let slot = slot(leaf);
        debug_assert!(self.leaves[slot] == 0 && (leaf == 0) == (slot == 0), "slot {slot} twice");
        self.leaves[slot] = leaf;
        self.answers[slot] = answer;
    }

    fn fill_standard(&mut self, machine: &Machine, host: &Host) {
        let [ebx, edx, ecx] = words(&host.vendor);
        self.put(0, Registers { eax: LAST_STANDARD, ebx, ecx, edx });

        // SSE3, CMPXCHG16B and the hypervisor bit (HV-001).
        let mut ecx = 1 | 1 << 13 | 1 << 31;
        ecx |= u32::from(machine.x2apic) << 21;
        ecx |= u32::from(machine.tsc_deadline) << 24;
        // FXSR, SSE, SSE2 and CLFLUSH come on top of what the extended leaf repeats.
        let mut edx = COMMON_EDX | 1 << 11 | 1 << 19 | 1 << 25 | 1 << 26;
        edx |= u32::from(self.vcpu.count > 1) << 28;
        let clflush_quadwords = 8 << 8;
        let count = self.vcpu.count.min(0xff) << 16;
        let ebx = self.vcpu.apic_id << 24 | count | clflush_quadwords;
        self.put(1, Registers { eax: host.signature, ebx, ecx, edx });
    }

    fn fill_extended(&mut self, host: &Host) {
        let [ebx, edx, ecx] = words(&host.vendor);
        self.put(0x8000_0000, Registers { eax: LAST_EXTENDED, ebx, ecx, edx });

        // LAHF in 64-bit mode; SYSCALL, NX and long mode.
        let ecx = 1 | u32::from(self.vcpu.count > 1) << 1;
        let edx = COMMON_EDX | 1 << 11 | 1 << 20 | 1 << 29;
        self.put(0x8000_0001, Registers { eax: host.signature, ebx: 0, ecx, edx });

        let (brand, _) = host.brand.as_chunks::<16>();
        for (leaf, part) in (0x8000_0002..).zip(brand) {
            let [eax, ebx, ecx, edx] = words(part);
            self.put(leaf, Registers { eax, ebx, ecx, edx });
        }

        let eax = u32::from(host.physical_bits) | 48 << 8;
        let ecx = (self.vcpu.count - 1).min(0xff) | self.id_bits() << 12;
        self.put(0x8000_0008, Registers { eax, ecx, ..Registers::default() });
    }
}

/// Fn0000_0001 EDX and Fn8000_0001 EDX: FPU, DE, PSE, TSC, MSR, PAE, CMPXCHG8B, APIC, PGE, CMOV,
/// MMX, FXSR.
const COMMON_EDX: u32 = 1
    | 1 << 2
    | 1 << 3
    | 1 << 4
    | 1 << 5
    | 1 << 6
    | 1 << 8
    | EDX_APIC
    | 1 << 13
    | 1 << 15
    | 1 << 23
    | 1 << 24;

/// Text as CPUID returns it: little-endian words.
fn words<const BYTES: usize, const WORDS: usize>(text: &[u8; BYTES]) -> [u32; WORDS] {
    let (chunks, _) = text.as_chunks::<4>();
    core::array::from_fn(|i| u32::from_le_bytes(chunks[i]))
}
