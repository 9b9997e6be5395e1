//! Which APIC ids go into one call of SEND_IPI (Linux `__send_ipi_mask`; rule PVI-3).

/// Ids that a call can name.
const SIZE: u32 = 128;

/// What one call names: bit n is APIC id `first` + n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The lowest id.
    pub first: u32,
    /// Its bits.
    pub bitmap: u128,
}

impl Window {
    const fn of(id: u32) -> Self {
        Self { first: id, bitmap: 1 }
    }

    /// The highest id.
    const fn last(self) -> u32 {
        self.first + 127 - self.bitmap.leading_zeros()
    }

    /// With `id` in it, if it is no further than a window from both ends.
    const fn with(self, id: u32) -> Option<Self> {
        if id < self.first && self.last() - id < SIZE {
            return Some(Self { first: id, bitmap: self.bitmap << (self.first - id) | 1 });
        }
        if id > self.first && id - self.first < SIZE {
            return Some(Self { bitmap: self.bitmap | 1 << (id - self.first), ..self });
        }
        None
    }
}

/// The calls for APIC ids in the order of their CPUs.
pub fn windows(ids: impl Iterator<Item = u32>) -> impl Iterator<Item = Window> {
    let mut ids = ids;
    let mut open: Option<Window> = None;
    core::iter::from_fn(move || {
        for id in ids.by_ref() {
            match open {
                None => open = Some(Window::of(id)),
                Some(window) => match window.with(id) {
                    Some(wider) => open = Some(wider),
                    None => {
                        open = Some(Window::of(id));
                        return Some(window);
                    }
                },
            }
        }
        open.take()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids of each call.
    fn calls(ids: &[u32]) -> Vec<Vec<u32>> {
        let ids_of = |window: Window| {
            let named = (0..SIZE).filter(|bit| window.bitmap >> bit & 1 != 0);
            named.map(|bit| window.first + bit).collect()
        };
        windows(ids.iter().copied()).map(ids_of).collect()
    }

    #[test]
    fn pvi_3_up_to_128_ids_are_one_call() {
        let all: Vec<u32> = (0..128).collect();
        assert_eq!(calls(&all), std::slice::from_ref(&all));
        let far: Vec<u32> = all.iter().map(|id| id + 0xffff_0000).collect();
        assert_eq!(calls(&far), std::slice::from_ref(&far));
        assert_eq!(calls(&[]), [[0u32; 0]; 0]);
    }

    #[test]
    fn pvi_3_ids_that_are_too_far_apart_are_several() {
        assert_eq!(calls(&[0, 127]), [vec![0, 127]]);
        assert_eq!(calls(&[0, 128]), [vec![0], vec![128]]);
        assert_eq!(calls(&[0, 64, 128, 192, 256]), [vec![0, 64], vec![128, 192], vec![256]]);
    }

    #[test]
    fn pvi_3_a_lower_id_becomes_the_first_if_the_last_stays_in_reach() {
        assert_eq!(calls(&[100, 50, 0, 127]), [vec![0, 50, 100, 127]]);
        assert_eq!(calls(&[100, 200, 80]), [vec![80, 100, 200]]);
        assert_eq!(calls(&[100, 200, 70]), [vec![100, 200], vec![70]]);
        assert_eq!(calls(&[200, 100, 300, 210]), [vec![100, 200], vec![210, 300]]);
    }

    #[test]
    fn pvi_3_each_id_is_named_once() {
        let ids: Vec<u32> = (0..200).map(|n| n * 37 % 1000).collect();
        let mut named: Vec<u32> = calls(&ids).concat();
        let mut expected = ids;
        named.sort_unstable();
        expected.sort_unstable();
        assert_eq!(named, expected);
    }
}
