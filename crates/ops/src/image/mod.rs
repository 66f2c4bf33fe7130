//! Images, NHWC: resizing, cropping, projective transforms, colours, patches.

mod colour;
mod crop;
mod patches;
mod projective;
mod resize;
mod scale;
mod spans;
mod suppress;
mod volume_patches;

use tfvk_device::DType::{self, BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16};

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

// What TensorFlow's OpDefs allow.
const RESIZED: &[TypeConstraint] = &[t("T", &[I8, U8, I16, U16, I32, I64, F16, BF16, F32, F64])];
const NEAREST_GRAD: &[TypeConstraint] = &[t("T", &[I8, U8, I32, F16, BF16, F32, F64])];
const CROPPED: &[TypeConstraint] = &[t("T", &[I8, U8, I16, U16, I32, I64, F16, F32, F64])];
const CROP_GRAD: &[TypeConstraint] = &[t("T", &[F16, F32, F64])];
const PROJECTED: &[TypeConstraint] = &[t("dtype", &[U8, I32, I64, F16, BF16, F32, F64])];
const ADJUSTED: &[TypeConstraint] = &[t("T", &[F16, F32])];
const FLOAT: &[TypeConstraint] = &[t("T", types::FLOAT)];

const BOXES: &[TypeConstraint] = &[t("T", &[F32]), t("T_threshold", &[F32])];

/// The family's kernels.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("ResizeBilinear", RESIZED, resize::bilinear).host(&["size"]),
    KernelDef::kernel("ResizeBicubic", RESIZED, resize::bicubic).host(&["size"]),
    KernelDef::kernel("ResizeNearestNeighbor", RESIZED, resize::nearest).host(&["size"]),
    KernelDef::kernel("ResizeBilinearGrad", FLOAT, resize::bilinear_grad),
    KernelDef::kernel("ResizeBicubicGrad", &[t("T", &[F32, F64])], resize::bicubic_grad),
    KernelDef::kernel("ResizeNearestNeighborGrad", NEAREST_GRAD, resize::nearest_grad).host(&["size"]),
    KernelDef::kernel("CropAndResize", CROPPED, crop::forward).host(&["crop_size"]),
    KernelDef::kernel("CropAndResizeGradImage", CROP_GRAD, crop::grad_image).host(&["image_size"]),
    KernelDef::kernel("CropAndResizeGradBoxes", CROPPED, crop::grad_boxes),
    KernelDef::kernel("ImageProjectiveTransformV2", PROJECTED, projective::make).host(&["output_shape"]),
    KernelDef::kernel("ImageProjectiveTransformV3", PROJECTED, projective::make).host(&["output_shape", "fill_value"]),
    KernelDef::kernel("AdjustContrastv2", ADJUSTED, colour::contrast),
    KernelDef::kernel("AdjustHue", ADJUSTED, colour::hue),
    KernelDef::kernel("AdjustSaturation", ADJUSTED, colour::saturation),
    KernelDef::kernel("RGBToHSV", FLOAT, colour::rgb_to_hsv),
    KernelDef::kernel("HSVToRGB", FLOAT, colour::hsv_to_rgb),
    KernelDef::kernel("NonMaxSuppressionV2", BOXES, suppress::make).host(&["max_output_size", "iou_threshold"]),
    KernelDef::kernel("NonMaxSuppressionV3", BOXES, suppress::make).host(&[
        "max_output_size",
        "iou_threshold",
        "score_threshold",
    ]),
    KernelDef::kernel("NonMaxSuppressionV4", BOXES, suppress::make).host(&[
        "max_output_size",
        "iou_threshold",
        "score_threshold",
    ]),
    KernelDef::kernel("ExtractImagePatches", &[t("T", types::ALL)], patches::make),
    KernelDef::kernel("ScaleAndTranslate", RESIZED, scale::scale_and_translate).host(&["size", "scale", "translation"]),
    KernelDef::kernel("ScaleAndTranslateGrad", &[t("T", &[F32])], scale::scale_and_translate_grad)
        .host(&["scale", "translation"]),
    KernelDef::kernel("ResizeArea", RESIZED, scale::area).host(&["size"]),
    KernelDef::kernel("ExtractVolumePatches", &[t("T", types::REAL)], volume_patches::make),
];
