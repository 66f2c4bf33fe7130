//! A compute kernel as SPIR-V, and what its words say about it: identity, entry point, capabilities, shared memory.
//!
//! Knows no device: whether one can run the kernel is `pipeline.rs`'s question.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::spirv::{self, Module};
use crate::{Error, Result};

/// A compute kernel: a name for messages, and a SPIR-V module with one GLCompute entry point.
///
/// By convention the specialisation constants 0, 1 and 2 are the workgroup size, where the module has them.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name, for messages.
    pub name: Cow<'static, str>,
    /// The words of the module.
    pub spirv: Cow<'static, [u32]>,
    /// The subgroup size that the kernel is written for. A pipeline for a device that cannot grant it is an error.
    /// `None` leaves the choice to the driver.
    pub subgroup_size: Option<u32>,
    info: OnceLock<Result<KernelInfo>>,
}

/// What a kernel's words say.
#[derive(Clone, Debug)]
pub(crate) struct KernelInfo {
    /// A hash of the words and of what else makes a pipeline differ.
    pub id: u128,
    /// The parsed module.
    pub module: Module,
}

impl Kernel {
    /// A kernel whose words are embedded in the program.
    pub const fn new(name: &'static str, spirv: &'static [u32]) -> Self {
        Self { name: Cow::Borrowed(name), spirv: Cow::Borrowed(spirv), subgroup_size: None, info: OnceLock::new() }
    }

    /// A kernel made at run time.
    pub fn from_words(name: impl Into<String>, spirv: Vec<u32>) -> Self {
        Self { name: Cow::Owned(name.into()), spirv: Cow::Owned(spirv), subgroup_size: None, info: OnceLock::new() }
    }

    /// The same kernel, to be run with subgroups of `size` invocations.
    #[must_use]
    pub const fn with_subgroup_size(mut self, size: u32) -> Self {
        self.subgroup_size = Some(size);
        self
    }

    /// A stable number: equal words, equal number, in every process.
    pub fn id(&self) -> Result<u128> {
        Ok(self.info()?.id)
    }

    /// The SPIR-V capabilities that the module declares, by number.
    pub fn capabilities(&self) -> Result<&[u32]> {
        Ok(&self.info()?.module.capabilities)
    }

    pub(crate) fn info(&self) -> Result<&KernelInfo> {
        let info = self.info.get_or_init(|| {
            let module = spirv::parse(&self.spirv)
                .map_err(|why| Error::internal(format!("kernel '{}' is not a usable SPIR-V module: {why}", self.name)))?;
            Ok(KernelInfo { id: spirv::hash(&self.spirv) ^ u128::from(self.subgroup_size.unwrap_or(0)) << 64, module })
        });
        info.as_ref().map_err(Clone::clone)
    }
}
