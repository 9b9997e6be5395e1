//! Pages, and statics that one owner writes.

// UNSAFETY: statics that hardware reads need interior mutability.
#![expect(unsafe_code, reason = "a cell that is handed out once must be Sync")]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// A 4 KiB page.
#[repr(C, align(4096))]
pub struct Page(pub [u8; 4096]);

impl Page {
    /// A page of one byte.
    pub const fn filled(byte: u8) -> Self {
        Self([byte; 4096])
    }
}

/// A static that has one owner, who takes it once.
pub struct Once<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the one reference that `take` hands out.
unsafe impl<T: Send> Sync for Once<T> {}

impl<T> Once<T> {
    /// A static that nobody took yet.
    pub const fn new(value: T) -> Self {
        Self { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// The only reference to it.
    ///
    /// # Panics
    /// The second time.
    #[expect(clippy::mut_from_ref, reason = "the flag makes the reference unique")]
    pub fn take(&'static self) -> &'static mut T {
        assert!(!self.taken.swap(true, Ordering::Relaxed), "a static was taken twice");
        // SAFETY: the flag makes sure that this happens once.
        unsafe { &mut *self.value.get() }
    }
}

/// The physical address of something in hv-core's identity map.
pub fn physical<T: ?Sized>(thing: &T) -> u64 {
    core::ptr::from_ref(thing).cast::<()>() as u64
}

/// A static that is filled anew for every scenario.
///
/// Its owner hands out references whose lifetime the compiler cannot check: see [`Slot::place`].
pub struct Slot<T>(UnsafeCell<core::mem::MaybeUninit<T>>);

// SAFETY: who may reach the value is laid down in `place` and `get`.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    /// Nothing in it.
    pub const fn empty() -> Self {
        Self(UnsafeCell::new(core::mem::MaybeUninit::uninit()))
    }

    /// Puts a value in, over what was there, and gives the only reference to it.
    ///
    /// # Safety
    /// No reference to an earlier value is in use any more, on any core.
    #[expect(clippy::mut_from_ref, reason = "the caller makes the reference unique")]
    pub unsafe fn place(&'static self, value: T) -> &'static mut T {
        // SAFETY: the caller's promise.
        unsafe { (*self.0.get()).write(value) }
    }

    /// The value, for everybody.
    ///
    /// # Safety
    /// It was placed, and it is not placed again while the reference is in use.
    pub unsafe fn share(&'static self) -> &'static T {
        // SAFETY: the caller's promise.
        unsafe { (*self.0.get()).assume_init_ref() }
    }

    /// The value, for another core.
    ///
    /// # Safety
    /// It was placed, the placer has given its reference up, and there is one such taker at a time.
    #[expect(clippy::mut_from_ref, reason = "the caller makes the reference unique")]
    pub unsafe fn get(&'static self) -> &'static mut T {
        // SAFETY: the caller's promise.
        unsafe { (*self.0.get()).assume_init_mut() }
    }
}
