//! The banks of the backing page.

use super::bench::{Ram, page};
use crate::page::{Bank, Page};
use trapline_defs::apic::offset;

#[test]
fn the_highest_of_any_two_vectors_is_found_and_is_alone_only_by_itself() {
    let ram = Ram::new();
    let bank = Page(page(1));
    assert_eq!(bank.top(&ram, Bank::ISR), None);
    assert_eq!(bank.top_alone(&ram, Bank::ISR), None);
    for first in 0..=255 {
        ram.set(1, offset::ISR, first);
        for second in 0..=255 {
            ram.set(1, offset::ISR, second);
            let top = first.max(second);
            assert_eq!(bank.top(&ram, Bank::ISR), Some(top));
            assert_eq!(bank.top_alone(&ram, Bank::ISR), Some((top, first == second)));
            if first != second {
                ram.clear(1, offset::ISR, second);
            }
        }
        ram.clear(1, offset::ISR, first);
    }
    assert_eq!((bank.top(&ram, Bank::IRR), bank.top(&ram, Bank::TMR)), (None, None));
}
