//! A tensor view: element type, shape and where the elements are. Owns nothing.

use crate::{DType, Element, Error, Result, Shape};

/// An address in a device's reserved range (see the crate's contract), in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    #[must_use]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

/// Where a tensor's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In device memory.
    Device(DevicePtr),
    /// In host memory.
    Host(HostPtr),
}

/// An address in host memory that [`Tensor::from_host`] vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPtr(*mut u8);

/// A view of a dense, row-major tensor. Whoever made it keeps the memory alive while it is in use.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Shape,
    memory: Memory,
}

impl Tensor {
    /// A tensor in device memory.
    pub fn on_device(dtype: DType, shape: Shape, ptr: DevicePtr) -> Self {
        Self { dtype, shape, memory: Memory::Device(ptr) }
    }

    /// A tensor in host memory.
    ///
    /// # Safety
    /// `ptr` is aligned for `dtype` and valid for reads (and, where the tensor is an output, writes) of all its bytes
    /// while this view or a clone of it is used; or the tensor has no elements.
    pub unsafe fn from_host(dtype: DType, shape: Shape, ptr: *mut u8) -> Self {
        Self { dtype, shape, memory: Memory::Host(HostPtr(ptr)) }
    }

    /// Number of elements.
    pub fn num_elements(&self) -> i64 {
        self.shape.num_elements()
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.num_elements() as u64 * self.dtype.size() as u64
    }

    /// Where the elements are.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// The device address; an error for a tensor in host memory.
    pub fn device_ptr(&self) -> Result<DevicePtr> {
        match self.memory {
            Memory::Device(p) => Ok(p),
            Memory::Host(_) => {
                Err(Error::internal(format!("a {}{} is in host memory, not on the device", self.dtype, self.shape)))
            }
        }
    }

    /// The same elements under another shape (of as many elements) and type (of the same size).
    #[must_use]
    pub fn with(&self, dtype: DType, shape: Shape) -> Self {
        Self { dtype, shape, memory: self.memory }
    }

    /// The same elements under another shape.
    #[must_use]
    pub fn reshaped(&self, shape: impl Into<Shape>) -> Self {
        self.with(self.dtype, shape.into())
    }

    /// `shape` and elements from `first` (counted in elements of this tensor) on.
    #[must_use]
    pub fn slice(&self, first: i64, shape: impl Into<Shape>) -> Self {
        let bytes = first as u64 * self.dtype.size() as u64;
        let memory = match self.memory {
            Memory::Device(p) => Memory::Device(p.offset(bytes)),
            Memory::Host(HostPtr(p)) => Memory::Host(HostPtr(p.wrapping_add(bytes as usize))),
        };
        Self { dtype: self.dtype, shape: shape.into(), memory }
    }

    fn host_ptr<T: Element>(&self) -> Result<*mut T> {
        match self.memory {
            _ if T::DTYPE != self.dtype => Err(Error::internal(format!("expected {} elements, got {}", T::DTYPE, self.dtype))),
            Memory::Host(HostPtr(p)) => Ok(p.cast()),
            Memory::Device(_) => {
                Err(Error::internal(format!("a {}{} is on the device, not in host memory", self.dtype, self.shape)))
            }
        }
    }

    /// The elements of a tensor in host memory.
    pub fn host<T: Element>(&self) -> Result<&[T]> {
        let ptr = self.host_ptr::<T>()?;
        match self.num_elements() as usize {
            0 => Ok(&[]),
            // SAFETY: `from_host` was promised a valid, aligned range of this type and length.
            n => Ok(unsafe { std::slice::from_raw_parts(ptr, n) }),
        }
    }

    /// The elements of a tensor in host memory, to write.
    pub fn host_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        let ptr = self.host_ptr::<T>()?;
        match self.num_elements() as usize {
            0 => Ok(&mut []),
            // SAFETY: as in `host`; an output tensor is written by one kernel alone.
            n => Ok(unsafe { std::slice::from_raw_parts_mut(ptr, n) }),
        }
    }
}
