//! The processor outside SVM: segments, interrupts, the memory functions.

pub mod interrupts;
pub mod memory;
pub mod page;
pub mod segments;
