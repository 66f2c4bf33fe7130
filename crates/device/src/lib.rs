//! The GPU, through Vulkan 1.2: adapters, devices, memory, streams, events, pipelines, launches.
//!
//! This crate knows no operator and no TensorFlow. What it promises to the crates above:
//! - **Addresses.** A [`DevicePtr`] is an address inside a reserved, unmapped range of host memory. Arithmetic on it is
//!   valid inside one allocation; it is never a host pointer, and a host access to it faults at once.
//! - **Order.** A device has one [`Stream`]. Whatever is recorded into it takes effect as if executed in the order of the
//!   calls; work that does not depend on each other may overlap.
//! - **The host waits** only in [`Event::wait`], [`Stream::synchronize`] and when a staging ring is full.
//! - **Failure** is an [`Error`]; nothing panics, nothing aborts. After a lost device each call returns an error.
//!
//! `unsafe` is used in the Vulkan half only; each block says why it is sound.

mod adapter;
mod args;
mod buffer;
mod cache;
mod capability;
mod chain;
mod completions;
mod core;
mod device;
mod driver_scope;
mod dtype;
mod env;
mod error;
mod event;
mod exit;
mod far;
mod float_controls;
mod garbage;
mod gpu;
mod hazards;
mod instance;
mod kernel;
mod lane;
pub mod log;
mod memcpy;
mod memory;
mod pipeline;
mod probe;
mod profile;
mod queries;
mod ranges;
mod recorder;
mod reserve;
mod ring;
mod shape;
mod spirv;
mod staging;
mod stream;
mod tensor;
mod timeline;
mod workers;

pub use adapter::{Adapter, AdapterKind, CoopMat, CoopMatShape, Features, Limits};
pub use args::Args;
pub use device::{Device, is_device_address, open_devices, owner_of};
pub use dtype::{DType, Element};
pub use error::{Code, Error, Result};
pub use event::{Event, Timestamp};
pub use instance::validation_errors;
pub use kernel::Kernel;
pub use probe::{adapters, visible_adapters};
pub use profile::KernelTime;
pub use shape::Shape;
pub use stream::Stream;
pub use tensor::{DevicePtr, HostPtr, Memory, Tensor};
