//! The device crate against the first usable adapter: Mesa's software Vulkan where there is no GPU. With
//! TFVK_VALIDATION=1 (or =sync) the validation layer must stay silent, which each test checks at its end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adapters;
mod common;
mod copies;
mod events;
mod launches;
mod memory;
mod transfers;
