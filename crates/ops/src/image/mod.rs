//! Images, NHWC: resizing, cropping, projective transforms, colours, patches.

mod colour;
mod crop;
mod patches;
mod projective;
mod resize;

use tfvk_device::DType;

use crate::{KernelDef, TypeConstraint, t, types};

/// Threads of a workgroup.
const THREADS: u32 = 128;
/// Elements that one launch may index.
const MAX_ELEMENTS: i64 = (1 << 31) - 1;

/// The unsigned type whose elements are moved in place of `dtype`'s, and how many for one.
fn moved_as(dtype: DType) -> (DType, i64) {
    match dtype.size() {
        1 => (DType::U8, 1),
        2 => (DType::U16, 1),
        size => (DType::U32, size as i64 / 4),
    }
}

const REAL: &[TypeConstraint] = &[t("T", types::REAL)];
const FLOAT: &[TypeConstraint] = &[t("T", types::FLOAT)];
const IMAGE: &[TypeConstraint] = &[t("dtype", types::REAL)];

/// The family's kernels.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("ResizeBilinear", REAL, resize::bilinear).host(&["size"]),
    KernelDef::kernel("ResizeBicubic", REAL, resize::bicubic).host(&["size"]),
    KernelDef::kernel("ResizeNearestNeighbor", REAL, resize::nearest).host(&["size"]),
    KernelDef::kernel("ResizeBilinearGrad", FLOAT, resize::bilinear_grad),
    KernelDef::kernel("ResizeBicubicGrad", &[t("T", &[DType::F32, DType::F64])], resize::bicubic_grad),
    KernelDef::kernel("ResizeNearestNeighborGrad", REAL, resize::nearest_grad).host(&["size"]),
    KernelDef::kernel("CropAndResize", REAL, crop::forward).host(&["crop_size"]),
    KernelDef::kernel("CropAndResizeGradImage", FLOAT, crop::grad_image).host(&["image_size"]),
    KernelDef::kernel("CropAndResizeGradBoxes", REAL, crop::grad_boxes),
    KernelDef::kernel("ImageProjectiveTransformV2", IMAGE, projective::make).host(&["output_shape"]),
    KernelDef::kernel("ImageProjectiveTransformV3", IMAGE, projective::make).host(&["output_shape", "fill_value"]),
    KernelDef::kernel("AdjustContrastv2", FLOAT, colour::contrast),
    KernelDef::kernel("AdjustHue", FLOAT, colour::hue),
    KernelDef::kernel("AdjustSaturation", FLOAT, colour::saturation),
    KernelDef::kernel("RGBToHSV", FLOAT, colour::rgb_to_hsv),
    KernelDef::kernel("HSVToRGB", FLOAT, colour::hsv_to_rgb),
    KernelDef::kernel("ExtractImagePatches", &[t("T", types::ALL)], patches::make),
];
