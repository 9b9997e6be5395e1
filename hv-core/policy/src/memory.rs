//! Guest memory, as the policy reaches it, and the guest's page tables.

/// Guest-physical RAM from address 0. A guest may change it at any time.
pub trait GuestMemory {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// The little-endian word at an 8-byte aligned address, `None` outside RAM.
    fn read_u64(&self, address: u64) -> Option<u64>;

    /// The word at an address that [`GuestMemory::read_u64`] has answered before. An implementation
    /// that need not look at the bounds again does better.
    #[inline]
    fn read_again(&self, address: u64) -> u64 {
        self.read_u64(address).unwrap_or(0)
    }

    /// Writes one byte; `false` outside RAM.
    fn write_u8(&self, address: u64, value: u8) -> bool;

    /// Sets bits of a byte: what it was before, `None` outside RAM. An implementation whose memory several
    /// cores reach does it in one step.
    fn or_u8(&self, address: u64, bits: u8) -> Option<u8> {
        let before = self.read_u8(address)?;
        self.write_u8(address, before | bits).then_some(before)
    }

    /// Sets and clears bits of the word at an 8-byte aligned address; the word before, `None` outside RAM.
    /// Where others write the same memory meanwhile, an implementation does this in one atomic step.
    fn update_u64(&self, address: u64, set: u64, clear: u64) -> Option<u64> {
        let before = self.read_u64(address)?;
        let after = before & !clear | set;
        for (at, byte) in (address..).zip(after.to_le_bytes()) {
            self.write_u8(at, byte);
        }
        Some(before)
    }

    /// One byte, `None` outside RAM.
    #[inline]
    fn read_u8(&self, address: u64) -> Option<u8> {
        self.read_u64(address & !7).map(|word| (word >> (address % 8 * 8)) as u8)
    }

    /// Sixteen bytes from any address in one page, `None` outside RAM. An implementation that can
    /// read unaligned words does better.
    #[inline]
    fn read_16(&self, address: u64) -> Option<[u64; 2]> {
        let (first, shift) = (address & !7, address % 8 * 8);
        let (a, b) = (self.read_u64(first)?, self.read_u64(first + 8)?);
        if shift == 0 {
            return Some([a, b]);
        }
        let c = self.read_u64(first + 16)?;
        Some([a >> shift | b << (64 - shift), b >> shift | c << (64 - shift)])
    }
}

const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// A translation by the guest's 4-level page tables, with the entries that it rests on.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Address and value of each entry; the last one again where large pages leave some out.
    entries: [(u64, u64); 4],
    /// The guest-physical address.
    pub physical: u64,
}

impl Walk {
    /// A walk that nothing was learned from.
    pub const NONE: Self = Self { entries: [(0, 0); 4], physical: 0 };

    /// Translates a guest-virtual address. Bounded, and confined to guest RAM; rights are not
    /// checked, as the processor just used the translation.
    pub fn new(memory: &impl GuestMemory, cr3: u64, address: u64) -> Option<Self> {
        let mut table = cr3 & ADDRESS;
        let mut entries = [(0, 0); 4];
        for (level, shift) in [39u32, 30, 21, 12].into_iter().enumerate() {
            let at = table + (address >> shift & 511) * 8;
            let entry = memory.read_u64(at)?;
            if entry & PRESENT == 0 {
                return None;
            }
            entries[level..].fill((at, entry));
            if shift == 12 || shift < 39 && entry & LARGE != 0 {
                let offset = (1u64 << shift) - 1;
                let physical = entry & ADDRESS & !offset | address & offset;
                return Some(Self { entries, physical });
            }
            table = entry & ADDRESS;
        }
        None
    }

    /// Whether the tables still say the same: cheaper than a new walk, and as exact.
    #[inline(always)]
    pub fn holds(&self, memory: &impl GuestMemory) -> bool {
        self.entries.iter().all(|&(at, entry)| memory.read_again(at) == entry)
    }
}

/// Translates a guest-virtual address (see [`Walk`]).
pub fn translate(memory: &impl GuestMemory, cr3: u64, address: u64) -> Option<u64> {
    Walk::new(memory, cr3, address).map(|walk| walk.physical)
}

/// Whether sixteen bytes can be read at `rip` without crossing into another page; the read may touch
/// twenty-four.
#[inline]
pub const fn within_page(rip: u64) -> bool {
    4096 - rip % 4096 >= 24
}

/// The 16 bytes at a guest-virtual address. An instruction is at most 15 long, so a page that the
/// guest does not map behind it is read as zeros.
pub fn fetch(memory: &impl GuestMemory, cr3: u64, rip: u64) -> Option<[u64; 2]> {
    let first = translate(memory, cr3, rip)?;
    if within_page(rip) {
        return memory.read_16(first);
    }
    fetch_across(memory, cr3, rip, first, 4096 - rip % 4096)
}

#[cold]
#[inline(never)]
fn fetch_across(
    memory: &impl GuestMemory,
    cr3: u64,
    rip: u64,
    first: u64,
    left: u64,
) -> Option<[u64; 2]> {
    let mut bytes = [0u8; 16];
    for (at, byte) in bytes.iter_mut().enumerate() {
        let address = rip.wrapping_add(at as u64);
        let physical = if (at as u64) < left {
            Some(first + at as u64)
        } else {
            translate(memory, cr3, address)
        };
        *byte = physical.and_then(|a| memory.read_u8(a)).unwrap_or(0);
    }
    let word = |at: usize| {
        bytes[at..at + 8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    Some([word(0), word(8)])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use core::cell::RefCell;

    /// RAM for tests.
    pub(crate) struct Ram(pub RefCell<Vec<u8>>);

    impl Ram {
        pub(crate) fn new(size: usize) -> Self {
            Self(RefCell::new(vec![0; size]))
        }

        pub(crate) fn put(&self, address: u64, bytes: &[u8]) {
            self.0.borrow_mut()[address as usize..][..bytes.len()].copy_from_slice(bytes);
        }

        /// 4-level tables at 1000h that map the first 2 MiB by a large page.
        pub(crate) fn identity(size: usize) -> Self {
            let ram = Self::new(size);
            ram.put(0x1000, &0x2003u64.to_le_bytes());
            ram.put(0x2000, &0x3003u64.to_le_bytes());
            ram.put(0x3000, &0x83u64.to_le_bytes());
            ram
        }
    }

    impl GuestMemory for Ram {
        fn size(&self) -> u64 {
            self.0.borrow().len() as u64
        }

        fn read_u64(&self, address: u64) -> Option<u64> {
            let ram = self.0.borrow();
            let bytes =
                ram.get(address as usize..usize::try_from(address).ok()?.checked_add(8)?)?;
            Some(u64::from_le_bytes(bytes.try_into().unwrap()))
        }

        fn write_u8(&self, address: u64, value: u8) -> bool {
            match self.0.borrow_mut().get_mut(address as usize) {
                Some(byte) => {
                    *byte = value;
                    true
                }
                None => false,
            }
        }
    }

    #[test]
    fn addresses_translate_through_large_and_small_pages() {
        let ram = Ram::identity(0x10000);
        assert_eq!(translate(&ram, 0x1000, 0x5123), Some(0x5123));
        assert_eq!(translate(&ram, 0x1000, 0x20_0000), None);
        // A 4 KiB page: 20_0000h maps to 9000h.
        ram.put(0x3008, &0x4003u64.to_le_bytes());
        ram.put(0x4000, &0x9003u64.to_le_bytes());
        assert_eq!(translate(&ram, 0x1000, 0x20_0abc), Some(0x9abc));
    }

    #[test]
    fn a_walk_holds_until_an_entry_changes() {
        let ram = Ram::identity(0x10000);
        let walk = Walk::new(&ram, 0x1000, 0x5123).unwrap();
        assert!(walk.holds(&ram));
        ram.put(0x8000, &7u64.to_le_bytes());
        assert!(walk.holds(&ram));
        for entry in [0x1000, 0x2000, 0x3000] {
            let before = ram.read_u64(entry).unwrap();
            ram.put(entry, &(before ^ 1 << 12).to_le_bytes());
            assert!(!walk.holds(&ram), "entry at {entry:#x}");
            ram.put(entry, &before.to_le_bytes());
        }
        assert!(walk.holds(&ram));
    }

    #[test]
    fn tables_outside_ram_translate_nothing() {
        let ram = Ram::identity(0x10000);
        assert_eq!(translate(&ram, 0xffff_f000, 0), None);
        ram.put(0x3000, &(0xf_ffff_f000u64 | 3).to_le_bytes());
        assert_eq!(translate(&ram, 0x1000, 0x5000), None);
    }

    #[test]
    fn bytes_are_fetched_at_every_alignment_and_across_pages() {
        let ram = Ram::identity(0x10000);
        let pattern: Vec<u8> = (0..64).collect();
        ram.put(0x5fe0, &pattern);
        for at in 0..40u64 {
            let words = fetch(&ram, 0x1000, 0x5fe0 + at).unwrap();
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            assert_eq!(bytes, pattern[at as usize..at as usize + 16], "offset {at}");
        }
    }
}
