//! Addresses in the memory of a device.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

/// Where values of one type lie in the memory of a device, or none. Whether memory is there, and how much, whoever launches a kernel
/// on it knows.
pub(crate) struct Address<T> {
    number: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Address<T> {
    /// No address, where a kernel can do without.
    pub(crate) const fn none() -> Self {
        Self::new(0)
    }

    /// The address of that number.
    pub(crate) const fn new(number: u64) -> Self {
        Self { number, of: PhantomData }
    }

    /// The address so many values further on.
    pub(crate) fn after(self, values: usize) -> Self {
        Self::new(self.number + (values * size_of::<T>()) as u64)
    }

    pub(crate) fn number(self) -> u64 {
        self.number
    }

    /// The number where it lies, as a launch takes it.
    pub(crate) fn as_number(&self) -> &u64 {
        &self.number
    }
}

impl<T> Clone for Address<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Address<T> {}

impl<T> Debug for Address<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.number)
    }
}
