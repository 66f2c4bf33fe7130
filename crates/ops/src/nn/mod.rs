//! Neural-network kernels over rows and channels: softmax, cross-entropy, normalisation, bias.

pub mod batch_norm;
pub mod bias;
mod channels;
pub mod cross_entropy;
pub mod ctc;
pub mod lrn;
pub mod softmax;
