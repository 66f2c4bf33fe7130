//! The Vulkan loader and the one instance of the process. It is never destroyed: drivers do not bear being unloaded while
//! another library of the process uses Vulkan, and at exit nothing of ours may run after them.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::{ext, khr, vk};

use crate::env::{Settings, Validation};
use crate::{Code, Error, Result, driver_scope, log};

/// The loader and the instance.
pub(crate) struct Instance {
    /// The loader; `vk` lives as long as this.
    pub entry: ash::Entry,
    /// The instance.
    pub vk: ash::Instance,
}

static INSTANCE: OnceLock<Result<Instance>> = OnceLock::new();
static VALIDATION_ERRORS: AtomicU64 = AtomicU64::new(0);

/// The instance, made at the first call. Errors: no loader, no driver, each in one sentence.
pub(crate) fn instance() -> Result<&'static Instance> {
    let made = INSTANCE.get_or_init(|| Settings::from_env().and_then(|settings| Instance::new(settings.validation)));
    made.as_ref().map_err(Clone::clone)
}

/// Errors that the validation layer has reported in this process; 0 unless TFVK_VALIDATION is set.
pub fn validation_errors() -> u64 {
    VALIDATION_ERRORS.load(Ordering::Relaxed)
}

const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

impl Instance {
    fn new(validation: Validation) -> Result<Instance> {
        driver_scope::isolate();
        // SAFETY: loading the system's Vulkan loader runs its initialisers, which the platform vouches for.
        let entry = unsafe { ash::Entry::load() }.map_err(|why| {
            let what = "there is no Vulkan loader on this machine; install one (Debian, Ubuntu: libvulkan1)";
            Error::new(Code::FailedPrecondition, format!("{what} ({why})"))
        })?;
        // SAFETY: a global function of a loaded loader.
        let version = unsafe { entry.try_enumerate_instance_version() }.ok().flatten().unwrap_or(vk::API_VERSION_1_0);
        if version < vk::API_VERSION_1_2 {
            let what = "the Vulkan loader knows Vulkan 1.1 at most; this needs 1.2";
            return Err(Error::new(Code::FailedPrecondition, what));
        }
        // SAFETY: as above.
        let extensions = unsafe { entry.enumerate_instance_extension_properties(None) }.unwrap_or_default();
        let has = |name: &CStr| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));

        let (mut layers, mut enabled) = (Vec::new(), Vec::new());
        let mut flags = vk::InstanceCreateFlags::empty();
        if has(khr::portability_enumeration::NAME) {
            // Without this, layered drivers such as MoltenVK stay hidden.
            enabled.push(khr::portability_enumeration::NAME.as_ptr());
            flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
        }
        let mut messenger = messenger_info();
        let checks = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
        let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&checks);
        let application = vk::ApplicationInfo::default()
            .application_name(c"tensorflow-vulkan")
            .engine_name(c"tensorflow-vulkan")
            .api_version(version.min(vk::API_VERSION_1_3));
        let mut info = vk::InstanceCreateInfo::default().flags(flags).application_info(&application);
        if validation != Validation::Off {
            // SAFETY: a global function of a loaded loader.
            let known = unsafe { entry.enumerate_instance_layer_properties() }.unwrap_or_default();
            if !known.iter().any(|l| l.layer_name_as_c_str() == Ok(LAYER)) {
                let what = "TFVK_VALIDATION is set, but Vulkan's validation layer is not installed";
                return Err(Error::new(Code::FailedPrecondition, what));
            }
            layers.push(LAYER.as_ptr());
            enabled.push(ext::debug_utils::NAME.as_ptr());
            info = info.push_next(&mut messenger);
        }
        if validation == Validation::Sync {
            info = info.push_next(&mut features);
        }
        let info = info.enabled_layer_names(&layers).enabled_extension_names(&enabled);
        // SAFETY: every pointer in `info` outlives the call.
        let made = unsafe { entry.create_instance(&info, None) };
        let vk = made.map_err(|result| {
            let what = match result {
                vk::Result::ERROR_INCOMPATIBLE_DRIVER => "no Vulkan driver is installed on this machine",
                _ => "Vulkan could not be started",
            };
            Error::new(Code::FailedPrecondition, format!("{what} ({result:?})"))
        })?;
        if validation != Validation::Off {
            let utils = ext::debug_utils::Instance::new(&entry, &vk);
            // SAFETY: the instance is alive; the callback is a plain function and needs no data.
            if let Err(result) = unsafe { utils.create_debug_utils_messenger(&messenger_info(), None) } {
                log!(Warn, "validation messages cannot be counted ({result:?})");
            }
        }
        Ok(Instance { entry, vk })
    }
}

fn messenger_info() -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(Severity::ERROR | Severity::WARNING)
        .message_type(Type::GENERAL | Type::VALIDATION)
        .pfn_user_callback(Some(message))
}

/// The validation layer's messages: errors are counted, all are logged.
unsafe extern "system" fn message(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    _: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes a valid structure for the length of this call.
    let text = unsafe { data.as_ref() }.and_then(|d| {
        // SAFETY: likewise; the message is null or a C string.
        unsafe { d.message_as_c_str() }
    });
    let text = text.unwrap_or_default().to_string_lossy();
    if severity.contains(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
        && kind.contains(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
    {
        VALIDATION_ERRORS.fetch_add(1, Ordering::Relaxed);
        log!(Error, "validation: {text}");
    } else if kind.contains(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION) {
        log!(Warn, "validation: {text}");
    } else {
        log!(Debug, "loader: {text}");
    }
    vk::FALSE
}
